"""Opens subagents, and restores those of a resumed session.

Whether a role may be opened is checked before anything begins; its calls are judged when they run. After a
restart, background subagents that had not ended are queued again with their conversation. A prompt that
starts with `@role` gives that role a task directly.
"""

import asyncio
import re
from dataclasses import dataclass, field, replace

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.plugin_context import build_context
from cockpit.core.subagents.child_agent import (
    DEFAULT_OUTPUT,
    check_role_tools,
    create_child,
    find_role,
    list_roles,
    match_role,
    max_depth,
    subagent_limits,
)
from cockpit.core.subagents.pool import SubagentPool, is_notice_of
from cockpit.core.subagents.subagent import (
    LIVE_PHASES,
    InProcessWorker,
    RunnerWorker,
    Subagent,
    SubagentWorker,
    has_begun,
)
from cockpit.core.transcript.history import ConversationHistory
from cockpit.core.transcript.log import new_id
from cockpit.core.turn.turn import TurnProgress
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentHandle, AgentRow, Isolation, Quota, Report
from cockpit.plugin.values import AgentTask, Role, Runner
from cockpit.protocol.content import Block, Text, plain_text
from cockpit.protocol.events import Envelope, Event, MessageFinished, ToolCallStarted, TurnFinished, Warned
from cockpit.protocol.messages import AssistantMessage
from cockpit.protocol.rows import AgentChanged, AgentTerms

IN_PROCESS_RUNNER = "in-process"
CHANGING_KINDS = frozenset({"edit", "delete", "move", "execute"})


@dataclass(frozen=True, slots=True)
class SubagentHandle:
    """A subagent as its opener sees it."""

    member: Subagent
    pool: SubagentPool

    @property
    def id(self) -> str:
        return self.member.id

    async def send(self, text: str) -> None:
        await self.pool.send(self.id, text)

    async def wait(self, seconds: float | None = None) -> Report:
        report = await self.member.wait(seconds)
        self.pool.notices.forget(self.member)
        return report

    async def cancel(self) -> None:
        await self.pool.cancel(self.id)

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        return self.member.transcript(cursor)


