"""Code navigation by symbol, for tools, mentions and frontends.

Each row names its `source`. No call raises because a server is slow, broken or missing: the index answers
instead, then plain text, and `note` says so.
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
    """No such file, line or symbol; the message names similar ones."""


class PlaceAmbiguous(CockpitError):
    """A symbol path that fits several definitions: `candidates`, the most likely first."""

    def __init__(self, message: str, candidates: tuple[SymbolRow, ...]) -> None:
        super().__init__(message, "name one of them by its path, or by file:line:column")
        self.candidates = candidates


class NotPossible(CockpitError):
    """No server offers this here (rename, actions, formatting); the message names the alternative."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a file: `line` and `column` count from 1, columns in characters."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class CodeAction:
    """An action that a server offers for a range of a file. `kind` is the protocol's."""

    id: str
    title: str
    kind: str
    preferred: bool
    server: str


@dataclass(frozen=True, slots=True)
class ProblemCheck:
    """What a change set would do to the diagnostics of its files, according to the servers.

    `before` counts the present ones; `new` are those it would add, `gone` counts those it would fix. `files`
    were checked: those of the change, and those that use what it alters. `unknown`: no server answered in
    time, for the reason in `note`.
    """

    state: Literal["checked", "unknown"]
    before: int = 0
    new: tuple[ProblemRow, ...] = ()
    gone: int = 0
    note: str = ""
    files: int = 0


class Navigator(Protocol):
    """One per root, shared by its sessions. `source` narrows who may answer; `patience` is how many seconds a
    call may wait for a server that is starting before the index answers."""

    async def locate(self, place: str) -> Position:
        """The position of `file:line:column`, `file:line`, `file:Class.method` or `Class.method`. Raises
        `PlaceUnknown` and `PlaceAmbiguous`."""

    async def outline(self, path: str, source: SourceChoice = "auto") -> SymbolRows:
        """The definitions of a file, in its order. Raises `PlaceUnknown`."""

    async def symbols(
        self, query: str, kind: str = "", source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        """Definitions of the workspace by name, best matches first."""

    async def related(
        self, relation: Relation, at: Position, source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        """What has `relation` to the symbol at `at`."""

    async def hover(self, at: Position) -> str:
        """Signature and documentation as Markdown, empty if unknown."""

    async def problems(self, paths: tuple[str, ...] = (), patience: float = 1.0) -> ProblemRows:
        """Diagnostics of `paths` as they are on disk. For a folder, those of the files in it that a server
        reads (the 50 most recently changed), with a `note`. Without paths, what is already known."""

    async def rename(self, at: Position, to: str) -> tuple[Edit, ...]:
        """The edits that rename the symbol in files of the root. Raises `NotPossible`."""

    async def left(self, at: Position, edits: tuple[Edit, ...]) -> tuple[SymbolRow, ...]:
        """Uses of the symbol at `at`, according to the index, that the `edits` of a rename leave unchanged.
        Most only share the name: the user should check them."""

    async def actions(self, path: str, first: int, last: int) -> tuple[CodeAction, ...]:
        """What the servers offer for lines `first` to `last`. Raises `NotPossible`."""

    async def action(self, id: str) -> tuple[Edit, ...]:
        """The edits of an action from `actions`. Raises `NotPossible`."""

    async def formatted(self, path: str) -> tuple[Edit, ...]:
        """The edits that format a file. Raises `NotPossible`."""

    async def extent(self, at: Position) -> tuple[int, int]:
        """Start and end offset, in bytes of the file, of the whole definition at `at` with its decorators and
        the comment that documents it. Raises `PlaceUnknown`."""

    async def checked(self, changes: ChangeSet, seconds: float = 1.0) -> ProblemCheck:
        """Diagnostics before and after `changes`, which are staged in the servers and withdrawn again."""

    async def news(self, paths: tuple[str, ...] = ()) -> ProblemRows:
        """New diagnostics of files that we changed (empty: of the last five) and that were not reported yet;
        they then count as reported."""

    def seen(self, path: str) -> None:
        """A file was read: the server of its language may be started. Returns at once."""

    def changed(
        self, path: str, before: bytes | None = None, told: tuple[ProblemRow, ...] | None = None
    ) -> None:
        """We wrote a file; `before` is its old content, `told` the new diagnostics that its writer was
        already shown (None: nobody checked). Returns at once."""

    def servers(self) -> tuple[ServerRow, ...]: ...

    async def command(self, verb: Literal["restart", "stop", "allow"], name: str) -> str:
        """Apply `verb` to the servers called `name` (empty: all); returns the outcome in words."""

    def log(self, name: str) -> Mapping[str, str]:
        """The last lines of the logs of the servers called `name` (empty: all), by server."""
