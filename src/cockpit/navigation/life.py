"""The life of a root's servers and index: begun at the first need, changed when languages or trust do, ended
once. Answers nothing itself."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cockpit.navigation.contracts import Index, Servers
from cockpit.plugin.languages import Language

POLL = 0.5
WARM_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Sources:
    """Who can answer; None for what is not there. `late` is when (on the loop's clock) a ready server of
    a language last left a question unanswered."""

    servers: Servers | None = None
    index: Index | None = None
    languages: tuple[Language, ...] = ()
    close: Callable[[], Awaitable[None]] | None = None
    late: dict[str, float] = field(default_factory=dict)


Begin = Callable[[], Awaitable[Sources]]
NOTHING = Sources()


class Life:
    """`begin` is called once, at the first `sources()`, `soon()` or `warm()`."""

    def __init__(self, begin: Begin | None = None, sources: Sources = NOTHING) -> None:
        self._begin = begin
        self._sources = sources
        self._begun: asyncio.Task[Sources] | None = None
        self._tasks: set[asyncio.Future[None]] = set()
        self._watchers: list[Callable[[], None]] = []
        self._unwatch: Callable[[], None] | None = None
        self._closed = False
        if sources.servers is not None:
            self._unwatch = sources.servers.watch(self._heard)

    @property
    def now(self) -> Sources:
        """What has begun; nothing is begun for it."""
        return self._sources

    async def sources(self) -> Sources:
        """Begun, if they were not. Cancelling the caller does not end that."""
        if self._begin is None or self._closed:
            return self._sources
        if self._begun is None:
            self._begun = asyncio.create_task(self._start(self._begin))
        return await asyncio.shield(self._begun)

    def soon(self, use: Callable[[Sources], None]) -> None:
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

    async def begin_again(self, begin: Begin) -> None:
        """From now on `begin` says who answers; what has begun is ended first."""
        began, self._begin = self._begun is not None, begin
        if began:
            await self._end()
            self._sources, self._begun = NOTHING, None
            await self.sources()

    async def close(self) -> None:
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await self._end()
        self._watchers.clear()

    async def _start(self, begin: Begin) -> Sources:
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

    async def _see_main(self, live: Sources, seconds: float) -> Language | None:
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

    async def _follow(self, sources: Sources) -> None:
        """Tell of the index's progress until it is whole."""
        while sources.index is not None and not await sources.index.whole(POLL):
            self._heard()
        self._heard()

    async def _when_begun(self, use: Callable[[Sources], None]) -> None:
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
