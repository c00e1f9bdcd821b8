"""Background processes under their ids: what they wrote, how they stand, how they end. Starts none."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cockpit.plugin.context import JobView
from cockpit.workspace import groups
from cockpit.workspace.children import Process, ProcessFailed, whole

KEPT = 64


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


class Jobs:
    """The jobs of one workspace. `let_go` is what cleans up after one that has ended."""

    def __init__(self, let_go: Callable[[Process], Awaitable[None]]) -> None:
        self._let_go = let_go
        self._jobs: dict[str, Job] = {}
        self._count = 0

    def add(self, process: Process, label: str) -> str:
        self._count += 1
        name = f"job-{self._count}"
        watch = asyncio.create_task(self._watch(process), name=name)
        self._jobs[name] = Job(name, label, process, watch, time.time())
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
        await whole(_end(found))
        return found.view()

    async def all_over(self) -> None:
        await asyncio.gather(*(job.watch for job in self._jobs.values()))

    async def _watch(self, process: Process) -> None:
        await process.child.ended.wait()
        await self._let_go(process)

    def _forget_oldest(self) -> None:
        ended = [name for name, job in self._jobs.items() if job.watch.done()]
        for name in ended[: max(len(self._jobs) - KEPT, 0)]:
            del self._jobs[name]

    def _job(self, name: str) -> Job:
        found = self._jobs.get(name)
        if found is None:
            known = ", ".join(self._jobs) or "none was started"
            raise ProcessFailed(f"there is no job {name}; known: {known}")
        return found


async def _end(job: Job) -> None:
    if not job.watch.done():
        await groups.end(job.process.family)
        await job.watch
