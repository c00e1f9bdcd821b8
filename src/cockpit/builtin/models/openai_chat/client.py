"""The HTTP client for chat completions: sends requests with the `openai` package and reads replies as deltas.

Never retries: the core does. `openai` takes 0.3 to 0.8 s to import, so it is imported in a thread with the
first request. A client lives as long as its event loop, so that the steps of a turn share a connection.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.builtin.models.openai_chat.faults import (
    connect_failure,
    error_failure,
    parse_error,
    redact_key,
    stream_failure,
    web_page_failure,
)
from cockpit.builtin.models.openai_chat.presets import Endpoint, similar_names
from cockpit.builtin.models.openai_chat.reply import MalformedChunk, Reply, parse_usage
from cockpit.builtin.models.openai_chat.request_body import Wire, adapt_body, build_body
from cockpit.plugin.models import Delta, FinishPart, ModelFacts, ModelFailed, ModelRequest, UsagePart
from cockpit.protocol.messages import AssistantMessage, Json, Usage

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 120.0
# A local server may read a long prompt on a slow processor before it sends the first byte.
LOCAL_SILENCE_SECONDS = 600.0
# After the finish reason only usage and `[DONE]` are expected; a server silent for longer has finished.
LINGER_SECONDS = 5.0
# After `[DONE]` the end of the body is read, so that the connection can serve the next step.
DRAIN_SECONDS = 0.1
SUGGESTION_SECONDS = 3.0
MAX_ADAPTATIONS = 4
NON_CHAT_WORDS = (
    "embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime", "gpt-image", "sora",
    "rerank", "davinci", "babbage", "ocr", "guard", "stable-diffusion", "flux",
)  # fmt: skip

ClientPool = dict[tuple[str, str], "AsyncOpenAI"]
_clients: dict[asyncio.AbstractEventLoop, ClientPool] = {}
# The error texts by which servers refused fields, by address and model, so that later requests omit them.
_rejected_fields: dict[tuple[str, str], list[str]] = {}


class SseDecoder:
    """Decodes server-sent events: `feed` takes bytes, cut anywhere, and returns complete (name, data) pairs.

    Follows https://html.spec.whatwg.org/multipage/server-sent-events.html, except that an event left open at
    the end is returned by `end`, because servers finish with a bare `data: [DONE]`. Invalid UTF-8 becomes
    U+FFFD.
    """

    __slots__ = ("_begun", "_event", "_lines", "_parts", "_skip_newline")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._lines: list[str] = []
        self._event = ""
        self._begun = False
        self._skip_newline = False

    def feed(self, chunk: bytes) -> list[tuple[str, str]]:
        if self._skip_newline and chunk:
            # The LF of a CRLF that was split between two reads.
            self._skip_newline = False
            chunk = chunk.removeprefix(b"\n")
        cut = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if not cut:
            # Joining at every read would be quadratic for a line of 2 MB.
            self._parts.append(chunk)
            return []
        self._skip_newline = chunk.endswith(b"\r")
        self._parts.append(chunk[:cut])
        block = b"".join(self._parts)
        self._parts = [chunk[cut:]]
        return self._read(block.decode("utf-8", "replace"))

    def end(self) -> list[tuple[str, str]]:
        """The event that is incomplete at the end of the stream."""
        rest = b"".join(self._parts)
        self._parts = []
        events = self._read(rest.decode("utf-8", "replace") + "\n\n")
        self._skip_newline = False
        return events

    def _read(self, text: str) -> list[tuple[str, str]]:
        if not self._begun:
            self._begun = True
            text = text.removeprefix("\ufeff")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        events: list[tuple[str, str]] = []
        lines = self._lines
        # str.splitlines would also split at U+2028, which JSON strings may contain.
        for line in text.split("\n")[:-1]:
            if line.startswith("data:"):
                lines.append(line[6:] if line.startswith("data: ") else line[5:])
            elif not line:
                if lines:
                    events.append((self._event, lines[0] if len(lines) == 1 else "\n".join(lines)))
                    lines.clear()
                self._event = ""
            elif line.startswith("event:"):
                self._event = line[6:].strip()
            elif line == "data":
                lines.append("")
        return events


@dataclass(frozen=True, slots=True)
class CompletionStream:
    """A response whose body is still being received as `chunks`."""

    is_json: bool
    is_page: bool
    status: int
    chunks: AsyncIterator[bytes]


async def get_client(endpoint: Endpoint) -> "AsyncOpenAI":
    """The client for `endpoint` in this event loop."""
    for loop in [loop for loop in _clients if loop.is_closed()]:
        del _clients[loop]
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    name = (endpoint.base_url, endpoint.key)
    if name not in clients:
        # Another task may have created it meanwhile.
        clients.setdefault(name, await asyncio.to_thread(_create_client, endpoint))
    return clients[name]


def _create_client(endpoint: Endpoint) -> "AsyncOpenAI":
    import ssl

    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    silence = LOCAL_SILENCE_SECONDS if endpoint.preset.local else SILENCE_SECONDS
    timeout = httpx2.Timeout(silence, connect=CONNECT_SECONDS)
    # Loading the certificates takes 30 ms and plain http needs none. A context without certificates trusts no
    # server, in case this one redirects to https.
    is_plain = endpoint.is_loopback and endpoint.base_url.startswith("http:")
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True
    # Requests to this machine must not go through a proxy of the environment.
    http_client = DefaultAsyncHttpxClient(timeout=timeout, trust_env=not endpoint.is_loopback, verify=verify)
    return AsyncOpenAI(
        # The package requires a key; a server without keys ignores it.
        api_key=endpoint.key or "none",
        organization=None,
        base_url=endpoint.base_url,
        default_headers=dict(endpoint.preset.headers),
        timeout=timeout,
        max_retries=0,
        http_client=http_client,
    )


@asynccontextmanager
async def open_completion(endpoint: Endpoint, model: str, wire: Wire) -> AsyncIterator[CompletionStream]:
    """A streamed completion. Raises `ModelFailed`; leaving the context closes the connection. If the server
    refuses a field (`stream_options`, `temperature`, ...), the request is repeated without it."""
    import httpx2
    import openai

    client = await get_client(endpoint)
    rejected = _rejected_fields.setdefault((endpoint.base_url, model), [])
    for words in rejected:
        wire = adapt_body(wire, words) or wire
    for _ in range(MAX_ADAPTATIONS):
        # The messages are sent as `extra_body`, because the package would validate each typed message again.
        request = client.chat.completions.with_streaming_response.create(
            model=model, messages=[], stream=True, extra_body=wire
        )
        try:
            response = await request.__aenter__()
        except openai.APIStatusError as error:
            text = error.response.text[:4000]
            smaller = adapt_body(wire, text) if error.status_code in (400, 422) else None
            if smaller is None:
                raise _status_failure(endpoint, model, error) from error
            rejected.append(text)
            wire = smaller
            continue
        except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise connect_failure(endpoint, error) from error
        try:
            kind = response.http_response.headers.get("content-type", "").lower()
            status = response.http_response.status_code
            yield CompletionStream("json" in kind, "html" in kind, status, response.iter_bytes())
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise stream_failure(endpoint, error) from error
        finally:
            await request.__aexit__(None, None, None)
        return
    message = f"{endpoint.label} refused every form of the request to `{model}`"
    raise ModelFailed("bad_request", message, "choose another model with /model")


def _status_failure(endpoint: Endpoint, model: str, error: "APIStatusError") -> ModelFailed:
    text = error.response.text
    answer = parse_error(error.status_code, decode_json(text))
    if not answer.is_json and text.lstrip()[:1] == "<" and answer.status not in (401, 402, 403, 413, 429):
        return web_page_failure(endpoint, answer.status)
    return error_failure(endpoint, model, answer, error.response.headers)


def decode_json(text: str) -> Json:
    """The parsed JSON, or the text itself if it is not JSON."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


