"""A turn, from a prompt to its stop reason: model requests and tool calls alternate until the model is done.

Files and symbols that a prompt mentions (`@path`) are added to it first. A turn that has started finishes
exactly once.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.guards import run_guards
from cockpit.core.agent.models import ModelChoice, RequestContext, request_answer
from cockpit.core.agent.plugin_context import build_context
from cockpit.core.agent.turn_limits import LimitReached, LoopGuard
from cockpit.core.calls.tool_calls import run_calls
from cockpit.core.permission.verdicts import MCP_MENTION
from cockpit.core.turn.compaction import compact, context_size, is_full
from cockpit.core.turn.context import build_request, collect_context
from cockpit.errors import CockpitError
from cockpit.plugin.models import ModelFailed, ModelRequest
from cockpit.plugin.safety import Guarded, Point
from cockpit.plugin.values import Mention
from cockpit.protocol.content import Block, Code, Text, plain_text
from cockpit.protocol.events import MessageFinished, StepStarted, TurnFinished, TurnStarted, UsageChanged
from cockpit.protocol.messages import AssistantMessage, Limit, StopReason, Usage, UserMessage

MENTION_PATTERN = re.compile(r'(?<![\w@])(?P<sign>[@#])(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"\'`,;()<>]+))')
# Line numbers that may follow a path.
LINE_SUFFIX = re.compile(r"(?::\d+(?:-\d+)?(?::\d+)?)?")
MAX_MENTIONS = 20


async def expand_mentions(agent: Agent, content: tuple[Block, ...]) -> tuple[Block, ...]:
    """`content` followed by what its texts mention. An unknown name stays a word."""
    blocks: dict[str, Block] = {}
    for block in content:
        if not isinstance(block, Text):
            continue
        for match in MENTION_PATTERN.finditer(block.text):
            name = match["quoted"] or match["bare"].rstrip(".:!?")
            if name in blocks or len(blocks) >= MAX_MENTIONS:
                continue
            if (expanded := await _expand_mention(agent, match["sign"], name)) is not None:
                blocks[name] = expanded
    return (*content, *(_label_block(name, block) for name, block in blocks.items()))


async def _expand_mention(agent: Agent, sign: str, name: str) -> Block | None:
    """The block of the first mention, by name, that knows `name`: files come before symbols."""
    mentions = [mention for mention in agent.services.catalog.all(Mention) if mention.sign == sign]
    for mention in sorted(mentions, key=lambda mention: mention.name):
        context = build_context(agent, agent.services.catalog.owner(Mention, mention.name))
        if (block := await mention.expand(name, context)) is not None:
            if mention.name == MCP_MENTION:
                agent.state.record_outside_text()
            return block
    return None


def _label_block(name: str, block: Block) -> Block:
    """Put the source of code into its text: the model reads only that."""
    if not isinstance(block, Code):
        return block
    label = name
    if block.path and not LINE_SUFFIX.fullmatch(name.removeprefix(block.path)):
        label = f"{name}: {block.path}:{block.line}-{block.line + block.text.rstrip().count(chr(10))}"
    return Code(f"[@{label}]\n{block.text}", block.language, block.path, block.line)


MAX_CONTINUATIONS = 3
MAX_OVERFLOWS = 2
MAX_STOP_REFUSALS = 3
HALTED_TEXT = "the turn was ended by {}"
GO_ON_PROMPT = (
    "[Your answer was cut off by the output limit. Go on where it stopped; send cut calls again, smaller.]"
)
CONVERSATION_FULL = "the conversation has reached its limit of {} tokens"
SUM_UP_PROMPT = "[{reason}. Do not call tools: say what was done, what is left, and what to do next.]"


@dataclass(slots=True)
class TurnProgress:
    """The counters of one turn."""

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


TurnWork = Callable[[TurnProgress], Awaitable[TurnFinished]]
StartTexts = Callable[[], Awaitable[tuple[str, ...]]]


def begin_turn(agent: Agent) -> TurnProgress:
    """A new turn of `agent` with fresh counters and a fresh loop guard."""
    agent.halt = ""
    explores = agent.role is not None and agent.role.explores
    return TurnProgress(agent, LoopGuard(nudges_progress=not agent.is_planning and not explores))


async def run_turn(
    agent: Agent,
    op: str,
    origin: str,
    content: tuple[Block, ...],
    work: TurnWork | None = None,
    start_texts: StartTexts | None = None,
) -> TurnFinished:
    """Run a prompt to its end and return the `TurnFinished` that was emitted.

    Cancellation ends the turn as `cancelled`, a full disk or a defect of ours as `error`; each is raised
    again. `work` answers in place of the agent's own model, and `start_texts` returns what the guards of
    the session's start add.
    """
    turn = begin_turn(agent)
    agent.emit(TurnStarted(op, origin, content))
    try:
        refusal = await _guard_prompt(turn, content, start_texts)
        finished = turn.finished("refusal", message=refusal) if refusal else await (work or run_steps)(turn)
        agent.halt = ""
    except BaseException as error:
        failed = isinstance(error, Exception)
        agent.emit(turn.finished("error", message=str(error)) if failed else turn.finished("cancelled"))
        raise
    agent.emit(finished)
    return finished


async def run_steps(turn: TurnProgress) -> TurnFinished:
    """Run steps until the turn ends. Every expected failure becomes its end."""
    try:
        return await _step_loop(turn)
    except LimitReached as error:
        return turn.finished("max_turn_requests", error.limit, error.message)
    except (ModelFailed, CockpitError) as error:
        return turn.finished("error", message=str(error))


async def _step_loop(turn: TurnProgress) -> TurnFinished:
    agent = turn.agent
    while True:
        if agent.stopping:
            raise asyncio.CancelledError
        _deliver_messages(agent)
        if agent.max_history is not None and agent.history.tokens() >= agent.max_history:
            return await _sum_up(turn, LimitReached("tokens", CONVERSATION_FULL.format(agent.max_history)))
        try:
            agent.budget.spend_step()
        except LimitReached as error:
            if error.limit != "steps":
                raise
            return await _sum_up(turn, error)
        if is_full(agent):
            await compact(agent)
        message = await _run_step(turn)
        if message.calls:
            ended = await _run_answer_calls(turn, message)
        else:
            ended = await _settle_answer(turn, message)
        if ended is not None:
            return ended


async def _run_step(turn: TurnProgress, tools: bool = True, extra: str = "") -> AssistantMessage:
    """Request one answer. When the context overflows, compact it and ask again, at most twice."""
    agent = turn.agent
    turn.step += 1
    choices = agent.choices()
    _check_price_known(agent, choices[0])
    collected = await collect_context(agent, turn.step == 1)
    agent.emit(StepStarted(turn.step, choices[0].name))
    streaming = RequestContext(agent.services.log, agent.path, agent.services.breaker, turn.spend)

    def build(choice: ModelChoice) -> ModelRequest:
        return build_request(agent, choice, collected, tools, extra)

    try:
        message = await request_answer(choices, build, streaming)
    except ModelFailed as error:
        turn.overflows += 1
        if error.fault != "context_overflow" or turn.overflows > MAX_OVERFLOWS or not await compact(agent):
            raise
        agent.warn(f"{error.message}; the older part was compacted, asking again", source="overflow")
        return await _run_step(turn, tools, extra)
    agent.emit(UsageChanged(agent.state.usage, context_size(agent), agent.window()))
    return message


def _check_price_known(agent: Agent, choice: ModelChoice) -> None:
    facts = choice.facts
    unknown = choice.provider.priced and (facts.input_price is None or facts.output_price is None)
    if unknown and agent.budget.has_money_cap():
        raise CockpitError(
            f"the price of {choice.name} is unknown, so the money limit cannot be enforced",
            "give its prices in models.toml, or remove the limit",
        )


async def _run_answer_calls(turn: TurnProgress, message: AssistantMessage) -> TurnFinished | None:
    """Run the calls of an answer. Returns None when the model is asked again."""
    results = await run_calls(turn.agent, message.calls, turn.guard)
    turn.denied += sum(result.outcome == "denied" for result in results)
    if turn.agent.halt:
        return turn.finished("refusal", message=HALTED_TEXT.format(turn.agent.halt))
    if stalled := turn.guard.stalls():
        return turn.finished("max_turn_requests", "loop", stalled)
    if turn.guard.gives_up():
        reason = "the same call was repeated although it was refused"
        return await _sum_up(turn, LimitReached("loop", reason))
    limit = turn.guard.call_limit
    return await _sum_up(turn, limit) if limit is not None else None


async def _settle_answer(turn: TurnProgress, message: AssistantMessage) -> TurnFinished | None:
    """End the turn after an answer without calls, unless it was cut off or steered, or a guard wants more."""
    agent = turn.agent
    if message.finish == "length":
        turn.continued += 1
        if turn.continued > MAX_CONTINUATIONS:
            return turn.finished("max_tokens", message=f"the answer was cut off {turn.continued} times")
        agent.add_message(GO_ON_PROMPT)
        return None
    if message.finish == "content_filter":
        return turn.finished("refusal", message="the provider's content filter ended the answer")
    if agent.steers or await _wait_for_subagents(agent):
        return None
    points: tuple[Point, ...] = ("answer", "stop", "subagent_stop") if agent.depth else ("answer", "stop")
    for point in points:
        outcome = await run_guards(agent, Guarded(point, message.text, facts={"continued": turn.stops}))
        if outcome.halt:
            return turn.finished("refusal", message=HALTED_TEXT.format(outcome.halt))
        more = outcome.goes_on or "\n\n".join(outcome.added) or outcome.refusal
        if more and turn.stops < MAX_STOP_REFUSALS:
            turn.stops += 1
            agent.add_message(more)
            return None
    return turn.finished("end_turn")


async def _sum_up(turn: TurnProgress, reached: LimitReached) -> TurnFinished:
    """Ask for an answer without tools, so that the user gets more than a bare limit."""
    await _run_step(turn, tools=False, extra=SUM_UP_PROMPT.format(reason=reached.message))
    return turn.finished("max_turn_requests", reached.limit, reached.message)


async def _guard_prompt(
    turn: TurnProgress, content: tuple[Block, ...], start_texts: StartTexts | None
) -> str:
    """Add what the guards of the start and of the prompt add. Returns why they refuse, or an empty string."""
    agent = turn.agent
    guarded = Guarded("prompt", plain_text(content))
    if agent.depth:
        added = list((await run_guards(agent, Guarded("subagent_start", guarded.text))).added)
    else:
        added = list(await start_texts()) if start_texts is not None else []
    if agent.halt:
        return HALTED_TEXT.format(agent.halt)
    outcome = await run_guards(agent, guarded)
    if outcome.refusal:
        return f"the prompt was refused by {outcome.refusal}"
    if outcome.halt:
        return HALTED_TEXT.format(outcome.halt)
    added += outcome.added
    if outcome.guarded.text != guarded.text:
        added.append(f"[The prompt reads, as rewritten by a guard:]\n{outcome.guarded.text}")
    for text in added:
        agent.add_message(text)
    return ""


async def _wait_for_subagents(agent: Agent) -> bool:
    """Wait for a background subagent. Headless, no later turn would receive its report."""
    if agent.depth or agent.services.approvals.can_ask:
        return False
    await agent.agents.wait_for_any()
    return bool(agent.notes)


def _deliver_messages(agent: Agent) -> None:
    while agent.notes:
        id, text = agent.notes.popleft()
        agent.add_message(text, id)
    while agent.steers:
        id, content = agent.steers.popleft()
        agent.emit(MessageFinished(id, UserMessage(content)))
