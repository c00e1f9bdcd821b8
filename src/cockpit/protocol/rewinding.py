"""Going back: what there is to go back to, and that somebody did. Part of `protocol/events` and
`protocol/queries`."""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.content import Diff

What = Literal["files", "conversation", "both"]


@dataclass(frozen=True, slots=True)
class Rewound:
    """Files, conversation or both are as they were before `turn` (or, with `undoes`, as they were before
    that rewind). `id` is the op's. What was said from the event `from_seq` to this one is not sent any
    more. `files` counts those that changed; `kept` are files that a person had changed and that stay,
    `left` those that could not be, each with the reason. `prompt` is what had been asked in `turn`."""

    id: str
    turn: str
    what: What
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
