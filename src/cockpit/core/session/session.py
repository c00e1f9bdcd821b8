"""A session: the `Channel` that takes ops and answers queries.

Each op is written before it is carried out, and a repeated op is dropped. `turn_queue.py` runs the turns.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import assert_never

from cockpit.core.agent import plan_mode
from cockpit.core.agent.agent import Agent, Services
from cockpit.core.agent.guards import SessionGuards
from cockpit.core.agent.models import choose_model
from cockpit.core.agent.session_state import SessionState
from cockpit.core.agent.turn_limits import LoopGuard
from cockpit.core.calls.rewind import rewind
from cockpit.core.calls.tool_calls import audit_end, run_call
from cockpit.core.plugins.background import Observers, Residents
from cockpit.core.queries.commands import run_command
from cockpit.core.queries.queries import answer_query
from cockpit.core.session.turn_queue import QueuedPrompt, TurnQueue
from cockpit.core.subagents.pool import SubagentPool
from cockpit.core.transcript.transcript import crash_point
from cockpit.core.turn.compaction import compact
from cockpit.errors import CockpitError
from cockpit.protocol import ops
from cockpit.protocol.content import Text, plain_text
from cockpit.protocol.events import Envelope, SessionClosed, ToolCallFinished, Warned
from cockpit.protocol.messages import ToolCall, ToolResult
from cockpit.protocol.ops import Op
from cockpit.protocol.queries import Query, Reply

MAX_REMEMBERED_IDS = 1_000
REPEAT_SECONDS = 2.0

BackgroundWork = Callable[[], Coroutine[None, None, None]]
Reload = Callable[["AgentSession", bool, bool], Awaitable[None]]


@dataclass(slots=True)
class AgentSession:
    """One session. `reload(session, trusted, keep)` loads settings and plugins again. `ids` are the ops it
    has taken."""

    main: Agent
    pool: SubagentPool
    turns: TurnQueue
    guards: SessionGuards
    residents: Residents
    observers: Observers
    reload: Reload
    on_close: Callable[[], None]
    ids: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_REMEMBERED_IDS))
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    _last_texts: dict[str, tuple[str, float]] = field(default_factory=dict)
    _closed: bool = False

    @property
    def services(self) -> Services:
        return self.main.services

    @property
    def state(self) -> SessionState:
        return self.main.state

    @property
    def session(self) -> str:
        return self.services.session

    def agents(self) -> tuple[Agent, ...]:
        """Every agent that lives in this process."""
        return (self.main, *self.pool.agents())

    def use_services(self, services: Services) -> None:
        """Work with reloaded services from the next step on."""
        for agent in self.agents():
            agent.services = services
            agent.toolbox.use(services.catalog)

    async def submit(self, op: Op) -> None:
        """Take an op. Raises `CockpitError` when the session is closed or cannot be written; the op
        is not taken then."""
        if self._closed:
            raise CockpitError(f"session {self.session} is closed", "open it again with --resume")
        if self._is_repeated(op):
            self.warn(f"op {op.id} was received twice; the second is dropped")
            return
        # The arguments of a command may hold a key, so they are not written to the transcript.
        if not isinstance(op, ops.Invoke):
            self._record(op)
        self.ids.append(op.id)
        await self._dispatch(op)

    def events(self, after: int = 0) -> AsyncIterator[Envelope]:
        return self.services.log.read(after)

    async def ask(self, query: Query) -> Reply:
        return self.services.redactor.value(await answer_query(self.main, query))

    async def close(self, reason: str = "closed") -> None:
        """Cancel what runs, notify readers and sync the transcript. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        await self.turns.close()
        await self._cancel_tasks()
        await self.guards.end(reason)
        await self.pool.close()
        await self.services.worktrees.close_all()
        await self.residents.stop()
        self.services.log.emit(SessionClosed(reason))
        await self.observers.stop()
        self.services.log.close()
        self.on_close()

    def warn(self, text: str, hint: str = "") -> None:
        if not self._closed:
            self.services.log.emit(Warned(text, hint))

    async def report_isolation(self) -> None:
        """Report what sandbox holds this session's commands, once that is known."""
        isolation = await self.services.home.workspace.processes.isolation()
        state = self.state
        if self._closed or isolation.level == state.isolation:
            return
        state.set_isolation(isolation.level)
        if state.mode == "full" and isolation.level == "none":
            text = "mode full without a sandbox: commands run without asking, with your rights"
            self.warn(text, isolation.reason)

    async def _dispatch(self, op: Op) -> None:
        match op:
            case ops.Prompt() | ops.FollowUp():
                self.turns.add(QueuedPrompt(op.id, op.origin, op.content))
            case ops.Steer(agent=agent) if agent != "main":
                self._start(lambda: self.pool.send(op.agent, plain_text(op.content)))
            case ops.Steer():
                self.turns.steer(QueuedPrompt(op.id, op.origin, op.content))
            case ops.Interrupt(call=call) if call:
                await self._cancel_tasks(call)
            case ops.Interrupt():
                await self._interrupt(op.agent)
            case ops.Decide():
                self.services.approvals.decide(op)
            case ops.DecidePlan():
                if text := plan_mode.decide_plan(self.main, op):
                    self.turns.add(QueuedPrompt(op.id, op.origin, (Text(text),)))
            case ops.Answer():
                self.services.approvals.answer(op)
            case ops.CallTool():
                self._start(lambda: self._call_tool(op), op.id)
            case ops.Invoke():
                self._start(lambda: self._invoke(op))
            case ops.SelectModel():
                self._select_model(op.model)
            case ops.SelectMode():
                plan_mode.select_mode(self.main, op.mode)
            case ops.EditContext():
                self.main.history.edit(op.change, op.seqs)
            case ops.Compact():
                self._start(lambda: self._compact(op.focus))
            case ops.Rewind():
                self._start(lambda: self._rewind(op))
            case ops.Trust():
                await self.reload(self, op.trusted, op.keep)
                self.guards.begin("startup")
                self.state.announce()
            case ops.Close():
                await self.close()
            case _:
                assert_never(op)

    async def _interrupt(self, agent: str) -> None:
        """Stop the turn and what it waits for; when none runs, stop the subagents in the background."""
        if agent not in ("main", "*"):
            self._start(lambda: self.pool.cancel(self.pool.find(agent).id))
            return
        idle = not self.turns.is_busy() and not self._tasks
        await self.turns.interrupt()
        await self._cancel_tasks()
        if agent == "*" or idle:
            self._start(lambda: self.pool.cancel_all())

    async def _invoke(self, op: ops.Invoke) -> None:
        if prompt := await run_command(self.main, op):
            self.turns.add(
                QueuedPrompt(op.id, op.origin, (Text(prompt.text),), prompt.mentions, prompt.model)
            )

    async def _call_tool(self, op: ops.CallTool) -> None:
        call = ToolCall(op.id, op.name, op.arguments)
        result = ToolResult(call.id, call.name, "cancelled", "cancelled by the user")
        if not self.turns.is_busy():
            self.state.set_origin(op.origin)
        try:
            result = await run_call(self.main, call, LoopGuard(False), "person")
        finally:
            audit_end(self.main, result)
            self.services.log.emit(ToolCallFinished(result), call=call.id)

    async def _rewind(self, op: ops.Rewind) -> None:
        await self.turns.wait_for_end()
        with self.turns.paused():
            await rewind(self.main, op)

    async def _compact(self, focus: str) -> None:
        await self.turns.wait_idle()
        if not await compact(self.main, focus, asked=True):
            self.warn("there is nothing to compact yet")

    def _select_model(self, name: str) -> None:
        try:
            choice = choose_model(self.services.catalog, self.services.settings, name)
        except CockpitError as error:
            self.warn(error.message, error.hint)
            return
        self.services.breaker.forgive()
        self.state.set_model(choice.name)
        self.main.window_use.reported = 0
        if missing := choice.provider.ready():
            self.warn(missing)
        self.state.announce()

    def _start(self, work: BackgroundWork, name: str = "") -> None:
        """Run `work` beside the turn and report what it raises. The op with the id `name` may cancel it."""
        task = asyncio.create_task(self._guarded(work), name=name or None)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: BackgroundWork) -> None:
        try:
            await work()
        except CockpitError as error:
            self.warn(error.message, error.hint)
        # A command is plugin code: what it raises must not end the session.
        except (Exception, SystemExit) as error:
            self.warn(f"{type(error).__name__}: {error}")

    async def _cancel_tasks(self, name: str = "") -> None:
        """Cancel what runs beside the turn; with `name` only the task of that op."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        tasks = [task for task in tasks if not name or task.get_name() == name]
        # Each must have begun, so that it can report how it ended.
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2.0)

    def _is_repeated(self, op: Op) -> bool:
        """Whether the id was taken before, or a chat sent the same text within 2 s."""
        if op.id in self.ids:
            return True
        if not isinstance(op, ops.Prompt) or not op.origin.startswith("channel:"):
            return False
        now = asyncio.get_running_loop().time()
        text, at = self._last_texts.get(op.origin, ("", -REPEAT_SECONDS))
        self._last_texts[op.origin] = (repr(op.content), now)
        return text == repr(op.content) and now - at < REPEAT_SECONDS

    def _record(self, op: Op) -> None:
        try:
            self.services.log.accept(op)
        except OSError as error:
            text = f"the session cannot be written: {error.strerror or error}"
            raise CockpitError(text, "free disk space or repair the folder, then send it again") from error
        crash_point("accepted")
