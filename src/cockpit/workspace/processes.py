"""Child processes on this machine: each in a group of its own, its output streamed and bounded, its
environment scrubbed, and held in where its launch says so. Decides nothing of what may run.

Two lives: `run` is over when it returns, whatever the command left behind is ended with it;
a job (`start`) goes on until it ends, is cancelled, or the workspace closes.
"""

import asyncio
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.plugin.context import Ended, JobView
from cockpit.plugin.launching import Isolation, Launch, SealBroken
from cockpit.workspace import environment as environments
from cockpit.workspace import shells
from cockpit.workspace.children import Process, ProcessFailed, feed, new_mark, not_found, spawn, whole
from cockpit.workspace.jobs import Jobs
from cockpit.workspace.sandbox.values import Held, SandboxSettings

if TYPE_CHECKING:
    from cockpit.workspace.sandbox.holding import Sandbox

__all__ = ["LocalProcesses", "ProcessFailed"]

CLOSED = "the workspace is closed; open the session again to run programs"
# What bubblewrap says when it could not set up the sandbox: the command has not run.
NOT_SET_UP = "bwrap: "


class LocalProcesses:
    """`Processes` on this machine. `close` ends everything that still runs. `linked` are folders outside of
    the root that held programs see, read-only."""

    def __init__(
        self, root: str, sandbox: SandboxSettings | None = None, linked: tuple[str, ...] = ()
    ) -> None:
        self._root = root
        self._linked = linked
        self._settings = sandbox or SandboxSettings()
        self._sandbox: Sandbox | None = None
        self._running: dict[Process, Held | None] = {}
        self._jobs = Jobs(self._let_go)
        self._closed = False

    def shell(self, command: str) -> tuple[str, ...]:
        if sys.platform == "win32":
            return shells.windows_shell(command, shutil.which)
        return shells.posix_shell(command, shutil.which)

    async def isolation(self) -> Isolation:
        return await (await self._box()).isolation()

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = "",
        stdin: bytes = b"",
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> Ended:
        """Raises `ProcessFailed` when the program cannot be started."""
        process = await self._plain(argv, cwd, bool(stdin), on_output, environment, apart)
        if stdin:
            feed(process, stdin)
        return await self._to_the_end(process, seconds)

    async def run_sealed(
        self,
        launch: Launch,
        seal: str,
        *,
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
    ) -> Ended:
        """Raises `ProcessFailed`, `SealBroken` and `SandboxMissing`."""
        process, held = await self._sealed(launch, seal, False, on_output)
        ended = await self._to_the_end(process, seconds)
        if held.fds and ended.code == 1 and ended.output.startswith(NOT_SET_UP):
            raise ProcessFailed(f"the sandbox could not be set up, nothing ran: {ended.output.strip()[:400]}")
        return replace(ended, isolation=held.label)

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        return self._jobs.add(await self._plain(argv, cwd, True, None, None), label or " ".join(argv))

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        process, _ = await self._sealed(launch, seal, True, None)
        return self._jobs.add(process, label or " ".join(launch.argv))

    async def _to_the_end(self, process: Process, seconds: float) -> Ended:
        timed_out = False
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await process.child.ended.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await whole(self._let_go(process))
        output, errors = process.child.output, process.child.errors.text()
        code = process.code if process.code is not None else -9
        seconds = time.monotonic() - process.started
        return Ended(code, output.text(), seconds, output.dropped, timed_out, errors=errors)

    async def _let_go(self, process: Process) -> None:
        await process.finish()
        held = self._running.pop(process, None)
        if held is not None and (said := await (await self._box()).release(held)):
            process.child.output.feed(said.encode(errors="replace"))

    async def _plain(
        self,
        argv: tuple[str, ...],
        cwd: str,
        has_stdin: bool,
        on_output: Callable[[str], None] | None,
        environment: Mapping[str, str] | None,
        apart: bool = False,
    ) -> Process:
        self._must_be_open()
        mark = new_mark()
        folder = os.path.join(self._root, cwd) if cwd else self._root
        variables = environments.scrubbed(os.environ, environment) | dict((mark.variable,))
        process = await spawn(
            argv, folder, variables, mark, has_stdin=has_stdin, on_output=on_output, apart=apart
        )
        return await self._known(process, None)

    async def _sealed(
        self, launch: Launch, seal: str, has_stdin: bool, on_output: Callable[[str], None] | None
    ) -> tuple[Process, Held]:
        self._must_be_open()
        if launch.seal() != seal:
            raise SealBroken("what would run is not what was approved; nothing was started", "call it again")
        mark = new_mark()
        box = await self._box()
        held = await _held(box, launch, mark.variable)
        try:
            _must_be_there(launch, held)
            process = await spawn(
                held.argv,
                launch.cwd,
                held.environment,
                mark,
                has_stdin=has_stdin,
                on_output=on_output,
                fds=held.fds,
            )
        except BaseException:
            await whole(box.release(held))
            raise
        finally:
            for fd in held.fds:
                os.close(fd)
        return await self._known(process, held), held

    async def _known(self, process: Process, held: Held | None) -> Process:
        self._running[process] = held
        if self._closed:
            await whole(self._let_go(process))
            raise ProcessFailed(CLOSED)
        return process

    async def _box(self) -> "Sandbox":
        """The sandbox, made with the first question for it: a start does not wait for it."""
        if self._sandbox is None:
            made = await asyncio.to_thread(_sandbox_of, self._root, self._settings, self._linked)
            self._sandbox = self._sandbox or made
        return self._sandbox

    def _must_be_open(self) -> None:
        if self._closed:
            raise ProcessFailed(CLOSED)

    async def output(self, job: str, cursor: int = 0) -> tuple[str, int]:
        return self._jobs.output(job, cursor)

    async def wait(self, job: str, seconds: float) -> JobView:
        """The job when it has ended, or as it is after `seconds`."""
        return await self._jobs.wait(job, seconds)

    async def write(self, job: str, text: str) -> None:
        self._jobs.write(job, text)

    async def cancel(self, job: str) -> JobView:
        return await self._jobs.cancel(job)

    def jobs(self) -> tuple[JobView, ...]:
        return self._jobs.views()

    async def close(self) -> None:
        """End every process. What is started later is refused."""
        self._closed = True
        await asyncio.gather(*(self._let_go(process) for process in tuple(self._running)))
        await self._jobs.all_over()
        if self._sandbox is not None:
            self._sandbox.close()


