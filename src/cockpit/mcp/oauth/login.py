"""Log in to a server, log out, and authorize the requests of a connection."""

import asyncio
import contextlib
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

# The handshake of every server. A server that requires a login says so before reading it.
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
    """The result of a login: `place` is where it is stored, "" if the server requires none."""

    place: str
    scopes: tuple[str, ...] = ()


def auth_for(server: McpServer) -> "OAuthLogin | None":
    """The `auth` of an `httpx2.AsyncClient` that uses the stored login of `server`.

    None if its headers already authorize or it is not on the network. A missing login raises
    `OAuthLoginNeeded` from the request; because the SDK may swallow that, it is also stored in `problem`.
    Raises `LoginFailed` for an invalid entry.
    """
    if not server.url or any(name.lower() == "authorization" for name in server.headers):
        return None
    from cockpit.mcp.oauth.provider import OAuthLogin

    silence_auth_log()
    return OAuthLogin(server.name, server.url, parse_config(server.name, server.oauth))


async def login(server: McpServer, prompt: LoginPrompt) -> LoginResult:
    """Log in again, with the user if the server requires it. Raises `LoginFailed`."""
    from cockpit.mcp.oauth.provider import OAuthLogin

    if not server.url:
        hint = "configure its key with `env`"
        raise LoginFailed(f"{server.name} is a program that cockpit starts and has no login", hint)
    silence_auth_log()
    config = parse_config(server.name, server.oauth)
    store = TokenStore(server.name, server.url)
    stored = await asyncio.to_thread(store.load)
    # The old tokens would hide that a login is required; the registered client remains valid.
    await asyncio.to_thread(store.save, StoredLogin(client=stored.client, extra_scopes=stored.extra_scopes))
    async with open_callback(config.port or await _free_port(_registered_port(stored))) as callback:
        auth = OAuthLogin(server.name, server.url, config, prompt, callback)
        await _send_initialize(server, auth)
    stored = await asyncio.to_thread(store.load)
    if not stored.tokens:
        await asyncio.to_thread(store.forget)
        return LoginResult("")
    scope = stored.tokens.get("scope")
    place = "keyring" if await asyncio.to_thread(api_keys.read_keyring, f"mcp:{store.file.stem}") else ""
    return LoginResult(place or str(store.file), tuple(scope.split()) if isinstance(scope, str) else ())


async def logout(server: McpServer) -> bool:
    """Delete the stored login and revoke it at the server. Returns whether there was one."""
    store = TokenStore(server.name, server.url)
    stored = await asyncio.to_thread(store.load)
    await _revoke_tokens(stored)
    return await asyncio.to_thread(store.forget)


def is_logged_in(server: McpServer) -> bool:
    """Whether a login of `server` is stored. Only checks its file."""
    return bool(server.url) and TokenStore(server.name, server.url).file.exists()


def silence_auth_log() -> None:
    """Discard the SDK's log of a failed login, as it contains response bodies."""
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
        raise LoginFailed(f"{server.name} cannot be reached: {error}", "check its `url`") from error
    if status in (401, 403):
        raise LoginFailed(f"{server.name} still answers HTTP {status} after the login", "log in again")


async def _revoke_tokens(stored: StoredLogin) -> None:
    """Revoke the tokens (RFC 7009) if the server supports it. A failure does not prevent logging out."""
    import httpx2

    endpoint = stored.metadata.get("revocation_endpoint")
    token = stored.tokens.get("refresh_token") or stored.tokens.get("access_token")
    if not isinstance(endpoint, str) or not is_secure_url(endpoint) or not isinstance(token, str):
        return
    body = {"token": token, "client_id": str(stored.client.get("client_id") or "")}
    with contextlib.suppress(httpx2.HTTPError):
        async with httpx2.AsyncClient(timeout=5) as client:
            await client.post(endpoint, data=body)


def _registered_port(stored: StoredLogin) -> int:
    """The callback port this client was registered with, 0 if there is none."""
    uris = stored.client.get("redirect_uris")
    for uri in uris if isinstance(uris, list) else ():
        with contextlib.suppress(ValueError):
            return urlsplit(str(uri)).port or 0
    return 0


async def _free_port(port: int) -> int:
    """`port` if it is free, else 0."""
    if not port:
        return 0
    try:
        probe = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", port)
    except OSError:
        return 0
    probe.close()
    await probe.wait_closed()
    return port
