"""A turn: one prompt to its stop reason. Requests and calls alternate until the model is done.

Knows no frontend and no wire format. Whatever happens, a turn that was started is finished once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cockpit.core.agent import Agent
from cockpit.core.budget import LimitReached
from cockpit.core.compaction import compact, context_size, is_full
from cockpit.core.context import Collected, collect, request
from cockpit.core.guards import ask_guards
from cockpit.core.loop_guard import LoopGuard
from cockpit.core.router import Choice
from cockpit.core.step import Streaming, ask
from cockpit.core.tool_calls import run_calls
from cockpit.errors import CockpitError
from cockpit.plugin.models import ModelFailed, ModelRequest
from cockpit.plugin.safety import Guarded, Point
from cockpit.protocol.content import Block, Text, plain
from cockpit.protocol.events import (
    MessageFinished,
    StepStarted,
    TurnFinished,
    TurnStarted,
    UsageChanged,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage, Limit, StopReason, Usage, UserMessage

CONTINUED = 3
OVERFLOWS = 2
STOPS = 3
HALTED = "the turn was ended by {}"
GO_ON = (
    "[Your answer was cut off by the output limit. Go on where it stopped; send cut calls again, smaller.]"
)
FULL = "the conversation has {} tokens, as many as may be"
SUM_UP = "[{reason}. Do not call tools: say what was done, what is left, and what to do next.]"


@dataclass(slots=True)
class Turn:
    """What one turn counts."""

    agent: Agent
    guard: LoopGuard
    started: float = field(default_factory=time.monotonic)
    step: int = 0
    denied: int = 0
    continued: int = 0
    overflows: int = 0
    stops: int = 0
    usage: Usage = field(default_factory=Usage)

    def spend(self, usage: Usage) -> None:
        self.usage += usage
        self.agent.spend(usage)

    def finished(self, reason: StopReason, limit: Limit | None = None, message: str = "") -> TurnFinished:
        seconds = round(time.monotonic() - self.started, 3)
        return TurnFinished(reason, self.usage, seconds, limit, self.denied, message)


Work = Callable[[Turn], Awaitable[TurnFinished]]


def begin(agent: Agent) -> Turn:
    """A new turn of `agent`: fresh counters on a fresh guard."""
    agent.halt = ""
    return Turn(agent, LoopGuard(nudges_progress=not agent.is_planning and not _explores(agent)))


async def run_turn(
    agent: Agent, op: str, origin: str, content: tuple[Block, ...], work: Work | None = None
) -> TurnFinished:
    """Take a prompt to its end; the `TurnFinished` that is emitted is returned. Cancellation ends it
    as `cancelled`, a full disk or a defect of ours as `error`, and each is raised again. `work` does it in
    place of the agent's own model."""
    turn = begin(agent)
    log = agent.host.log
    log.emit(TurnStarted(op, origin, content), agent.path)
    try:
        refusal = await _guard_prompt(turn, content)
        ended = turn.finished("refusal", message=refusal) if refusal else await (work or go_on)(turn)
        agent.halt = ""
    except BaseException as error:
        failed = isinstance(error, Exception)
        ended = turn.finished("error", message=str(error)) if failed else turn.finished("cancelled")
        log.emit(ended, agent.path)
        raise
    log.emit(ended, agent.path)
    return ended


async def go_on(turn: Turn) -> TurnFinished:
    """Steps until the turn ends. Every fault that has a name becomes its end."""
    try:
        return await _steps(turn)
    except LimitReached as error:
        return turn.finished("max_turn_requests", error.limit, error.message)
    except (ModelFailed, CockpitError) as error:
        return turn.finished("error", message=str(error))


async def _steps(turn: Turn) -> TurnFinished:
    agent = turn.agent
    while True:
        _stop(agent)
        _take_steers(agent)
        if agent.body is not None and agent.history.tokens() >= agent.body:
            return await _sum_up(turn, LimitReached("tokens", FULL.format(agent.body)))
        try:
            agent.budget.spend_step()
        except LimitReached as error:
            if error.limit != "steps":
                raise
            return await _sum_up(turn, error)
        if is_full(agent):
            await compact(agent)
        message = await _step(turn)
        if message.calls:
            ended = await _call(turn, message)
        else:
            ended = await _settle(turn, message)
        if ended is not None:
            return ended


async def _step(turn: Turn, tools: bool = True, extra: str = "") -> AssistantMessage:
    """One answer; an overflow is met with compaction, twice at most."""
    agent = turn.agent
    turn.step += 1
    choices = agent.choices()
    _refuse_blind_spending(agent, choices[0])
    collected = await collect(agent, turn.step == 1)
    agent.host.log.emit(StepStarted(turn.step, choices[0].name), agent.path)
    streaming = Streaming(agent.host.log, agent.path, agent.host.breaker, turn.spend, agent.host.new_id)
    try:
        message = await ask(choices, _builder(agent, collected, tools, extra), streaming)
    except ModelFailed as error:
        turn.overflows += 1
        if error.fault != "context_overflow" or turn.overflows > OVERFLOWS or not await compact(agent):
            raise
        text = f"{error.message}; the older part was compacted, asking again"
        agent.host.log.emit(Warned(text, source="overflow"), agent.path)
        return await _step(turn, tools, extra)
    _tell_usage(agent)
    return message


