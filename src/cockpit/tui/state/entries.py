"""The entries of the Trace. They grow in place, so that a delta costs the same in the longest session.

Every text in them is safe to draw (`tui/clean`). `expanded` is the reader's choice; None is the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cockpit.protocol.content import Block
from cockpit.protocol.messages import AskedBy, Kind, Limit, StopReason, Usage

CallStatus = Literal["running", "waiting", "ok", "error", "denied", "cancelled", "interrupted", "repeated"]
TAIL_LINES = 200
"""Lines of a running tool's output that are kept for the screen."""


@dataclass(slots=True)
class Welcomed:
    """Where a session begins; the counts come later than the first paint."""

    project: str
    path: str
    model: str = ""
    counts: Mapping[str, int] | None = None
    tries: tuple[str, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Said:
    """What a person said, or the skill that they called says for them. `steer`: while a turn ran. `seq` is
    its event's; `rewound`: it is not told to the model any more."""

    text: str
    origin: str = "tui"
    steer: bool = False
    seq: int = 0
    rewound: bool = False
    expanded: bool | None = None


@dataclass(slots=True)
class Thought:
    """A model's thoughts; `parts` are only ever added to until `done`."""

    parts: list[str] = field(default_factory=list)
    done: bool = False
    began: float = 0.0
    seconds: float = 0.0
    expanded: bool | None = None

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class Answered:
    """A model's answer. `whole` counts how often its text was replaced rather than added to."""

    parts: list[str] = field(default_factory=list)
    done: bool = False
    whole: int = 0
    cut: str = ""

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class Called:
    """A tool call. `tail` is what a running one printed last; `blocks` and `text` its result."""

    call: str
    name: str
    kind: Kind
    title: str
    asked_by: AskedBy = "model"
    status: CallStatus = "running"
    began: float = 0.0
    seconds: float = 0.0
    tail: list[str] = field(default_factory=list)
    blocks: tuple[Block, ...] = ()
    text: str = ""
    handle: str = ""
    expanded: bool | None = None


@dataclass(slots=True)
class Delegated:
    """A subagent's work, folded to one line: what it does now, and what it answered."""

    agent: str
    activity: str = ""
    steps: int = 0
    calls: int = 0
    done: str = ""
    text: str = ""
    expanded: bool | None = None


@dataclass(slots=True)
class Remark:
    """A line of the cockpit's own: a warning, an error, a note. `hint` says what to do."""

    level: Literal["note", "warning", "error"]
    text: str
    hint: str = ""
    source: str = ""


@dataclass(slots=True)
class Shown:
    """What a local command or a plugin shows."""

    plugin: str
    blocks: tuple[Block, ...]
    expanded: bool | None = None


@dataclass(slots=True)
class Plan:
    """The plan that a person approves. `note` is the word they gave with it."""

    text: str
    state: str
    note: str = ""


@dataclass(slots=True)
class Ended:
    """The end of a turn."""

    stop_reason: StopReason
    limit: Limit | None
    seconds: float
    usage: Usage
    steps: int
    calls: int
    denied: int = 0
    message: str = ""


Entry: TypeAlias = Welcomed | Said | Thought | Answered | Called | Delegated | Remark | Shown | Plan | Ended
FOLDING = (Said, Thought, Called, Delegated, Shown)
"""Entries that a reader can open and shut."""
