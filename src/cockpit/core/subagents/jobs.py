"""The background processes that a subagent starts: known as its own, so that they end when it is stopped."""

from typing import cast

from cockpit.core.agent import Agent
from cockpit.plugin.context import Processes, Workspace
from cockpit.plugin.launching import Launch


class OwnProcesses:
    """The processes of a workspace; what is started in the background is noted in `jobs`."""

    def __init__(self, inner: Processes, jobs: list[str]) -> None:
        self._inner = inner
        self._jobs = jobs

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        job = await self._inner.start(argv, cwd=cwd, label=label)
        self._jobs.append(job)
        return job

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        job = await self._inner.start_sealed(launch, seal, label=label)
        self._jobs.append(job)
        return job


class OwnWorkspace:
    """A workspace with `OwnProcesses`; all else is the inner one's."""

    def __init__(self, inner: Workspace, jobs: list[str]) -> None:
        self._inner = inner
        self.processes = cast("Processes", OwnProcesses(inner.processes, jobs))

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def noting_jobs(agent: Agent, workspace: Workspace) -> Workspace:
    """The workspace of `agent`, whose jobs are noted when it is a subagent."""
    if not agent.depth:
        return workspace
    return cast("Workspace", OwnWorkspace(workspace, agent.jobs))


async def end_jobs(agent: Agent) -> None:
    """End what `agent` has left running."""
    processes = agent.workspace.processes
    running = {one.id for one in processes.jobs() if one.running}
    while agent.jobs:
        job = agent.jobs.pop()
        if job in running:
            await processes.cancel(job)
