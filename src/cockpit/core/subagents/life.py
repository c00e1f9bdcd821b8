"""How one subagent does its task: in this process, or by a runner that a plugin brings."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Protocol

from cockpit.core import isolating
from cockpit.core.agent import Agent
from cockpit.core.budget import Budget
from cockpit.core.subagents.child import first_words
from cockpit.core.turn import begin, go_on, run_turn
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentHandle, Report
from cockpit.protocol.content import Text
from cockpit.protocol.events import MessageFinished, TurnFinished, TurnStarted
from cockpit.protocol.messages import AssistantMessage, StopReason, Usage, UserMessage

# Over its own time limit, so that the turn ends at a step where it can.
GRACE = 2.0
BROKEN_OFF = (
    "[cockpit ended while you were at it and has begun again. Go on with your task. What is marked as "
    "interrupted may have happened or not: look before you do it again.]"
)
ENDS: dict[StopReason, str] = {
    "max_turn_requests": "it was stopped, and this is how far it got",
    "max_tokens": "it was stopped, and this is how far it got",
    "refusal": "it was refused",
    "cancelled": "it was cancelled, and this is how far it got",
    "error": "it failed",
}


class Life(Protocol):
    """Doing tasks, one after the other."""

    async def run(self, text: str | None) -> Report:
        """Do what `text` says, or (None) go on with what a restart broke off."""
        ...

    async def tell(self, id: str, text: str) -> None:
        """Say something while it runs."""
        ...

    def stop(self) -> None:
        """End where that is clean."""
        ...

    async def settle(self, report: str) -> tuple[str, str]:
        """After its end: what its opener is told of what it leaves behind, and the branch that it is on."""
        ...

    def left_over(self) -> str:
        """What was said too late to be heard."""
        ...


class InProcess:
    """A turn of an agent on this loop. `isolates` gives it a worktree first; `fresh` is the budget of what
    it is told after its task."""

    def __init__(self, agent: Agent, parent: Agent, isolates: bool, fresh: Callable[[], Budget]) -> None:
        self.agent = agent
        self._parent = parent
        self._isolates = isolates
        self._fresh = fresh
        self._runs = 0

    async def run(self, text: str | None) -> Report:
        agent = self.agent
        agent.stopping = False
        if self._runs or text is None:
            agent.budget = self._fresh().child(agent.budget.limits)
        agent.budget.started = time.monotonic()
        self._runs += 1
        if self._isolates and (agent.standing is None or agent.standing is self._parent.standing):
            agent.standing = await isolating.isolate(self._parent, agent.path)
        heard = len(agent.history.entries)
        if text is None:
            ended = await self._timed(_taken_up(agent))
        else:
            if not heard:
                text = await first_words(agent, text)
            ended = await self._timed(run_turn(agent, "", agent.path, (Text(text),)))
        return _report(agent, ended, heard)

    async def tell(self, id: str, text: str) -> None:
        self.agent.steers.append((id, (Text(text),)))

    def stop(self) -> None:
        self.agent.stopping = True

    async def settle(self, report: str) -> tuple[str, str]:
        agent = self.agent
        if not self._isolates or agent.standing is None or agent.standing is self._parent.standing:
            return "", ""
        found = await isolating.settle(agent, report)
        if found is None:
            return "", agent.standing.branch
        if not found.kept:
            agent.standing = self._parent.standing
        return isolating.told(found), found.branch if found.kept else ""

    def left_over(self) -> str:
        texts = []
        while self.agent.steers:
            _, content = self.agent.steers.popleft()
            texts += [block.text for block in content if isinstance(block, Text)]
        return "\n\n".join(texts)

    async def _timed(self, turn: Coroutine[None, None, TurnFinished]) -> TurnFinished:
        """The turn within its time, also when its model or a tool hangs."""
        left = self.agent.budget.seconds_left()
        try:
            async with asyncio.timeout(None if left is None else left + GRACE):
                return await turn
        except TimeoutError:
            seconds = self.agent.budget.limits.seconds
            said = f"the limit of {seconds:g} s is reached" if seconds else "the time of its turn is over"
            return TurnFinished("max_turn_requests", Usage(), left or 0.0, "seconds", message=said)


class Elsewhere:
    """An agent that a runner holds. `start` begins a task and gives its handle; of `budget` it has the
    time, which is kept here too."""

    def __init__(self, start: Callable[[str], Coroutine[None, None, AgentHandle]], budget: Budget) -> None:
        self._start = start
        self._budget = budget
        self._handle: AgentHandle | None = None

    async def run(self, text: str | None) -> Report:
        if text is None:
            raise CockpitError("its runner ended with cockpit", "give the task again")
        self._budget.started = time.monotonic()
        if self._handle is None:
            self._handle = await self._start(text)
        else:
            await self._handle.send(text)
        left = self._budget.seconds_left()
        try:
            async with asyncio.timeout(None if left is None else left + GRACE):
                return await self._handle.wait()
        except TimeoutError as error:
            await self._handle.cancel()
            raise CockpitError(f"its time is over: {self._budget.limits.seconds or left:g} s") from error
        except asyncio.CancelledError:
            await self._handle.cancel()
            raise

    async def tell(self, id: str, text: str) -> None:
        if self._handle is None:
            raise CockpitError("it has not begun yet", "say it when it runs")
        await self._handle.send(text)

    def stop(self) -> None:
        """Whether it can end cleanly is its runner's part, which is asked when the wait is cancelled."""

    async def settle(self, report: str) -> tuple[str, str]:
        return "", ""

    def left_over(self) -> str:
        return ""


async def _taken_up(agent: Agent) -> TurnFinished:
    """The rest of a turn that ended with the process, or all of one that had not begun."""
    log = agent.host.log
    turn = begin(agent)
    log.emit(MessageFinished(agent.host.new_id(), UserMessage((Text(BROKEN_OFF),))), agent.path)
    try:
        ended = await go_on(turn)
    except BaseException as error:
        failed = isinstance(error, Exception)
        log.emit(turn.finished("error" if failed else "cancelled", message=str(error)), agent.path)
        raise
    log.emit(ended, agent.path)
    return ended


def has_begun(agent: Agent) -> bool:
    """Whether its conversation has its task."""
    return any(
        isinstance(one.event, TurnStarted) for one in agent.host.log.durable() if one.agent == agent.path
    )


def last_words(agent: Agent, heard: int = 0) -> str:
    """The last text it wrote, not counting the first `heard` messages."""
    for entry in reversed(agent.history.entries[heard:]):
        if isinstance(entry.message, AssistantMessage) and entry.message.text:
            return entry.message.text
    return ""


def _report(agent: Agent, ended: TurnFinished, heard: int) -> Report:
    words = last_words(agent, heard)
    return Report(
        told(ended.stop_reason, ended.message, words), ended.stop_reason, ended.usage, agent.budget.steps
    )


def told(reason: StopReason, message: str, words: str) -> str:
    """A report's text: an end that is not its own stands above its last words."""
    if reason == "end_turn":
        return words or "(it ended without a word)"
    head = f"[{ENDS[reason]}{': ' if message else ''}{message}]"
    return f"{head}\n{words}" if words else head
