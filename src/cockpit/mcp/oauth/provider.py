"""Authorizes HTTP requests to a server: adds, requests and renews tokens.

Grants that need no user (client credentials, a workload's or identity provider's token) send their secret
only to the authorization server that the entry names. The SDK's own flow does the discovery. Imports the SDK,
so it is imported late.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth, union_scopes
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from cockpit.errors import CockpitError
from cockpit.mcp.oauth.callback import AuthorizationAnswer, CallbackServer, parse_answer
from cockpit.mcp.oauth.config import LoginFailed, OAuthConfig, OAuthLoginNeeded, is_secure_url
from cockpit.mcp.oauth.login_prompt import LoginPrompt
from cockpit.mcp.oauth.token_store import StoredLogin, TokenStore
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import clean
from cockpit.settings import api_keys, file_io

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
JWT_CLIENT = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
FORM_HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}
WRONG_ISSUER_HINT = "nothing was sent; correct `oauth.issuer` if the new server is right"
LOGIN_SECONDS = 300.0
AuthFlow = AsyncGenerator[httpx2.Request, httpx2.Response]


async def token_request(name: str, config: OAuthConfig, context: "OAuthContext") -> httpx2.Request:
    """The request for a token of `config.grant`. Raises `LoginFailed` if the server names another issuer."""
    metadata = context.oauth_metadata
    issuer = str(metadata.issuer) if metadata is not None else "none"
    if metadata is None or issuer.rstrip("/") != config.issuer.rstrip("/"):
        reason = f"{name} names the authorization server {issuer}, expected {config.issuer}"
        raise LoginFailed(reason, WRONG_ISSUER_HINT)
    resource = context.get_resource_url()
    body: dict[str, str] = {"resource": resource}
    match config.grant:
        case "client_credentials":
            body["grant_type"] = "client_credentials"
            if config.private_key:
                body["client_assertion_type"] = JWT_CLIENT
                body["client_assertion"] = await sign_assertion(config, issuer)
        case "jwt_bearer" | "enterprise":
            body |= {"grant_type": JWT_BEARER, "client_id": config.client_id}
            body["assertion"] = await load_assertion(name, config, issuer, resource)
        case "code":
            raise ValueError("a code can only come from a browser")
    scope = " ".join(config.scopes) or context.client_metadata.scope or ""
    if scope:
        body["scope"] = scope
    body, headers = context.prepare_token_auth(body, dict(FORM_HEADERS))
    return httpx2.Request("POST", str(metadata.token_endpoint), data=body, headers=headers)


async def sign_assertion(config: OAuthConfig, audience: str) -> str:
    """A client's assertion, signed with its private key (RFC 7523)."""
    from mcp.client.auth.extensions.client_credentials import SignedJWTParameters

    parameters = SignedJWTParameters(
        issuer=config.client_id,
        subject=config.client_id,
        signing_key=config.private_key,
        signing_algorithm=config.algorithm,
    )
    return await parameters.create_assertion_provider()(audience)


async def load_assertion(name: str, config: OAuthConfig, audience: str, resource: str) -> str:
    """The assertion for the workload or the user: the configured token, or an ID-JAG if the identity
    provider exchanges it (RFC 8693)."""
    token = config.assertion
    if config.assertion_file:
        try:
            token = (await asyncio.to_thread(file_io.read_text, config.assertion_file)).strip()
        except OSError as error:
            reason = f"the assertion of {name} cannot be read: {error.strerror}"
            raise LoginFailed(reason, "check `oauth.assertionFile`") from error
        api_keys.register_secret(token, f"{name} login")
    if config.grant == "jwt_bearer":
        return token
    return await _exchange_token(name, config, token, audience, resource)


async def _exchange_token(name: str, config: OAuthConfig, token: str, audience: str, resource: str) -> str:
    body = {
        "grant_type": TOKEN_EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": token,
        "subject_token_type": ID_TOKEN,
        "audience": audience,
        "resource": resource,
        "client_id": config.idp_client_id,
    }
    if config.scopes:
        body["scope"] = " ".join(config.scopes)
    if config.idp_client_secret:
        body["client_secret"] = config.idp_client_secret
    async with httpx2.AsyncClient(timeout=30) as client:
        response = await client.post(config.idp_endpoint, data=body, headers=FORM_HEADERS)
    assertion = _json_object(response).get("access_token")
    if response.status_code != 200 or not isinstance(assertion, str):
        reason = f"the identity provider of {name} returned no token (HTTP {response.status_code})"
        raise LoginFailed(reason, "`oauth.assertion` may have expired; get a new one")
    api_keys.register_secret(assertion, f"{name} login")
    return assertion


