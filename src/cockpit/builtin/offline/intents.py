"""What a person can ask of the offline model: values, and nothing else."""

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Map:
    path: str = "."


@dataclass(frozen=True, slots=True)
class Define:
    name: str


@dataclass(frozen=True, slots=True)
class Uses:
    name: str


@dataclass(frozen=True, slots=True)
class Find:
    """Look for `text`: itself, or (`regex`) a regular expression."""

    text: str
    path: str = ""
    glob: str = ""
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """Lines `start` to `end` (0: all); `tail` is how many of the last ones."""

    path: str
    start: int = 0
    end: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True)
class ListFolder:
    path: str = "."


@dataclass(frozen=True, slots=True)
class FindFile:
    name: str


@dataclass(frozen=True, slots=True)
class Git:
    what: Literal["status", "diff", "log", "show", "blame"]
    path: str = ""
    ref: str = ""
    line: int = 0
    limit: int = 0
    staged: bool = False


@dataclass(frozen=True, slots=True)
class RunTests:
    target: str = ""


@dataclass(frozen=True, slots=True)
class Shell:
    command: str


@dataclass(frozen=True, slots=True)
class Replace:
    """`all` was said: every place; otherwise only an `old` that stands in one place is replaced."""

    old: str
    new: str
    path: str = ""
    glob: str = ""
    all: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    path: str
    content: str = ""
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Rename:
    """A name in the code, wherever it stands as a whole word."""

    old: str
    new: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    path: str


@dataclass(frozen=True, slots=True)
class Move:
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Outline:
    path: str


@dataclass(frozen=True, slots=True)
class Problems:
    path: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    path: str


@dataclass(frozen=True, slots=True)
class Todo:
    """Add `rows` to the list, or mark `done`; neither: show it."""

    rows: tuple[str, ...] = ()
    done: str = ""


@dataclass(frozen=True, slots=True)
class Help:
    pass


@dataclass(frozen=True, slots=True)
class Chat:
    kind: Literal["hello", "thanks", "who", "bye"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """What was not understood; `held_back` says that a change beside it was left undone."""

    text: str
    held_back: bool = False


Intent: TypeAlias = (
    Map
    | Define
    | Uses
    | Find
    | Show
    | ListFolder
    | FindFile
    | Git
    | RunTests
    | Shell
    | Replace
    | Create
    | Rename
    | Delete
    | Move
    | Outline
    | Problems
    | Format
    | Todo
    | Help
    | Chat
    | Unknown
)
# Those that change files or run a program of the person's choice.
WRITING = (Shell, Replace, Create, Rename, Delete, Move, Format)
