"""The two that answer the navigator: servers and index. Each may fail; neither raises for that.

Which language a file is of. Knows names of files only, no contents.

The life of a root's servers and index: begun at the first need, changed when languages or trust do, ended
once. Answers nothing itself.
"""

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, Protocol

from cockpit.plugin.changes import Edit
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import CodeAction, Position
from cockpit.protocol.code import ProblemRow, Relation, ServerRow, SymbolRow

ServerRelation = Literal[
    "definition", "implementations", "references", "callers", "callees", "supertypes", "subtypes"
]


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A server's answer. `settled` is False while it may still be incomplete (it is indexing)."""

    rows: tuple[SymbolRow, ...]
    settled: bool = True
    server: str = ""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """No server answers: `reason` in words, `soon` when asking again is worth it. `refused`: one is there
    and can, but will not do this."""

    reason: str
    soon: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class FileDiagnostics:
    """Problems of one file as the servers see it. `servers` answered, `late` did not in time."""

    rows: tuple[ProblemRow, ...]
    servers: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


class ServerBackend(Protocol):
    """The language servers of one root. `seconds` bounds every wait; what comes later is dropped."""

    async def outline(self, path: str, seconds: float) -> ServerAnswer | NoAnswer: ...
    async def symbols(self, query: str, seconds: float) -> ServerAnswer | NoAnswer:
        """From every server that is ready and can; none is started for it."""
        ...

    async def related(
        self, relation: ServerRelation, at: Position, seconds: float
    ) -> ServerAnswer | NoAnswer: ...
    async def hover(self, at: Position, seconds: float) -> str | NoAnswer: ...
    async def diagnosed(self, path: str, seconds: float) -> FileDiagnostics | NoAnswer: ...
    def published(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        """The problems known now, by path; nothing is asked for."""
        ...

    async def staged(
        self,
        texts: Mapping[str, bytes | None],
        seconds: float,
        base: Mapping[str, bytes | None] | None = None,
    ) -> tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]] | NoAnswer:
        """Diagnostics of `texts`' files before (as on disk, or as in `base`) and after, taken under a
        lease and withdrawn; None stands for a file that is not there."""
        ...

    async def rename(self, at: Position, to: str, seconds: float) -> tuple[Edit, ...] | NoAnswer: ...
    async def actions(
        self, path: str, first: int, last: int, seconds: float
    ) -> tuple[CodeAction, ...] | NoAnswer: ...
    async def action(self, id: str, seconds: float) -> tuple[Edit, ...] | NoAnswer: ...
    async def formatted(self, path: str, seconds: float) -> tuple[Edit, ...] | NoAnswer: ...
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


class IndexBackend(Protocol):
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


def find_language(path: str, languages: Iterable[Language]) -> Language | None:
    """The first language one of whose globs fits the file's name."""
    return next(find_languages(path, languages), None)


def find_languages(path: str, languages: Iterable[Language]) -> Iterator[Language]:
    """Every language one of whose globs fits: a project may name servers for one that has a grammar."""
    name = posixpath.basename(path.replace("\\", "/"))
    for language in languages:
        if any(fnmatchcase(name, glob) for glob in language.globs):
            yield language


POLL_SECONDS = 0.5
WARM_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Backends:
    """Who can answer; None for what is not there. `late` is when (on the loop's clock) a ready server of
    a language last left a question unanswered."""

    servers: ServerBackend | None = None
    index: IndexBackend | None = None
    languages: tuple[Language, ...] = ()
    close: Callable[[], Awaitable[None]] | None = None
    late: dict[str, float] = field(default_factory=dict)


StartBackends = Callable[[], Awaitable[Backends]]
NO_BACKENDS = Backends()


