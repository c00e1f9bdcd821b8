"""Transport to a server at an address: streamable HTTP and the older SSE. Imports the SDK and httpx2.

Limits the size of responses and records the status of the last one, because the SDK reports a refused login
and a broken server with the same error.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from cockpit.errors import CockpitError
from cockpit.mcp.protocol_compat import ProtocolCompat, wrap_streams
from cockpit.mcp.values import ConnectionSettings
from cockpit.plugin.values import McpServer

if TYPE_CHECKING:
    from cockpit.mcp.oauth.provider import OAuthLogin

# Seconds without data before a stream is opened again.
READ_TIMEOUT = 300.0
# Compressed responses may grow by this factor.
MAX_COMPRESSION_RATIO = 50


@dataclass(slots=True)
class LastHttpResponse:
    """The last response of the server: its `status` and how it requires a login. `auth` handles the login."""

    status: int = 0
    login_challenge: str = ""
    auth: "OAuthLogin | None" = None

    def problem(self) -> CockpitError | None:
        """Why the login failed, None if it did not."""
        return self.auth.problem if self.auth is not None else None


@asynccontextmanager
async def open_http(
    server: McpServer, settings: ConnectionSettings, last: LastHttpResponse, compat: ProtocolCompat
) -> AsyncIterator[TransportStreams]:
    """The streams of a server at `server.url`."""
    timeout = httpx2.Timeout(settings.connect_seconds, read=READ_TIMEOUT)
    auth = last.auth = settings.auth(server)

    async def record(response: httpx2.Response) -> None:
        last.status = response.status_code
        if response.status_code in (401, 403):
            last.login_challenge = response.headers.get("www-authenticate", "") or "login"
        elif response.is_success:
            last.login_challenge = ""
        _limit_body(response, settings.max_bytes)

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = timeout,
        auth: httpx2.Auth | None = auth,
    ) -> httpx2.AsyncClient:
        hooks = {"response": [record]}
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks)

    if server.transport == "sse":
        old = sse_client(
            server.url, dict(server.headers), settings.connect_seconds, READ_TIMEOUT, client, auth
        )
        async with old as streams:
            yield wrap_streams(streams, compat)
        return
    async with client(dict(server.headers)) as created:
        limit = settings.max_bytes
        streamable = streamable_http_client(server.url, http_client=created, max_sse_event_size=limit)
        async with streamable as streams:
            yield wrap_streams(streams, compat)


def _limit_body(response: httpx2.Response, max_bytes: int) -> None:
    """Limit the body to `max_bytes`. Events of a stream are limited one by one."""
    if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        return
    packed = response.headers.get("content-encoding", "identity") not in ("", "identity")
    stream = response.stream
    if isinstance(stream, httpx2.AsyncByteStream):
        response.stream = _LimitedStream(stream, max_bytes // MAX_COMPRESSION_RATIO if packed else max_bytes)


class _LimitedStream(httpx2.AsyncByteStream):
    """A body that raises an error once it is too large."""

    def __init__(self, inner: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._inner = inner
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._max_bytes:
                raise httpx2.StreamError(f"the response is larger than {self._max_bytes:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
