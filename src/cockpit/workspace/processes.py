"""Child processes on this machine: each in a group of its own, its output streamed and bounded, its
environment scrubbed. Decides nothing of what may run.

Two lives: `run` is over when it returns, whatever the command left behind is ended with it;
a job (`start`) goes on until it ends, is cancelled, or the workspace closes.
"""

import asyncio
import contextlib
import math
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

from cockpit.errors import CockpitError
from cockpit.plugin.context import Ended, JobView
from cockpit.plugin.launching import NO_ISOLATION, Isolation, Launch, SealBroken
from cockpit.workspace import environment as environments
from cockpit.workspace import groups, shells
from cockpit.workspace.output import Output

KEPT_JOBS = 64
DRAIN = 1.0
CLOSED = "the workspace is closed; open the session again to run programs"


class ProcessFailed(CockpitError):
    """A program that could not be started, or a job that nobody started."""


class Child(asyncio.SubprocessProtocol):
    """One process while it lives. `ended` is set when it has exited, `drained` when its output is whole."""

    def __init__(self, on_output: Callable[[str], None] | None) -> None:
        self.output = Output()
        self.ended = asyncio.Event()
        self.drained = asyncio.Event()
        self._on_output = on_output

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd != 0:
            self._take(b"", final=True)
            self.drained.set()

    def process_exited(self) -> None:
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()
        self.drained.set()

    def _take(self, data: bytes, final: bool = False) -> None:
        text = self.output.feed(data, final)
        if text and self._on_output is not None:
            self._on_output(text)


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """A started process: its protocol, its transport, and who belongs to it."""

    child: Child
    transport: asyncio.SubprocessTransport
    family: groups.Family
    started: float

    @property
    def code(self) -> int | None:
        return self.transport.get_returncode()

    async def finish(self) -> None:
        """End what is left of the family and read what is left of the output."""
        await groups.end(self.family)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN):
                await self.child.ended.wait()
                await self.child.drained.wait()
        self.transport.close()


@dataclass(slots=True)
class Job:
    """A background process under its id."""

    id: str
    label: str
    process: Process
    watch: asyncio.Task[None]
    began: float

    def view(self) -> JobView:
        output = self.process.child.output
        running = not self.watch.done()
        code = None if running else self.process.code
        return JobView(self.id, self.label, running, code, self.began, output.total)


