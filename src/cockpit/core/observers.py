"""Plugins that watch events of named kinds, each from a bounded queue of its own."""

import asyncio
from collections import deque
from collections.abc import Callable

from cockpit.plugin.values import Observer
from cockpit.protocol.events import Envelope
from cockpit.protocol.wire import kind_of

QUEUE = 1_000


class Observers:
    """The observers of one session. `warn` is told of each one that fails, once."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._by_kind: dict[str, list[_Watcher]] = {}
        self._watchers: dict[str, _Watcher] = {}

    def keep(self, observers: tuple[Observer, ...]) -> None:
        """Watch with exactly these from now on."""
        for watcher in self._watchers.values():
            watcher.stop()
        self._watchers = {one.name: _Watcher(one, self._warn) for one in observers}
        self._by_kind = {}
        for watcher in self._watchers.values():
            for kind in watcher.observer.kinds:
                self._by_kind.setdefault(kind, []).append(watcher)

    def see(self, envelope: Envelope) -> None:
        """Hand an envelope to whoever asked for its kind. Does not wait."""
        if not self._by_kind:
            return
        for watcher in self._by_kind.get(kind_of(type(envelope.event)), ()):
            watcher.put(envelope)

    async def stop(self) -> None:
        """Let each finish what waits, for at most a second."""
        tasks = [task for watcher in self._watchers.values() if (task := watcher.drain())]
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        for watcher in self._watchers.values():
            watcher.stop()


class _Watcher:
    """One observer and its queue; a full queue loses its oldest."""

    def __init__(self, observer: Observer, warn: Callable[[str], None]) -> None:
        self.observer = observer
        self._warn = warn
        self._queue: deque[Envelope] = deque(maxlen=QUEUE)
        self._task: asyncio.Task[None] | None = None
        self._said = False

    def put(self, envelope: Envelope) -> None:
        self._queue.append(envelope)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())

    def drain(self) -> "asyncio.Task[None] | None":
        return self._task if self._task is not None and not self._task.done() else None

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        while self._queue:
            envelope = self._queue.popleft()
            try:
                await self.observer.see(envelope)
            # Foreign code: an observer that raises goes on with the next event.
            except (Exception, SystemExit) as error:
                self._complain(error)

    def _complain(self, error: Exception | SystemExit) -> None:
        if not self._said:
            self._said = True
            self._warn(f"the observer {self.observer.name} failed: {type(error).__name__}: {error}")
