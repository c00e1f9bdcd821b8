"""The two backends of the navigator, language servers and index: when they start, and when they close."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cockpit.plugin.languages import Language

if TYPE_CHECKING:
    from cockpit.navigation.index.client import TreeIndex
    from cockpit.navigation.lsp.language_servers import LanguageServers

POLL_SECONDS = 0.5
WARM_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Backends:
    """The running backends; None for one that is not there. `late` is when (on the loop's clock) a ready
    server of a language last failed to answer in time."""

    servers: "LanguageServers | None" = None
    index: "TreeIndex | None" = None
    languages: tuple[Language, ...] = ()
    unwatch: Callable[[], None] | None = None
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
            return

        async def use_when_started() -> None:
            use(await self.sources())

        self._track(asyncio.ensure_future(use_when_started()))

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` on the loop when servers, problems or the index's progress change. Returns a
        function that ends it."""
        self._watchers.append(listener)
        return lambda: self._watchers.remove(listener) if listener in self._watchers else None

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
        if live.index is not None and live.servers is not None:
            self._track(asyncio.create_task(self._follow_progress(live.index)))
            await self._start_main_server(live, WARM_SECONDS)

    async def main_server(self, seconds: float) -> None:
        """Start the server of the language with the most files, and wait until it is ready or cannot
        start."""
        live = await self.sources()
        is_known = asyncio.Event()
        names: set[str] = set()

        def check() -> None:
            rows = live.servers.rows() if live.servers is not None else ()
            if any(row.name in names and row.state not in ("starting", "stopped") for row in rows):
                is_known.set()

        unwatch = self.watch(check)
        try:
            async with asyncio.timeout(seconds):
                main = await self._start_main_server(live, seconds)
                if main is not None:
                    names.update(server.name for server in main.servers if not server.beside)
                    check()
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
        candidates = [each for each in live.languages if each.servers and counts.get(each.name)]
        main = max(candidates, key=lambda language: counts[language.name], default=None)
        if main is not None:
            live.servers.seen(main.globs[0].replace("*", "main"))
        return main

    async def _follow_progress(self, index: "TreeIndex") -> None:
        while not await index.whole(POLL_SECONDS):
            self._notify()
        self._notify()

    async def _end(self) -> None:
        if self._start_task is not None and not self._start_task.done():
            await asyncio.wait((self._start_task,), timeout=2.0)
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        sources = self._sources
        if sources.unwatch is not None:
            sources.unwatch()
        closings = [backend.close() for backend in (sources.servers, sources.index) if backend is not None]
        await asyncio.gather(*closings, return_exceptions=True)

    def _notify(self) -> None:
        for listener in tuple(self._watchers):
            listener()
