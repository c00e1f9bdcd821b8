"""The entries of the Trace, and the cleaning of the content blocks in them.

Entries grow in place, so that a delta costs the same in a long session. Their texts are safe to draw.
`expanded` is the user's choice; None means the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cockpit.protocol.content import Block, Code, Diff, Image, Markdown, Plot, Table, Text, Tree
from cockpit.protocol.messages import AskedBy, Kind, Limit, StopReason, Usage
from cockpit.protocol.safe_text import clean, clean_output, single_line

_MAX_CHARACTERS = 400_000


def clean_blocks(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Make blocks safe to draw, and cut their text to what a screen can use."""
    return tuple(_clean_block(block) for block in blocks)


def clean_diff(diff: Diff) -> Diff:
    hunks = tuple(replace(hunk, lines=tuple(map(_clean_diff_line, hunk.lines))) for hunk in diff.hunks)
    return replace(
        diff,
        path=single_line(diff.path),
        hunks=hunks,
        moved_from=single_line(diff.moved_from),
        note=single_line(diff.note),
    )


def _clean_block(block: Block) -> Block:
    match block:
        case Text(text):
            return Text(clean_output(text[:_MAX_CHARACTERS]))
        case Markdown(text):
            return Markdown(clean(text[:_MAX_CHARACTERS]))
        case Code():
            return replace(block, text=clean(block.text[:_MAX_CHARACTERS]), path=single_line(block.path))
        case Diff():
            return clean_diff(block)
        case Table():
            rows = tuple(tuple(map(single_line, row)) for row in block.rows)
            return Table(tuple(map(single_line, block.columns)), rows, single_line(block.title))
        case Tree():
            return _clean_tree(block)
        case Image():
            return replace(block, alt=single_line(block.alt))
        case Plot():
            return replace(block, title=single_line(block.title))


def _clean_tree(tree: Tree) -> Tree:
    return Tree(single_line(tree.label), tuple(_clean_tree(child) for child in tree.children))


def _clean_diff_line(line: str) -> str:
    """Clean a line of a diff; a carriage return belongs to the file and is shown."""
    if line.endswith("\r"):
        return clean(line[:-1]) + "␍"
    return clean(line.replace("\r", "␍"))


CallStatus = Literal["running", "waiting", "ok", "error", "denied", "cancelled", "interrupted", "repeated"]
TAIL_LINES = 200
"""How many lines of a running tool's output are stored for the screen."""


@dataclass(slots=True)
class WelcomeEntry:
    """The start of a session; the counts arrive after the first paint."""

    project: str
    path: str
    model: str = ""
    counts: Mapping[str, int] | None = None
    tries: tuple[str, ...] = ()
    note: str = ""


@dataclass(slots=True)
class PromptEntry:
    """A prompt, or the text of a skill the user called. `steer`: sent while a turn ran. `rewound`: the
    model does not see it any more."""

    text: str
    origin: str = "tui"
    steer: bool = False
    seq: int = 0
    rewound: bool = False
    expanded: bool | None = None


@dataclass(slots=True)
class ThoughtEntry:
    """A model's thoughts; `parts` only grow until `done`."""

    parts: list[str] = field(default_factory=list)
    done: bool = False
    began: float = 0.0
    seconds: float = 0.0
    expanded: bool | None = None

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class AnswerEntry:
    """A model's answer. `replacements` counts how often its text was replaced rather than added to."""

    parts: list[str] = field(default_factory=list)
    done: bool = False
    replacements: int = 0

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class CallEntry:
    """A tool call. `tail` is the latest output of a running call; `blocks` and `text` are the result."""

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
    expanded: bool | None = None


@dataclass(slots=True)
class SubagentEntry:
    """A subagent's work, folded to one line. `done` is the stop reason, `text` the answer."""

    agent: str
    activity: str = ""
    steps: int = 0
    calls: int = 0
    done: str = ""
    text: str = ""
    expanded: bool | None = None


@dataclass(slots=True)
class RemarkEntry:
    """A line of cockpit's own. `hint` says what to do."""

    level: Literal["note", "warning", "error"]
    text: str
    hint: str = ""
    source: str = ""


@dataclass(slots=True)
class OutputEntry:
    """The output of a local command or a plugin."""

    plugin: str
    blocks: tuple[Block, ...]
    expanded: bool | None = None


@dataclass(slots=True)
class PlanEntry:
    """A plan for the user to approve. `note` came with their decision."""

    text: str
    state: str
    note: str = ""


@dataclass(slots=True)
class TurnEndEntry:
    """The end of a turn."""

    stop_reason: StopReason
    limit: Limit | None
    seconds: float
    usage: Usage
    steps: int
    calls: int
    denied: int = 0
    message: str = ""


Entry: TypeAlias = (
    WelcomeEntry
    | PromptEntry
    | ThoughtEntry
    | AnswerEntry
    | CallEntry
    | SubagentEntry
    | RemarkEntry
    | OutputEntry
    | PlanEntry
    | TurnEndEntry
)
FOLDABLE = (PromptEntry, ThoughtEntry, CallEntry, SubagentEntry, OutputEntry)
"""Entries that the user can open and fold."""
