"""Subagents as they cross the door: where one stands, and on what terms it was opened.

Going back: what there is to go back to, and that somebody did. Part of `protocol/events` and
`protocol/queries`.

What events carry in rows: parts of an approval, lines of the todo list, rows of a panel.
"""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.content import Diff
from cockpit.protocol.messages import Json, Mode

AgentPhase = Literal["queued", "running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class AgentRow:
    """Where a subagent stands. `id` is its path (`main/review-2`), `call` the tool call that opened it, ""
    where a person did.

    `doing` is its present call, or its last word, in one line; `report` its end, cut to a few lines.
    `started` is when it last began, seconds since the epoch (0 while queued); `seconds` the time it has run,
    without the run it is at. `branch` is that of its worktree. `recovered`: cockpit ended under it, and it
    is taken up again.
    """

    id: str
    role: str
    task: str
    phase: AgentPhase
    background: bool = False
    call: str = ""
    doing: str = ""
    report: str = ""
    steps: int = 0
    calls: int = 0
    tokens: int = 0
    started: float = 0.0
    seconds: float = 0.0
    branch: str = ""
    color: str = ""
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class AgentTerms:
    """What must still hold when the agent is taken up after a restart. `by_name`: its role can be found
    again; `mode` and `planning` are those it was opened under."""

    mode: Mode
    planning: bool = False
    by_name: bool = True
    isolation: str = "none"
    runner: str = ""
    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class AgentChanged:
    """A subagent was opened (then with `terms`), began, or ended."""

    agent: AgentRow
    terms: AgentTerms | None = None


RewindScope = Literal["files", "conversation", "both"]


@dataclass(frozen=True, slots=True)
class Rewound:
    """Files, conversation or both are as they were before `turn` (or, with `undoes`, as they were before
    that rewind). `id` is the op's. What was said from the event `from_seq` to this one is not sent any
    more. `files` counts those that changed; `kept` are files that a person had changed and that stay,
    `left` those that could not be, each with the reason. `prompt` is what had been asked in `turn`."""

    id: str
    turn: str
    what: RewindScope
    from_seq: int = 0
    files: int = 0
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    undoes: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The places this session can go back to, and what going back to before `turn` (or undoing the
    rewind of that id) would change."""

    turn: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A turn, or a rewind. `files` were changed by its calls, `paths` names some of them; lines are
    `added` and `removed`. `state`: `rewound` or `undone` where it is not in force any more."""

    turn: str
    title: str
    time: float
    files: int
    added: int = 0
    removed: int = 0
    paths: tuple[str, ...] = ()
    kind: Literal["turn", "rewind"] = "turn"
    state: Literal["", "rewound", "undone"] = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointRows:
    """The newest first. The rest answers for `Checkpoints.turn`: `diffs` is what would change (`files` in
    all, also where there are too many to show), `persons` what a person has changed since (kept unless
    they say otherwise), `left` what cannot be, each with the reason. `note` says what is not kept."""

    rows: tuple[CheckpointRow, ...]
    diffs: tuple[Diff, ...] = ()
    files: int = 0
    persons: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class HunkRow:
    """A piece of a file's change that can be taken, refused or edited by itself. `id` is `path#2`, counted
    from 1; `line` is where it begins in the file as it is. What is created, deleted, moved or binary is one
    piece. `refused`: the person refused the same before."""

    id: str
    line: int
    can_edit: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class HunkEdit:
    """A hunk as a person wants it: `text` takes the place of all its new lines, context ones too."""

    hunk: str
    text: str


@dataclass(frozen=True, slots=True)
class ApprovalPart:
    """One thing that is asked for: a file, or one command of a command line. `level` and `reason` are the
    verdict on a command, `level` "" where nobody judged the part by itself. `hunks` are a file's, in the
    order of `diff.hunks`, or one for all of it."""

    id: str
    title: str
    detail: str = ""
    diff: Diff | None = None
    level: Literal["allow", "ask", "deny", ""] = ""
    reason: str = ""
    hunks: tuple[HunkRow, ...] = ()


@dataclass(frozen=True, slots=True)
class TodoRow:
    """A line of the model's list."""

    text: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan. `level` and `reason` are the verdict its command would get once plan mode is over,
    `level` "" where there is none."""

    kind: Literal["command", "edit", "note"]
    purpose: str
    command: str = ""
    path: str = ""
    read_only: bool = False
    level: Literal["allow", "ask", "deny", ""] = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of a panel: its text, a state word, and what Enter does (`plugin/action`). The rows of the panel
    `agents` say all of their subagent in `agent`."""

    text: str
    state: str = ""
    action: str = ""
    agent: AgentRow | None = None


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as a screen shows it. `key` is dotted, `value` None where nothing is set, `default` what
    holds then. `origin` is its file and line, variable or flag. `kind` is text, choice, whole, number or
    words; `wanted` says in words what it must be. One that is not `writable` is the machine's; of one that
    is not `live` a change holds from the next session on. The hidden command `config.set` (`key`, `value`
    as text) changes it, `config.unset` (`key`) takes it back."""

    key: str
    value: Json
    origin: str
    about: str
    kind: str
    wanted: str
    default: Json = None
    choices: tuple[str, ...] = ()
    writable: bool = True
    live: bool = True
