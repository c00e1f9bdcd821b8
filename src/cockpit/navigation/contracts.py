"""The two that answer the navigator: servers and index. Each may fail; neither raises for that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.plugin.changes import Edit
from cockpit.plugin.navigation import CodeAction, Position
from cockpit.protocol.code import ProblemRow, Relation, ServerRow, SymbolRow

ServerRelation = Literal[
    "definition", "implementations", "references", "callers", "callees", "supertypes", "subtypes"
]


@dataclass(frozen=True, slots=True)
class Served:
    """A server's answer. `settled` is False while it may still be incomplete (it is indexing)."""

    rows: tuple[SymbolRow, ...]
    settled: bool = True
    server: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """No server answers: `reason` in words, `soon` when asking again is worth it. `refused`: one is there
    and can, but will not do this."""

    reason: str
    soon: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """Problems of one file as the servers see it. `servers` answered, `late` did not in time."""

    rows: tuple[ProblemRow, ...]
    servers: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


class Servers(Protocol):
    """The language servers of one root. `seconds` bounds every wait; what comes later is dropped."""

    async def outline(self, path: str, seconds: float) -> Served | Silent: ...
    async def symbols(self, query: str, seconds: float) -> Served | Silent:
        """From every server that is ready and can; none is started for it."""
        ...

    async def related(self, relation: ServerRelation, at: Position, seconds: float) -> Served | Silent: ...
    async def hover(self, at: Position, seconds: float) -> str | Silent: ...
    async def diagnosed(self, path: str, seconds: float) -> Diagnosed | Silent: ...
    def published(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        """The problems known now, by path; nothing is asked for."""
        ...

    async def staged(
        self,
        texts: Mapping[str, bytes | None],
        seconds: float,
        base: Mapping[str, bytes | None] | None = None,
    ) -> tuple[Mapping[str, Diagnosed], Mapping[str, Diagnosed]] | Silent:
        """Diagnostics of `texts`' files before (as on disk, or as in `base`) and after, taken under a
        lease and withdrawn; None stands for a file that is not there."""
        ...

    async def rename(self, at: Position, to: str, seconds: float) -> tuple[Edit, ...] | Silent: ...
    async def actions(
        self, path: str, first: int, last: int, seconds: float
    ) -> tuple[CodeAction, ...] | Silent: ...
    async def action(self, id: str, seconds: float) -> tuple[Edit, ...] | Silent: ...
    async def formatted(self, path: str, seconds: float) -> tuple[Edit, ...] | Silent: ...
    def seen(self, path: str) -> None: ...
    def changed(self, paths: Sequence[str]) -> None:
        """Files that differ on disk now (created, written, deleted)."""
        ...

    def rows(self) -> tuple[ServerRow, ...]: ...
    def watch(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Call `heard` on the loop when `rows()` or `published()` change; the answer ends that."""
        ...

    async def command(self, verb: Literal["restart", "stop", "allow"], name: str) -> str: ...
    def log(self, name: str) -> Mapping[str, str]: ...
    async def close(self) -> None:
        """Every server ended (shutdown, exit, then killed) within 3 s."""
        ...


class Index(Protocol):
    """Definitions, uses and imports of every source file of one root, by tree-sitter."""

    def start(self) -> None:
        """Begin to build, or to bring up to date, in the background. Returns at once."""
        ...

    @property
    def progress(self) -> tuple[int, int]:
        """Files done and files known; equal when it is whole."""
        ...

    async def whole(self, seconds: float) -> bool:
        """Wait until it is whole; False when that took longer."""
        ...

    async def outline(self, path: str) -> tuple[SymbolRow, ...]:
        """Definitions of a file as it is on disk now; empty for one it cannot parse."""
        ...

    async def symbols(self, query: str, limit: int = 200) -> tuple[SymbolRow, ...]: ...
    async def named(self, path: str) -> tuple[SymbolRow, ...]:
        """Definitions a symbol path fits: `Class.method`, `pkg/mod.py:Class.method`."""
        ...

    async def related(self, relation: Relation, at: Position) -> tuple[SymbolRow, ...]: ...
    @property
    def is_cut(self) -> bool:
        """Whether the last answer of `related` stopped before its end: too many files to look into."""
        ...

    async def extent(self, at: Position) -> tuple[int, int] | None: ...
    async def hover(self, at: Position) -> str:
        """The definition's first lines and its documentation, empty when there is none."""
        ...

    def changed(self, paths: Sequence[str]) -> None: ...
    def languages(self) -> Mapping[str, int]:
        """Files by language."""
        ...

    async def close(self) -> None: ...
