"""Child processes and background jobs of one workspace, inside a sandbox where the launch asks for one.

When `run` returns, everything that the command started has ended. A job (`start`) runs until it ends, is
cancelled or the workspace closes. Decides nothing about what may run.
"""

import asyncio
import itertools
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cockpit.plugin.context import JobView, ProcessResult
from cockpit.plugin.workspace import Isolation, Launch, SealBroken
from cockpit.workspace import environment as environments
from cockpit.workspace.processes import process_tree, shells
from cockpit.workspace.processes.child_process import (
    ChildProcess,
    ProcessFailed,
    not_found_error,
    run_to_completion,
    spawn_child,
    write_stdin,
)
from cockpit.workspace.sandbox.values import SandboxedLaunch, SandboxUse

if TYPE_CHECKING:
    from cockpit.workspace.sandbox.sandbox import Sandbox


MAX_JOBS = 64


@dataclass(slots=True)
class BackgroundJob:
    """A background process and its id; `watch` cleans up when it has ended."""

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

    async def end(self) -> None:
        if not self.watch.done():
            await process_tree.end_tree(self.process.tree)
            await self.watch


__all__ = ["LocalProcesses", "ProcessFailed"]

CLOSED_MESSAGE = "the session is closed; open it again to run programs"
# How bubblewrap begins its message when it could not set up the sandbox and ran nothing.
BWRAP_ERROR_PREFIX = "bwrap: "


class LocalProcesses:
    """Implements `Processes` on this machine.

    `linked` are folders outside the root that sandboxed programs may read. `close` ends everything that still
    runs.
    """

    def __init__(self, root: str, sandbox: SandboxUse = "auto", linked: tuple[str, ...] = ()) -> None:
        self._root = root
        self._linked = linked
        self._use = sandbox
        self._sandbox: Sandbox | None = None
        self._running: dict[ChildProcess, SandboxedLaunch | None] = {}
        self._jobs: dict[str, BackgroundJob] = {}
        self._job_numbers = itertools.count(1)
        self._closed = False

    def shell(self, command: str) -> tuple[str, ...]:
        if sys.platform == "win32":
            return shells.windows_shell(command, shutil.which)
        return shells.posix_shell(command, shutil.which)

    async def isolation(self) -> Isolation:
        return await (await self._get_sandbox()).isolation()

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = "",
        stdin: bytes = b"",
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        separate_errors: bool = False,
    ) -> ProcessResult:
        """Raises `ProcessFailed` if the program cannot be started."""
        process = await self._start_plain(argv, cwd, bool(stdin), on_output, environment, separate_errors)
        if stdin:
            write_stdin(process, stdin)
        return await self._wait_for_end(process, seconds)

    async def run_sealed(
        self,
        launch: Launch,
        seal: str,
        *,
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
    ) -> ProcessResult:
        """Raises `ProcessFailed`, `SealBroken` and `SandboxMissing`."""
        process, prepared = await self._start_in_sandbox(launch, seal, False, on_output)
        ended = await self._wait_for_end(process, seconds)
        if prepared.fds and ended.code == 1 and ended.output.startswith(BWRAP_ERROR_PREFIX):
            reason = ended.output.strip()[:400]
            raise ProcessFailed(f"the sandbox could not be set up, so nothing ran: {reason}")
        return replace(ended, isolation=prepared.label)

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        process = await self._start_plain(argv, cwd, True, None, None)
        return self._add_job(process, label or " ".join(argv))

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        process, _ = await self._start_in_sandbox(launch, seal, True, None)
        return self._add_job(process, label or " ".join(launch.argv))

    def _add_job(self, process: ChildProcess, label: str) -> str:
        name = f"job-{next(self._job_numbers)}"
        watch = asyncio.create_task(self._watch_job(process), name=name)
        self._jobs[name] = BackgroundJob(name, label, process, watch, time.time())
        ended = [name for name, job in self._jobs.items() if job.watch.done()]
        for oldest in ended[: max(len(self._jobs) - MAX_JOBS, 0)]:
            del self._jobs[oldest]
        return name

    async def _watch_job(self, process: ChildProcess) -> None:
        await process.child.ended.wait()
        await self._release(process)

    def _job(self, name: str) -> BackgroundJob:
        job = self._jobs.get(name)
        if job is None:
            known = ", ".join(self._jobs) or "none"
            raise ProcessFailed(f"unknown job {name}; jobs of this session: {known}")
        return job

    async def _wait_for_end(self, process: ChildProcess, seconds: float) -> ProcessResult:
        timed_out = False
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await process.child.ended.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await run_to_completion(self._release(process))
        output, errors = process.child.output, process.child.errors.text()
        code = process.code if process.code is not None else -9
        seconds = time.monotonic() - process.started
        return ProcessResult(code, output.text(), seconds, output.dropped, timed_out, errors=errors)

    async def _release(self, process: ChildProcess) -> None:
        await process.finish()
        prepared = self._running.pop(process, None)
        if prepared is not None and (report := await (await self._get_sandbox()).release(prepared)):
            process.child.output.feed(report.encode(errors="replace"))

    async def _start_plain(
        self,
        argv: tuple[str, ...],
        cwd: str,
        has_stdin: bool,
        on_output: Callable[[str], None] | None,
        environment: Mapping[str, str] | None,
        separate_errors: bool = False,
    ) -> ChildProcess:
        if self._closed:
            raise ProcessFailed(CLOSED_MESSAGE)
        folder = os.path.join(self._root, cwd) if cwd else self._root
        variables = environments.scrub_environment(os.environ, environment) | dict([process_tree.make_mark()])
        process = await spawn_child(
            argv, folder, variables, has_stdin=has_stdin, on_output=on_output, separate_errors=separate_errors
        )
        return await self._register(process, None)

    async def _start_in_sandbox(
        self, launch: Launch, seal: str, has_stdin: bool, on_output: Callable[[str], None] | None
    ) -> tuple[ChildProcess, SandboxedLaunch]:
        if self._closed:
            raise ProcessFailed(CLOSED_MESSAGE)
        if launch.seal() != seal:
            reason = "the command changed after it was approved, so it was not started"
            raise SealBroken(reason, "call the tool again")
        sandbox = await self._get_sandbox()
        prepared = await _prepare_launch(sandbox, launch, process_tree.make_mark())
        try:
            _require_program(launch, prepared)
            process = await spawn_child(
                prepared.argv,
                launch.cwd,
                prepared.environment,
                has_stdin=has_stdin,
                on_output=on_output,
                fds=prepared.fds,
            )
        except BaseException:
            await run_to_completion(sandbox.release(prepared))
            raise
        finally:
            for fd in prepared.fds:
                os.close(fd)
        return await self._register(process, prepared), prepared

    async def _register(self, process: ChildProcess, prepared: SandboxedLaunch | None) -> ChildProcess:
        self._running[process] = prepared
        if self._closed:
            await run_to_completion(self._release(process))
            raise ProcessFailed(CLOSED_MESSAGE)
        return process

    async def _get_sandbox(self) -> "Sandbox":
        """The sandbox, made when it is first needed: the start of cockpit does not wait for it."""
        if self._sandbox is None:
            sandbox = await asyncio.to_thread(_make_sandbox, self._root, self._use, self._linked)
            self._sandbox = self._sandbox or sandbox
        return self._sandbox

    async def output(self, job: str, cursor: int = 0) -> tuple[str, int]:
        return self._job(job).process.child.output.since(cursor)

    async def wait(self, job: str, seconds: float) -> JobView:
        """The job once it has ended, or its state after `seconds`."""
        found = self._job(job)
        await asyncio.wait({found.watch}, timeout=max(seconds, 0.0))
        return found.view()

    async def write(self, job: str, text: str) -> None:
        found = self._job(job)
        pipe = found.process.transport.get_pipe_transport(0)
        if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing() or found.watch.done():
            raise ProcessFailed(f"{job} no longer reads input; start the job again")
        pipe.write(text.encode())

    async def cancel(self, job: str) -> JobView:
        found = self._job(job)
        await run_to_completion(found.end())
        return found.view()

    def jobs(self) -> tuple[JobView, ...]:
        return tuple(job.view() for job in self._jobs.values())

    async def close(self) -> None:
        """End every process and refuse to start more."""
        self._closed = True
        await asyncio.gather(*(self._release(process) for process in tuple(self._running)))
        await asyncio.gather(*(job.watch for job in self._jobs.values()))
        if self._sandbox is not None:
            self._sandbox.close()


