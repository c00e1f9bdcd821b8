"""One model request: streamed, retried, handed to the fallback, and ended as one whole message.

Knows no wire format. A stream that was cut is an error; no call of it is ever run.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

from cockpit.core.router import Breaker, Choice
from cockpit.core.transcript import Draft
from cockpit.plugin.models import (
    RETRIED,
    CallPart,
    Delta,
    FinishPart,
    ModelFailed,
    ModelRequest,
    TextPart,
    ThoughtPart,
    UsagePart,
)
from cockpit.protocol.events import Event, MessageFinished, TextDelta, ThoughtDelta, Warned
from cockpit.protocol.messages import AssistantMessage, Finish, Json, ToolCall, Usage

ATTEMPTS = 4
LONGEST_WAIT = 60.0
# A turn on the loop longer than this would be felt in the echo of a key.
SLICE = 0.008
DRAFT_EVERY = 0.25
CUT_OFF = "[The answer was cut off by the output limit while it wrote a tool call; that call was not run.]"


class Told(Protocol):
    """Who is told of an answer while it grows: the session's log, or nobody."""

    def emit(self, event: Event, agent: str = "main", call: str = "") -> object: ...
    def draft(self, draft: Draft) -> None: ...


@dataclass(frozen=True, slots=True)
class Streaming:
    """What a step needs besides its request."""

    log: Told
    agent: str
    breaker: Breaker
    spend: Callable[[Usage], None]
    new_id: Callable[[], str]


@dataclass(slots=True)
class _Answer:
    """An answer as it grows."""

    id: str
    text: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)
    finish: Finish | None = None
    drafted: tuple[int, int] = (0, 0)


async def ask(
    choices: tuple[Choice, ...], build: Callable[[Choice], ModelRequest], streaming: Streaming
) -> AssistantMessage:
    """The answer of the first choice that gives one. Raises `ModelFailed` when none does."""
    failure: ModelFailed | None = None
    for choice in choices:
        if resting := streaming.breaker.resting(choice.name):
            failure = failure or ModelFailed("overloaded", resting, "wait, or choose another with /model")
            continue
        try:
            return await _persistently(choice, build(choice), streaming)
        except ModelFailed as error:
            if error.fault == "context_overflow":
                raise
            failure = error
            if choice is not choices[-1]:
                streaming.log.emit(Warned(str(error), "trying the next model", choice.name), streaming.agent)
    if failure is None:
        raise ModelFailed("unknown_model", "there is no model to ask", "/connect")
    raise failure


async def _persistently(choice: Choice, request: ModelRequest, streaming: Streaming) -> AssistantMessage:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            message = await _once(choice, request, streaming)
        except ModelFailed as error:
            streaming.breaker.failed(choice.name, error.fault, error.message)
            wait = _wait(error, attempt)
            if wait is None:
                raise
            text = f"{error.message}; trying again in {wait:.1f} s ({attempt} of {ATTEMPTS - 1})"
            streaming.log.emit(Warned(text, "Esc stops", choice.name), streaming.agent)
            await asyncio.sleep(wait)
        else:
            streaming.breaker.answered(choice.name)
            return message
    raise AssertionError("the last attempt returns or raises")


def _wait(error: ModelFailed, attempt: int) -> float | None:
    """Seconds until the next attempt, or None when there is none."""
    if error.fault not in RETRIED or attempt >= ATTEMPTS:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_WAIT else None
    return float(0.5 * 2 ** (attempt - 1)) * random.uniform(0.8, 1.2)


async def _once(choice: Choice, request: ModelRequest, streaming: Streaming) -> AssistantMessage:
    answer = _Answer(streaming.new_id())
    stream = choice.provider.stream(request)
    try:
        await _consume(stream, answer, streaming)
    except (ModelFailed, asyncio.CancelledError):
        _keep_partial(answer, choice, streaming)
        raise
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if answer.finish is None:
        _keep_partial(answer, choice, streaming)
        raise ModelFailed("interrupted", f"{choice.name} stopped in the middle of its answer")
    message = _whole(answer, choice)
    streaming.log.emit(MessageFinished(answer.id, message), streaming.agent)
    return message


