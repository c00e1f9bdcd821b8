"""Agents that an agent opens: a task of their own, on its budget, with at most its rights.

The runner `in-process` is the core's; others come from plugins. A child's events travel on the
parent's log with the child's path.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from cockpit.core.agent import Agent, stricter_mode
from cockpit.core.budget import Limits
from cockpit.core.history import History
from cockpit.core.toolbox import Toolbox
from cockpit.core.turn import run_turn
from cockpit.core.view import context_of
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentHandle, AgentState, Isolation, Quota, Report, Role
from cockpit.plugin.values import AgentTask, Runner
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope, Event
from cockpit.protocol.messages import AssistantMessage

GENERAL = Role(
    "general", "Does one task and reports.", "Do the task you are given and report what you found."
)
MOST_STEPS = 30
DEPTH = 1


class OpenedAgents:
    """The `Agents` of one agent."""

    def __init__(self, of: Callable[[], Agent]) -> None:
        self._of = of
        self._count = 0

    async def open(
        self,
        role: str | Role,
        task: str,
        *,
        background: bool = False,
        isolation: Isolation = "none",
        runner: str = "",
        quota: Quota | None = None,
    ) -> AgentHandle:
        """Start an agent. Raises `CockpitError` for an unknown role or runner, and below the depth."""
        parent = self._of()
        if parent.depth >= DEPTH:
            raise CockpitError("a subagent cannot open agents", "do the task yourself")
        if isolation == "worktree":
            raise CockpitError("worktrees are not there yet", "open the agent without isolation")
        if isinstance(role, Role):
            meant: Role | None = role
        else:
            meant = parent.host.catalog.get(Role, role) or (GENERAL if role in ("", GENERAL.name) else None)
        if meant is None:
            names = ", ".join(sorted([GENERAL.name, *(one.name for one in parent.host.catalog.all(Role))]))
            raise CockpitError(f"there is no role called {role}", f"roles: {names}")
        self._count += 1
        path = f"{parent.path}/{meant.name}-{self._count}"
        name = runner or meant.runner
        handle = await self._start(parent, path, meant, task, name)
        if not background:
            await handle.wait()
        return handle

    def all(self) -> tuple[AgentState, ...]:
        return ()

    def find(self, id: str) -> AgentHandle:
        raise CockpitError(f"there is no agent {id}", "`agents` lists them")

    async def _start(self, parent: Agent, path: str, role: Role, task: str, name: str) -> AgentHandle:
        if name == "in-process":
            return ChildAgent(child_of(parent, path, role), task)
        if parent.is_planning:
            raise CockpitError(
                f"plan mode cannot hold the runner {name} to looking", "open the agent in process"
            )
        runner = parent.host.catalog.get(Runner, name)
        if runner is None:
            raise CockpitError(f"there is no runner called {name}", "leave `runner` out to run it in process")
        budget = dict(parent.budget.left()) | {"steps": float(min(role.max_steps, MOST_STEPS))}
        stop_file = parent.budget.limits.stop_file
        mode = stricter_mode(parent.mode, role.mode)
        given = AgentTask(path, role, task, parent.host.root, mode, budget, stop_file)
        return await runner.start(given, context_of(parent))


def child_of(parent: Agent, path: str, role: Role) -> Agent:
    """An agent with the parent's rights or fewer, and a budget below the parent's."""
    allowed = role.tools
    if parent.role is not None and parent.role.tools is not None:
        own = parent.role.tools
        allowed = own if allowed is None else tuple(name for name in allowed if name in own)
    budget = parent.budget.child(Limits(steps=min(role.max_steps, MOST_STEPS)))
    model = role.model if role.model not in ("", "inherit") else parent.model
    child = Agent(
        path=path,
        host=parent.host,
        history=History(path),
        toolbox=Toolbox(parent.host.catalog, allowed),
        budget=budget,
        agents=parent.agents,
        role=replace(role, mode=stricter_mode(parent.mode, role.mode), tools=allowed),
        model=model,
        depth=parent.depth + 1,
        opened_planning=parent.is_planning,
    )
    child.agents = OpenedAgents(lambda: child)
    return child


class ChildAgent:
    """An agent in this process, from its start to its report."""

    def __init__(self, agent: Agent, task: str) -> None:
        self._agent = agent
        self._events: list[Event] = []
        self._unwatch = agent.host.log.watch(self._see)
        self._task = asyncio.create_task(self._run(task))
        self._task.add_done_callback(lambda ended: self._unwatch())

    @property
    def id(self) -> str:
        return self._agent.path

    async def send(self, text: str) -> None:
        """Say something; it is taken at the agent's next step."""
        self._agent.steers.append((self._agent.host.new_id(), (Text(text),)))

    async def wait(self, seconds: float | None = None) -> Report:
        """The report. A waiter that is cancelled cancels the agent too."""
        if seconds is None:
            return await self._task
        async with asyncio.timeout(seconds):
            return await asyncio.shield(self._task)

    async def cancel(self) -> None:
        self._task.cancel()
        await asyncio.wait((self._task,))

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        return tuple(self._events[cursor:]), len(self._events)

    def _see(self, envelope: Envelope) -> None:
        if envelope.agent == self._agent.path:
            self._agent.history.see(envelope)
            self._events.append(envelope.event)

    async def _run(self, task: str) -> Report:
        ended = await run_turn(self._agent, "", self._agent.path, (Text(task),))
        text = ended.message
        for entry in reversed(self._agent.history.entries):
            if isinstance(entry.message, AssistantMessage) and entry.message.text:
                text = entry.message.text
                break
        return Report(text, ended.stop_reason, ended.usage, self._agent.budget.steps)