class OAuthLogin(OAuthClientProvider):
    """The `httpx2.Auth` of one server. `problem` is why the last request failed.

    Without a `prompt` a required login raises `OAuthLoginNeeded`, and no browser is opened. It is also the
    SDK's `TokenStorage`, because it stores more than the SDK would save.
    """

    def __init__(
        self,
        name: str,
        url: str,
        config: OAuthConfig,
        prompt: LoginPrompt | None = None,
        callback: CallbackServer | None = None,
    ) -> None:
        self.name, self.config = name, config
        self.problem: CockpitError | None = None
        self._prompt, self._callback = prompt, callback
        self._authorization_url = ""
        self._extra_scopes, self._is_stepping_up = "", False
        self._store = TokenStore(name, url)
        self._register_secrets(*config.secrets())
        redirect = callback.address if callback is not None else "http://localhost/callback"
        metadata, metadata_url = _client_metadata(config, redirect), config.metadata_url or None
        super().__init__(url, metadata, self, self._show_page, self._wait_for_code, metadata_url)

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._register_secrets(tokens.access_token, tokens.refresh_token or "")
        await self._save(tokens)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._save(None)

    def _register_secrets(self, *secrets: str) -> None:
        for secret in secrets:
            api_keys.register_secret(secret, f"{self.name} login")

    async def _save(self, tokens: OAuthToken | None) -> None:
        """Write the current state to the token store, without tokens if `tokens` is None."""
        context = self.context
        stored = StoredLogin(
            _dump_model(tokens),
            # A client that the entry names is not stored.
            _dump_model(None if self.config.client_id else context.client_info),
            _dump_model(context.oauth_metadata),
            _dump_model(context.protected_resource_metadata),
            context.auth_server_url or "",
            "" if tokens is not None else self._extra_scopes,
            None if tokens is None or not tokens.expires_in else time.time() + tokens.expires_in,
        )
        await asyncio.to_thread(self._store.save, stored)

    async def _initialize(self) -> None:
        stored, context = await asyncio.to_thread(self._store.load), self.context
        try:
            context.current_tokens = OAuthToken.model_validate(stored.tokens) if stored.tokens else None
            context.client_info = self._client(stored)
            if stored.metadata:
                context.oauth_metadata = OAuthMetadata.model_validate(stored.metadata)
            if stored.resource:
                resource = ProtectedResourceMetadata.model_validate(stored.resource)
                context.protected_resource_metadata = resource
        except ValidationError:
            # A stored login that cannot be parsed counts as none: the user logs in again.
            context.current_tokens, context.client_info = None, self._client(StoredLogin())
        context.token_expiry_time, self._extra_scopes = stored.expires, stored.extra_scopes
        context.auth_server_url = stored.issuer or None
        self._initialized = True

    def _client(self, stored: StoredLogin) -> OAuthClientInformationFull | None:
        config = self.config
        if config.client_id:
            secret = config.client_secret or None
            method = config.method or ("client_secret_basic" if secret else "none")
            return OAuthClientInformationFull(
                client_id=config.client_id,
                client_secret=secret,
                redirect_uris=self.context.client_metadata.redirect_uris,
                token_endpoint_auth_method="private_key_jwt" if config.private_key else method,
                issuer=config.issuer or None,
            )
        if not stored.client:
            return None
        client = OAuthClientInformationFull.model_validate(stored.client)
        known = [str(uri) for uri in client.redirect_uris or ()]
        # A server rejects a client with a callback address that it was not registered with.
        return client if self._callback is None or self._callback.address in known else None

    async def _auth_flow(self, request: httpx2.Request) -> AuthFlow:
        self.problem = None
        try:
            async with self.context.lock:
                if not self._initialized:
                    await self._initialize()
            if self.context.is_token_valid() or not self.context.can_refresh_token():
                # The SDK's flow holds its lock until the answer arrives, so calls would wait for each
                # other.
                if self.context.is_token_valid():
                    self._add_auth_header(request)
                response = yield request
                if response.status_code not in (401, 403):
                    return
            # The flow must be closed in the task that holds its lock.
            async with aclosing(super()._auth_flow(request)) as flow:
                outgoing = await anext(flow)
                while True:
                    self._check(outgoing, request)
                    response = yield outgoing
                    if outgoing is request and _requires_login(response):
                        await self._require_user(response)
                    outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except CockpitError as error:
            self.problem = error
            raise
        except OAuthFlowError as error:
            self.problem = LoginFailed(f"the login to {self.name} failed: {clean(str(error))[:300]}")
            raise self.problem from error

    async def _require_user(self, response: httpx2.Response) -> None:
        """The server requires a login, or further scopes. Raises `OAuthLoginNeeded` without a user."""
        self._is_stepping_up = response.status_code == 403
        if self._prompt is not None or self.config.grant != "code":
            return
        scopes = extract_scope_from_www_auth(response) if self._is_stepping_up else ""
        if scopes:
            self._extra_scopes = union_scopes(self._extra_scopes, scopes) or ""
            stored = await asyncio.to_thread(self._store.load)
            await asyncio.to_thread(self._store.save, replace(stored, extra_scopes=self._extra_scopes))
        reason = f"{self.name} requires a login" + (f" for {scopes}" if scopes else "")
        raise OAuthLoginNeeded(reason, f"cockpit mcp login {self.name}")

    def _check(self, outgoing: httpx2.Request, request: httpx2.Request) -> None:
        """Check that codes, secrets and tokens are sent over https or stay on this machine."""
        if outgoing is request or outgoing.method == "GET":
            return
        if self.config.client_id and self.context.client_info is None:
            # The SDK drops a client of another authorization server and would register a new one.
            reason = f"{self.name} names another authorization server than {self.config.issuer}"
            raise LoginFailed(reason, WRONG_ISSUER_HINT)
        if not is_secure_url(str(outgoing.url)):
            reason = f"{self.name} wants its login sent to {outgoing.url.host} without https"
            raise LoginFailed(reason, "nothing was sent; report this to the operator of the server")

    async def _perform_authorization(self) -> httpx2.Request:
        if self.config.grant == "code":
            metadata = self.context.client_metadata
            configured = " ".join(self.config.scopes)
            scope = configured if configured and not self._is_stepping_up else metadata.scope
            metadata.scope = union_scopes(scope, self._extra_scopes)
            return await super()._perform_authorization()
        return await token_request(self.name, self.config, self.context)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if response.status_code not in (200, 201):
            await response.aread()
            raise LoginFailed(f"{self.name} returned no token: {_error_text(response)}", "log in again")
        await super()._handle_token_response(response)

    async def _show_page(self, url: str) -> None:
        self._authorization_url = url
        if self._callback is not None:
            self._callback.expect(_state_of(url))

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        if self._prompt is None or self._callback is None:
            raise OAuthLoginNeeded(f"{self.name} requires a login", f"cockpit mcp login {self.name}")
        guiding = asyncio.create_task(self._read_pasted(self._prompt))
        waiting = asyncio.create_task(self._callback.answer())
        try:
            both = (guiding, waiting)
            done, _ = await asyncio.wait(both, timeout=LOGIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise LoginFailed(f"the login to {self.name} was not finished in time", "start it again")
            answered = done.pop().result()
        finally:
            guiding.cancel()
            waiting.cancel()
            await asyncio.gather(guiding, waiting, return_exceptions=True)
        if answered.error or not answered.code:
            raise LoginFailed(f"{self.name} refused the login: {answered.error or 'it sent no code'}")
        return AuthorizationCodeResult(code=answered.code, state=answered.state, iss=answered.issuer)

    async def _read_pasted(self, prompt: LoginPrompt) -> AuthorizationAnswer:
        pasted = await prompt.guide(self.name, self._authorization_url)
        answer = parse_answer(pasted, _state_of(self._authorization_url))
        if answer is None:
            hint = "paste the whole address that the browser ended on"
            raise LoginFailed("that address is not an answer to this login", hint)
        return answer


def _requires_login(response: httpx2.Response) -> bool:
    lacks_scope = extract_field_from_www_auth(response, "error") == "insufficient_scope"
    return response.status_code == 401 or (response.status_code == 403 and lacks_scope)


def _client_metadata(config: OAuthConfig, redirect: str) -> OAuthClientMetadata:
    if config.grant != "code":
        return OAuthClientMetadata(redirect_uris=None, grant_types=[config.grant])
    return OAuthClientMetadata(
        client_name="cockpit",
        redirect_uris=[AnyUrl(redirect)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=" ".join(config.scopes) or None,
        token_endpoint_auth_method=config.method or None,
    )


def _dump_model(model: BaseModel | None) -> dict[str, Json]:
    return {} if model is None else model.model_dump(mode="json", exclude_none=True)


def _state_of(url: str) -> str:
    return parse_qs(urlsplit(url).query).get("state", [""])[0]


def _error_text(response: httpx2.Response) -> str:
    """The two error fields of RFC 6749. The rest of a body may contain anything."""
    body = _json_object(response)
    fields = (body.get("error"), body.get("error_description"))
    words = ": ".join(clean(field)[:200] for field in fields if isinstance(field, str))
    return words or f"HTTP {response.status_code}"


def _json_object(response: httpx2.Response) -> dict[str, Json]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