async def _consume(stream: object, answer: _Answer, streaming: Streaming) -> None:
    from collections.abc import AsyncIterator

    sliced = drafted = time.monotonic()
    async for delta in cast("AsyncIterator[Delta]", stream):
        _take(delta, answer, streaming)
        now = time.monotonic()
        if now - drafted >= DRAFT_EVERY:
            drafted = now
            _draft(answer, streaming)
        if now - sliced >= SLICE:
            await asyncio.sleep(0)
            sliced = time.monotonic()


def _take(delta: Delta, answer: _Answer, streaming: Streaming) -> None:
    match delta:
        case TextPart(text):
            if text:
                answer.text.append(text)
                streaming.log.emit(TextDelta(answer.id, text), streaming.agent)
        case ThoughtPart(text):
            if text:
                answer.thoughts.append(text)
                streaming.log.emit(ThoughtDelta(answer.id, text), streaming.agent)
        case CallPart():
            call = answer.calls.setdefault(delta.index, ["", "", ""])
            call[0] = call[0] or delta.id
            call[1] = call[1] or delta.name
            call[2] += delta.arguments
        case UsagePart(usage):
            streaming.spend(usage)
        case FinishPart(finish):
            answer.finish = finish


def _draft(answer: _Answer, streaming: Streaming) -> None:
    """Write what came since the last draft, so that a crash loses a quarter of a second."""
    texts, thoughts = answer.drafted
    answer.drafted = len(answer.text), len(answer.thoughts)
    text, thought = "".join(answer.text[texts:]), "".join(answer.thoughts[thoughts:])
    if text or thought:
        streaming.log.draft(Draft(answer.id, text, thought, streaming.agent))


def _keep_partial(answer: _Answer, choice: Choice, streaming: Streaming) -> None:
    if not answer.text and not answer.thoughts:
        return
    text, thoughts = "".join(answer.text), "".join(answer.thoughts)
    message = AssistantMessage(text, (), thoughts, "interrupted", choice.name)
    streaming.log.emit(MessageFinished(answer.id, message), streaming.agent)


def _whole(answer: _Answer, choice: Choice) -> AssistantMessage:
    text, finish = "".join(answer.text), answer.finish or "stop"
    calls: list[ToolCall] = []
    if finish == "length" and answer.calls:
        text = f"{text}\n{CUT_OFF}" if text else CUT_OFF
    elif finish != "content_filter":
        taken: set[str] = set()
        calls = [_call(answer.calls[index], taken, answer.id) for index in sorted(answer.calls)]
    return AssistantMessage(text, tuple(calls), "".join(answer.thoughts), finish, choice.name)


def _call(pieces: list[str], taken: set[str], message: str) -> ToolCall:
    """A call out of its pieces. A missing or repeated id is replaced by one of our own."""
    id, name, raw = pieces
    if not id or id in taken:
        id = f"{id or 'call'}-{message}-{len(taken)}"
    taken.add(id)
    if not name:
        return ToolCall(id, "unnamed", {}, "the call has no tool name; name one of the tools")
    try:
        arguments = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError) as error:
        return ToolCall(id, name, {}, f"the arguments are no JSON ({error}); send one JSON object")
    if isinstance(arguments, str):
        arguments = _unwrapped(arguments)
    if not isinstance(arguments, dict):
        return ToolCall(id, name, {}, "the arguments must be one JSON object")
    return ToolCall(id, name, cast("dict[str, Json]", arguments))


def _unwrapped(text: str) -> object:
    """Arguments that were encoded twice, as some servers do."""
    try:
        return json.loads(text)
    except ValueError:
        return text
