"""Running the server: on this process's pipes, or on a port. Until it ends nothing but the protocol is
written to stdout."""

import asyncio
import hmac
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposing import Exposed
from cockpit.mcp_serve.served import Served
from cockpit.protocol.channel import Deck

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. `port` 0 takes any that is free. An empty `token` asks for none: only on the
    loopback."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""


async def serve_stdio(deck: Deck, root: str, exposed: Exposed) -> None:
    """Serve the one client at stdin and stdout until it closes them, or until a signal."""
    from mcp.server.stdio import stdio_server

    from cockpit.mcp_serve.pipes import Lines, own_stdin
    from cockpit.mcp_serve.server import server_of

    served = Served(deck, root)
    server = server_of(served, exposed)

    async def run() -> None:
        with own_stdin() as pipe:
            async with stdio_server(Lines(pipe)) as (reading, writing):
                # Opened beside the handshake, which does not wait for it.
                opening = asyncio.create_task(served.channel())
                opening.add_done_callback(_looked_at)
                await server.run(reading, writing, server.create_initialization_options())

    await _until_signal(run, served)


async def serve_http(
    deck: Deck, root: str, exposed: Exposed, address: Address, listening: Callable[[str], None]
) -> None:
    """Serve clients at `address` until a signal; `listening` is told the URL once it answers."""
    import uvicorn

    from cockpit.mcp_serve.server import server_of

    if address.host not in LOOPBACK and not address.token:
        raise CockpitError(f"{address.host} is open to others", "it needs a token; leave --no-token out")
    served = Served(deck, root)
    app = _guarded(server_of(served, exposed).streamable_http_app(**_security(address)), address.token)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=2
    )
    running = uvicorn.Server(config)

    async def run() -> None:
        sockets = [_bound(address)]
        host, port = sockets[0].getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        serving = asyncio.create_task(running.serve(sockets))
        try:
            # The socket listens already: who connects now waits for the first answer.
            listening(f"http://{shown}:{port}{PATH}")
            await serving
        finally:
            running.should_exit = True
            await asyncio.gather(serving, return_exceptions=True)

    await _until_signal(run, served)


def _security(address: Address) -> dict[str, Any]:
    """Which names a request may call us by: a page of the web that reaches the loopback under a name of
    its own (DNS rebinding) is turned away, and so is a page of another origin."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [address.host, *(("127.0.0.1", "localhost", "[::1]") if address.host in LOOPBACK else ())]
    settings = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[one for name in names for one in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}"
            for name in names
            for scheme in ("http", "https")
            for port in ("", ":*")
        ],
    )
    return {"transport_security": settings, "streamable_http_path": PATH}


def _guarded(app: "ASGIApp", token: str) -> "ASGIApp":
    """`app` behind its token."""
    expected = f"Bearer {token}".encode()

    async def guarded(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http":
            # Blanks around a value are no part of it (RFC 9110, 5.5); not every parser takes them off.
            headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        if scope["type"] != "http" or not token:
            await app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        if hmac.compare_digest(given, expected):
            await app(scope, receive, send)
            return
        refusal = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": refusal})
        await send({"type": "http.response.body", "body": b""})

    return guarded


def _bound(address: Address) -> Any:
    import socket

    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address.host, address.port))
    except OSError as error:
        sock.close()
        raise CockpitError(
            f"{address.host}:{address.port} cannot be listened on: {error.strerror or error}",
            "choose another --http port",
        ) from error
    sock.listen(128)
    sock.setblocking(False)
    return sock


async def _until_signal(run: Callable[[], Awaitable[None]], served: Served) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(run())
    for one in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(one, task.cancel)
        except (NotImplementedError, RuntimeError):
            # Windows, or not the main thread: Ctrl+C ends the process by itself there.
            break
    try:
        await asyncio.wait((task,))
        if not task.cancelled():
            task.result()
    finally:
        await served.close()


def _looked_at(task: "asyncio.Task[Any]") -> None:
    """What went wrong is told to the client by its first request; here it only must not be lost."""
    if not task.cancelled():
        task.exception()
