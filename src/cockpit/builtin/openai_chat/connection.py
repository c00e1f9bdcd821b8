"""The open connections to servers, over the `openai` package. Retries nothing: that is the core's.

`openai` takes 0.3 to 0.8 s to import, so it is imported in a thread when the first request leaves; a
client lives as long as its event loop, so that the steps of a turn share one connection.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cockpit.builtin.openai_chat.body import adapted
from cockpit.builtin.openai_chat.faults import refused, said, web_page
from cockpit.builtin.openai_chat.presets import Endpoint
from cockpit.builtin.openai_chat.transport import broken_off, unreachable
from cockpit.builtin.openai_chat.written import Wire
from cockpit.plugin.models import ModelFailed
from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import APIStatusError, AsyncOpenAI

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 120.0
# A local server reads a long prompt on a slow processor before its first byte.
LOCAL_SILENCE_SECONDS = 600.0
ADAPTIONS = 4

Clients = dict[tuple[str, str], "AsyncOpenAI"]
_clients: dict[asyncio.AbstractEventLoop, Clients] = {}
# What servers did not take, by address and model: said once by each, then left out at once.
_learned: dict[tuple[str, str], list[str]] = {}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that has begun. `chunks` are its bytes as they come."""

    is_json: bool
    is_page: bool
    status: int
    chunks: AsyncIterator[bytes]


async def client(endpoint: Endpoint) -> "AsyncOpenAI":
    """The client for `endpoint` in this event loop."""
    for loop in [one for one in _clients if one.is_closed()]:
        del _clients[loop]
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    name = (endpoint.base_url, endpoint.key)
    if name not in clients:
        made = await asyncio.to_thread(_make, endpoint)
        clients.setdefault(name, made)
    return clients[name]


def _make(endpoint: Endpoint) -> "AsyncOpenAI":
    import ssl

    import httpx2
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    silence = LOCAL_SILENCE_SECONDS if endpoint.preset.local else SILENCE_SECONDS
    timeout = httpx2.Timeout(silence, connect=CONNECT_SECONDS)
    verify: ssl.SSLContext | bool = True
    if endpoint.is_loopback and endpoint.base_url.startswith("http:"):
        # Reading the certificates costs 30 ms and plain http wants none. A context without any
        # trusts nobody, should such a server send us on to https.
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return AsyncOpenAI(
        # The package refuses to be without a key; a server without keys ignores it.
        api_key=endpoint.key or "none",
        organization=None,
        base_url=endpoint.base_url,
        default_headers=dict(endpoint.preset.headers),
        timeout=timeout,
        max_retries=0,
        # A proxy of the environment must not stand between us and a server of this machine.
        http_client=DefaultAsyncHttpxClient(
            timeout=timeout, trust_env=not endpoint.is_loopback, verify=verify
        ),
    )


@asynccontextmanager
async def opened(endpoint: Endpoint, model: str, wire: Wire) -> AsyncIterator[Answer]:
    """A streamed completion. Raises `ModelFailed`; leaving it closes what was not read.

    What a server does not take (`stream_options`, `temperature`, ...) is left out and sent again.
    """
    import httpx2
    import openai

    peer = await client(endpoint)
    learned = _learned.setdefault((endpoint.base_url, model), [])
    for words in learned:
        wire = adapted(wire, words) or wire
    for _ in range(ADAPTIONS):
        # The messages go in as extra: typed, the package would walk through each on every step.
        request = peer.chat.completions.with_streaming_response.create(
            model=model, messages=[], stream=True, extra_body=wire
        )
        try:
            response = await request.__aenter__()
        except openai.APIStatusError as error:
            smaller = _smaller(wire, error)
            if smaller is None:
                raise _refused(endpoint, model, error) from error
            learned.append(_words(error))
            wire = smaller
            continue
        except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise unreachable(endpoint, error) from error
        try:
            yield _answer(response.http_response, response.iter_bytes())
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise broken_off(endpoint, error) from error
        finally:
            await request.__aexit__(None, None, None)
        return
    raise ModelFailed(
        "bad_request", f"{endpoint.label} takes none of the ways to ask `{model}`", "try /model"
    )


def _answer(response: "Response", chunks: AsyncIterator[bytes]) -> Answer:
    kind = response.headers.get("content-type", "").lower()
    return Answer("json" in kind, "html" in kind, response.status_code, chunks)


def _smaller(wire: Wire, error: "APIStatusError") -> Wire | None:
    return adapted(wire, _words(error)) if error.status_code in (400, 422) else None


def _words(error: "APIStatusError") -> str:
    return error.response.text[:4000]


def _refused(endpoint: Endpoint, model: str, error: "APIStatusError") -> ModelFailed:
    text = error.response.text
    answer = said(error.status_code, decoded(text))
    if not answer.is_json and text.lstrip()[:1] == "<" and answer.status not in (401, 402, 403, 413, 429):
        return web_page(endpoint, answer.status)
    return refused(endpoint, model, answer, error.response.headers)


def decoded(text: str) -> Json:
    """JSON where it is JSON, else the text itself."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


async def listed(endpoint: Endpoint) -> tuple[str, ...]:
    """The ids of the models that the server has and that can chat. Raises `ModelFailed`."""
    import httpx2
    import openai

    peer = await client(endpoint)
    try:
        response = await peer.models.with_raw_response.list()
    except openai.APIStatusError as error:
        raise _refused(endpoint, "", error) from error
    except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise unreachable(endpoint, error) from error
    answer = decoded(response.http_response.text)
    rows = answer.get("data") if isinstance(answer, Mapping) else answer
    if not isinstance(rows, list):
        raise web_page(endpoint, response.http_response.status_code)
    names = (row.get("id") if isinstance(row, Mapping) else None for row in rows)
    return tuple(sorted({name for name in names if isinstance(name, str) and _chats(name)}))


def _chats(name: str) -> bool:
    return not any(word in name.lower() for word in NO_CHAT)


NO_CHAT = (
    "embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime", "gpt-image", "sora",
    "rerank", "davinci", "babbage", "ocr", "guard", "stable-diffusion", "flux",
)  # fmt: skip
