"""One request and its reply over an open connection. Loaded with the first request: registering the
providers needs nothing of it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

from cockpit.builtin.openai_chat import facts
from cockpit.builtin.openai_chat.body import body
from cockpit.builtin.openai_chat.connection import Answer, decoded, listed, opened
from cockpit.builtin.openai_chat.faults import refused, said, web_page, without_key
from cockpit.builtin.openai_chat.presets import Endpoint, nearest
from cockpit.builtin.openai_chat.reply import NotChunk, Reply, usage_of
from cockpit.builtin.openai_chat.sse import Decoder
from cockpit.plugin.models import Delta, FinishPart, ModelFacts, ModelFailed, ModelRequest, UsagePart
from cockpit.protocol.messages import AssistantMessage, Json, Usage

# After the finish reason only usage and `[DONE]` are owed; a server that keeps the line open has ended.
LINGER_SECONDS = 5.0
# After `[DONE]` only the end of the body is owed; read, the connection serves the next step.
DRAIN_SECONDS = 0.1
NEAR_SECONDS = 3.0


async def exchange(goal: Endpoint, request: ModelRequest, known: ModelFacts) -> AsyncGenerator[Delta, None]:
    """The deltas of the reply. Raises `ModelFailed`; closing it closes the connection."""
    reply = Reply(
        [tool.name for tool in request.tools],
        [call.id for one in request.messages if isinstance(one, AssistantMessage) for call in one.calls],
    )
    try:
        async with opened(goal, request.model, body(goal.preset, request, known)) as answer:
            async for deltas in _read(goal, answer, reply):
                for delta in deltas:
                    yield delta
    except ModelFailed as failed:
        if reply.finish is None or reply.error is not None or failed.fault != "interrupted":
            raise await _helped(goal, request.model, failed) from failed.__cause__
        # The line broke after the finish reason: the answer itself is whole.
    for delta in _close(goal, request.model, reply, known):
        yield delta
    _judge(goal, request.model, reply)
    if reply.finish is not None:
        yield FinishPart(reply.finish)


def _close(goal: Endpoint, model: str, reply: Reply, known: ModelFacts) -> list[Delta]:
    """What is owed at the end, and the usage. Raises what the server said went wrong."""
    if reply.error is not None:
        raise refused(goal, model, said(0, {"error": reply.error}))
    deltas = reply.end()
    usage = usage_of(reply.usage)
    if usage is None:
        return [*deltas, UsagePart(Usage(cost=0.0 if goal.preset.local else None, requests=1))]
    paid = 0.0 if goal.preset.local else _paid(reply, usage, known)
    return [*deltas, UsagePart(Usage(usage.input, usage.output, usage.cached, paid, 1))]


def _paid(reply: Reply, usage: Usage, known: ModelFacts) -> float | None:
    # OpenRouter says what it took.
    told = (reply.usage or {}).get("cost")
    if isinstance(told, int | float) and not isinstance(told, bool):
        return float(told)
    return facts.cost(known, usage)


def _judge(goal: Endpoint, model: str, reply: Reply) -> None:
    """Raise unless the reply came to an end of its own."""
    if reply.finish not in (None, "interrupted"):
        return
    if reply.done and not reply.has_choices:
        message = f"{goal.label} sent an answer without any choice in it"
        raise ModelFailed("malformed", message, "try again, or choose another model with /model")
    message = f"the answer of {goal.label} ({model}) was cut off before its end"
    raise ModelFailed("interrupted", message, "try again")


async def _helped(goal: Endpoint, model: str, failed: ModelFailed) -> ModelFailed:
    """An unknown model's failure with the names that are near."""
    if failed.fault != "unknown_model":
        return failed
    try:
        async with asyncio.timeout(NEAR_SECONDS):
            names = await listed(goal)
    except (ModelFailed, TimeoutError):
        names = facts.ids(goal.preset.name)
    near = nearest(model, names)
    if not near:
        return failed
    return ModelFailed(failed.fault, failed.message, f"near it: {', '.join(near)}; choose with /model")


async def _read(goal: Endpoint, answer: Answer, reply: Reply) -> AsyncIterator[list[Delta]]:
    """The deltas of each network read, until the answer ends."""
    if answer.is_page:
        raise web_page(goal, answer.status)
    decoder = Decoder()
    is_json, begun = answer.is_json, b""
    whole: list[bytes] = []
    while not reply.done:
        chunk = await _next(answer.chunks, LINGER_SECONDS if reply.finish else None)
        if chunk is None:
            break
        if len(begun) < 8:
            # Proxies and small servers mislabel their answers: the first sign tells.
            begun += chunk[:64]
            is_json = is_json or begun.lstrip()[:1] == b"{"
            if begun.lstrip()[:1] == b"<":
                raise web_page(goal, answer.status)
        if is_json:
            whole.append(chunk)
            continue
        _take(goal, reply, decoder.feed(chunk))
        yield reply.collect()
        if reply.error is not None:
            return
    if is_json:
        _take_whole(goal, reply, decoded(b"".join(whole).decode("utf-8", "replace")))
    elif not reply.done:
        _take_last(reply, decoder.end())
    yield reply.collect()
    await _drain(answer.chunks)


async def _next(chunks: AsyncIterator[bytes], seconds: float | None) -> bytes | None:
    try:
        async with asyncio.timeout(seconds):
            return await anext(chunks)
    except (StopAsyncIteration, TimeoutError):
        return None


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    while await _next(chunks, DRAIN_SECONDS) is not None:
        pass


def _take(goal: Endpoint, reply: Reply, events: list[tuple[str, str]]) -> None:
    for name, text in events:
        try:
            reply.read(name, text)
        except NotChunk as error:
            raise _malformed(goal, str(error)) from error
        if reply.done or reply.error is not None:
            return


def _take_last(reply: Reply, events: list[tuple[str, str]]) -> None:
    """An event that the end of the stream left open: half of one is a cut, not a malformed one."""
    for name, text in events:
        try:
            reply.read(name, text)
        except NotChunk:
            return


def _take_whole(goal: Endpoint, reply: Reply, answer: Json) -> None:
    """An answer that is no stream."""
    if not isinstance(answer, Mapping):
        raise _malformed(goal, str(answer)[:200])
    reply.take(answer)
    if reply.error is None and not reply.has_choices:
        reply.done = True
    elif reply.finish is None and reply.error is None:
        reply.finish = "stop"


def _malformed(goal: Endpoint, text: str) -> ModelFailed:
    message = f"{goal.label} sent what is no JSON: {text[:80]!r}"
    return ModelFailed(
        "malformed", without_key(message, goal), "try again, or choose another model with /model"
    )
