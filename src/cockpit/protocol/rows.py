"""Rows and small values that events and queries carry: subagents, checkpoints, approvals, plans, panels,
settings."""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.content import Diff
from cockpit.protocol.messages import Json, Mode

AgentPhase = Literal["queued", "running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class AgentRow:
    """The state of a subagent. `id` is its path (`main/review-2`), `call` the tool call that opened it ("" if
    the user did).

    `doing` is its current call or its last message, in one line; `report` its final report, cut to a few
    lines. `started` is when it last began, in seconds since the epoch (0 while queued); `seconds` the time it
    has run, without the current run. `branch` is that of its worktree. `recovered`: cockpit ended while it
    ran, and it is resumed.
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
    """The conditions under which an agent was opened, which still hold when it is resumed. `by_name`: its
    role can be found again; `mode` and `planning` are those in force when it was opened."""

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
    """A subagent was opened (then with `terms`), began or ended."""

    agent: AgentRow
    terms: AgentTerms | None = None


RewindScope = Literal["files", "conversation", "both"]


@dataclass(frozen=True, slots=True)
class Rewound:
    """Files, conversation or both are as they were before `turn` (or, with `undoes`, before that rewind).

    `id` is that of the op. Messages from the event `from_seq` to this one are no longer sent to a model.
    `files` counts the files that changed; `kept` are files that the user had changed and that stay, `left`
    those that could not be restored, each with the reason. `prompt` is the prompt of `turn`.
    """

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
    """The points to which this session can be rewound, and what rewinding to before `turn` (or undoing the
    rewind with that id) would change."""

    turn: str = ""


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A turn, or a rewind. Its calls changed `files`, of which `paths` names some; `added` and `removed`
    count lines. `state` is `rewound` or `undone` if it is no longer in force."""

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
    """The newest first. The other fields answer for `Checkpoints.turn`: `diffs` is what would change (`files`
    in all, even if too many to show), `persons` what the user has changed since (kept unless overwritten),
    `left` what cannot be restored, with the reason. `note` says what is not stored."""

    rows: tuple[CheckpointRow, ...]
    diffs: tuple[Diff, ...] = ()
    files: int = 0
    persons: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class HunkRow:
    """A part of a file's change that can be accepted, refused or edited by itself.

    `id` is `path#2`, counted from 1; `line` is where it begins in the current file. A file that is created,
    deleted, moved or binary is one part. `refused`: the user refused the same before.
    """

    id: str
    line: int
    can_edit: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class HunkEdit:
    """A hunk as edited by the user: `text` replaces all its new lines, including context."""

    hunk: str
    text: str


@dataclass(frozen=True, slots=True)
class ApprovalPart:
    """One part of a request: a file, or one command of a command line.

    `level` and `reason` are the verdict on a command; `level` is "" if the part was not judged by itself.
    `hunks` are those of a file, in the order of `diff.hunks`, or a single one for the whole file.
    """

    id: str
    title: str
    detail: str = ""
    diff: Diff | None = None
    level: Literal["allow", "ask", "deny", ""] = ""
    reason: str = ""
    hunks: tuple[HunkRow, ...] = ()


@dataclass(frozen=True, slots=True)
class TodoRow:
    """A line of the model's todo list."""

    text: str
    status: Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan. `level` and `reason` are the verdict that its command would get after plan mode;
    `level` is "" if there is none."""

    kind: Literal["command", "edit", "note"]
    purpose: str
    command: str = ""
    path: str = ""
    read_only: bool = False
    level: Literal["allow", "ask", "deny", ""] = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of a panel: its text, a state, and the action on Enter (`plugin/action`). Rows of the panel
    `agents` carry their subagent in `agent`; the row of the index carries how many of the known files it has
    read (0 known: it still looks for files)."""

    text: str
    state: str = ""
    action: str = ""
    agent: AgentRow | None = None
    files_read: int | None = None
    files_known: int = 0


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as a settings screen shows it.

    `key` is dotted, `value` is None if nothing is set, and `default` then holds. `origin` is its file and
    line, variable or flag. `kind` is text, choice, whole, number or words; `wanted` describes valid values. A
    setting that is not `writable` belongs to the machine; a change of one that is not `live` takes effect in
    the next session. The hidden commands `config.set` (`key`, `value` as text) and `config.unset` (`key`)
    change it.
    """

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
