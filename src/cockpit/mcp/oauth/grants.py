"""Token requests that need no person: a client's own credentials, a workload's token, an identity
provider's. Each goes to the authorization server that the entry names, and to no other."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from cockpit.mcp.oauth.wanted import LoginFailed, Wanted
from cockpit.settings import keys, plain

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth.oauth2 import OAuthContext

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
JWT_CLIENT = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def token_request(name: str, wanted: Wanted, context: "OAuthContext") -> "httpx2.Request":
    """The request for a token of `wanted.grant`. Raises `LoginFailed` where the server leads elsewhere."""
    import httpx2

    metadata = context.oauth_metadata
    if metadata is None or not _is_same(str(metadata.issuer), wanted.issuer):
        found = str(metadata.issuer) if metadata is not None else "none"
        raise LoginFailed(
            f"{name} leads to the authorization server {found}, not to {wanted.issuer}",
            "nothing was sent; correct `oauth.issuer` if that server is right",
        )
    issuer, resource = str(metadata.issuer), context.get_resource_url()
    body: dict[str, str] = {"resource": resource}
    match wanted.grant:
        case "client_credentials":
            body["grant_type"] = "client_credentials"
            if wanted.private_key:
                body |= {
                    "client_assertion_type": JWT_CLIENT,
                    "client_assertion": await signed(wanted, issuer),
                }
        case "jwt_bearer" | "enterprise":
            body |= {"grant_type": JWT_BEARER, "client_id": wanted.client_id}
            body["assertion"] = await assertion(name, wanted, issuer, resource)
        case "code":
            raise ValueError("a code comes from a browser")
    scope = " ".join(wanted.scopes) or context.client_metadata.scope or ""
    if scope:
        body["scope"] = scope
    body, headers = context.prepare_token_auth(body, dict(FORM))
    return httpx2.Request("POST", str(metadata.token_endpoint), data=body, headers=headers)


async def signed(wanted: Wanted, audience: str) -> str:
    """A client's own assertion, signed with its private key (RFC 7523)."""
    from mcp.client.auth.extensions.client_credentials import SignedJWTParameters

    made = SignedJWTParameters(
        issuer=wanted.client_id,
        subject=wanted.client_id,
        signing_key=wanted.private_key,
        signing_algorithm=wanted.algorithm,
    )
    return await made.create_assertion_provider()(audience)


async def assertion(name: str, wanted: Wanted, audience: str, resource: str) -> str:
    """What stands for the workload or the person: the token itself, or what the identity provider gives
    for it (RFC 8693, an ID-JAG)."""
    token = wanted.assertion
    if wanted.assertion_file:
        try:
            token = (await asyncio.to_thread(plain.read_text, wanted.assertion_file)).strip()
        except OSError as error:
            raise LoginFailed(
                f"the assertion of {name} cannot be read: {error.strerror}", "see `oauth.assertionFile`"
            ) from error
        keys.know(token, f"{name} login")
    if wanted.grant == "jwt_bearer":
        return token
    return await _exchanged(name, wanted, token, audience, resource)


async def _exchanged(name: str, wanted: Wanted, token: str, audience: str, resource: str) -> str:
    import httpx2

    body = {
        "grant_type": EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": token,
        "subject_token_type": ID_TOKEN,
        "audience": audience,
        "resource": resource,
        "client_id": wanted.idp_client_id,
    }
    if wanted.scopes:
        body["scope"] = " ".join(wanted.scopes)
    if wanted.idp_client_secret:
        body["client_secret"] = wanted.idp_client_secret
    async with httpx2.AsyncClient(timeout=30) as client:
        response = await client.post(wanted.idp_endpoint, data=body, headers=FORM)
    try:
        found = response.json()
    except ValueError:
        found = {}
    given = found.get("access_token") if isinstance(found, dict) else None
    if response.status_code != 200 or not isinstance(given, str):
        raise LoginFailed(
            f"the identity provider of {name} gave no token (HTTP {response.status_code})",
            "its token may be too old; get a new one",
        )
    keys.know(given, f"{name} login")
    return given


def _is_same(issuer: str, wanted: str) -> bool:
    return issuer.rstrip("/") == wanted.rstrip("/")


Flow = AsyncGenerator["httpx2.Request", "httpx2.Response"]
