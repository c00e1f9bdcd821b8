"""Runs the server on this process's stdin and stdout, or on a port.

Only the protocol is written to stdout. Stdin is read by a daemon thread, so that a signal ends the server
even while its client is silent; the SDK's own reader cannot be stopped.
"""

import asyncio
import hmac
import io
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import anyio

from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.session import SharedSession
from cockpit.protocol.channel import Deck

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


READ_AHEAD_LINES = 64


class StdinLines(anyio.AsyncFile[str]):
    """The lines of `pipe`, in the form that the SDK's transport expects."""

    def __init__(self, pipe: IO[str]) -> None:
        super().__init__(pipe)
        self._lines: asyncio.Queue[str] = asyncio.Queue(READ_AHEAD_LINES)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._lines.get():
            yield line

    def _read(self, pipe: IO[str]) -> None:
        line = " "
        while line:
            line = pipe.readline()
            try:
                asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
            except (RuntimeError, asyncio.CancelledError):
                # The loop has ended and nobody reads any more.
                return


@contextmanager
def private_stdin() -> Iterator[IO[str]]:
    """Reserve stdin for the protocol: programs started by this process get an empty stdin."""
    try:
        fd = sys.stdin.fileno()
    except (OSError, ValueError):
        # Not a real file (in a test), so child processes cannot read it.
        yield sys.stdin
        return
    private, empty = os.dup(fd), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, fd)
    os.close(empty)
    raw = io.BufferedReader(io.FileIO(private, closefd=False))
    try:
        # Never closed: the reading thread may hold its lock.
        yield io.TextIOWrapper(raw, encoding="utf-8", errors="replace")
    finally:
        os.dup2(private, fd)


LOOPBACK = ("127.0.0.1", "localhost", "::1")
ENDPOINT_PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen. `port` 0 means any free port. An empty `token` requires none, on the loopback only."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""


async def serve_stdio(deck: Deck, root: str, exposed: ExposedTools) -> None:
    """Serve the single client on stdin and stdout until it closes them or a signal arrives."""
    from mcp.server.stdio import stdio_server

    from cockpit.mcp_serve.server import make_server

    served = SharedSession(deck, root)
    server = make_server(served, exposed)

    async def run() -> None:
        with private_stdin() as pipe:
            async with stdio_server(StdinLines(pipe)) as (reading, writing):
                # Opened while the handshake runs, which does not wait for it.
                opening = asyncio.create_task(served.channel())
                opening.add_done_callback(_consume_exception)
                await server.run(reading, writing, server.create_initialization_options())

    await _run_until_signal(run, served)


async def serve_http(
    deck: Deck, root: str, exposed: ExposedTools, address: ListenAddress, listening: Callable[[str], None]
) -> None:
    """Serve clients at `address` until a signal arrives; `listening` is called with the URL of the server."""
    import uvicorn

    from cockpit.mcp_serve.server import make_server

    if address.host not in LOOPBACK and not address.token:
        raise CockpitError(
            f"{address.host} can be reached from other machines", "it requires a token; remove --no-token"
        )
    served = SharedSession(deck, root)
    app = make_server(served, exposed).streamable_http_app(**_security_options(address))
    running = uvicorn.Server(
        uvicorn.Config(
            _require_token(app, address.token),
            log_level="warning",
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=2,
        )
    )

    async def run() -> None:
        sockets = [_bind_socket(address)]
        host, port = sockets[0].getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        serving = asyncio.create_task(running.serve(sockets))
        try:
            # The socket is already listening, so early clients wait for the first answer.
            listening(f"http://{shown}:{port}{ENDPOINT_PATH}")
            await serving
        finally:
            running.should_exit = True
            await asyncio.gather(serving, return_exceptions=True)

    await _run_until_signal(run, served)


def _security_options(address: ListenAddress) -> dict[str, Any]:
    """The allowed host names and origins: web pages that reach the loopback under another name (DNS
    rebinding) or from another origin are rejected."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [address.host, *(("127.0.0.1", "localhost", "[::1]") if address.host in LOOPBACK else ())]
    settings = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[item for name in names for item in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}"
            for name in names
            for scheme in ("http", "https")
            for port in ("", ":*")
        ],
    )
    return {"transport_security": settings, "streamable_http_path": ENDPOINT_PATH}


def _require_token(app: "ASGIApp", token: str) -> "ASGIApp":
    """`app`, answering requests without the token with 401."""
    expected = f"Bearer {token}".encode()

    async def guarded(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http":
            # Blanks around a header value do not belong to it (RFC 9110, 5.5); some parsers keep them.
            headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
            if token and not hmac.compare_digest(dict(headers).get(b"authorization", b""), expected):
                refusal = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": refusal})
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    return guarded


def _bind_socket(address: ListenAddress) -> Any:
    import socket

    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address.host, address.port))
    except OSError as error:
        sock.close()
        where = f"{address.host}:{address.port}"
        reason = f"cannot listen on {where}: {error.strerror or error}"
        raise CockpitError(reason, "choose another --http port") from error
    sock.listen(128)
    sock.setblocking(False)
    return sock


async def _run_until_signal(run: Callable[[], Awaitable[None]], served: SharedSession) -> None:
    """Run the server until it ends, a signal arrives or this task is cancelled; then end the session."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(run())
    for item in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(item, task.cancel)
        except (NotImplementedError, RuntimeError):
            # On Windows, or outside of the main thread, Ctrl+C ends the process itself.
            break
    try:
        await asyncio.wait((task,))
        if not task.cancelled():
            task.result()
    finally:
        task.cancel()  # still running if this task was cancelled
        await asyncio.wait((task,))
        await served.close()


def _consume_exception(task: "asyncio.Task[Any]") -> None:
    """Retrieve the exception: the client's first request reports it."""
    if not task.cancelled():
        task.exception()
