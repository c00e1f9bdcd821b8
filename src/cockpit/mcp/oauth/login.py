"""Logging in and out of a server, and what its connection sends its requests through."""

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cockpit import __version__
from cockpit.mcp.oauth.callback import open_callback
from cockpit.mcp.oauth.config import LoginFailed, is_secure_url, parse_config
from cockpit.mcp.oauth.login_prompt import LoginPrompt
from cockpit.mcp.oauth.token_store import StoredLogin, TokenStore
from cockpit.plugin.values import McpServer
from cockpit.settings import api_keys

if TYPE_CHECKING:
    from cockpit.mcp.oauth.provider import OAuthLogin

# The handshake of every server there is; who wants a login says so before reading it.
INITIALIZE_REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "cockpit", "version": __version__},
    },
}
REQUEST_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


@dataclass(frozen=True, slots=True)
class LoginResult:
    """How a login ended: `place` is where it is kept, "" where the server wants none."""

    place: str
    scopes: tuple[str, ...] = ()


def auth_for(server: McpServer, person: LoginPrompt | None = None) -> "OAuthLogin | None":
    """What the requests to `server` pass, as the `auth` of an `httpx2.AsyncClient`; None where its headers
    authorize already, or it is no server on the network.

    Without a `person` a missing login raises `LoginNeeded` out of the request; the SDK's transport may
    swallow that, so `problem` of what is returned tells it too. Raises `LoginFailed` for an entry that
    cannot be read.
    """
    if not server.url or any(name.lower() == "authorization" for name in server.headers):
        return None
    from cockpit.mcp.oauth.provider import OAuthLogin

    silence_auth_log()
    return OAuthLogin(server.name, server.url, parse_config(server.name, server.oauth), person, None)


async def login(server: McpServer, person: LoginPrompt) -> LoginResult:
    """Log in anew, asking `person` where the server wants one. Raises `LoginFailed`."""
    from cockpit.mcp.oauth.provider import OAuthLogin

    if not server.url:
        raise LoginFailed(f"{server.name} is started here, it has no login", "give it a key by `env`")
    silence_auth_log()
    wanted = parse_config(server.name, server.oauth)
    shelf = TokenStore(server.name, server.url)
    kept = await asyncio.to_thread(shelf.load)
    # The old tokens would hide that a login is wanted; the registered client is still good.
    await asyncio.to_thread(shelf.save, StoredLogin(client=kept.client, more=kept.more))
    async with open_callback(wanted.port or await _free_port(_registered_port(kept))) as callback:
        auth = OAuthLogin(server.name, server.url, wanted, person, callback)
        await _send_initialize(server, auth)
    kept = await asyncio.to_thread(shelf.load)
    if not kept.tokens:
        await asyncio.to_thread(shelf.forget)
        return LoginResult("")
    scope = kept.tokens.get("scope")
    place = "keyring" if await asyncio.to_thread(api_keys.read_keyring, f"mcp:{shelf.file.stem}") else ""
    return LoginResult(place or str(shelf.file), tuple(scope.split()) if isinstance(scope, str) else ())


async def logout(server: McpServer) -> bool:
    """Forget the login, and ask the server to as well; whether there was one."""
    shelf = TokenStore(server.name, server.url)
    kept = await asyncio.to_thread(shelf.load)
    await _revoke_tokens(kept)
    return await asyncio.to_thread(shelf.forget)


def is_logged_in(server: McpServer) -> bool:
    """Whether a login of `server` is kept. Looks at its file alone."""
    return bool(server.url) and TokenStore(server.name, server.url).file.exists()


def silence_auth_log() -> None:
    """The SDK's log of a failed login holds bodies of answers: it goes nowhere, least of all on a screen."""
    log = logging.getLogger("mcp.client.auth")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())


async def _send_initialize(server: McpServer, auth: "OAuthLogin") -> None:
    import httpx2

    try:
        async with (
            httpx2.AsyncClient(auth=auth, headers=dict(server.headers), timeout=30) as client,
            client.stream("POST", server.url, json=INITIALIZE_REQUEST, headers=REQUEST_HEADERS) as response,
        ):
            status = response.status_code
    except httpx2.HTTPError as error:
        raise LoginFailed(f"{server.name} cannot be reached: {error}", "look at its url") from error
    if status in (401, 403):
        raise LoginFailed(f"{server.name} still says HTTP {status} after the login", "log in again")


async def _revoke_tokens(kept: StoredLogin) -> None:
    """RFC 7009, where the server has it. One that does not answer keeps nobody from logging out."""
    import httpx2

    endpoint, token = kept.metadata.get("revocation_endpoint"), None
    for name in ("refresh_token", "access_token"):
        token = token or kept.tokens.get(name)
    if not isinstance(endpoint, str) or not is_secure_url(endpoint) or not isinstance(token, str):
        return
    body = {"token": token, "client_id": str(kept.client.get("client_id") or "")}
    try:
        async with httpx2.AsyncClient(timeout=5) as client:
            await client.post(endpoint, data=body)
    except httpx2.HTTPError:
        return


def _registered_port(kept: StoredLogin) -> int:
    """The port of the way back that this client was registered with; 0 for none."""
    uris = kept.client.get("redirect_uris")
    for uri in uris if isinstance(uris, list) else ():
        try:
            return urlsplit(str(uri)).port or 0
        except ValueError:
            continue
    return 0


async def _free_port(port: int) -> int:
    """`port` while nobody listens there, else 0."""
    if not port:
        return 0
    try:
        probe = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", port)
    except OSError:
        return 0
    probe.close()
    await probe.wait_closed()
    return port
