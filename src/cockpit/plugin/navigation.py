"""Code by symbol: what tools, mentions and frontends may ask, whoever answers.

The answerer of each row stands in its `source`. No call raises for a server that is slow, broken or not
there: the index answers instead, then plain text, and `note` says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.protocol.code import (
    ProblemRow,
    ProblemRows,
    Relation,
    ServerRow,
    SourceChoice,
    SymbolRow,
    SymbolRows,
)


class PlaceUnknown(CockpitError):
    """No such file, line or symbol; the message says what comes near."""


class PlaceAmbiguous(CockpitError):
    """A symbol path that fits several definitions: `candidates`, the likeliest first."""

    def __init__(self, message: str, candidates: tuple[SymbolRow, ...]) -> None:
        super().__init__(message, "name one of them by its path, or by file:line:column")
        self.candidates = candidates


class NotPossible(CockpitError):
    """No server can do that here (rename, actions, formatting); the message says what can."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file: `line` and `column` count from 1, columns in characters."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class CodeAction:
    """Something a server offers to do in a range of a file. `kind` as the protocol names it."""

    id: str
    title: str
    kind: str
    preferred: bool
    server: str


@dataclass(frozen=True, slots=True)
class ProblemCheck:
    """What a change set would do to the problems of its files, as the servers see it.

    `before` counts those there are; `new` are those it would bring, `gone` counts those it would mend.
    `files` were looked at: those of the change, and those that use what it alters.
    `unknown`: no server could say in time, for the reason in `note`.
    """

    state: Literal["checked", "unknown"]
    before: int = 0
    new: tuple[ProblemRow, ...] = ()
    gone: int = 0
    note: str = ""
    files: int = 0


class Navigator(Protocol):
    """One per root, shared by its sessions. `source` narrows who may answer; `patience` is how many
    seconds a call may wait for a server that is starting before the index answers."""

    async def locate(self, place: str) -> Position:
        """The place `file:line:column`, `file:line`, `file:Class.method` or `Class.method` names.

        Raises `PlaceUnknown` and `PlaceAmbiguous`.
        """
        ...

    async def outline(self, path: str, source: SourceChoice = "auto") -> SymbolRows:
        """The definitions of a file, in its order. Raises `PlaceUnknown`."""
        ...

    async def symbols(
        self, query: str, kind: str = "", source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        """Definitions of the workspace by name, the best first."""
        ...

    async def related(
        self, relation: Relation, at: Position, source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        """What stands in `relation` to the symbol at `at`."""
        ...

    async def hover(self, at: Position) -> str:
        """Signature and documentation as Markdown, empty when nobody knows."""
        ...

    async def problems(self, paths: tuple[str, ...] = (), patience: float = 1.0) -> ProblemRows:
        """Diagnostics of `paths` as they are on disk; of a folder those of the files in it that a server
        reads (the 50 that changed last), `note` saying how many. Without paths, what is known already."""
        ...

    async def rename(self, at: Position, to: str) -> tuple[Edit, ...]:
        """What renaming the symbol changes, in files of the root. Raises `NotPossible`."""
        ...

    async def left(self, at: Position, edits: tuple[Edit, ...]) -> tuple[SymbolRow, ...]:
        """Uses of the symbol at `at` by the index that a rename's `edits` leave as they are: for a
        person to look at, most are namesakes."""
        ...

    async def actions(self, path: str, first: int, last: int) -> tuple[CodeAction, ...]:
        """What the servers offer for lines `first` to `last`. Raises `NotPossible`."""
        ...

    async def action(self, id: str) -> tuple[Edit, ...]:
        """The edits of an action that `actions` offered. Raises `NotPossible`."""
        ...

    async def formatted(self, path: str) -> tuple[Edit, ...]:
        """The edits that format a file. Raises `NotPossible`."""
        ...

    async def extent(self, at: Position) -> tuple[int, int]:
        """First and end offset, in bytes of the file, of the whole definition at `at`: with its
        decorators and the comment that documents it. Raises `PlaceUnknown`."""
        ...

    async def checked(self, changes: ChangeSet, seconds: float = 1.0) -> ProblemCheck:
        """Problems before and after `changes`, staged in the servers and withdrawn again."""
        ...

    async def news(self, paths: tuple[str, ...] = ()) -> ProblemRows:
        """New problems of files we changed (empty: of the last five) that nobody was told yet; telling
        them marks them as told."""
        ...

    def seen(self, path: str) -> None:
        """A file was read: its language's server may be started. Returns at once."""
        ...

    def changed(
        self, path: str, before: bytes | None = None, told: tuple[ProblemRow, ...] | None = None
    ) -> None:
        """A file was written by us; `before` is what it held, `told` the new problems its writer was
        already shown (None: nobody looked). Returns at once."""
        ...

    def servers(self) -> tuple[ServerRow, ...]: ...

    async def command(self, verb: Literal["restart", "stop", "allow"], name: str) -> str:
        """Do it to the servers called `name` (empty: all); what was done, in words."""
        ...

    def log(self, name: str) -> Mapping[str, str]:
        """The last lines that servers called `name` (empty: all) wrote, by server."""
        ...