def _builder(agent: Agent, collected: Collected, tools: bool, extra: str) -> Callable[[Choice], ModelRequest]:
    def build(choice: Choice) -> ModelRequest:
        return request(agent, choice, collected, tools, extra)

    return build


def _refuse_blind_spending(agent: Agent, choice: Choice) -> None:
    facts = choice.facts
    unknown = choice.provider.priced and (facts.input_price is None or facts.output_price is None)
    if unknown and agent.budget.has_money_cap():
        raise CockpitError(
            f"the price of {choice.name} is unknown, so a money cap cannot be kept",
            "give its prices in models.toml, or take the cap away",
        )


async def _call(turn: Turn, message: AssistantMessage) -> TurnFinished | None:
    """Run the answer's calls; None means the model is asked again."""
    results = await run_calls(turn.agent, message.calls, turn.guard)
    turn.denied += sum(result.outcome == "denied" for result in results)
    if turn.agent.halt:
        return turn.finished("refusal", message=HALTED.format(turn.agent.halt))
    if stalled := turn.guard.stalls():
        return turn.finished("max_turn_requests", "loop", stalled)
    if turn.guard.gives_up():
        reason = "the same call was repeated although it was refused"
        return await _sum_up(turn, LimitReached("loop", reason))
    most = turn.agent.budget.limits.tool_calls
    if most is not None and turn.agent.budget.tool_calls >= most and len(results) > 0:
        over = any(result.text.startswith("not run: the limit") for result in results)
        if over:
            return await _sum_up(
                turn, LimitReached("tool_calls", f"the limit of {most} tool calls is reached")
            )
    return None


async def _settle(turn: Turn, message: AssistantMessage) -> TurnFinished | None:
    """An answer without calls: the end, unless it was cut, steered, or a guard wants more."""
    agent = turn.agent
    if message.finish == "length":
        turn.continued += 1
        if turn.continued > CONTINUED:
            return turn.finished("max_tokens", message="the answer was cut off again and again")
        _say(agent, GO_ON)
        return None
    if message.finish == "content_filter":
        return turn.finished("refusal", message="the provider's content filter ended the answer")
    if agent.steers or await _hears_of_others(agent):
        return None
    points: tuple[Point, ...] = ("answer", "stop", "subagent_stop" if agent.depth else "stop")
    for point in dict.fromkeys(points):
        passed = await ask_guards(agent, Guarded(point, message.text, facts={"continued": turn.stops}))
        if passed.halt:
            return turn.finished("refusal", message=HALTED.format(passed.halt))
        more = passed.goes_on or "\n\n".join(passed.added) or passed.refusal
        if more and turn.stops < STOPS:
            turn.stops += 1
            _say(agent, more)
            return None
    return turn.finished("end_turn")


async def _sum_up(turn: Turn, reached: LimitReached) -> TurnFinished:
    """One answer without tools, so that the person is not left with a bare limit."""
    await _step(turn, tools=False, extra=SUM_UP.format(reason=reached.message))
    return turn.finished("max_turn_requests", reached.limit, reached.message)


async def _guard_prompt(turn: Turn, content: tuple[Block, ...]) -> str:
    """What the guards of the beginning and of the prompt add is said; why they refuse is returned."""
    agent = turn.agent
    guarded = Guarded("prompt", plain(content))
    added = list(await _beginning(agent, guarded.text))
    if agent.halt:
        return HALTED.format(agent.halt)
    passed = await ask_guards(agent, guarded)
    if passed.refusal:
        return f"the prompt was refused by {passed.refusal}"
    if passed.halt:
        return HALTED.format(passed.halt)
    added += passed.added
    if passed.guarded.text != guarded.text:
        added.append(f"[The prompt reads, as rewritten by a guard:]\n{passed.guarded.text}")
    for text in added:
        _say(agent, text)
    return ""


async def _beginning(agent: Agent, task: str) -> tuple[str, ...]:
    """What guards add at the beginning of the session, or of a subagent."""
    if agent.depth:
        return (await ask_guards(agent, Guarded("subagent_start", task))).added
    return await agent.host.beginning() if agent.host.beginning is not None else ()


async def _hears_of_others(agent: Agent) -> bool:
    """Where nobody is there for a next turn, the end of what runs in the background is waited for."""
    host = agent.host
    if agent.depth or host.approvals.someone or host.crew is None:
        return False
    await host.crew.one_ends()
    return bool(agent.notes)


def _explores(agent: Agent) -> bool:
    return agent.role is not None and agent.role.explores


def _stop(agent: Agent) -> None:
    """Where an agent that was asked to end does so."""
    if agent.stopping:
        raise asyncio.CancelledError


def _take_steers(agent: Agent) -> None:
    while agent.notes:
        id, text = agent.notes.popleft()
        agent.host.log.emit(MessageFinished(id, UserMessage((Text(text),))), agent.path)
    while agent.steers:
        id, content = agent.steers.popleft()
        agent.host.log.emit(MessageFinished(id, UserMessage(content)), agent.path)


def _say(agent: Agent, text: str) -> None:
    """A word of the loop itself, in the place of the person."""
    agent.host.log.emit(MessageFinished(agent.host.new_id(), UserMessage((Text(text),))), agent.path)


def _tell_usage(agent: Agent) -> None:
    host = agent.host
    host.log.emit(UsageChanged(host.usage, context_size(agent), agent.window()), agent.path)