@dataclass(frozen=True, slots=True)
class AgentOpener:
    """The subagents of `agent`."""

    agent: Agent
    pool: SubagentPool

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
        """Start a subagent, or queue it. Raises `CockpitError` when it may not be opened."""
        parent = self.agent
        if parent.depth >= (depth := max_depth(parent.services.settings)):
            raise CockpitError(
                f"agents may be nested at most {depth} deep (`agents.depth` in settings)",
                "do the task yourself",
            )
        role_value = self._find_role(role)
        if not task.strip():
            raise CockpitError("the task is empty", "say what the agent is to do and what it must know")
        background = background or role_value.background
        if isinstance(role, str) and (same := self._find_same(role_value, task)) is not None:
            return await self._handle(same, background)
        isolation = role_value.isolation if isolation == "none" else isolation
        if isolation == "worktree" and parent.is_planning:
            raise CockpitError("plan mode makes no worktree", "open the agent without isolation")
        path = self.pool.free_id(parent.path, _slug(name or role_value.name), not name)
        row = AgentRow(path, role_value.name, task, "queued", background, call, color=role_value.color)
        member, terms = self._create_subagent(row, role_value, isolation, runner or role_value.runner, quota)
        self.pool.enlist(member, replace(terms, by_name=isinstance(role, str)))
        return await self._handle(member, background)

    async def wait_for_any(self) -> None:
        await self.pool.wait_for_any()

    def all(self) -> tuple[AgentRow, ...]:
        return tuple(subagent.row for subagent in self.pool.all())

    def find(self, id: str) -> AgentHandle:
        return SubagentHandle(self.pool.find(id), self.pool)

    def roles(self) -> tuple[Role, ...]:
        parent = self.agent
        if parent.depth >= max_depth(parent.services.settings):
            return ()
        rights = parent.rights
        roles = list_roles(parent.services.catalog)
        return tuple(
            role for role in roles if rights is None or not rights.opening_problem((role.name, *role.aliases))
        )

    def role(self, name: str) -> Role:
        return find_role(self.agent.services.catalog, name)

    def _find_role(self, role: str | Role) -> Role:
        parent = self.agent
        found = role if isinstance(role, Role) else find_role(parent.services.catalog, role)
        if parent.rights is not None and (
            reason := parent.rights.opening_problem((found.name, *found.aliases))
        ):
            raise CockpitError(reason, "do the task yourself")
        check_role_tools(found, parent.services.catalog)
        return found

    async def _handle(self, member: Subagent, background: bool) -> AgentHandle:
        """The handle: at once for a background subagent, else when it has ended."""
        handle = SubagentHandle(member, self.pool)
        if background:
            return handle
        with self.pool.waited_for(member):
            try:
                await handle.wait()
            except asyncio.CancelledError:
                if member.foreground <= 1 and not member.row.background:
                    await self.pool.cancel(member.id, at_once=True)
                raise
        return handle

    def _find_same(self, role: Role, task: str) -> Subagent | None:
        """A subagent of the same role and task that still runs, or whose report is still valid."""
        normalised = _normalise(task)
        for member in reversed(self.pool.all()):
            is_same = member.row.role == role.name and _normalise(member.row.task) == normalised
            if is_same and member.parent is self.agent and (not member.is_over or self._is_valid(member)):
                return member
        return None

    def _is_valid(self, member: Subagent) -> bool:
        """Whether its report is of this turn, and nothing that could change it has run since."""
        """Whether its report is of this turn, and nothing that could change it has run since."""
        log = self.agent.services.log
        if member.row.phase != "completed" or not log.turn or not member.ended_at:
            return False
        for envelope in reversed(log.durable()):
            if envelope.seq <= member.ended_at:
                return envelope.turn == log.turn
            if isinstance(envelope.event, ToolCallStarted) and envelope.event.kind in CHANGING_KINDS:
                return False
        return False

    def _create_subagent(
        self, row: AgentRow, role: Role, isolation: Isolation, runner: str, quota: Quota | None
    ) -> tuple[Subagent, AgentTerms]:
        parent, path = self.agent, row.id
        allowed = subagent_limits(parent, role, quota, parent.window())
        worker: SubagentWorker
        if runner == IN_PROCESS_RUNNER:
            child = create_child(parent, path, role, background=row.background, quota=quota)
            child.agents = AgentOpener(child, self.pool)
            worker = InProcessWorker(child, parent, isolation == "worktree", self.pool.fresh)
            allowed = subagent_limits(parent, role, quota, child.window())
            mode, planning = child.mode, child.opened_planning
        else:
            worker = self._external_worker(path, role, runner, quota, isolation)
            mode, planning = parent.mode, parent.is_planning
        limits = allowed.limits
        terms = AgentTerms(
            mode,
            planning,
            True,
            isolation,
            runner,
            limits.steps,
            limits.tokens,
            limits.seconds,
            allowed.output,
        )
        return Subagent(parent, row, worker, allowed.output, self.pool.changed), terms

    def _external_worker(
        self, path: str, role: Role, name: str, quota: Quota | None, isolation: Isolation
    ) -> RunnerWorker:
        parent = self.agent
        if parent.is_planning:
            raise CockpitError(
                f"plan mode cannot prevent changes by the runner {name}", "open the agent in process"
            )
        if isolation != "none":
            raise CockpitError(f"the runner {name} cannot use a worktree", "open the agent without isolation")
        runner = parent.services.catalog.get(Runner, name)
        if runner is None:
            raise CockpitError(f"there is no runner called {name}", "leave `runner` out to run it in process")
        start_task = runner.start

        async def start(task: str) -> AgentHandle:
            # The runner gets no more rights and budget than an agent in this process would have.
            like = create_child(parent, path, role, quota=quota)
            stop_file = parent.budget.limits.stop_file
            agent_task = AgentTask(
                path, like.role or role, task, parent.root, like.mode, like.budget.left(), stop_file
            )
            return await start_task(agent_task, build_context(parent))

        limits = subagent_limits(parent, role, quota, parent.window()).limits
        return RunnerWorker(start, parent.budget.child(limits))


def _slug(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:40] or "agent"


def _normalise(task: str) -> str:
    return " ".join(task.lower().split())


ENDED_WITH_COCKPIT = "cockpit ended while it was running"


@dataclass(slots=True)
class SubagentRecord:
    """The state of one subagent in a transcript."""

    row: AgentRow
    terms: AgentTerms | None

    @property
    def output(self) -> int:
        """The characters of its report that its opener reads."""
        return self.terms.output if self.terms is not None and self.terms.output else DEFAULT_OUTPUT


@dataclass(slots=True)
class SubagentRecords:
    """The subagents of a transcript, and the messages that reported their ends."""

    known: dict[str, SubagentRecord] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def see(self, envelope: Envelope) -> None:
        """Fold one envelope."""
        event = envelope.event
        if isinstance(event, AgentChanged):
            before = self.known.get(event.agent.id)
            terms = event.terms or (before.terms if before else None)
            self.known[event.agent.id] = SubagentRecord(event.agent, terms)
        elif isinstance(event, MessageFinished) and event.id.startswith("agent:"):
            self.notes.append(event.id)


