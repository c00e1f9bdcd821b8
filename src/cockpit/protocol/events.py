"""Events: facts of a session, in the past tense.

A *durable* event is stored in the transcript; a *transient* one (`TRANSIENT_EVENTS`) is coalesced per
frontend and may be lost. What transient events build up is written whole by a durable one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cockpit.protocol.content import Block
from cockpit.protocol.messages import (
    AskedBy,
    Decision,
    Json,
    Kind,
    Limit,
    Message,
    Mode,
    StopReason,
    ToolCall,
    ToolResult,
    Usage,
)
from cockpit.protocol.rows import AgentChanged as AgentChanged
from cockpit.protocol.rows import ApprovalPart, PanelRow, PlanStep, TodoRow
from cockpit.protocol.rows import Rewound as Rewound


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """The user is asked to approve a call.

    `risk` is 0 to 100; `expires` is seconds from now, 0 for never. `note` says what a change does to
    problems, `new_problems` counts those it causes (None: not checked). `remembers` are the rules that
    `allow_session` would store, `keeps` those of `allow_always`, `shape` both in one line; they are empty if
    nothing can be remembered (`options` then lacks these decisions). `whole`: an answer for some parts only
    rejects. `rules` are the ids that led here, `alternative` what the model could do instead, `held` what the
    program may touch if it runs, `confined` whether the sandbox limits that.
    """

    id: str
    agent: str
    tool: str
    title: str
    reason: str
    parts: tuple[ApprovalPart, ...]
    destination: str
    risk: int
    shape: str
    options: tuple[Decision, ...]
    expires: float = 0.0
    note: str = ""
    whole: bool = False
    remembers: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    alternative: str = ""
    held: str = ""
    confined: bool = False
    new_problems: int | None = None


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """How the request ended; `by` says who answered. `refused` and `edited` are the hunks of an allow that
    were left out or changed (docs/adr/0015)."""

    id: str
    decision: Decision
    by: Literal["person", "timeout", "closed", "nobody"]
    note: str = ""
    refused: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form. A `choice` is one of `options`, `choices` are some of them; `labels` are their
    display texts where these differ. `default` is used if nothing is entered."""

    name: str
    label: str
    kind: Literal["text", "number", "integer", "yes_no", "choice", "choices"] = "text"
    required: bool = False
    options: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    default: Json = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The model (or a plugin) asks the user; free text unless `options` is not empty.

    With `fields` it is a form and with `url` a page to open: both are answered by an `Answer` with an
    `action`. `source` says who asks if not the model: `MCP server github`. Such a question is answered only
    by one of its `options`: free text is meant for the model.
    """

    id: str
    question: str
    options: tuple[str, ...] = ()
    expires: float = 0.0
    fields: tuple[FormField, ...] = ()
    url: str = ""
    source: str = ""

    @property
    def takes_words(self) -> bool:
        """Whether free text answers it."""
        is_form = bool(self.fields or self.url)
        return not is_form and not (self.source and self.options)


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The state of plan mode, and the plan that the user approves (docs/use/plan-mode.md).

    `text` is the whole plan as Markdown, with the user's edits once it is approved; `steps`, `verification`
    and `rollback` are the same as rows. `request` is the approval that waits for it, "" if the call that
    asked is gone and the plan still waits. `mode` is the one that is restored after approval. `note` is the
    user's message to the model.
    """

    text: str
    state: Literal["idle", "planning", "pending", "approved", "rejected"]
    request: str = ""
    title: str = ""
    steps: tuple[PlanStep, ...] = ()
    verification: tuple[str, ...] = ()
    rollback: tuple[str, ...] = ()
    mode: Mode | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A session was opened, or opened again (`resumed`). `isolation` as in `SessionChanged`."""

    root: str
    model: str
    mode: Mode
    trusted: bool
    resumed: bool = False
    version: str = ""
    isolation: Literal["full", "partial", "none", ""] = ""


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """Model, mode, trust, title, isolation or folder have changed to these values (docs/adr/0002).

    `isolation` is what confines the commands of this session, "" while unknown. `folder` is where its tools
    work if that is a worktree instead of its root (docs/adr/0023), and `branch` the branch of that worktree.
    """

    model: str
    mode: Mode
    trusted: bool
    title: str = ""
    isolation: Literal["full", "partial", "none", ""] = ""
    folder: str = ""
    branch: str = ""
    has_read_outside: bool = False


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A prompt was taken up. `op` is the id of the op that carried it."""

    op: str
    origin: str
    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model request is about to be sent; `step` counts from 1 within the turn."""

    step: int
    model: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer `message`."""

    message: str
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """A piece of the thoughts of `message`."""

    message: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageFinished:
    """A message is complete: an answer, or what the user said while a turn ran."""

    id: str
    message: Message


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """A call was started. `title` is one line for the user: `read src/app.py`.

    A call by `plugin` was made by a plugin's function for its own work (a skill's `` !`git diff` ``): its
    result goes to that function and not into the conversation.
    """

    call: ToolCall
    kind: Kind
    title: str
    asked_by: AskedBy = "model"


@dataclass(frozen=True, slots=True)
class ToolCallProgressed:
    """A piece of a running call's output."""

    call: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallFinished:
    """The call's one result."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class TodoChanged:
    """The model's todo list has changed to this."""

    rows: tuple[TodoRow, ...]


@dataclass(frozen=True, slots=True)
class FileChanged:
    """A call wrote a file of the workspace (or a file was seen to change)."""

    path: str
    change: Literal["created", "modified", "deleted", "moved"]
    added: int = 0
    removed: int = 0
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """Everything before the event `kept_from` is replaced by `summary`; tokens before and after."""

    summary: str
    kept_from: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """Totals of the session, and how full the context window is (in tokens)."""

    usage: Usage
    context: int
    window: int


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know. `hint` is what to do next."""

    text: str
    hint: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The end of a turn. `limit` is set if `stop_reason` is `max_turn_requests`."""

    stop_reason: StopReason
    usage: Usage
    seconds: float
    limit: Limit | None = None
    denied: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """The last event."""

    reason: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """A plugin has something to show."""

    plugin: str
    kind: str
    content: tuple[Block, ...]
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class PanelChanged:
    """The rows of a panel have changed to these."""

    panel: str
    rows: tuple[PanelRow, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event (or op) of a newer version: kept unchanged, shown as one line."""

    kind: str
    data: Mapping[str, Json]


Event: TypeAlias = (
    SessionStarted
    | SessionChanged
    | TurnStarted
    | StepStarted
    | TextDelta
    | ThoughtDelta
    | MessageFinished
    | ToolCallStarted
    | ToolCallProgressed
    | ToolCallFinished
    | ApprovalRequested
    | ApprovalResolved
    | QuestionAsked
    | TodoChanged
    | PlanChanged
    | AgentChanged
    | FileChanged
    | ContextCompacted
    | Rewound
    | UsageChanged
    | Warned
    | TurnFinished
    | SessionClosed
    | Noticed
    | PanelChanged
    | Unknown
)

TRANSIENT_EVENTS = (TextDelta, ThoughtDelta, ToolCallProgressed, PanelChanged)


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event in transit: version, order in the session, and where it happened.

    `seq` rises by at least 1 from one envelope to the next; `time` is seconds since the epoch; `agent` is
    `main` or a path like `main/review-2`; `turn` and `call` are empty outside of one.
    """

    v: int
    seq: int
    time: float
    session: str
    turn: str
    agent: str
    call: str
    event: Event