def _require_program(launch: Launch, prepared: SandboxedLaunch) -> None:
    """Raise the error for a missing program here: the sandbox's own message names no program."""
    program = launch.argv[0]
    path = prepared.environment.get("PATH", "") if not prepared.fds else None
    named = os.path.join(launch.cwd, program) if os.sep in program else program
    if not os.path.isdir(launch.cwd) or shutil.which(named, path=path) is None:
        raise not_found_error(program, launch.cwd)


def _make_sandbox(root: str, use: SandboxUse, linked: tuple[str, ...]) -> "Sandbox":
    from cockpit.workspace.sandbox.host_view import find_surroundings
    from cockpit.workspace.sandbox.sandbox import Sandbox

    return Sandbox(find_surroundings(root, linked), use)


async def _prepare_launch(sandbox: "Sandbox", launch: Launch, mark: tuple[str, str]) -> SandboxedLaunch:
    """Prepare `launch` in the sandbox. If cancelled meanwhile, release it again."""
    preparation = asyncio.ensure_future(sandbox.prepare(launch, mark))
    try:
        return await asyncio.shield(preparation)
    except OSError as error:
        raise ProcessFailed(f"the sandbox could not be prepared, so nothing ran: {error}") from error
    except asyncio.CancelledError:
        await run_to_completion(_discard_launch(sandbox, preparation))
        raise


async def _discard_launch(sandbox: "Sandbox", preparation: "asyncio.Future[SandboxedLaunch]") -> None:
    await asyncio.wait({preparation})
    if preparation.cancelled() or preparation.exception() is not None:
        return
    prepared = preparation.result()
    for fd in prepared.fds:
        os.close(fd)
    await sandbox.release(prepared)