async def list_models(endpoint: Endpoint) -> tuple[str, ...]:
    """The ids of the server's chat models, sorted. Raises `ModelFailed`."""
    import httpx2
    import openai

    client = await get_client(endpoint)
    try:
        response = await client.models.with_raw_response.list()
    except openai.APIStatusError as error:
        raise _status_failure(endpoint, "", error) from error
    except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise connect_failure(endpoint, error) from error
    answer = decode_json(response.http_response.text)
    rows = answer.get("data") if isinstance(answer, Mapping) else answer
    if not isinstance(rows, list):
        raise web_page_failure(endpoint, response.http_response.status_code)
    names = {str(row["id"]) for row in rows if isinstance(row, Mapping) and isinstance(row.get("id"), str)}
    return tuple(name for name in sorted(names) if not any(word in name.lower() for word in NON_CHAT_WORDS))


async def stream_reply(
    endpoint: Endpoint, request: ModelRequest, known: ModelFacts
) -> AsyncGenerator[Delta, None]:
    """The deltas of the reply. Raises `ModelFailed`; closing it closes the connection."""
    answers = (message for message in request.messages if isinstance(message, AssistantMessage))
    used_ids = [call.id for message in answers for call in message.calls]
    reply = Reply([tool.name for tool in request.tools], used_ids)
    body = build_body(endpoint.preset, request, known)
    try:
        async with open_completion(endpoint, request.model, body) as answer:
            async for deltas in _read_deltas(endpoint, answer, reply):
                for delta in deltas:
                    yield delta
    except ModelFailed as failed:
        if reply.finish is None or reply.error is not None or failed.fault != "interrupted":
            raise await _suggest_models(endpoint, request.model, failed) from failed.__cause__
        # The connection broke after the finish reason: the reply itself is complete.
    for delta in _final_deltas(endpoint, request.model, reply, known):
        yield delta
    _check_finished(endpoint, request.model, reply)
    if reply.finish is not None:
        yield FinishPart(reply.finish)


