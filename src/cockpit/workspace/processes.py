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
from dataclasses import dataclass, replace

from cockpit.plugin.context import Ended, JobView
from cockpit.plugin.launching import Isolation, Launch, SealBroken
from cockpit.workspace import environment as environments
from cockpit.workspace import groups, shells
from cockpit.workspace.children import Process, ProcessFailed, feed, new_mark, not_found, spawn, whole
from cockpit.workspace.sandbox.holding import Sandbox
from cockpit.workspace.sandbox.places import surroundings
from cockpit.workspace.sandbox.values import Held, SandboxSettings

__all__ = ["LocalProcesses", "ProcessFailed"]

KEPT_JOBS = 64
CLOSED = "the workspace is closed; open the session again to run programs"
# What bubblewrap says when it could not set up the sandbox: the command has not run.
NOT_SET_UP = "bwrap: "


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

    def __init__(self, root: str, sandbox: SandboxSettings | None = None) -> None:
        self._root = root
        self._sandbox = Sandbox(surroundings(root), sandbox or SandboxSettings())
        self._jobs: dict[str, Job] = {}
        self._running: dict[Process, Held | None] = {}
        self._count = 0
        self._closed = False

    def shell(self, command: str) -> tuple[str, ...]:
        if sys.platform == "win32":
            return shells.windows_shell(command, shutil.which)
        return shells.posix_shell(command, shutil.which)

    async def isolation(self) -> Isolation:
        return await self._sandbox.isolation()

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
        process = await self._plain(argv, cwd, bool(stdin), on_output, environment)
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
        return self._job_of(await self._plain(argv, cwd, True, None, None), label or " ".join(argv))

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        process, _ = await self._sealed(launch, seal, True, None)
        return self._job_of(process, label or " ".join(launch.argv))

    async def _to_the_end(self, process: Process, seconds: float) -> Ended:
        timed_out = False
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await process.child.ended.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await whole(self._let_go(process))
        output = process.child.output
        code = process.code if process.code is not None else -9
        return Ended(code, output.text(), time.monotonic() - process.started, output.dropped, timed_out)

    async def _let_go(self, process: Process) -> None:
        await process.finish()
        held = self._running.pop(process, None)
        if held is not None and (mended := await self._sandbox.release(held)):
            said = f"\n[put back what the command had changed, and must not: {', '.join(mended)}]\n"
            process.child.output.feed(said.encode(errors="replace"))

    async def _plain(
        self,
        argv: tuple[str, ...],
        cwd: str,
        has_stdin: bool,
        on_output: Callable[[str], None] | None,
        environment: Mapping[str, str] | None,
    ) -> Process:
        self._must_be_open()
        mark = new_mark()
        folder = os.path.join(self._root, cwd) if cwd else self._root
        variables = environments.scrubbed(os.environ, environment) | dict((mark.variable,))
        process = await spawn(argv, folder, variables, mark, has_stdin=has_stdin, on_output=on_output)
        return await self._known(process, None)

    async def _sealed(
        self, launch: Launch, seal: str, has_stdin: bool, on_output: Callable[[str], None] | None
    ) -> tuple[Process, Held]:
        self._must_be_open()
        if launch.seal() != seal:
            raise SealBroken("what would run is not what was approved; nothing was started", "call it again")
        mark = new_mark()
        held = await self._hold(launch, mark.variable)
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
            await whole(self._give_up(held))
            raise
        finally:
            for fd in held.fds:
                os.close(fd)
        return await self._known(process, held), held

    async def _hold(self, launch: Launch, mark: tuple[str, str]) -> Held:
        """Cancelled while it makes ready, it cleans up what was made."""
        making = asyncio.ensure_future(self._sandbox.hold(launch, mark))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            await whole(self._undo(making))
            raise

    async def _undo(self, making: "asyncio.Future[Held]") -> None:
        await asyncio.wait({making})
        if making.cancelled() or making.exception() is not None:
            return
        held = making.result()
        for fd in held.fds:
            os.close(fd)
        await self._sandbox.release(held)

    async def _give_up(self, held: Held) -> None:
        await self._sandbox.release(held)

    async def _known(self, process: Process, held: Held | None) -> Process:
        self._running[process] = held
        if self._closed:
            await whole(self._let_go(process))
            raise ProcessFailed(CLOSED)
        return process

    def _must_be_open(self) -> None:
        if self._closed:
            raise ProcessFailed(CLOSED)

    def _job_of(self, process: Process, label: str) -> str:
        self._count += 1
        name = f"job-{self._count}"
        watch = asyncio.create_task(self._watch(process), name=name)
        self._jobs[name] = Job(name, label, process, watch, time.time())
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
        await whole(self._end(found))
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
        await asyncio.gather(*(self._let_go(process) for process in tuple(self._running)))
        await asyncio.gather(*(job.watch for job in self._jobs.values()))
        self._sandbox.close()

    def _job(self, name: str) -> Job:
        found = self._jobs.get(name)
        if found is None:
            known = ", ".join(self._jobs) or "none was started"
            raise ProcessFailed(f"there is no job {name}; known: {known}")
        return found


def _must_be_there(launch: Launch, held: Held) -> None:
    """Said by its name, as without a sandbox, instead of by the words of what starts it."""
    program = launch.argv[0]
    path = held.environment.get("PATH", "") if not held.fds else None
    named = os.path.join(launch.cwd, program) if os.sep in program else program
    if not os.path.isdir(launch.cwd) or shutil.which(named, path=path) is None:
        raise not_found(program, launch.cwd)
