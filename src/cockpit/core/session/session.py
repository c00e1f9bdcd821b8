"""A session: the `Channel` that takes ops and answers queries. Each op is written before it is
acted on, a repeated one dropped. Owns no turn (`core/turns`) and no file (`core/log`)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import assert_never

from cockpit.core.agent import plan_mode
from cockpit.core.agent.agent import Agent, Host
from cockpit.core.agent.guards import SessionGuards
from cockpit.core.agent.models import choose_model
from cockpit.core.agent.turn_limits import LoopGuard
from cockpit.core.agent.worktrees import close_worktrees
from cockpit.core.calls.rewind import rewind
from cockpit.core.calls.tool_calls import audit_end, run_call
from cockpit.core.plugins.background import Observers, Residents
from cockpit.core.queries.commands import run_command
from cockpit.core.queries.queries import answer_query
from cockpit.core.session.turn_queue import QueuedPrompt, TurnQueue
from cockpit.core.transcript import transcript
from cockpit.core.turn.compaction import compact
from cockpit.errors import CockpitError
from cockpit.protocol.content import Text, plain_text
from cockpit.protocol.events import Envelope, SessionChanged, SessionClosed, ToolCallFinished, Warned
from cockpit.protocol.messages import Mode, ToolCall, ToolResult
from cockpit.protocol.ops import (
    Answer,
    CallTool,
    Close,
    Compact,
    Decide,
    DecidePlan,
    EditContext,
    FollowUp,
    Interrupt,
    Invoke,
    Op,
    Prompt,
    Rewind,
    SelectMode,
    SelectModel,
    Steer,
    Trust,
)
from cockpit.protocol.queries import Query, Reply

MAX_REMEMBERED_IDS = 1_000
REPEAT_SECONDS = 2.0

BackgroundWork = Callable[[], Coroutine[None, None, None]]
Reload = Callable[["AgentSession", bool, bool], Awaitable[None]]


@dataclass(slots=True)
class AgentSession:
    """One session. `reload(session, trusted, keep)` rebuilds what plugins register."""

    host: Host
    main: Agent
    turns: TurnQueue
    residents: Residents
    observers: Observers
    reload: Reload
    on_close: Callable[[], None]
    occasions: SessionGuards = field(init=False)
    seen: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_REMEMBERED_IDS))
    _beside: "set[asyncio.Task[None]]" = field(default_factory=set)
    recent: dict[str, tuple[str, float]] = field(default_factory=dict)
    _closed: bool = False

    @property
    def session(self) -> str:
        return self.host.session

    async def submit(self, op: Op) -> None:
        """Take an op. Raises `CockpitError` when the session is closed, or cannot be written: then the
        op is not taken."""
        if self._closed:
            raise CockpitError(f"session {self.session} is closed", "open it again with --resume")
        if _is_repeated(self, op):
            self.warn(f"an op came twice ({op.id}); the second is dropped")
            return
        # A command's arguments may hold a key: they never lie in the transcript.
        if not isinstance(op, Invoke):
            _record_op(self, op)
        self.seen.append(op.id)
        await self._dispatch(op)

    def events(self, after: int = 0) -> AsyncIterator[Envelope]:
        return self.host.log.read(after)

    async def ask(self, query: Query) -> Reply:
        return self.host.redactor.value(await answer_query(self.main, query))

    async def close(self, reason: str = "closed") -> None:
        """Cancel what runs, tell the readers, sync. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        await self.turns.close()
        await self._cancel_beside()
        await self.occasions.end(reason)
        if self.host.crew is not None:
            await self.host.crew.close()
        await close_worktrees(self.host)
        await self.residents.stop()
        self.host.log.emit(SessionClosed(reason))
        await self.observers.stop()
        self.host.log.close()
        self.on_close()

    def warn(self, text: str, hint: str = "") -> None:
        if not self._closed:
            self.host.log.emit(Warned(text, hint))

    async def _dispatch(self, op: Op) -> None:
        match op:
            case Prompt() | FollowUp():
                self.turns.add(QueuedPrompt(op.id, op.origin, op.content))
            case Steer(agent=agent) if agent != "main":
                self._start(lambda: self._steer(op))
            case Steer():
                self.turns.steer(QueuedPrompt(op.id, op.origin, op.content))
            case Interrupt(call=call) if call:
                await self._cancel_beside(call)
            case Interrupt():
                await self._interrupt(op.agent)
            case Decide():
                self.host.approvals.decide(op)
            case DecidePlan():
                self._decide_plan(op)
            case Answer():
                self.host.approvals.answer(op)
            case CallTool():
                self._start(lambda: self._call_tool(op), op.id)
            case Invoke():
                self._start(lambda: self._invoke(op))
            case SelectModel():
                self._select_model(op.model)
            case SelectMode():
                plan_mode.select_mode(self.main, op.mode)
            case EditContext():
                self.main.history.edit(op.change, op.seqs)
            case Compact():
                self._start(lambda: self._compact(op.focus))
            case Rewind():
                self._start(lambda: self._rewind(op))
            case Trust():
                await self.reload(self, op.trusted, op.keep)
                self.occasions.begin("startup")
                self.changed(self.host.mode)
            case Close():
                await self.close()
            case _:
                assert_never(op)

    async def _steer(self, op: Steer) -> None:
        if self.host.crew is not None:
            await self.host.crew.say(op.agent, plain_text(op.content))

    async def _interrupt(self, agent: str) -> None:
        """Stop the turn and what it waits for; where none runs, what runs in the background."""
        crew = self.host.crew
        if agent not in ("main", "*"):
            if crew is not None:
                self._start(lambda: crew.cancel(crew.find(agent).id))
            return
        idle = not self.turns.is_busy() and not self._beside
        await self.turns.interrupt()
        await self._cancel_beside()
        if crew is not None and (agent == "*" or idle):
            self._start(lambda: crew.cancel_all())

    def _decide_plan(self, op: DecidePlan) -> None:
        if text := plan_mode.decide_plan(self.main, op):
            self.turns.add(QueuedPrompt(op.id, op.origin, (Text(text),)))

    async def _invoke(self, op: Invoke) -> None:
        if made := await run_command(self.main, op):
            self.turns.add(QueuedPrompt(op.id, op.origin, (Text(made.text),), made.mentions, made.model))

    async def _call_tool(self, op: CallTool) -> None:
        call = ToolCall(op.id, op.name, op.arguments)
        result = ToolResult(call.id, call.name, "cancelled", "cancelled by the person")
        if not self.turns.is_busy():
            self.host.origin = op.origin
        try:
            result = await run_call(self.main, call, LoopGuard(False), "person")
        finally:
            audit_end(self.main, result)
            self.host.log.emit(ToolCallFinished(result), call=call.id)

    async def _rewind(self, op: Rewind) -> None:
        await self.turns.over()
        with self.turns.held():
            await rewind(self.main, op)

    async def _compact(self, focus: str) -> None:
        await self.turns.idle()
        if not await compact(self.main, focus, asked=True):
            self.warn("there is nothing to compact yet")

    def _select_model(self, name: str) -> None:
        try:
            choice = choose_model(self.host.catalog, self.host.settings, name)
        except CockpitError as error:
            self.warn(error.message, error.hint)
            return
        self.host.breaker.forgive()
        self.host.model = choice.name
        self.main.context_tokens = 0
        if missing := choice.provider.ready():
            self.warn(missing)
        self.changed(self.host.mode)

    def changed(self, mode: Mode) -> None:
        """The mode is this now, and everybody hears of it."""
        host = self.host
        host.mode = mode
        branch = self.main.standing.branch if self.main.standing else ""
        words = self.turns.title, host.isolation, host.folder, branch
        changed = SessionChanged(host.model, host.mode, host.trusted, *words)
        host.log.emit(changed)

    async def tell_isolation(self) -> None:
        """Say what holds this session's commands, once that is known."""
        isolation = await self.host.workspace.processes.isolation()
        if self._closed or isolation.level == self.host.isolation:
            return
        self.host.isolation = isolation.level
        self.changed(self.host.mode)
        if self.host.mode == "full" and isolation.level == "none":
            self.warn("mode full without a sandbox: commands run unasked, with your rights", isolation.reason)

    def _start(self, work: BackgroundWork, name: str = "") -> None:
        """Run something beside the turn; what it raises is said. `name` is the op's that may end it."""
        task = asyncio.create_task(self._said(work), name=name or None)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _said(self, work: BackgroundWork) -> None:
        try:
            await work()
        except CockpitError as error:
            self.warn(error.message, error.hint)
        # A command is foreign code: what it raises must not end the session.
        except (Exception, SystemExit) as error:
            self.warn(f"{type(error).__name__}: {error}")

    async def _cancel_beside(self, name: str = "") -> None:
        """End what runs beside the turn; with `name` only what was started under it."""
        tasks = [task for task in self._beside if task is not asyncio.current_task()]
        tasks = [task for task in tasks if not name or task.get_name() == name]
        # As with a turn: each must have begun, so that it can say how it ended.
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2.0)


def _is_repeated(session: AgentSession, op: Op) -> bool:
    """The same id again; or the same text from a chat within 2 s (a typed prompt never)."""
    if op.id in session.seen:
        return True
    if not isinstance(op, Prompt) or not op.origin.startswith("channel:"):
        return False
    now = asyncio.get_running_loop().time()
    text, at = session.recent.get(op.origin, ("", -REPEAT_SECONDS))
    session.recent[op.origin] = (repr(op.content), now)
    return text == repr(op.content) and now - at < REPEAT_SECONDS


def _record_op(session: AgentSession, op: Op) -> None:
    try:
        session.host.log.accept(op)
    except OSError as error:
        text = f"the session cannot be written: {error.strerror or error}"
        raise CockpitError(text, "free space or mend the folder, then send it again") from error
    transcript.crash_point("accepted")
