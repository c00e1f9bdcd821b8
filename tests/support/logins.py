"""An MCP server that wants a login, and its authorization server: real HTTP on the loopback."""

import asyncio
import base64
import hashlib
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from cockpit.plugin.values import McpServer
from cockpit.protocol.messages import Json

GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "serverInfo": {"name": "guarded", "version": "1"},
}


@dataclass
class Authority:
    """Both servers, and what they saw. `elsewhere` is told as the token endpoint, `needs` is a scope that
    the server wants on top, `refusal` why nobody may log in. A call of `slow` waits for `gate`."""

    base: str = ""
    is_open: bool = False
    expires: int = 3600
    elsewhere: str = ""
    needs: str = ""
    refusal: str = ""
    token_error: str = ""
    clients: dict[str, list[str]] = field(default_factory=dict)
    codes: dict[str, tuple[str, str]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    refreshing: dict[str, str] = field(default_factory=dict)
    revoked: list[str] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    def server(self, **oauth: Json) -> McpServer:
        return McpServer("guarded", url=f"{self.base}/mcp", transport="http", oauth=oauth)

    async def mcp(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        resource = f'resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
        if not self.is_open and token not in self.tokens:
            return Response(status_code=401, headers={"www-authenticate": f"Bearer {resource}"})
        if self.needs and self.needs not in self.tokens.get(token, "").split():
            said = f'Bearer error="insufficient_scope", scope="{self.needs}", {resource}'
            return Response(status_code=403, headers={"www-authenticate": said})
        body = await request.json()
        if body["method"] == "slow":
            self.waiting.set()
            await self.gate.wait()
        return JSONResponse({"jsonrpc": "2.0", "id": body.get("id"), "result": GREETING})

    async def resource(self, request: Request) -> Response:
        return JSONResponse({"resource": f"{self.base}/mcp", "authorization_servers": [self.base]})

    async def metadata(self, request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": self.elsewhere or f"{self.base}/oauth/token",
                "registration_endpoint": f"{self.base}/register",
                "revocation_endpoint": f"{self.base}/revoke",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def register(self, request: Request) -> Response:
        asked = await request.json()
        id = f"client-{len(self.clients)}"
        self.clients[id] = asked["redirect_uris"]
        return JSONResponse({**asked, "client_id": id, "token_endpoint_auth_method": "none"}, 201)

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.asked.append(asked)
        answer = {"state": asked["state"], "iss": self.base}
        if self.refusal:
            answer |= {"error": "access_denied", "error_description": self.refusal}
        else:
            answer["code"] = secrets.token_urlsafe(12)
            self.codes[answer["code"]] = asked["code_challenge"], asked.get("scope", "")
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", 302)

    async def token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.asked.append(form)
        if self.token_error:
            body = {"error": "invalid_grant", "error_description": "too late", "debug": self.token_error}
            return JSONResponse(body, 400)
        match form["grant_type"]:
            case "authorization_code":
                challenge, scope = self.codes.pop(form["code"])
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                if base64.urlsafe_b64encode(digest).decode().rstrip("=") != challenge:
                    return JSONResponse({"error": "invalid_grant"}, 400)
            case "refresh_token":
                scope = self.refreshing.pop(form["refresh_token"])
            case _:
                scope = form.get("scope", "")
        return JSONResponse(self.issued(scope))

    def issued(self, scope: str) -> dict[str, Json]:
        access, refresh = f"access-{secrets.token_hex(12)}", f"refresh-{secrets.token_hex(12)}"
        self.tokens[access], self.refreshing[refresh] = scope, scope
        found: dict[str, Json] = {"access_token": access, "refresh_token": refresh, "scope": scope}
        return {**found, "token_type": "Bearer", "expires_in": self.expires}

    async def revoke(self, request: Request) -> Response:
        self.revoked.append(str((await request.form())["token"]))
        return Response()


@asynccontextmanager
async def authority() -> AsyncIterator[Authority]:
    """Both servers, running."""
    made = Authority()
    known = "/.well-known"
    routes = [
        Route("/mcp", made.mcp, methods=["POST"]),
        Route(f"{known}/oauth-protected-resource/mcp", made.resource),
        Route(f"{known}/oauth-authorization-server", made.metadata),
        Route("/register", made.register, methods=["POST"]),
        Route("/authorize", made.authorize),
        Route("/oauth/token", made.token, methods=["POST"]),
        Route("/revoke", made.revoke, methods=["POST"]),
    ]
    listening = socket.create_server(("127.0.0.1", 0))
    made.base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    running = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error", lifespan="off"))
    # Its own signals would end the tests' run.
    serving = asyncio.create_task(running._serve([listening]))
    try:
        yield made
    finally:
        running.should_exit = True
        await serving


class Browser:
    """A person whose browser goes where a page leads, and who then pastes where it ended, or not."""

    def __init__(self, pastes: bool = False) -> None:
        self.pastes = pastes
        self.seen: list[str] = []
        self.ended = ""

    async def guide(self, server: str, url: str) -> str:
        import httpx2

        self.seen.append(url)
        async with httpx2.AsyncClient() as client:
            response = await client.get(url)
            address = str(response.headers["location"])
            if not self.pastes:
                self.ended = (await client.get(address)).text
                await asyncio.get_running_loop().create_future()
        return address
