"""The queue of prompts and the one turn that runs. `core/turn` does the turn itself."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.guards import SessionGuards
from cockpit.core.agent.turn_limits import Budget
from cockpit.core.calls.tool_calls import run_calls
from cockpit.core.subagents.opener import parse_role_prompt
from cockpit.core.subagents.pool import SubagentPool
from cockpit.core.turn.turn import begin_turn, expand_mentions, run_steps, run_turn
from cockpit.errors import CockpitError
from cockpit.protocol.content import Block, plain_text
from cockpit.protocol.events import TurnFinished, TurnStarted, Warned
from cockpit.protocol.messages import ToolCall, Usage

CANCEL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that waits for its turn. With `mentions` the files and symbols it names are added to it.
    `model` answers it; empty means the session's model."""

    op: str
    origin: str
    content: tuple[Block, ...]
    mentions: bool = True
    model: str = ""


@dataclass(slots=True)
class TurnQueue:
    """Runs the turns of one session, one at a time. `budget` is the session's own."""

    main: Agent
    budget: Budget
    pool: SubagentPool
    guards: SessionGuards
    waiting: deque[QueuedPrompt] = field(default_factory=deque)
    _running: "asyncio.Task[None] | None" = None
    _closed: bool = False
    _stopping: bool = False

    def is_busy(self) -> bool:
        return self._running is not None and not self._running.done()

    def add(self, prompt: QueuedPrompt) -> None:
        """Queue a prompt; it begins at once when nothing runs."""
        self.waiting.append(prompt)
        self._start_next()

    def steer(self, prompt: QueuedPrompt) -> None:
        """Add a message to the running turn, or begin a turn with it."""
        if self.is_busy():
            self.main.steers.append((prompt.op, prompt.content))
        else:
            self.add(prompt)

    def resume(self, turn: str, calls: tuple[ToolCall, ...]) -> None:
        """Continue a turn that a crash interrupted while these calls waited for an approval."""
        self.main.services.log.turn = turn
        self._running = asyncio.create_task(self._guarded(lambda: self._finish_turn(calls)))

    async def wait_idle(self) -> None:
        """Wait until no turn runs."""
        while self._running is not None and not self._running.done():
            await asyncio.wait((self._running,))

    async def wait_for_end(self) -> None:
        """Wait for the task of a turn whose end was emitted; do not wait for a turn that still runs."""
        for envelope in reversed(self.main.services.log.durable()):
            if envelope.agent == "main" and isinstance(envelope.event, TurnStarted | TurnFinished):
                if isinstance(envelope.event, TurnFinished):
                    await self.wait_idle()
                return

    async def interrupt(self) -> None:
        """Stop the running turn and drop the prompts queued behind it; each prompt gets its end."""
        dropped = {prompt.op for prompt in self.waiting} | {op for op, _ in self.main.steers}
        self._stopping = True
        try:
            await self.cancel()
        finally:
            self._stopping = False
            self._drop(dropped)
            self._start_next()

    async def cancel(self) -> None:
        """Cancel the running turn and wait, at most 2 s, until its result is written."""
        running = self._running
        if running is not None and running is not asyncio.current_task():
            # A task that is cancelled before its first step would leave no trace of its prompt.
            await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait((running,), timeout=CANCEL_SECONDS)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No turn runs inside; prompts that arrive begin afterwards. Raises `CockpitError` while a
        turn runs."""
        if self.is_busy() or self._stopping:
            raise CockpitError("a turn is running", "interrupt it first (Esc), then rewind")
        self._stopping = True
        try:
            yield
        finally:
            self._stopping = False
            self._start_next()

    async def close(self) -> None:
        self._closed = True
        await self.cancel()

    def _start_next(self) -> None:
        if self.waiting and not self.is_busy() and not self._closed and not self._stopping:
            prompt = self.waiting.popleft()
            self._running = asyncio.create_task(self._guarded(lambda: self._run(prompt)))

    async def _run(self, prompt: QueuedPrompt) -> None:
        main = self.main
        main.services.log.turn = prompt.op
        main.state.set_origin(prompt.origin)
        main.state.set_title(plain_text(prompt.content))
        main.budget = self.budget.child(main.services.limits)
        main.model = prompt.model
        try:
            content = await expand_mentions(main, prompt.content) if prompt.mentions else prompt.content
        except asyncio.CancelledError:
            self._record_unstarted(prompt)
            raise
        role_prompt = parse_role_prompt(main.agents.roles(), content)
        work = role_prompt.run if role_prompt is not None else run_steps
        await run_turn(main, prompt.op, prompt.origin, content, work, self.guards.start_texts)

    def _drop(self, dropped: set[str]) -> None:
        log = self.main.services.log
        for prompt in self.waiting:
            if prompt.op in dropped:
                log.turn = prompt.op
                self._record_unstarted(prompt)
        self.waiting = deque(prompt for prompt in self.waiting if prompt.op not in dropped)
        if not self.is_busy():
            log.turn = ""

    def _record_unstarted(self, prompt: QueuedPrompt) -> None:
        """Record the start and the end of a prompt that was stopped before its turn began."""
        log = self.main.services.log
        log.emit(TurnStarted(prompt.op, prompt.origin, prompt.content))
        log.emit(TurnFinished("cancelled", Usage(), 0.0, message="interrupted before it began"))

    async def _finish_turn(self, calls: tuple[ToolCall, ...]) -> None:
        self.main.budget = self.budget.child(self.main.services.limits)
        turn = begin_turn(self.main)
        ended: TurnFinished | None = None
        try:
            await run_calls(self.main, calls, turn.guard)
            ended = await run_steps(turn)
        finally:
            self.main.services.log.emit(ended or turn.finished("cancelled"))

    async def _guarded(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run the task of a turn: whatever it raises is reported, and the session continues."""
        try:
            await work()
        except asyncio.CancelledError:
            pass
        except OSError as error:
            self._report_unwritten(error)
        # The one place around the task of a turn: a defect of ours must not end the session.
        except (Exception, SystemExit) as error:
            if not self._closed:
                self.main.warn(
                    f"the turn failed inside cockpit: {type(error).__name__}: {error}", "please report this"
                )
        await self._settle()

    async def _settle(self) -> None:
        """After a turn: messages that came too late for it become the next prompts."""
        main, log = self.main, self.main.services.log
        while main.steers:
            id, content = main.steers.pop()
            self.waiting.appendleft(QueuedPrompt(id, main.state.origin, content))
        if self._closed:
            return
        try:
            await log.sync()
        except OSError as error:
            self._report_unwritten(error)
        log.turn = ""
        self._running = None
        self._start_next()
        if not self.is_busy():
            self.pool.notices.wake()

    def _report_unwritten(self, error: OSError) -> None:
        """The transcript cannot be written: report it to readers only, and end the turn."""
        text = f"the session cannot be written: {error.strerror or error}"
        log = self.main.services.log
        log.emit_unwritten(Warned(text, "free disk space or repair the folder; what was written is intact"))
        log.emit_unwritten(TurnFinished("error", Usage(), 0.0, message=text))
