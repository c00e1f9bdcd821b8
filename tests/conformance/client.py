"""The client that the official suite drives: cockpit's own connection and login, nothing of its own.

The suite gives the server's address as the last argument, the scenario's name and what it is told in the
variables `MCP_CONFORMANCE_SCENARIO` and `MCP_CONFORMANCE_CONTEXT`. It ends with 0 where all went well.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from cockpit.mcp.connection import McpConnection
from cockpit.mcp.oauth import silence_auth_log
from cockpit.mcp.oauth.callback import open_callback
from cockpit.mcp.oauth.config import parse_config
from cockpit.mcp.oauth.provider import OAuthLogin
from cockpit.mcp.values import (
    ConnectionSettings,
    LoginNeeded,
    McpFailed,
    McpResult,
    SamplingReply,
    SamplingRequest,
    ServerGone,
    ServerOffer,
    ToolDefinition,
)
from cockpit.plugin.context import FormAnswer
from cockpit.plugin.values import McpServer
from cockpit.protocol.events import FormField
from cockpit.protocol.messages import Json

METADATA_URL = "https://conformance-test.local/client-metadata.json"
ECHO, RICH = "json_schema_echo", "json_schema_2020_12_tool"
SAMPLES: Mapping[str, Json] = {
    "string": "text",
    "integer": 3,
    "number": 3,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


class Agrees:
    """The person of a call: accepts every form as it stands, and lets a model answer."""

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        values = {
            field.name: _value(field) for field in fields if field.required or field.default is not None
        }
        return FormAnswer("accept", values)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        return SamplingReply("an answer", "scripted")


class Follows:
    """The person of a login: their browser goes where the page sends it, and they paste where it ended."""

    async def guide(self, server: str, url: str) -> str:
        async with httpx2.AsyncClient() as browser:
            response = await browser.get(url)
        return str(response.headers["location"])


def _value(field: FormField) -> Json:
    if field.default is not None:
        return field.default
    kinds: Mapping[str, Json] = {"integer": 3, "number": 3.5, "yes_no": True, "text": "text"}
    return field.options[0] if field.options else kinds.get(field.kind)


async def main() -> None:
    url, scenario = sys.argv[-1], os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    oauth = await _oauth(url, scenario, context)
    server = McpServer("conformance", url=url, transport="http", oauth=oauth)
    async with _connected(server) as connection:
        offer = await connection.offer()
        await _calls(connection, offer, context)
        for resource in offer.resources:
            if not resource.is_template:
                await connection.read(resource.uri, Agrees())
        for prompt in offer.prompts:
            given = {one.name: "text" for one in prompt.arguments}
            await connection.prompt(prompt.name, given, Agrees())


async def _calls(connection: McpConnection, offer: ServerOffer, context: Mapping[str, Any]) -> None:
    """The calls that the context asks for, else each tool once; all beside each other. One that fails is a
    failed call, as in a session: what the suite thinks of it stands in its checks."""
    wanted = [(one["name"], one["arguments"]) for one in context.get("toolCalls") or ()]
    wanted = wanted or [(tool.name, _arguments(tool, offer)) for tool in offer.tools]
    calls = (connection.call(name, arguments, Agrees()) for name, arguments in wanted)
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(outcome, LoginNeeded | ServerGone) or not isinstance(outcome, McpResult | McpFailed):
            raise RuntimeError("the connection did not survive its calls") from outcome
        print(outcome, file=sys.stderr)


def _arguments(tool: ToolDefinition, offer: ServerOffer) -> dict[str, Json]:
    """What the tool needs, of the right kinds."""
    if tool.name == ECHO:
        return {"schema": next(dict(one.parameters) for one in offer.tools if one.name == RICH)}
    properties = tool.parameters.get("properties")
    needed = tool.parameters.get("required")
    found: dict[str, Json] = {}
    for name, schema in (properties if isinstance(properties, dict) else {}).items():
        if isinstance(needed, list) and name in needed and isinstance(schema, dict):
            found[name] = SAMPLES.get(str(schema.get("type")), "text")
    return found


async def _oauth(url: str, scenario: str, context: Mapping[str, Any]) -> dict[str, Json]:
    """What a person would have written into the server's entry."""
    entry: dict[str, Json] = {"clientMetadataUrl": METADATA_URL}
    for key, name in (("client_id", "clientId"), ("client_secret", "clientSecret")):
        if context.get(key):
            entry[name] = context[key]
    match scenario:
        case "auth/client-credentials-basic":
            entry |= {"grant": "client_credentials", "issuer": await _issuer(url)}
        case "auth/client-credentials-jwt":
            entry |= {
                "grant": "client_credentials",
                "privateKey": context["private_key_pem"],
                "algorithm": context.get("signing_algorithm", "ES256"),
                "issuer": await _issuer(url),
            }
        case "auth/enterprise-managed-authorization" | "auth/cross-app-access-complete-flow":
            entry |= {
                "grant": "enterprise",
                "assertion": context["idp_id_token"],
                "idpTokenEndpoint": context["idp_token_endpoint"],
                "idpClientId": context["idp_client_id"],
                "issuer": await _issuer(url),
            }
        case "auth/wif-jwt-bearer":
            entry |= {
                "grant": "jwt_bearer",
                "assertion": context["valid_jwt"],
                "issuer": await _issuer(url),
            }
        case _:
            pass
    return entry


async def _issuer(url: str) -> str:
    """The authorization server that an administrator would have named."""
    base = httpx2.URL(url)
    where = base.copy_with(path=f"/.well-known/oauth-protected-resource{base.path}")
    async with httpx2.AsyncClient() as client:
        found = (await client.get(where)).json()
    return str(found["authorization_servers"][0])


@asynccontextmanager
async def _connected(server: McpServer) -> AsyncIterator[McpConnection]:
    silence_auth_log()
    with tempfile.TemporaryDirectory() as home:
        os.environ["COCKPIT_HOME"] = home
        async with open_callback(0) as callback:
            login = OAuthLogin(
                server.name, server.url, parse_config(server.name, server.oauth), Follows(), callback
            )
            terms = ConnectionSettings(home, Path(home) / "server.log", auth=lambda _: login)
            connection = McpConnection(server, terms)
            try:
                await connection.open()
                yield connection
            finally:
                await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
