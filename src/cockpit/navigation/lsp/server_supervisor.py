"""Supervises one server across restarts: starts it when needed, restarts it when it dies, stops it. Sends
it no questions."""

import asyncio
import time
import traceback
from pathlib import Path
from typing import Literal

from cockpit.navigation.lsp.protocol import LspError, LspNotSupported, MalformedMessage
from cockpit.navigation.lsp.server_process import LspContext, LspServer
from cockpit.navigation.lsp.synchronization import ChangeSignal
from cockpit.plugin.languages import LanguageServer
from cockpit.protocol.code import ServerRow
from cockpit.workspace.processes.server_process import ServerLog

SupervisorState = Literal["waiting", "absent", "starting", "ready", "stopped", "failed"]
RECHECK_SECONDS = 2.0


class LspSupervisor:
    """The supervisor of one server. `language` is that of the file it was first started for."""

    def __init__(self, spec: LanguageServer, language: str, context: LspContext, log: ServerLog) -> None:
        self.spec = spec
        self.language = language
        self.log = log
        self.state: SupervisorState = "stopped"
        self.detail = ""
        self.was_wanted = False
        self.used = time.monotonic()
        self.megabytes = 0
        self.server: LspServer | None = None
        self._context = context
        self._signal = ChangeSignal()
        self._current: LspServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._deaths: list[float] = []
        self._checked = 0.0
        self._is_closed = False
        self._is_installed = False
        self._stays_stopped = False

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
        """Start it in the background if it is down and may start. Returns at once."""
        self.was_wanted = True
        self.used = time.monotonic()
        may_retry = self.state in ("absent", "waiting") and self.used - self._checked > RECHECK_SECONDS
        if not self._is_closed and not self._stays_stopped and (self.state == "stopped" or may_retry):
            self._start()

    async def ready(self) -> LspServer:
        """The running server, started if necessary; the caller bounds the wait. Raises `LspNotSupported`."""
        self.want()
        while True:
            if self.server is not None and not self.server.is_over:
                self.used = time.monotonic()
                return self.server
            # A server whose pipes are closed counts as ready until the loop is notified.
            if self.state != "starting" and self.server is None:
                raise LspNotSupported(self.detail or f"{self.spec.name} is stopped")
            await self._signal.wait()

    async def is_usable(self) -> bool:
        """Whether it runs or is being started; waits only until its program has been searched for."""
        self.want()
        while self.state == "starting" and not self._is_installed:
            await self._signal.wait()
        return self.state in ("starting", "ready")

    async def stop(self, detail: str, stays_stopped: bool = False) -> None:
        """Stop its process group. It starts again at the next use, or if `stays_stopped` only after
        `restart`."""
        self._stays_stopped = stays_stopped
        self._set("stopped", detail)
        self._ending = asyncio.create_task(self._end(self._ending), name=f"lsp-end-{self.spec.name}")
        await asyncio.shield(self._ending)

    async def restart(self) -> None:
        """Stop it and start again, whatever happened before. Returns while it is starting."""
        await self.stop("restarting")
        self._deaths.clear()
        self._start()

    async def close(self) -> None:
        """Stop it for good."""
        self._is_closed = True
        await self.stop("closed")

    async def kill_and_restart(self, reason: str) -> None:
        """Kill it as if it had died: it is restarted unless that happened too often."""
        current = self._current
        if current is not None:
            self.log.say("cockpit", reason)
            self.detail = reason
            await current.stop(politely=False)
            current.lost.set()

    def _start(self) -> None:
        if self._is_closed or (self._task is not None and not self._task.done()):
            return
        self._checked = time.monotonic()
        self._is_installed = False
        self._set("starting", "")
        self._task = asyncio.create_task(self._run(), name=f"lsp-{self.spec.name}")

    async def _run(self) -> None:
        # Wanted again while it is stopping: wait for the old process, so that there is only one.
        if self._ending is not None:
            await asyncio.wait({self._ending})
        while True:
            argv = await self._find_argv()
            if not argv:
                return
            await self._context.make_room(self.spec)
            reason = await self._run_process(argv)
            pause = self._plan_restart(reason)
            if pause is None:
                return
            await asyncio.sleep(pause)
            self._set("starting", "")

    async def _find_argv(self) -> tuple[str, ...]:
        """The command line to start; empty if the server cannot start, with the reason in its state."""
        obstacle = await asyncio.to_thread(self._context.gate, self.spec)
        if obstacle:
            self._set("waiting", obstacle)
            return ()
        argv = await asyncio.to_thread(self._context.find, self.spec)
        if not argv:
            install = self.spec.install
            self._set("absent", f"not installed; {install}" if install else "its program is not installed")
            return ()
        self._is_installed = True
        self._signal.notify()
        return argv

    async def _run_process(self, argv: tuple[str, ...]) -> str:
        """Run one process from start to end; returns why it ended."""
        context = self._context
        named = Path(context.root, self.spec.folder)
        folder = str(named) if await asyncio.to_thread(named.is_dir) else context.root
        server = self._current = LspServer(self.spec, folder, self.log, context)
        try:
            async with asyncio.timeout(self.spec.startup_seconds):
                await server.start(argv)
        except TimeoutError:
            reason = f"did not start within {self.spec.startup_seconds:g} s"
        except (OSError, LspError, MalformedMessage) as error:
            reason = f"did not start: {error}"
        # Caused by another program's messages: the state must not stay "starting" for ever.
        except Exception as error:
            self.log.say("cockpit", "".join(traceback.format_exception(error)))
            reason = f"did not start: {type(error).__name__}: {error}"
        else:
            self.server = server
            self._set("ready", "")
            await server.lost.wait()
            reason = self.detail or "ended by itself"
        self.server = None
        self._set("starting", reason)
        await server.stop(politely=False)
        self._current = None
        return reason

    def _plan_restart(self, reason: str) -> float | None:
        """Seconds until the next start; None if it may not start again."""
        now = time.monotonic()
        limits = self._context.limits
        self._deaths = [at for at in self._deaths if now - at < limits.memory_of_deaths] + [now]
        count = len(self._deaths)
        self.log.say("cockpit", f"{self.spec.name} {reason}")
        if count > limits.restarts or not self.spec.restart:
            name = self.spec.name
            repetitions = f", {count} times in a row" if count > 1 else ""
            self._set(
                "failed", f"{reason}{repetitions}; see /lsp log {name}; /lsp restart {name} tries again"
            )
            return None
        pause = limits.backoff * 2.0 ** (count - 1)
        self._set("starting", f"{reason}; starts again in {pause:g} s ({count} of {limits.restarts})")
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
        self._signal.notify()
        self._context.on_change()
