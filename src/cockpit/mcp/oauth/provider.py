"""What every HTTP request to a server passes: it adds the token, gets and renews it, and asks a person
where one is there. The SDK's own flow does the discovery; imported late, as the SDK is."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace
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
from cockpit.mcp.oauth.callback import Answered, Callback, answer_in
from cockpit.mcp.oauth.grants import Flow, token_request
from cockpit.mcp.oauth.person import Person
from cockpit.mcp.oauth.shelf import Kept, Shelf
from cockpit.mcp.oauth.wanted import LoginFailed, LoginNeeded, Wanted, keeps_secrets
from cockpit.protocol.clean import clean
from cockpit.protocol.messages import Json
from cockpit.settings import keys

PATIENCE = 300.0


class Storage:
    """The SDK's storage over a `Shelf`: what it is given is kept together with what it forgets to keep."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.provider: Login | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        for secret in (tokens.access_token, tokens.refresh_token):
            keys.know(secret or "", f"{self._login.name} login")
        await self._login.keep(tokens)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._login.keep(None)

    @property
    def _login(self) -> "Login":
        if self.provider is None:
            raise RuntimeError("a storage belongs to a login")
        return self.provider


class Login(OAuthClientProvider):
    """The `httpx2.Auth` of one server. `problem` is why the last request was given up.

    Without a `person` a server that wants one gets `LoginNeeded`, and nobody's browser opens.
    """

    def __init__(
        self, name: str, url: str, wanted: Wanted, person: Person | None, callback: Callback | None
    ) -> None:
        self.name, self.wanted = name, wanted
        self.problem: CockpitError | None = None
        self._person, self._callback = person, callback
        self._authorization_url = ""
        self._more, self._is_stepping_up = "", False
        storage = Storage(Shelf(name, url))
        storage.provider = self
        self._shelf = storage.shelf
        for secret in wanted.secrets():
            keys.know(secret, f"{name} login")
        redirect = callback.address if callback is not None else "http://localhost/callback"
        super().__init__(
            url,
            _metadata(wanted, redirect),
            storage,
            self._shown,
            self._came_back,
            wanted.metadata_url or None,
        )

    async def keep(self, tokens: OAuthToken | None) -> None:
        """Write what is known now to the shelf; `tokens` None leaves them out."""
        context = self.context
        found = context.client_info
        client = None if self._is_given() else found
        kept = Kept(
            _dumped(tokens),
            _dumped(client),
            _dumped(context.oauth_metadata),
            _dumped(context.protected_resource_metadata),
            context.auth_server_url or "",
            "" if tokens is not None else self._more,
            None if tokens is None or not tokens.expires_in else time.time() + tokens.expires_in,
        )
        await asyncio.to_thread(self._shelf.save, kept)

    def _is_given(self) -> bool:
        """Whether the entry itself names the client."""
        return bool(self.wanted.client_id)

    async def _initialize(self) -> None:
        kept, context = await asyncio.to_thread(self._shelf.load), self.context
        try:
            context.current_tokens = OAuthToken.model_validate(kept.tokens) if kept.tokens else None
            context.client_info = self._client(kept)
            if kept.metadata:
                context.oauth_metadata = OAuthMetadata.model_validate(kept.metadata)
            if kept.resource:
                found = ProtectedResourceMetadata.model_validate(kept.resource)
                context.protected_resource_metadata = found
        except ValidationError:
            # A file that somebody edited is as good as none: the person logs in again.
            context.current_tokens, context.client_info = None, self._client(Kept())
        context.token_expiry_time, self._more = kept.expires, kept.more
        context.auth_server_url = kept.issuer or None
        self._initialized = True

    def _client(self, kept: Kept) -> OAuthClientInformationFull | None:
        wanted = self.wanted
        if self._is_given():
            secret = wanted.client_secret or None
            method = wanted.method or ("client_secret_basic" if secret else "none")
            return OAuthClientInformationFull(
                client_id=wanted.client_id,
                client_secret=secret,
                redirect_uris=self.context.client_metadata.redirect_uris,
                token_endpoint_auth_method="private_key_jwt" if wanted.private_key else method,
                issuer=wanted.issuer or None,
            )
        if not kept.client:
            return None
        found = OAuthClientInformationFull.model_validate(kept.client)
        known = [str(one) for one in found.redirect_uris or ()]
        if self._callback is not None and self._callback.address not in known:
            # Registered with another way back: the server would not take this one.
            return None
        return found

    async def _auth_flow(self, request: httpx2.Request) -> Flow:
        self.problem = None
        try:
            async with self.context.lock:
                if not self._initialized:
                    await self._initialize()
            if self.context.is_token_valid() or not self.context.can_refresh_token():
                # The SDK's flow holds its lock until the answer begins: calls would wait for each other.
                if self.context.is_token_valid():
                    self._add_auth_header(request)
                response = yield request
                if response.status_code not in (401, 403):
                    return
            # Closed in this task, which holds its lock.
            async with aclosing(super()._auth_flow(request)) as flow:
                outgoing = await anext(flow)
                while True:
                    self._check(outgoing, request)
                    response = yield outgoing
                    if outgoing is request and self._is_asked(response):
                        await self._asked(response)
                    outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except CockpitError as error:
            self.problem = error
            raise
        except OAuthFlowError as error:
            self.problem = _failed(self.name, error)
            raise self.problem from error

    async def _asked(self, response: httpx2.Response) -> None:
        """The server wants a login, or one with more scopes. Raises `LoginNeeded` where nobody is there."""
        self._is_stepping_up = response.status_code == 403
        if self._person is not None or self.wanted.grant != "code":
            return
        if more := extract_scope_from_www_auth(response) if self._is_stepping_up else "":
            self._more = union_scopes(self._more, more) or ""
            kept = await asyncio.to_thread(self._shelf.load)
            await asyncio.to_thread(self._shelf.save, replace(kept, more=self._more))
        raise LoginNeeded(
            f"{self.name} wants a login{f' for {more}' if more else ''}", f"cockpit mcp login {self.name}"
        )

    def _is_asked(self, response: httpx2.Response) -> bool:
        scope = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        return response.status_code == 401 or (response.status_code == 403 and scope)

    def _check(self, outgoing: httpx2.Request, request: httpx2.Request) -> None:
        """Codes, secrets and tokens go over https, or stay on this machine."""
        if outgoing is request or outgoing.method == "GET":
            return
        if self._is_given() and self.context.client_info is None:
            # The SDK drops a client of another authorization server, and would register a new one.
            raise LoginFailed(
                f"{self.name} leads to another authorization server than {self.wanted.issuer}",
                "nothing was sent; correct `oauth.issuer` if that server is right",
            )
        if keeps_secrets(str(outgoing.url)):
            return
        raise LoginFailed(
            f"{self.name} wants its login sent without https to {outgoing.url.host}",
            "nothing was sent; tell whoever runs the server",
        )

    async def _perform_authorization(self) -> httpx2.Request:
        if self.wanted.grant == "code":
            metadata = self.context.client_metadata
            own = " ".join(self.wanted.scopes)
            scope = own if own and not self._is_stepping_up else metadata.scope
            metadata.scope = union_scopes(scope, self._more)
            return await super()._perform_authorization()
        return await token_request(self.name, self.wanted, self.context)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if response.status_code not in (200, 201):
            await response.aread()
            raise LoginFailed(f"{self.name} gave no token: {_said(response)}", "log in again")
        await super()._handle_token_response(response)

    async def _shown(self, url: str) -> None:
        self._authorization_url = url
        if self._callback is not None:
            self._callback.expect(_state(url))

    async def _came_back(self) -> AuthorizationCodeResult:
        """The code, from the browser or from what a person pastes, whichever comes first."""
        if self._person is None or self._callback is None:
            raise LoginNeeded(f"{self.name} wants a login", f"cockpit mcp login {self.name}")
        guiding = asyncio.create_task(self._guided(self._person, self._callback))
        waiting = asyncio.create_task(self._callback.answer())
        try:
            both = (guiding, waiting)
            done, _ = await asyncio.wait(both, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise LoginFailed(f"nobody finished the login to {self.name}", "begin it again")
            answered = done.pop().result()
        finally:
            guiding.cancel()
            waiting.cancel()
            await asyncio.gather(guiding, waiting, return_exceptions=True)
        if answered.error or not answered.code:
            raise LoginFailed(f"{self.name} refused the login: {answered.error or 'no code came'}")
        return AuthorizationCodeResult(code=answered.code, state=answered.state, iss=answered.issuer)

    async def _guided(self, person: Person, callback: Callback) -> Answered:
        pasted = await person.guide(self.name, self._authorization_url)
        found = answer_in(pasted, _state(self._authorization_url))
        if found is None:
            raise LoginFailed(
                "that address is no answer to this login", "paste the whole address that the browser ended on"
            )
        return found


def _metadata(wanted: Wanted, redirect: str) -> OAuthClientMetadata:
    if wanted.grant != "code":
        return OAuthClientMetadata(redirect_uris=None, grant_types=[wanted.grant])
    return OAuthClientMetadata(
        client_name="cockpit",
        redirect_uris=[AnyUrl(redirect)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=" ".join(wanted.scopes) or None,
        token_endpoint_auth_method=wanted.method or None,
    )


def _dumped(model: BaseModel | None) -> dict[str, Json]:
    return {} if model is None else model.model_dump(mode="json", exclude_none=True)


def _state(url: str) -> str:
    return parse_qs(urlsplit(url).query).get("state", [""])[0]


def _said(response: httpx2.Response) -> str:
    """The two fields of RFC 6749 that say what is wrong; the rest of a body may hold anything."""
    try:
        body = response.json()
    except ValueError:
        body = None
    fields = [body.get(key) for key in ("error", "error_description")] if isinstance(body, dict) else []
    words = ": ".join(clean(one)[:200] for one in fields if isinstance(one, str))
    return words or f"HTTP {response.status_code}"


def _failed(name: str, error: Exception) -> LoginFailed:
    return LoginFailed(f"the login to {name} failed: {clean(str(error))[:300]}")
