"""What lives beside the turns: started after the first paint, stopped within 2 s, started again
with backoff when it fails. Their states go to Work as the panel `residents`."""

import asyncio
import contextlib
from collections.abc import Callable

from cockpit.plugin.values import Resident, ResidentContext
from cockpit.protocol.events import Event, PanelChanged
from cockpit.protocol.rows import PanelRow

STOP_SECONDS = 2.0
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0


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
        """Run exactly these: one that runs already goes on, whatever was reloaded around it."""
        wanted = {one.name: one for one in residents}
        for name in [name for name in self._tasks if name not in wanted]:
            self._leaving.add(asyncio.create_task(self._end(name, *self._tasks.pop(name))))
        for name, resident in wanted.items():
            if name not in self._tasks:
                stop = asyncio.Event()
                self._tasks[name] = asyncio.create_task(self._live(resident, stop)), stop

    async def stop(self) -> None:
        """Let them all leave; one that has not left after 2 s is cancelled."""
        running, self._tasks = self._tasks, {}
        ends = [self._end(name, *one) for name, one in running.items()]
        await asyncio.gather(*ends, *self._leaving)

    async def _end(self, name: str, task: "asyncio.Task[None]", stop: asyncio.Event) -> None:
        stop.set()
        _, late = await asyncio.wait((task,), timeout=STOP_SECONDS)
        if late:
            task.cancel()
        self._say(name, "stopped")

    async def _live(self, resident: Resident, stop: asyncio.Event) -> None:
        wait = FIRST_WAIT
        context = ResidentContext(
            self._root, self._session, lambda text: self._say(resident.name, text), self._emit_foreign
        )
        while not stop.is_set():
            self._say(resident.name, "starting")
            started = asyncio.get_running_loop().time()
            try:
                async with resident.run(context):
                    # What it said of itself while it started tells more.
                    if self._states[resident.name] == "starting":
                        self._say(resident.name, "running")
                    await stop.wait()
            # Foreign code: a resident that fails is started again, with backoff.
            except (Exception, SystemExit) as error:
                self._say(resident.name, f"failed: {type(error).__name__}: {error}")
            if asyncio.get_running_loop().time() - started > LONGEST_WAIT:
                wait = FIRST_WAIT
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _say(self, name: str, state: str) -> None:
        self._states[name] = state
        rows = tuple(PanelRow(one, its) for one, its in sorted(self._states.items()))
        self._emit(PanelChanged("residents", rows))

    def _emit_foreign(self, event: object) -> None:
        if not isinstance(event, PanelChanged):
            raise TypeError(f"a resident emits PanelChanged, not {type(event).__name__}")
        self._emit(event)
