"""Ops: what a frontend asks of a session. Imperatives; each carries an id and its origin.

A repeated id is dropped, and a `Warned` event reports it. `origin` is `tui`, `headless`, `acp`, `schedule:ID`
or `channel:NAME/CHAT`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cockpit.protocol.content import Block
from cockpit.protocol.messages import Decision, Json, Mode
from cockpit.protocol.rows import HunkEdit


@dataclass(frozen=True, slots=True)
class Prompt:
    """Start a turn. While another one runs, it waits like a `FollowUp`."""

    id: str
    origin: str
    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Steer:
    """Send a message to the running turn, which takes it up at its next step. `agent` names a subagent
    instead: one that has ended continues with it."""

    id: str
    origin: str
    content: tuple[Block, ...]
    agent: str = "main"


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Start a turn after the running one."""

    id: str
    origin: str
    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Stop the running turn with the processes of its tools and the subagents it waits for; if no turn runs,
    the subagents in the background.

    `agent` names one subagent (with those below it), or `*` for all. With `call`, only the `CallTool` with
    that id ends.
    """

    id: str
    origin: str
    agent: str = "main"
    call: str = ""


@dataclass(frozen=True, slots=True)
class Decide:
    """Answer an `ApprovalRequested`.

    `note` is a message to the model with a rejection. `parts` limits an allow to these parts (files) or hunks
    (`path#2`) of the request; empty means all. A hunk in `edits` is applied as edited. A frontend that could
    not ask anyone sets `by` to "nobody": that can only reject.
    """

    id: str
    origin: str
    request: str
    decision: Decision
    note: str = ""
    parts: tuple[str, ...] = ()
    edits: tuple[HunkEdit, ...] = ()
    by: Literal["person", "nobody"] = "person"


@dataclass(frozen=True, slots=True)
class DecidePlan:
    """Approve or reject the plan that waits (docs/adr/0017). Only users send it.

    `request` names the approval, "" means the current plan. `text` is the plan as edited by the user, "" for
    the plan as proposed. `note` is a message to the model. `mode` is the mode from now on, None for the one
    before planning. Without a waiting plan, an approval leaves plan mode.
    """

    id: str
    origin: str
    request: str
    decision: Literal["approve", "reject"]
    text: str = ""
    note: str = ""
    mode: Mode | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a `QuestionAsked`: with `text`, or for a form with `values` by field. `decline` refuses this
    question, `cancel` what it is part of."""

    id: str
    origin: str
    request: str
    text: str
    action: Literal["accept", "decline", "cancel"] = "accept"
    values: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallTool:
    """Run a tool as if a model had called it, without a model."""

    id: str
    origin: str
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Invoke:
    """Run a command or action of a plugin; `plugin` may be empty if `action` is the name of a command."""

    id: str
    origin: str
    plugin: str
    action: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class SelectModel:
    """Use another model, `provider:model` or the name of a tier, from the next step on."""

    id: str
    origin: str
    model: str


@dataclass(frozen=True, slots=True)
class SelectMode:
    """Use another permission mode from the next tool call on."""

    id: str
    origin: str
    mode: Mode


@dataclass(frozen=True, slots=True)
class EditContext:
    """Drop, pin, fold or restore messages (by the seq of their event)."""

    id: str
    origin: str
    change: Literal["drop", "pin", "fold", "restore"]
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Compact:
    """Summarise the older part of the context now; `focus` says what to keep."""

    id: str
    origin: str
    focus: str = ""


@dataclass(frozen=True, slots=True)
class Rewind:
    """Take files, conversation or both back to before `turn`.

    Files that the user has changed since stay as they are, unless `persons` is `overwrite`. `undo` takes back
    a rewind: the one with the id `turn`, or the last one; `what` is then that of the rewind.
    """

    id: str
    origin: str
    turn: str
    what: Literal["files", "conversation", "both"] = "both"
    persons: Literal["keep", "overwrite"] = "keep"
    undo: bool = False


@dataclass(frozen=True, slots=True)
class Trust:
    """Set whether the folder of the session is trusted; `keep` stores it by real path."""

    id: str
    origin: str
    trusted: bool
    keep: bool = True


@dataclass(frozen=True, slots=True)
class Close:
    """End the session: the turn is cancelled, the transcript synced, residents stopped."""

    id: str
    origin: str


Op: TypeAlias = (
    Prompt
    | Steer
    | FollowUp
    | Interrupt
    | Decide
    | DecidePlan
    | Answer
    | CallTool
    | Invoke
    | SelectModel
    | SelectMode
    | EditContext
    | Compact
    | Rewind
    | Trust
    | Close
)