def _must_be_there(launch: Launch, held: Held) -> None:
    """Said by its name, as without a sandbox, instead of by the words of what starts it."""
    program = launch.argv[0]
    path = held.environment.get("PATH", "") if not held.fds else None
    named = os.path.join(launch.cwd, program) if os.sep in program else program
    if not os.path.isdir(launch.cwd) or shutil.which(named, path=path) is None:
        raise not_found(program, launch.cwd)


def _sandbox_of(root: str, settings: SandboxSettings, linked: tuple[str, ...]) -> "Sandbox":
    from cockpit.workspace.sandbox.holding import Sandbox
    from cockpit.workspace.sandbox.places import surroundings

    return Sandbox(surroundings(root, linked), settings)


async def _held(sandbox: "Sandbox", launch: Launch, mark: tuple[str, str]) -> Held:
    """How `launch` is held. Cancelled while that is made ready, it cleans up what was made."""
    making = asyncio.ensure_future(sandbox.hold(launch, mark))
    try:
        return await asyncio.shield(making)
    except OSError as error:
        raise ProcessFailed(f"the sandbox could not be made ready, nothing ran: {error}") from error
    except asyncio.CancelledError:
        await whole(_undone(sandbox, making))
        raise


async def _undone(sandbox: "Sandbox", making: "asyncio.Future[Held]") -> None:
    await asyncio.wait({making})
    if making.cancelled() or making.exception() is not None:
        return
    held = making.result()
    for fd in held.fds:
        os.close(fd)
    await sandbox.release(held)
