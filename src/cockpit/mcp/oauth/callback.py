"""The local page to which the browser returns after a login.

An answer is an address with `code` and `state`, opened by the browser or pasted by the user. An answer
without the state of this login is rejected and changes nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from cockpit.mcp.oauth.config import LoginFailed
from cockpit.protocol.safe_text import clean

CALLBACK_PATH = "/callback"
MAX_REQUEST = 16_384
REQUEST_SECONDS = 10.0
PAGE = "<!doctype html><meta charset=utf-8><title>cockpit</title><p>{}</p>"
LOGGED_IN_TEXT = "You are logged in. You can close this page and return to cockpit."
REFUSED_TEXT = "The login was refused. You can close this page; see cockpit for details."
UNEXPECTED = "This is not the answer to the login that cockpit waits for."


@dataclass(frozen=True, slots=True)
class AuthorizationAnswer:
    """The answer of an authorization server: a `code`, or an `error` text."""

    code: str
    state: str
    issuer: str | None = None
    error: str = ""


def parse_answer(address: str, state: str) -> AuthorizationAnswer | None:
    """The answer in `address` to the login with `state`, None if it belongs to another login."""
    try:
        query = parse_qs(urlsplit(address).query)
    except ValueError:
        return None
    fields = {name: values[0] for name, values in query.items()}
    if fields.get("state") != state or not ("code" in fields or "error" in fields):
        return None
    error = clean(fields.get("error_description") or fields.get("error", ""))[:200]
    return AuthorizationAnswer(fields.get("code", ""), state, fields.get("iss"), error)


class CallbackServer:
    """Serves the page. `port` is where it listens, `address` where the browser is sent."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._state = ""
        self._answered: asyncio.Future[AuthorizationAnswer] = asyncio.get_running_loop().create_future()

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}{CALLBACK_PATH}"

    def expect(self, state: str) -> None:
        """Accept answers to the login with `state` only, from now on."""
        self._state = state
        self._answered = asyncio.get_running_loop().create_future()

    async def answer(self) -> AuthorizationAnswer:
        """Wait for the browser's answer."""
        return await asyncio.shield(self._answered)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one request of a browser."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            writer.close()
            return
        status, text = self._reply(head.decode("latin-1"))
        body = PAGE.format(text).encode()
        lines = (
            f"HTTP/1.1 {status}",
            "Content-Type: text/html; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "Referrer-Policy: no-referrer",
            "Connection: close",
        )
        writer.write("\r\n".join((*lines, "", "")).encode() + body)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    def _reply(self, head: str) -> tuple[str, str]:
        first, *fields = head.split("\r\n")
        hosts = [field.partition(":")[2].strip() for field in fields if field.lower().startswith("host:")]
        host = hosts[0] if hosts else ""
        # A web page that reaches this server under another host name (DNS rebinding) is rejected.
        if host not in (f"localhost:{self.port}", f"127.0.0.1:{self.port}", f"[::1]:{self.port}"):
            return "421 Misdirected Request", UNEXPECTED
        method, _, rest = first.partition(" ")
        target = rest.partition(" ")[0]
        if method != "GET" or urlsplit(target).path != CALLBACK_PATH:
            return "404 Not Found", UNEXPECTED
        answer = parse_answer(target, self._state) if self._state else None
        if answer is None:
            return "400 Bad Request", UNEXPECTED
        if not self._answered.done():
            self._answered.set_result(answer)
        return "200 OK", REFUSED_TEXT if answer.error or not answer.code else LOGGED_IN_TEXT


@asynccontextmanager
async def open_callback(port: int) -> AsyncIterator[CallbackServer]:
    """Serve the page on `port` (0 takes a free port). Raises `LoginFailed` if the port is taken."""
    callback = CallbackServer(port)
    servers: list[asyncio.Server] = []
    try:
        first = await asyncio.start_server(callback.serve, "127.0.0.1", port, limit=MAX_REQUEST)
        servers.append(first)
        callback.port = first.sockets[0].getsockname()[1]
        # Without IPv6 `localhost` is 127.0.0.1.
        with suppress(OSError):
            servers.append(
                await asyncio.start_server(callback.serve, "::1", callback.port, limit=MAX_REQUEST)
            )
        yield callback
    except OSError as error:
        if servers:
            raise
        raise LoginFailed(
            f"port {port}, to which the browser returns, is already in use: {error.strerror}",
            "stop the program that uses it, or change `oauth.callbackPort`",
        ) from error
    finally:
        for server in servers:
            server.close()
