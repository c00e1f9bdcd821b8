"""The two backends of the navigator, language servers and index: their interfaces and their life cycle.

A backend may fail to answer; it does not raise for that. Also finds the language of a file by its name.
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
POLL_SECONDS = 0.5
WARM_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """A server's answer. `settled` is False while it may be incomplete because the server is still
    indexing."""

    rows: tuple[SymbolRow, ...]
    settled: bool = True
    server: str = ""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why no server answers. `soon`: asking again is worthwhile. `refused`: a server is there but will not do
    this."""

    reason: str
    soon: bool = False
    refused: bool = False


@dataclass(frozen=True, slots=True)
class FileDiagnostics:
    """Problems of one file. `servers` answered, `late` did not answer in time."""

    rows: tuple[ProblemRow, ...]
    servers: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


class ServerBackend(Protocol):
    """The language servers of one root. `seconds` bounds every wait; later answers are dropped."""

    async def outline(self, path: str, seconds: float) -> ServerAnswer | NoAnswer: ...
    async def symbols(self, query: str, seconds: float) -> ServerAnswer | NoAnswer:
        """Ask every server that is ready and supports it; none is started for it."""
        ...

    async def related(
        self, relation: ServerRelation, at: Position, seconds: float
    ) -> ServerAnswer | NoAnswer: ...
    async def hover(self, at: Position, seconds: float) -> str | NoAnswer: ...
    async def diagnosed(self, path: str, seconds: float) -> FileDiagnostics | NoAnswer: ...
    def published(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        """The problems known now, by path; sends no request."""
        ...

    async def staged(
        self,
        texts: Mapping[str, bytes | None],
        seconds: float,
        base: Mapping[str, bytes | None] | None = None,
    ) -> tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]] | NoAnswer:
        """Problems of the files of `texts` before (as on disk, or as in `base`) and after. The texts are
        shown to the servers under an exclusive lease and withdrawn again. None means that the file does not
        exist."""
        ...

    async def rename(self, at: Position, to: str, seconds: float) -> tuple[Edit, ...] | NoAnswer: ...
    async def actions(
        self, path: str, first: int, last: int, seconds: float
    ) -> tuple[CodeAction, ...] | NoAnswer: ...
    async def action(self, id: str, seconds: float) -> tuple[Edit, ...] | NoAnswer: ...
    async def formatted(self, path: str, seconds: float) -> tuple[Edit, ...] | NoAnswer: ...
    def seen(self, path: str) -> None: ...
    def changed(self, paths: Sequence[str]) -> None:
        """Tell the servers that these files were created, written or deleted."""
        ...

    def rows(self) -> tuple[ServerRow, ...]: ...
    def watch(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Call `heard` on the loop whenever `rows()` or `published()` change. Returns a function that ends
        it."""
        ...

    async def command(self, verb: Literal["restart", "stop", "allow"], name: str) -> str: ...
    def log(self, name: str) -> Mapping[str, str]: ...
    async def close(self) -> None:
        """Stop every server within 3 s (shutdown, exit, then kill)."""
        ...


class IndexBackend(Protocol):
    """Definitions, uses and imports of every source file of one root, by tree-sitter."""

    def start(self) -> None:
        """Start to build or update in the background. Returns at once."""
        ...

    @property
    def progress(self) -> tuple[int, int]:
        """Files done and files known; equal when the index is complete."""
        ...

    async def whole(self, seconds: float) -> bool:
        """Wait until the index is complete; False on timeout."""
        ...

    async def outline(self, path: str) -> tuple[SymbolRow, ...]:
        """Definitions of a file as it is on disk now; empty if it cannot be parsed."""
        ...

    async def symbols(self, query: str, limit: int = 200) -> tuple[SymbolRow, ...]: ...
    async def named(self, path: str) -> tuple[SymbolRow, ...]:
        """Definitions that match a symbol path: `Class.method`, `pkg/mod.py:Class.method`."""
        ...

    async def related(self, relation: Relation, at: Position) -> tuple[SymbolRow, ...]: ...
    @property
    def is_cut(self) -> bool:
        """Whether the last answer of `related` is incomplete because too many files had to be read."""
        ...

    async def extent(self, at: Position) -> tuple[int, int] | None: ...
    async def hover(self, at: Position) -> str:
        """The first lines and the documentation of the definition; empty if there is none."""
        ...

    def changed(self, paths: Sequence[str]) -> None: ...
    def languages(self) -> Mapping[str, int]:
        """Number of files by language."""
        ...

    async def close(self) -> None: ...


def find_language(path: str, languages: Iterable[Language]) -> Language | None:
    """The first language with a glob that matches the file's name."""
    return next(find_languages(path, languages), None)


def find_languages(path: str, languages: Iterable[Language]) -> Iterator[Language]:
    """Every language with a glob that matches: a project may name servers for a language that has a
    grammar."""
    name = posixpath.basename(path.replace("\\", "/"))
    for language in languages:
        if any(fnmatchcase(name, glob) for glob in language.globs):
            yield language


@dataclass(frozen=True, slots=True)
class Backends:
    """The running backends; None for one that is not there. `late` is when (on the loop's clock) a ready
    server of a language last failed to answer in time."""

    servers: ServerBackend | None = None
    index: IndexBackend | None = None
    languages: tuple[Language, ...] = ()
    close: Callable[[], Awaitable[None]] | None = None
    late: dict[str, float] = field(default_factory=dict)


StartBackends = Callable[[], Awaitable[Backends]]
NO_BACKENDS = Backends()


class BackendLifecycle:
    """Starts the backends at first use, replaces them when languages or trust change, and closes them.

    `begin` is called once, at the first `sources()`, `soon()` or `warm()`.
    """

    def __init__(self, begin: StartBackends | None = None, sources: Backends = NO_BACKENDS) -> None:
        self._start_backends = begin
        self._sources = sources
        self._start_task: asyncio.Task[Backends] | None = None
        self._tasks: set[asyncio.Future[None]] = set()
        self._watchers: list[Callable[[], None]] = []
        self._unwatch: Callable[[], None] | None = None
        self._closed = False
        if sources.servers is not None:
            self._unwatch = sources.servers.watch(self._notify)

    @property
    def now(self) -> Backends:
        """The backends that have started; starts nothing."""
        return self._sources

    async def sources(self) -> Backends:
        """The backends, started if necessary. Cancelling the caller does not stop the start."""
        if self._start_backends is None or self._closed:
            return self._sources
        if self._start_task is None:
            self._start_task = asyncio.create_task(self._start(self._start_backends))
        return await asyncio.shield(self._start_task)

    def soon(self, use: Callable[[Backends], None]) -> None:
        """Call `use` with the backends now, or once they have started. Returns at once."""
        if self._closed:
            return
        if self._start_backends is None or (self._start_task is not None and self._start_task.done()):
            use(self._sources)
        else:
            self._track(asyncio.ensure_future(self._use_when_started(use)))

    def watch(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Call `heard` on the loop when servers, problems or the index's progress change. Returns a function
        that ends it."""
        self._watchers.append(heard)
        return lambda: self._watchers.remove(heard) if heard in self._watchers else None

    def warm(self) -> None:
        """Start in the background: the index, then the server of the language with the most files."""
        if not self._closed:
            self._track(asyncio.ensure_future(self._warm()))

    async def begin_again(self, begin: StartBackends) -> None:
        """Use `begin` from now on; backends that run are closed first."""
        was_started, self._start_backends = self._start_task is not None, begin
        if was_started:
            await self._end()
            self._sources, self._start_task = NO_BACKENDS, None
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
            self._unwatch = sources.servers.watch(self._notify)
        return sources

    def _track(self, task: "asyncio.Future[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _warm(self) -> None:
        live = await self.sources()
        if live.index is None or live.servers is None:
            return
        self._track(asyncio.create_task(self._follow(live)))
        await self._start_main_server(live, WARM_SECONDS)

    async def main_server(self, seconds: float) -> None:
        """Start the server of the language with the most files, and wait until it is ready or cannot
        start."""
        live = await self.sources()
        is_known = asyncio.Event()
        names: set[str] = set()

        def look() -> None:
            rows = live.servers.rows() if live.servers is not None else ()
            if any(row.name in names and row.state not in ("starting", "stopped") for row in rows):
                is_known.set()

        unwatch = self.watch(look)
        try:
            async with asyncio.timeout(seconds):
                main = await self._start_main_server(live, seconds)
                if main is not None:
                    names.update(server.name for server in main.servers if not server.beside)
                    look()
                    await is_known.wait()
        except TimeoutError:
            return
        finally:
            unwatch()

    async def _start_main_server(self, live: Backends, seconds: float) -> Language | None:
        """The language with the most files among those with servers; starts its server."""
        if live.index is None or live.servers is None:
            return None
        await live.index.whole(seconds)
        counts = live.index.languages()
        candidates = [
            language for language in live.languages if language.servers and counts.get(language.name)
        ]
        if not candidates:
            return None
        main = max(candidates, key=lambda language: counts[language.name])
        live.servers.seen(main.globs[0].replace("*", "main"))
        return main

    async def _follow(self, sources: Backends) -> None:
        """Report the index's progress until it is complete."""
        while sources.index is not None and not await sources.index.whole(POLL_SECONDS):
            self._notify()
        self._notify()

    async def _use_when_started(self, use: Callable[[Backends], None]) -> None:
        use(await self.sources())

    async def _end(self) -> None:
        if self._start_task is not None and not self._start_task.done():
            await asyncio.wait((self._start_task,), timeout=2.0)
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        sources = self._sources
        if sources.close is not None:
            await sources.close()
        closings = [backend.close() for backend in (sources.servers, sources.index) if backend is not None]
        await asyncio.gather(*closings, return_exceptions=True)

    def _notify(self) -> None:
        for heard in tuple(self._watchers):
            heard()
