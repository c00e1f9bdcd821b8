"""The queue of prompts and the one turn that runs. What a turn does is `core/turn`'s part."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.turn_limits import Budget
from cockpit.core.calls.tool_calls import run_calls
from cockpit.core.subagents.opener import parse_role_prompt
from cockpit.core.turn.turn import begin_turn, expand_mentions, run_steps, run_turn
from cockpit.errors import CockpitError
from cockpit.protocol.content import Block, plain_text
from cockpit.protocol.events import TurnFinished, TurnStarted, Warned
from cockpit.protocol.messages import ToolCall, Usage

CANCEL_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that is accepted and not begun. With `mentions`, what its texts name is put beside them;
    `model` answers it, "" for the session's."""

    op: str
    origin: str
    content: tuple[Block, ...]
    mentions: bool = True
    model: str = ""


@dataclass(slots=True)
class TurnQueue:
    """The turns of one session, one at a time. `budget` is the session's own."""

    main: Agent
    budget: Budget
    title: str = ""
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
        """Say something to the running turn, or begin one with it."""
        if self.is_busy():
            self.main.steers.append((prompt.op, prompt.content))
        else:
            self.add(prompt)

    def take_up(self, turn: str, calls: tuple[ToolCall, ...]) -> None:
        """Go on with a turn that a crash left while these calls waited for an approval."""
        self.main.host.log.turn = turn
        self._running = asyncio.create_task(self._guarded(lambda: self._rest_of_turn(calls)))

    async def idle(self) -> None:
        """Wait until no turn runs."""
        while self._running is not None and not self._running.done():
            await asyncio.wait((self._running,))

    async def over(self) -> None:
        """Wait for the last words of a turn that has told its end; one that still runs is not waited for."""
        ends = (one.event for one in reversed(self.main.host.log.durable()) if one.agent == "main")
        last = next((event for event in ends if isinstance(event, TurnStarted | TurnFinished)), None)
        if isinstance(last, TurnFinished):
            await self.idle()

    async def interrupt(self) -> None:
        """Stop the running turn and everything that waits behind it now; each prompt gets its end."""
        stopped = {prompt.op for prompt in self.waiting} | {op for op, _ in self.main.steers}
        self._stopping = True
        try:
            await self.cancel()
        finally:
            self._stopping = False
            self._drop(stopped)
            self._start_next()

    async def cancel(self) -> None:
        """Cancel the running turn and wait (at most 2 s) until its result is written."""
        running = self._running
        if running is not None and running is not asyncio.current_task():
            # A task that is cancelled before its first step would leave no trace of its prompt.
            await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait((running,), timeout=CANCEL_SECONDS)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing runs in it, and what is said meanwhile begins after it. Raises `CockpitError` while a
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
            self._running = asyncio.create_task(self._guarded(lambda: self._turn(prompt)))

    async def _turn(self, prompt: QueuedPrompt) -> None:
        host = self.main.host
        host.log.turn = prompt.op
        host.origin = prompt.origin
        self.main.budget = self.budget.child(host.limits)
        self.main.model = prompt.model
        self.title = self.title or " ".join(plain_text(prompt.content).split())[:80]
        try:
            content = await expand_mentions(self.main, prompt.content) if prompt.mentions else prompt.content
        except asyncio.CancelledError:
            self._never_began(prompt)
            raise
        spoken_to = parse_role_prompt(self.main.agents.roles(), content)
        work = spoken_to.work if spoken_to is not None else run_steps
        await run_turn(self.main, prompt.op, prompt.origin, content, work)

    def _drop(self, stopped: set[str]) -> None:
        kept = [prompt for prompt in self.waiting if prompt.op not in stopped]
        for prompt in self.waiting:
            if prompt.op in stopped:
                self.main.host.log.turn = prompt.op
                self._never_began(prompt)
        self.waiting = deque(kept)
        if not self.is_busy():
            self.main.host.log.turn = ""

    def _never_began(self, prompt: QueuedPrompt) -> None:
        """A prompt that was stopped before its turn: it is on record, and over."""
        log = self.main.host.log
        log.emit(TurnStarted(prompt.op, prompt.origin, prompt.content))
        log.emit(TurnFinished("cancelled", Usage(), 0.0, message="interrupted before it began"))

    async def _rest_of_turn(self, calls: tuple[ToolCall, ...]) -> None:
        self.main.budget = self.budget.child(self.main.host.limits)
        turn = begin_turn(self.main)
        ended: TurnFinished | None = None
        try:
            await run_calls(self.main, calls, turn.guard)
            ended = await run_steps(turn)
        finally:
            self.main.host.log.emit(ended or turn.finished("cancelled"))

    async def _guarded(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """The session's task: whatever a turn raises is said, and the session goes on."""
        try:
            await work()
        except asyncio.CancelledError:
            pass
        except OSError as error:
            self._unwritten(error)
        # The one place around the session's task: a defect of ours must not end the session.
        except (Exception, SystemExit) as error:
            self._warn(
                f"the turn failed inside cockpit: {type(error).__name__}: {error}", "please report this"
            )
        await self._settle()

    async def _settle(self) -> None:
        """After a turn: what was said too late for it becomes the next prompt."""
        host = self.main.host
        while self.main.steers:
            id, content = self.main.steers.pop()
            self.waiting.appendleft(QueuedPrompt(id, host.origin, content))
        if self._closed:
            return
        try:
            await host.log.sync()
        except OSError as error:
            self._unwritten(error)
        host.log.turn = ""
        self._running = None
        self._start_next()
        if host.crew is not None and not self.is_busy():
            host.crew.notes.wake()

    def _unwritten(self, error: OSError) -> None:
        """The disk took no more: said on the screen alone, and the turn is over."""
        text = f"the session cannot be written: {error.strerror or error}"
        log = self.main.host.log
        log.tell(Warned(text, "free space or mend the folder; what is on disk is whole"))
        log.tell(TurnFinished("error", Usage(), 0.0, message=text))

    def _warn(self, text: str, hint: str) -> None:
        if not self._closed:
            self.main.host.log.emit(Warned(text, hint))
