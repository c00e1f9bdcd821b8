"""Opening agents: the `Agents` of one agent. Checks who may be opened before anything begins; whether a call
of it may run is judged when it runs."""

import asyncio
import re
from dataclasses import dataclass, replace

from cockpit.core.agent import Agent
from cockpit.core.subagents.child import child_of
from cockpit.core.subagents.crew import Crew
from cockpit.core.subagents.life import Elsewhere, InProcess, Life
from cockpit.core.subagents.member import Member
from cockpit.core.subagents.roles import check_tools, find_role, roles_of
from cockpit.core.subagents.terms import depth, terms
from cockpit.core.view import context_of
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentHandle, AgentState, Isolation, Quota, Report, Role
from cockpit.plugin.values import AgentTask, Runner
from cockpit.protocol.agents import AgentTerms
from cockpit.protocol.events import Event, ToolCallStarted

IN_PROCESS = "in-process"
CHANGES = frozenset({"edit", "delete", "move", "execute"})


@dataclass(frozen=True, slots=True)
class Handle:
    """A member as its opener holds it."""

    member: Member
    crew: Crew

    @property
    def id(self) -> str:
        return self.member.id

    async def send(self, text: str) -> None:
        await self.crew.say(self.id, text)

    async def wait(self, seconds: float | None = None) -> Report:
        report = await self.member.wait(seconds)
        self.crew.notes.forget(self.member)
        return report

    async def cancel(self) -> None:
        await self.crew.cancel(self.id)

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        return self.member.transcript(cursor)


@dataclass(frozen=True, slots=True)
class Opening:
    """The `Agents` of `agent`."""

    agent: Agent
    crew: Crew

    async def open(
        self,
        role: str | Role,
        task: str,
        *,
        background: bool = False,
        isolation: Isolation = "none",
        runner: str = "",
        quota: Quota | None = None,
        name: str = "",
        call: str = "",
    ) -> AgentHandle:
        """Start an agent, or queue it. Raises `CockpitError` where it may not be opened."""
        parent = self.agent
        if parent.depth >= (most := depth(parent.host.settings)):
            raise CockpitError(
                f"agents are opened {most} deep here and this would be deeper (`agents.depth` in settings)",
                "do the task yourself",
            )
        meant = self._meant(role)
        if not task.strip():
            raise CockpitError("the task is empty", "say what the agent is to do and what it must know")
        background = background or meant.background
        if isinstance(role, str) and (same := self._same(meant, task)) is not None:
            return await self._held(same, background)
        where = meant.isolation if isolation == "none" else isolation
        if where == "worktree" and parent.is_planning:
            raise CockpitError("plan mode makes no worktree", "open the agent without isolation")
        path = self.crew.free_id(parent.path, _slug(name or meant.name), not name)
        row = AgentState(path, meant.name, task, "queued", background, call, color=meant.color)
        member, said = self._member(row, meant, where, runner or meant.runner, quota)
        self.crew.enlist(member, replace(said, by_name=isinstance(role, str)))
        return await self._held(member, background)

    def all(self) -> tuple[AgentState, ...]:
        return tuple(one.row for one in self.crew.all())

    def find(self, id: str) -> AgentHandle:
        return Handle(self.crew.find(id), self.crew)

    def roles(self) -> tuple[Role, ...]:
        parent = self.agent
        if parent.depth >= depth(parent.host.settings):
            return ()
        rights = parent.rights
        every = roles_of(parent.host.catalog)
        return tuple(one for one in every if rights is None or not rights.may_be((one.name, *one.aliases)))

    def role(self, name: str) -> Role:
        return find_role(self.agent.host.catalog, name)

    def _meant(self, role: str | Role) -> Role:
        parent = self.agent
        meant = role if isinstance(role, Role) else find_role(parent.host.catalog, role)
        if parent.rights is not None and (reason := parent.rights.may_be((meant.name, *meant.aliases))):
            raise CockpitError(reason, "do the task yourself")
        check_tools(meant, parent.host.catalog)
        return meant

    async def _held(self, member: Member, background: bool) -> AgentHandle:
        """The handle: at once for one in the background, else when it has ended."""
        handle = Handle(member, self.crew)
        if background:
            return handle
        with self.crew.waited_for(member):
            try:
                await handle.wait()
            except asyncio.CancelledError:
                if member.foreground <= 1 and not member.row.background:
                    await self.crew.cancel(member.id, at_once=True)
                raise
        return handle

    def _same(self, role: Role, task: str) -> Member | None:
        """One of the same role with the same task that is at it; or has done it, and nothing was changed."""
        wanted = _normal(task)
        for member in reversed(self.crew.all()):
            if member.row.role != role.name or _normal(member.row.task) != wanted:
                continue
            if member.parent is not self.agent or (member.is_over and not self._still_holds(member)):
                continue
            return member
        return None

    def _still_holds(self, member: Member) -> bool:
        """Whether its report is of this turn, and nothing that could change it has run since."""
        log = self.agent.host.log
        if member.row.phase != "completed" or not log.turn or not member.ended_at:
            return False
        for envelope in reversed(log.durable()):
            if envelope.seq <= member.ended_at:
                return envelope.turn == log.turn
            if isinstance(envelope.event, ToolCallStarted) and envelope.event.kind in CHANGES:
                return False
        return False

    def _member(
        self, row: AgentState, role: Role, isolation: Isolation, runner: str, quota: Quota | None
    ) -> tuple[Member, AgentTerms]:
        parent, path = self.agent, row.id
        said = terms(parent, role, quota, parent.window())
        life: Life
        if runner == IN_PROCESS:
            child = child_of(parent, path, role, background=row.background, quota=quota)
            child.agents = Opening(child, self.crew)
            life = InProcess(child, parent, isolation == "worktree", self.crew.fresh)
            said = terms(parent, role, quota, child.window())
            mode, planning = child.mode, child.opened_planning
        else:
            life = self._elsewhere(path, role, runner, quota, isolation)
            mode, planning = parent.mode, parent.is_planning
        limits = said.limits
        kept = AgentTerms(
            mode, planning, True, isolation, runner, limits.steps, limits.tokens, limits.seconds, said.output
        )
        return Member(parent.host, parent, row, life, said.output, self.crew.changed), kept

    def _elsewhere(
        self, path: str, role: Role, name: str, quota: Quota | None, isolation: Isolation
    ) -> Elsewhere:
        parent = self.agent
        if parent.is_planning:
            raise CockpitError(
                f"plan mode cannot hold the runner {name} to looking", "open the agent in process"
            )
        if isolation != "none":
            raise CockpitError(f"the runner {name} has no worktree", "open the agent without isolation")
        runner = parent.host.catalog.get(Runner, name)
        if runner is None:
            raise CockpitError(f"there is no runner called {name}", "leave `runner` out to run it in process")
        found = runner

        async def start(task: str) -> AgentHandle:
            # What is handed out of the process is only what would be left here.
            shown = child_of(parent, path, role, quota=quota)
            given = AgentTask(
                path,
                shown.role or role,
                task,
                parent.root,
                shown.mode,
                shown.budget.left(),
                parent.budget.limits.stop_file,
            )
            return await found.start(given, context_of(parent))

        return Elsewhere(start, parent.budget.child(terms(parent, role, quota, parent.window()).limits))


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:40] or "agent"


def _normal(task: str) -> str:
    return " ".join(task.lower().split())