def restore_subagents(pool: SubagentPool, past: SubagentRecords, takes_up: bool) -> None:
    """Restore them, parents before children, and report each that continues or cannot."""
    services = pool.main.services
    for path in sorted(past.known, key=lambda path: path.count("/")):
        known = past.known[path]
        row = known.row
        if row.phase not in LIVE_PHASES:
            member = _ended_subagent(pool, known)
            pool.keep(member)
            is_reported = any(is_notice_of(path, note) for note in past.notes)
            if row.background and row.phase != "cancelled" and not is_reported:
                pool.notices.add(member)
        elif not takes_up and row.background:
            # The session was opened only to look at it; it continues the next time.
            _keep_cancelled(pool, known, ENDED_WITH_COCKPIT)
        else:
            try:
                _requeue(pool, known)
            except CockpitError as error:
                row = _keep_cancelled(pool, known, f"{ENDED_WITH_COCKPIT}; {error}")
                services.log.emit(AgentChanged(row), path)
                if row.background:
                    services.log.emit(Warned(f"{path} does not continue: {error}", "give its task again"))
    if pool.members:
        pool.panel.draw()


def _keep_cancelled(pool: SubagentPool, known: SubagentRecord, report: str) -> AgentRow:
    row = replace(known.row, phase="cancelled", doing="", report=report)
    pool.keep(_ended_subagent(pool, SubagentRecord(row, known.terms)))
    return row


def _ended_subagent(pool: SubagentPool, known: SubagentRecord) -> Subagent:
    member = Subagent(_parent_agent(pool, known.row.id), known.row, None, known.output, pool.changed)
    member.reviving = lambda: _revive_worker(pool, known)
    return member


def _requeue(pool: SubagentPool, known: SubagentRecord) -> None:
    """Queue an unfinished subagent again. Raises `CockpitError` when it cannot continue."""
    if not known.row.background:
        raise CockpitError("the agent that waited for it has ended too", "give its task again")
    worker = _revive_worker(pool, known)
    row = replace(known.row, phase="queued", recovered=True, doing="", started=0.0)
    member = Subagent(_parent_agent(pool, row.id), row, worker, known.output, pool.changed)
    if has_begun(worker.agent):
        member.takes_up()
    pool.main.services.log.emit(Warned(f"the subagent {row.id} was running when cockpit ended; it continues"))
    pool.enlist(member, None)


def _parent_agent(pool: SubagentPool, path: str) -> Agent:
    """Its opener, or the main agent when the opener was not revived."""
    above = pool.members.get(path.rpartition("/")[0])
    return above.agent or pool.main if above is not None else pool.main


def _revive_worker(pool: SubagentPool, known: SubagentRecord) -> InProcessWorker:
    """The agent as it was opened, with its conversation. Raises `CockpitError`."""
    row, terms = known.row, known.terms
    if terms is None or not terms.by_name:
        raise CockpitError("its role was defined for that one task", "give its task again")
    if terms.runner not in ("", IN_PROCESS_RUNNER):
        raise CockpitError(f"its runner {terms.runner} ended with cockpit", "give its task again")
    parent = _parent_agent(pool, row.id)
    above = row.id.rpartition("/")[0]
    if above != "main" and parent is pool.main:
        # The agent that limited its rights is gone, so its rights are unknown.
        raise CockpitError(f"{above}, which opened it, is gone", "give its task again")
    agent = create_child(
        parent,
        row.id,
        find_role(pool.main.services.catalog, row.role),
        background=row.background,
        quota=Quota(terms.steps, terms.tokens, terms.seconds, terms.output),
        budget=pool.fresh(),
        mode=terms.mode,
        planning=terms.planning,
    )
    agent.agents = AgentOpener(agent, pool)
    agent.history = ConversationHistory(row.id)
    for envelope in pool.main.services.log.durable():
        agent.history.see(envelope)
    return InProcessWorker(agent, parent, terms.isolation == "worktree", pool.fresh)


ROLE_MENTION = re.compile(r"\s*@([A-Za-z0-9][\w.:-]*)(?=\s|$)")


@dataclass(frozen=True, slots=True)
class RolePrompt:
    """A task the user gives to a role."""

    role: Role
    task: str

    async def run(self, turn: TurnProgress) -> TurnFinished:
        """Run the turn: the subagent's report is the answer."""
        agent = turn.agent
        try:
            handle = await agent.agents.open(self.role.name, self.task)
            report = await handle.wait()
        except CockpitError as error:
            return turn.finished("error", message=str(error))
        answer = AssistantMessage(report.text, model=handle.id)
        agent.emit(MessageFinished(new_id(), answer))
        turn.usage += report.usage
        is_error = report.stop_reason == "error"
        message = report.text.partition("\n")[0] if is_error else ""
        return turn.finished(report.stop_reason, message=message)


def parse_role_prompt(roles: tuple[Role, ...], content: tuple[Block, ...]) -> RolePrompt | None:
    """The role that the first word of `content` addresses, or None. Only an exact name or alias of a role
    counts: `@src/review.py` is a file."""
    first = content[0] if content else None
    found = ROLE_MENTION.match(first.text) if isinstance(first, Text) else None
    if found is None or not isinstance(first, Text):
        return None
    role = match_role(roles, found[1])
    if role is None:
        return None
    rest = plain_text((Text(first.text[found.end() :].strip()), *content[1:])).strip()
    task = "\n\n".join(part for part in (role.prompt, rest) if part)
    return RolePrompt(role, task) if task else None