class BackendLifecycle:
    """`begin` is called once, at the first `sources()`, `soon()` or `warm()`."""

    def __init__(self, begin: StartBackends | None = None, sources: Backends = NO_BACKENDS) -> None:
        self._begin = begin
        self._sources = sources
        self._begun: asyncio.Task[Backends] | None = None
        self._tasks: set[asyncio.Future[None]] = set()
        self._watchers: list[Callable[[], None]] = []
        self._unwatch: Callable[[], None] | None = None
        self._closed = False
        if sources.servers is not None:
            self._unwatch = sources.servers.watch(self._heard)

    @property
    def now(self) -> Backends:
        """What has begun; nothing is begun for it."""
        return self._sources

    async def sources(self) -> Backends:
        """Begun, if they were not. Cancelling the caller does not end that."""
        if self._begin is None or self._closed:
            return self._sources
        if self._begun is None:
            self._begun = asyncio.create_task(self._start(self._begin))
        return await asyncio.shield(self._begun)

    def soon(self, use: Callable[[Backends], None]) -> None:
        """Call `use` with the sources: now, or when they have begun. Returns at once."""
        if self._closed:
            return
        if self._begin is None or (self._begun is not None and self._begun.done()):
            use(self._sources)
        else:
            self._keep(asyncio.ensure_future(self._when_begun(use)))

    def watch(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Call `heard` on the loop when servers, problems or the index's progress are different. What is
        returned ends that."""
        self._watchers.append(heard)
        return lambda: self._watchers.remove(heard) if heard in self._watchers else None

    def warm(self) -> None:
        """Begin in the background: the index, then the server of the language most files are in."""
        if not self._closed:
            self._keep(asyncio.ensure_future(self._warm()))

    async def begin_again(self, begin: StartBackends) -> None:
        """From now on `begin` says who answers; what has begun is ended first."""
        began, self._begin = self._begun is not None, begin
        if began:
            await self._end()
            self._sources, self._begun = NO_BACKENDS, None
            await self.sources()

    async def close(self) -> None:
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await self._end()
        self._watchers.clear()

    async def _start(self, begin: StartBackends) -> Backends:
        sources = self._sources = await begin()
        if sources.servers is not None:
            self._unwatch = sources.servers.watch(self._heard)
        return sources

    def _keep(self, task: "asyncio.Future[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _warm(self) -> None:
        live = await self.sources()
        if live.index is None or live.servers is None:
            return
        self._keep(asyncio.create_task(self._follow(live)))
        await self._see_main(live, WARM_SECONDS)

    async def main_server(self, seconds: float) -> None:
        """Begin the server of the language most files are in, and wait until one is ready or cannot be."""
        live = await self.sources()
        known = asyncio.Event()
        names: set[str] = set()

        def look() -> None:
            rows = live.servers.rows() if live.servers is not None else ()
            if any(row.name in names and row.state not in ("starting", "stopped") for row in rows):
                known.set()

        unwatch = self.watch(look)
        try:
            async with asyncio.timeout(seconds):
                main = await self._see_main(live, seconds)
                if main is not None:
                    names.update(one.name for one in main.servers if not one.beside)
                    look()
                    await known.wait()
        except TimeoutError:
            return
        finally:
            unwatch()

    async def _see_main(self, live: Backends, seconds: float) -> Language | None:
        """The language with servers that most files are in; they begin."""
        if live.index is None or live.servers is None:
            return None
        await live.index.whole(seconds)
        counts = live.index.languages()
        served = [one for one in live.languages if one.servers and counts.get(one.name)]
        if not served:
            return None
        main = max(served, key=lambda one: counts[one.name])
        live.servers.seen(main.globs[0].replace("*", "main"))
        return main

    async def _follow(self, sources: Backends) -> None:
        """Tell of the index's progress until it is whole."""
        while sources.index is not None and not await sources.index.whole(POLL_SECONDS):
            self._heard()
        self._heard()

    async def _when_begun(self, use: Callable[[Backends], None]) -> None:
        use(await self.sources())

    async def _end(self) -> None:
        if self._begun is not None and not self._begun.done():
            await asyncio.wait((self._begun,), timeout=2.0)
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        sources = self._sources
        if sources.close is not None:
            await sources.close()
        ends = [one.close() for one in (sources.servers, sources.index) if one is not None]
        await asyncio.gather(*ends, return_exceptions=True)

    def _heard(self) -> None:
        for heard in tuple(self._watchers):
            heard()
