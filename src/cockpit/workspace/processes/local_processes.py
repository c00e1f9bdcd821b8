"""Background processes under their ids: what they wrote, how they stand, how they end. Starts none.

Child processes on this machine: each in a group of its own, its output streamed and bounded, its
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
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cockpit.plugin.context import JobView, ProcessResult
from cockpit.plugin.workspace import Isolation, Launch, SealBroken
from cockpit.workspace import environment as environments
from cockpit.workspace.processes import process_tree, shells
from cockpit.workspace.processes.child_process import (
    ChildProcess,
    ProcessFailed,
    make_mark,
    not_found_error,
    run_to_completion,
    spawn_child,
    write_stdin,
)
from cockpit.workspace.sandbox.values import SandboxedLaunch, SandboxSettings

if TYPE_CHECKING:
    from cockpit.workspace.sandbox.sandbox import Sandbox


MAX_JOBS = 64


@dataclass(slots=True)
class BackgroundJob:
    """A background process under its id."""

    id: str
    label: str
    process: ChildProcess
    watch: asyncio.Task[None]
    began: float

    def view(self) -> JobView:
        output = self.process.child.output
        running = not self.watch.done()
        code = None if running else self.process.code
        return JobView(self.id, self.label, running, code, self.began, output.total)


class JobTable:
    """The jobs of one workspace. `let_go` is what cleans up after one that has ended."""

    def __init__(self, let_go: Callable[[ChildProcess], Awaitable[None]]) -> None:
        self._let_go = let_go
        self._jobs: dict[str, BackgroundJob] = {}
        self._count = 0

    def add(self, process: ChildProcess, label: str) -> str:
        self._count += 1
        name = f"job-{self._count}"
        watch = asyncio.create_task(self._watch(process), name=name)
        self._jobs[name] = BackgroundJob(name, label, process, watch, time.time())
        self._forget_oldest()
        return name

    def views(self) -> tuple[JobView, ...]:
        return tuple(job.view() for job in self._jobs.values())

    def output(self, name: str, cursor: int) -> tuple[str, int]:
        return self._job(name).process.child.output.since(cursor)

    async def wait(self, name: str, seconds: float) -> JobView:
        found = self._job(name)
        await asyncio.wait({found.watch}, timeout=max(seconds, 0.0))
        return found.view()

    def write(self, name: str, text: str) -> None:
        found = self._job(name)
        pipe = found.process.transport.get_pipe_transport(0)
        if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing() or found.watch.done():
            raise ProcessFailed(f"{name} reads no input any more; start it again")
        pipe.write(text.encode())

    async def cancel(self, name: str) -> JobView:
        found = self._job(name)
        await run_to_completion(_end_job(found))
        return found.view()

    async def all_over(self) -> None:
        await asyncio.gather(*(job.watch for job in self._jobs.values()))

    async def _watch(self, process: ChildProcess) -> None:
        await process.child.ended.wait()
        await self._let_go(process)

    def _forget_oldest(self) -> None:
        ended = [name for name, job in self._jobs.items() if job.watch.done()]
        for name in ended[: max(len(self._jobs) - MAX_JOBS, 0)]:
            del self._jobs[name]

    def _job(self, name: str) -> BackgroundJob:
        found = self._jobs.get(name)
        if found is None:
            known = ", ".join(self._jobs) or "none was started"
            raise ProcessFailed(f"there is no job {name}; known: {known}")
        return found


async def _end_job(job: BackgroundJob) -> None:
    if not job.watch.done():
        await process_tree.end_tree(job.process.family)
        await job.watch


__all__ = ["LocalProcesses", "ProcessFailed"]

CLOSED_MESSAGE = "the workspace is closed; open the session again to run programs"
# What bubblewrap says when it could not set up the sandbox: the command has not run.
BWRAP_ERROR_PREFIX = "bwrap: "


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
        self._running: dict[ChildProcess, SandboxedLaunch | None] = {}
        self._jobs = JobTable(self._let_go)
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
    ) -> ProcessResult:
        """Raises `ProcessFailed` when the program cannot be started."""
        process = await self._plain(argv, cwd, bool(stdin), on_output, environment, apart)
        if stdin:
            write_stdin(process, stdin)
        return await self._to_the_end(process, seconds)

    async def run_sealed(
        self,
        launch: Launch,
        seal: str,
        *,
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
    ) -> ProcessResult:
        """Raises `ProcessFailed`, `SealBroken` and `SandboxMissing`."""
        process, held = await self._sealed(launch, seal, False, on_output)
        ended = await self._to_the_end(process, seconds)
        if held.fds and ended.code == 1 and ended.output.startswith(BWRAP_ERROR_PREFIX):
            raise ProcessFailed(f"the sandbox could not be set up, nothing ran: {ended.output.strip()[:400]}")
        return replace(ended, isolation=held.label)

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        return self._jobs.add(await self._plain(argv, cwd, True, None, None), label or " ".join(argv))

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        process, _ = await self._sealed(launch, seal, True, None)
        return self._jobs.add(process, label or " ".join(launch.argv))

    async def _to_the_end(self, process: ChildProcess, seconds: float) -> ProcessResult:
        timed_out = False
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await process.child.ended.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await run_to_completion(self._let_go(process))
        output, errors = process.child.output, process.child.errors.text()
        code = process.code if process.code is not None else -9
        seconds = time.monotonic() - process.started
        return ProcessResult(code, output.text(), seconds, output.dropped, timed_out, errors=errors)

    async def _let_go(self, process: ChildProcess) -> None:
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
    ) -> ChildProcess:
        self._must_be_open()
        mark = make_mark()
        folder = os.path.join(self._root, cwd) if cwd else self._root
        variables = environments.scrub_environment(os.environ, environment) | dict((mark.variable,))
        process = await spawn_child(
            argv, folder, variables, mark, has_stdin=has_stdin, on_output=on_output, apart=apart
        )
        return await self._known(process, None)

    async def _sealed(
        self, launch: Launch, seal: str, has_stdin: bool, on_output: Callable[[str], None] | None
    ) -> tuple[ChildProcess, SandboxedLaunch]:
        self._must_be_open()
        if launch.seal() != seal:
            raise SealBroken("what would run is not what was approved; nothing was started", "call it again")
        mark = make_mark()
        box = await self._box()
        held = await _prepare_launch(box, launch, mark.variable)
        try:
            _require_program(launch, held)
            process = await spawn_child(
                held.argv,
                launch.cwd,
                held.environment,
                mark,
                has_stdin=has_stdin,
                on_output=on_output,
                fds=held.fds,
            )
        except BaseException:
            await run_to_completion(box.release(held))
            raise
        finally:
            for fd in held.fds:
                os.close(fd)
        return await self._known(process, held), held

    async def _known(self, process: ChildProcess, held: SandboxedLaunch | None) -> ChildProcess:
        self._running[process] = held
        if self._closed:
            await run_to_completion(self._let_go(process))
            raise ProcessFailed(CLOSED_MESSAGE)
        return process

    async def _box(self) -> "Sandbox":
        """The sandbox, made with the first question for it: a start does not wait for it."""
        if self._sandbox is None:
            made = await asyncio.to_thread(_make_sandbox, self._root, self._settings, self._linked)
            self._sandbox = self._sandbox or made
        return self._sandbox

    def _must_be_open(self) -> None:
        if self._closed:
            raise ProcessFailed(CLOSED_MESSAGE)

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


def _require_program(launch: Launch, held: SandboxedLaunch) -> None:
    """Said by its name, as without a sandbox, instead of by the words of what starts it."""
    program = launch.argv[0]
    path = held.environment.get("PATH", "") if not held.fds else None
    named = os.path.join(launch.cwd, program) if os.sep in program else program
    if not os.path.isdir(launch.cwd) or shutil.which(named, path=path) is None:
        raise not_found_error(program, launch.cwd)


def _make_sandbox(root: str, settings: SandboxSettings, linked: tuple[str, ...]) -> "Sandbox":
    from cockpit.workspace.sandbox.host_view import find_surroundings
    from cockpit.workspace.sandbox.sandbox import Sandbox

    return Sandbox(find_surroundings(root, linked), settings)


async def _prepare_launch(sandbox: "Sandbox", launch: Launch, mark: tuple[str, str]) -> SandboxedLaunch:
    """How `launch` is held. Cancelled while that is made ready, it cleans up what was made."""
    making = asyncio.ensure_future(sandbox.hold(launch, mark))
    try:
        return await asyncio.shield(making)
    except OSError as error:
        raise ProcessFailed(f"the sandbox could not be made ready, nothing ran: {error}") from error
    except asyncio.CancelledError:
        await run_to_completion(_discard_launch(sandbox, making))
        raise


async def _discard_launch(sandbox: "Sandbox", making: "asyncio.Future[SandboxedLaunch]") -> None:
    await asyncio.wait({making})
    if making.cancelled() or making.exception() is not None:
        return
    held = making.result()
    for fd in held.fds:
        os.close(fd)
    await sandbox.release(held)