class LocalProcesses:
    """`Processes` on this machine. `close` ends everything that still runs."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._jobs: dict[str, Job] = {}
        self._running: set[Process] = set()
        self._count = 0
        self._closed = False

    def shell(self, command: str) -> tuple[str, ...]:
        if sys.platform == "win32":
            return shells.windows_shell(command, shutil.which)
        return shells.posix_shell(command, shutil.which)

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = "",
        stdin: bytes = b"",
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Raises `ProcessFailed` when the program cannot be started."""
        process = await self._spawn(argv, cwd, bool(stdin), on_output, environment)
        timed_out = False
        try:
            if stdin:
                _feed(process, stdin)
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await process.child.ended.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _whole(self._let_go(process))
        output = process.child.output
        code = process.code if process.code is not None else -9
        return Ended(code, output.text(), time.monotonic() - process.started, output.dropped, timed_out)

    async def isolation(self) -> Isolation:
        return NO_ISOLATION

    async def run_sealed(
        self,
        launch: Launch,
        seal: str,
        *,
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
    ) -> Ended:
        _check(launch, seal)
        environment = dict(launch.environment)
        return await self.run(
            launch.argv, cwd=launch.cwd, seconds=seconds, on_output=on_output, environment=environment
        )

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        _check(launch, seal)
        return await self.start(launch.argv, cwd=launch.cwd, label=label)

    async def _let_go(self, process: Process) -> None:
        await process.finish()
        self._running.discard(process)

    async def _spawn(
        self,
        argv: tuple[str, ...],
        cwd: str,
        has_stdin: bool,
        on_output: Callable[[str], None] | None,
        environment: Mapping[str, str] | None,
    ) -> Process:
        if self._closed:
            raise ProcessFailed(CLOSED)
        mark, born = secrets.token_hex(8), max(groups.ticks() - 1, 0)
        folder = os.path.join(self._root, cwd) if cwd else self._root
        try:
            transport, child = await asyncio.get_running_loop().subprocess_exec(
                lambda: Child(on_output),
                *argv,
                stdin=asyncio.subprocess.PIPE if has_stdin else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=folder,
                env=environments.scrubbed(os.environ, environment) | {groups.MARK: mark},
                **groups.spawn_options(),
            )
        except FileNotFoundError as error:
            raise _not_found(argv[0], folder) from error
        except (OSError, ValueError) as error:
            raise ProcessFailed(f"{argv[0]} could not be started: {error}") from error
        family = groups.Family(transport.get_pid(), mark, born)
        process = Process(child, transport, family, time.monotonic())
        if self._closed:
            await process.finish()
            raise ProcessFailed(CLOSED)
        self._running.add(process)
        return process

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        process = await self._spawn(argv, cwd, True, None, None)
        self._count += 1
        name = f"job-{self._count}"
        watch = asyncio.create_task(self._watch(process), name=name)
        self._jobs[name] = Job(name, label or " ".join(argv), process, watch, time.time())
        self._forget_oldest()
        return name

    async def _watch(self, process: Process) -> None:
        await process.child.ended.wait()
        await self._let_go(process)

    def _forget_oldest(self) -> None:
        ended = [name for name, job in self._jobs.items() if job.watch.done()]
        for name in ended[: max(len(self._jobs) - KEPT_JOBS, 0)]:
            del self._jobs[name]

    async def output(self, job: str, cursor: int = 0) -> tuple[str, int]:
        return self._job(job).process.child.output.since(cursor)

    async def wait(self, job: str, seconds: float) -> JobView:
        """The job when it has ended, or as it is after `seconds`."""
        found = self._job(job)
        await asyncio.wait({found.watch}, timeout=max(seconds, 0.0))
        return found.view()

    async def write(self, job: str, text: str) -> None:
        found = self._job(job)
        pipe = found.process.transport.get_pipe_transport(0)
        if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing() or found.watch.done():
            raise ProcessFailed(f"{job} reads no input any more; start it again")
        pipe.write(text.encode())

    async def cancel(self, job: str) -> JobView:
        found = self._job(job)
        await _whole(self._end(found))
        return found.view()

    async def _end(self, job: Job) -> None:
        if not job.watch.done():
            await groups.end(job.process.family)
            await job.watch

    def jobs(self) -> tuple[JobView, ...]:
        return tuple(job.view() for job in self._jobs.values())

    async def close(self) -> None:
        """End every process. What is started later is refused."""
        self._closed = True
        await asyncio.gather(*(process.finish() for process in tuple(self._running)))
        await asyncio.gather(*(job.watch for job in self._jobs.values()))

    def _job(self, name: str) -> Job:
        found = self._jobs.get(name)
        if found is None:
            known = ", ".join(self._jobs) or "none was started"
            raise ProcessFailed(f"there is no job {name}; known: {known}")
        return found


def _check(launch: Launch, seal: str) -> None:
    if launch.seal() != seal:
        raise SealBroken("what would run is not what was approved; nothing was started", "call it again")


def _not_found(program: str, folder: str) -> ProcessFailed:
    if not os.path.isdir(folder):
        return ProcessFailed(f"there is no folder {folder} to run in")
    return ProcessFailed(f"{program} is not installed or not in PATH")


def _feed(process: Process, stdin: bytes) -> None:
    pipe = process.transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.write_eof()


async def _whole(ending: Coroutine[None, None, None]) -> None:
    """Await to the end, also while the caller is being cancelled; then the cancelling goes on."""
    task = asyncio.ensure_future(ending)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