def _final_deltas(endpoint: Endpoint, model: str, reply: Reply, known: ModelFacts) -> list[Delta]:
    """The last deltas and the usage. Raises `ModelFailed` if the server reported an error."""
    if reply.error is not None:
        raise error_failure(endpoint, model, parse_error(0, {"error": reply.error}))
    deltas = reply.end()
    usage = parse_usage(reply.usage)
    if usage is None:
        return [*deltas, UsagePart(Usage(cost=0.0 if endpoint.preset.local else None, requests=1))]
    # OpenRouter reports the cost.
    reported = (reply.usage or {}).get("cost")
    cost = model_facts.usage_cost(known, usage)
    if endpoint.preset.local:
        cost = 0.0
    elif isinstance(reported, int | float) and not isinstance(reported, bool):
        cost = float(reported)
    return [*deltas, UsagePart(replace(usage, cost=cost))]


def _check_finished(endpoint: Endpoint, model: str, reply: Reply) -> None:
    """Raises `ModelFailed` if the reply is empty or was cut off."""
    if reply.finish not in (None, "interrupted"):
        return
    if reply.done and not reply.has_choices:
        message = f"{endpoint.label} sent a response without choices"
        raise ModelFailed("malformed", message, "try again, or choose another model with /model")
    message = f"the reply of {endpoint.label} ({model}) was cut off before its end"
    raise ModelFailed("interrupted", message, "try again")


async def _suggest_models(endpoint: Endpoint, model: str, failed: ModelFailed) -> ModelFailed:
    if failed.fault != "unknown_model":
        return failed
    try:
        async with asyncio.timeout(SUGGESTION_SECONDS):
            names = await list_models(endpoint)
    except (ModelFailed, TimeoutError):
        names = model_facts.known_models(endpoint.preset.name)
    if similar := similar_names(model, names):
        hint = f"similar models: {', '.join(similar)}; choose with /model"
        return ModelFailed(failed.fault, failed.message, hint)
    return failed


async def _read_deltas(
    endpoint: Endpoint, answer: CompletionStream, reply: Reply
) -> AsyncIterator[list[Delta]]:
    """The deltas of each network read, until the response ends."""
    if answer.is_page:
        raise web_page_failure(endpoint, answer.status)
    decoder = SseDecoder()
    is_json, begun = answer.is_json, b""
    body_chunks: list[bytes] = []
    while not reply.done:
        chunk = await _next_chunk(answer.chunks, LINGER_SECONDS if reply.finish else None)
        if chunk is None:
            break
        if len(begun) < 8:
            # Proxies and small servers send wrong content types, so the first character decides.
            begun += chunk[:64]
            is_json = is_json or begun.lstrip()[:1] == b"{"
            if begun.lstrip()[:1] == b"<":
                raise web_page_failure(endpoint, answer.status)
        if is_json:
            body_chunks.append(chunk)
            continue
        _take_events(endpoint, reply, decoder.feed(chunk))
        yield reply.collect()
        if reply.error is not None:
            return
    if is_json:
        _take_completion(endpoint, reply, decode_json(b"".join(body_chunks).decode("utf-8", "replace")))
    elif not reply.done:
        # Half an event at the end means a broken connection, not malformed data.
        with contextlib.suppress(MalformedChunk):
            for name, text in decoder.end():
                reply.read(name, text)
    yield reply.collect()
    while await _next_chunk(answer.chunks, DRAIN_SECONDS) is not None:
        pass


async def _next_chunk(chunks: AsyncIterator[bytes], seconds: float | None) -> bytes | None:
    try:
        async with asyncio.timeout(seconds):
            return await anext(chunks)
    except (StopAsyncIteration, TimeoutError):
        return None


def _take_events(endpoint: Endpoint, reply: Reply, events: list[tuple[str, str]]) -> None:
    for name, text in events:
        try:
            reply.read(name, text)
        except MalformedChunk as error:
            raise _malformed_failure(endpoint, str(error)) from error
        if reply.done or reply.error is not None:
            return


def _take_completion(endpoint: Endpoint, reply: Reply, answer: Json) -> None:
    """Read a response that is one completion instead of a stream."""
    if not isinstance(answer, Mapping):
        raise _malformed_failure(endpoint, str(answer)[:200])
    reply.take(answer)
    if reply.error is None and not reply.has_choices:
        reply.done = True
    elif reply.finish is None and reply.error is None:
        reply.finish = "stop"


def _malformed_failure(endpoint: Endpoint, text: str) -> ModelFailed:
    message = redact_key(f"{endpoint.label} sent invalid JSON: {text[:80]!r}", endpoint)
    return ModelFailed("malformed", message, "try again, or choose another model with /model")
