"""Plugin code that runs beside the turns: observers of events, each with a bounded queue, and residents.

Residents start after the first paint, stop within 2 s and are restarted with backoff when they fail. Their
states are shown as the panel `residents`.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from cockpit.plugin.values import Observer, Resident, ResidentContext
from cockpit.protocol.events import Envelope, Event, PanelChanged
from cockpit.protocol.rows import PanelRow
from cockpit.protocol.wire import kind_of

QUEUE_SIZE = 1_000


class Observers:
    """The observers of one session. `warn` reports each that fails, once."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._by_kind: dict[str, list[_ObserverQueue]] = {}
        self._watchers: dict[str, _ObserverQueue] = {}

    def keep(self, observers: tuple[Observer, ...]) -> None:
        """Use exactly these observers from now on."""
        for watcher in self._watchers.values():
            watcher.stop()
        self._watchers = {observer.name: _ObserverQueue(observer, self._warn) for observer in observers}
        self._by_kind = {}
        for watcher in self._watchers.values():
            for kind in watcher.observer.kinds:
                self._by_kind.setdefault(kind, []).append(watcher)

    def see(self, envelope: Envelope) -> None:
        """Queue an envelope for every observer of its kind. Does not wait."""
        if not self._by_kind:
            return
        for watcher in self._by_kind.get(kind_of(type(envelope.event)), ()):
            watcher.put(envelope)

    async def stop(self) -> None:
        """Let each process its queue, for at most a second."""
        tasks = [task for watcher in self._watchers.values() if (task := watcher.drain())]
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        for watcher in self._watchers.values():
            watcher.stop()


class _ObserverQueue:
    """One observer and its queue; a full queue drops its oldest events."""

    def __init__(self, observer: Observer, warn: Callable[[str], None]) -> None:
        self.observer = observer
        self._warn = warn
        self._queue: deque[Envelope] = deque(maxlen=QUEUE_SIZE)
        self._task: asyncio.Task[None] | None = None
        self._has_warned = False

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
            # Plugin code: an observer that raises continues with the next event.
            except (Exception, SystemExit) as error:
                if not self._has_warned:
                    self._has_warned = True
                    self._warn(f"the observer {self.observer.name} failed: {type(error).__name__}: {error}")


STOP_SECONDS = 2.0
FIRST_BACKOFF = 0.5
MAX_BACKOFF = 30.0


class Residents:
    """The residents of one process, root or session."""

    def __init__(self, root: str, session: str, emit: Callable[[Event], object]) -> None:
        self._root = root
        self._session = session
        self._emit = emit
        self._tasks: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._states: dict[str, str] = {}

    def keep(self, residents: tuple[Resident, ...]) -> None:
        """Run exactly these residents; one that already runs is not restarted."""
        by_name = {resident.name: resident for resident in residents}
        for name in [name for name in self._tasks if name not in by_name]:
            self._leaving.add(asyncio.create_task(self._end(name, *self._tasks.pop(name))))
        for name, resident in by_name.items():
            if name not in self._tasks:
                stop = asyncio.Event()
                self._tasks[name] = asyncio.create_task(self._live(resident, stop)), stop

    async def stop(self) -> None:
        """Stop them all; one that has not ended after 2 s is cancelled."""
        running, self._tasks = self._tasks, {}
        ends = [self._end(name, *task) for name, task in running.items()]
        await asyncio.gather(*ends, *self._leaving)

    async def _end(self, name: str, task: "asyncio.Task[None]", stop: asyncio.Event) -> None:
        stop.set()
        _, late = await asyncio.wait((task,), timeout=STOP_SECONDS)
        if late:
            task.cancel()
        self._show(name, "stopped")

    async def _live(self, resident: Resident, stop: asyncio.Event) -> None:
        wait = FIRST_BACKOFF
        context = ResidentContext(
            self._root, self._session, lambda text: self._show(resident.name, text), self._emit_panel
        )
        while not stop.is_set():
            self._show(resident.name, "starting")
            started = asyncio.get_running_loop().time()
            try:
                async with resident.run(context):
                    # Keep the state it reported itself while it started.
                    if self._states[resident.name] == "starting":
                        self._show(resident.name, "running")
                    await stop.wait()
            # Plugin code: a resident that fails is started again, with backoff.
            except (Exception, SystemExit) as error:
                self._show(resident.name, f"failed: {type(error).__name__}: {error}")
            if asyncio.get_running_loop().time() - started > MAX_BACKOFF:
                wait = FIRST_BACKOFF
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), wait)
            wait = min(2 * wait, MAX_BACKOFF)

    def _show(self, name: str, state: str) -> None:
        self._states[name] = state
        rows = tuple(PanelRow(name, state) for name, state in sorted(self._states.items()))
        self._emit(PanelChanged("residents", rows))

    def _emit_panel(self, event: object) -> None:
        if not isinstance(event, PanelChanged):
            raise TypeError(f"a resident emits PanelChanged, not {type(event).__name__}")
        self._emit(event)
