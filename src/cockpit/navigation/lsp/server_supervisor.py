"""One server over all its starts: begun when needed, begun again when it dies, ended. Asks nothing of it."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cockpit.navigation.lsp.documents import DocumentTextCache
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.navigation.lsp.protocol import LspError, LspNotSupported, MalformedMessage
from cockpit.navigation.lsp.synchronization import ChangeSignal
from cockpit.plugin.languages import LanguageServer
from cockpit.protocol.code import ServerRow
from cockpit.workspace.processes.server_process import ServerLog

if TYPE_CHECKING:
    from cockpit.navigation.lsp.server_process import LspServer

SupervisorState = Literal["waiting", "absent", "starting", "ready", "stopped", "failed"]
RECHECK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class LspContext:
    """What the servers of a root share. `gate` says why one may not start (empty: it may), `find`
    its argv (empty: not installed); both are called in a thread. `room` ends another where there are
    too many."""

    root: str
    texts: DocumentTextCache
    limits: LspLimits
    gate: Callable[[LanguageServer], str]
    find: Callable[[LanguageServer], tuple[str, ...]]
    room: Callable[["LspSupervisor"], Awaitable[None]]
    id_of: Callable[[str], str]
    heard: Callable[[], None]


class LspSupervisor:
    """`language` is the one it was first needed for."""

    def __init__(self, spec: LanguageServer, language: str, house: LspContext, log: ServerLog) -> None:
        self.spec = spec
        self.language = language
        self.log = log
        self.state: SupervisorState = "stopped"
        self.detail = ""
        self.touched = False
        self.used = time.monotonic()
        self.megabytes = 0
        self.server: LspServer | None = None
        self._house = house
        self._bell = ChangeSignal()
        self._current: LspServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._deaths: list[float] = []
        self._checked = 0.0
        self._closed = False
        self._found = False
        self._held = False

    @property
    def is_up(self) -> bool:
        """Whether it has a process, or will have one soon."""
        return self._current is not None or self.state == "starting"

    def row(self) -> ServerRow:
        server = self.server
        log = str(self.log.path)
        if server is None or self.state != "ready":
            return ServerRow(self.language, self.spec.name, self.state, 0, 0, self.detail, log)
        working = server.incoming.working
        pid = server.child.pid if server.child is not None else 0
        state: Literal["indexing", "ready"] = "indexing" if working else "ready"
        return ServerRow(self.language, self.spec.name, state, pid, self.megabytes, working, log)

    def want(self) -> None:
        """Begin to start it where it is down and may start. Returns at once."""
        self.touched = True
        self.used = time.monotonic()
        again = self.state in ("absent", "waiting") and self.used - self._checked > RECHECK_SECONDS
        if not self._closed and not self._held and (self.state == "stopped" or again):
            self._begin()

    async def ready(self) -> "LspServer":
        """The running server, started if need be; the caller bounds the wait. Raises `Unable`."""
        self.want()
        while True:
            if self.server is not None and not self.server.is_over:
                self.used = time.monotonic()
                return self.server
            # One whose pipes are shut counts as ready until the loop hears of it.
            if self.state != "starting" and self.server is None:
                raise LspNotSupported(self.detail or f"{self.spec.name} is stopped")
            await self._bell.heard()

    async def is_usable(self) -> bool:
        """Whether it runs or is being started; waits only until its program was looked for."""
        self.want()
        while self.state == "starting" and not self._found:
            await self._bell.heard()
        return self.state in ("starting", "ready")

    async def stop(self, detail: str, held: bool = False) -> None:
        """End its process, all of it. It starts again at the next need; when `held`, at a
        restart."""
        self._held = held
        self._set("stopped", detail)
        self._ending = asyncio.create_task(self._end(self._ending), name=f"lsp-end-{self.spec.name}")
        await asyncio.shield(self._ending)

    async def restart(self) -> None:
        """End it and begin anew, whatever happened before. Returns when it is starting."""
        await self.stop("restarting")
        self._deaths.clear()
        self._begin()

    async def close(self) -> None:
        """End it for good."""
        self._closed = True
        await self.stop("closed")

    async def gave_up(self, why: str) -> None:
        """End it as if it had died: it begins again unless that happened too often."""
        current = self._current
        if current is not None:
            self.log.say("cockpit", why)
            self.detail = why
            await current.stop(politely=False)
            current.lost.set()

    def _begin(self) -> None:
        if self._closed or (self._task is not None and not self._task.done()):
            return
        self._checked = time.monotonic()
        self._found = False
        self._set("starting", "")
        self._task = asyncio.create_task(self._run(), name=f"lsp-{self.spec.name}")

    async def _run(self) -> None:
        # Wanted again while it ends: the new one waits for the old, so that each process has one owner.
        if self._ending is not None:
            await asyncio.wait({self._ending})
        while True:
            argv = await self._argv()
            if not argv:
                return
            await self._house.room(self)
            why = await self._live(argv)
            pause = self._died(why)
            if pause is None:
                return
            await asyncio.sleep(pause)
            self._set("starting", "")

    async def _argv(self) -> tuple[str, ...]:
        """What to start; empty, and the state says why, when nothing can be."""
        words = await asyncio.to_thread(self._house.gate, self.spec)
        if words:
            self._set("waiting", words)
            return ()
        argv = await asyncio.to_thread(self._house.find, self.spec)
        if not argv:
            install = self.spec.install
            self._set("absent", f"not installed; {install}" if install else "its program is not installed")
            return ()
        self._found = True
        self._bell.ring()
        return argv

    async def _live(self, argv: tuple[str, ...]) -> str:
        """One process from start to end; why it ended."""
        # The first import takes 30 ms: not on the loop.
        await asyncio.to_thread(import_module, "cockpit.navigation.lsp.server_process")
        from cockpit.navigation.lsp.server_process import LspServer

        house = self._house
        folder = await asyncio.to_thread(_server_folder, house.root, self.spec.folder)
        server = LspServer(
            self.spec, folder, house.texts, self.log, house.limits, house.id_of, house.heard, house.root
        )
        self._current = server
        try:
            async with asyncio.timeout(self.spec.startup_seconds):
                await server.start(argv)
        except TimeoutError:
            why = f"did not start within {self.spec.startup_seconds:g} s"
        except (OSError, LspError, MalformedMessage) as error:
            why = f"did not start: {error}"
        # Foreign: what another program said brought this about; its state must not stay "starting" for ever.
        except Exception as error:
            self.log.say("cockpit", "".join(traceback.format_exception(error)))
            why = f"did not start: {type(error).__name__}: {error}"
        else:
            self.server = server
            self._set("ready", "")
            await server.lost.wait()
            why = self.detail or "ended by itself"
        self.server = None
        self._set("starting", why)
        await server.stop(politely=False)
        self._current = None
        return why

    def _died(self, why: str) -> float | None:
        """Seconds until it may begin again; None when it may not."""
        now = time.monotonic()
        limits = self._house.limits
        self._deaths = [at for at in self._deaths if now - at < limits.memory_of_deaths] + [now]
        count = len(self._deaths)
        self.log.say("cockpit", f"{self.spec.name} {why}")
        if count > limits.restarts or not self.spec.restart:
            name = self.spec.name
            times = f", {count} times in a row" if count > 1 else ""
            self._set("failed", f"{why}{times}; /lsp log {name} says why, /lsp restart {name} tries again")
            return None
        pause = limits.backoff * 2.0 ** (count - 1)
        self._set("starting", f"{why}; starts again in {pause:g} s ({count} of {limits.restarts})")
        return pause

    async def _end(self, previous: asyncio.Task[None] | None) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        current, self._current, self.server = self._current, None, None
        if current is not None:
            await current.stop()
        if previous is not None:
            await asyncio.wait({previous})

    def _set(self, state: SupervisorState, detail: str) -> None:
        self.state, self.detail = state, detail
        self._bell.ring()
        self._house.heard()


def _server_folder(root: str, named: str) -> str:
    """Where a server runs: the root, or the folder of it that its entry names."""
    below = Path(root, named)
    return str(below) if named and below.is_dir() else root
