"""Logging in against a real authorization server: by browser, by hand, and after a restart."""

import asyncio
import json
import os
import stat
from dataclasses import replace

import httpx2
import pytest
from tests.support.logins import Browser, authority

from cockpit.mcp import oauth
from cockpit.mcp.oauth.login import INITIALIZE_REQUEST
from cockpit.mcp.oauth.token_store import TokenStore
from cockpit.plugin.values import McpServer
from cockpit.safety.redaction import Redactor


async def asked(server: McpServer) -> httpx2.Response:
    """One request as a connection sends it, in a session where nobody logs in."""
    async with httpx2.AsyncClient(auth=oauth.auth_for(server)) as client:
        return await client.post(server.url, json=INITIALIZE_REQUEST)


async def test_a_login_by_browser_is_kept_and_used() -> None:
    async with authority() as made:
        browser = Browser()
        done = await oauth.login(made.server(), browser)
        assert "You are logged in" in browser.ended
        assert done.place == str(TokenStore("guarded", f"{made.base}/mcp").file)
        assert (await asked(made.server())).status_code == 200


async def test_a_pasted_address_ends_a_login_where_no_browser_comes_back() -> None:
    async with authority() as made:
        assert (await oauth.login(made.server(), Browser(pastes=True))).place
        assert (await asked(made.server())).status_code == 200


async def test_the_code_is_bound_by_pkce_and_the_token_to_this_resource() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        page, token = made.asked
        assert page["code_challenge_method"] == "S256"
        assert page["resource"] == token["resource"] == f"{made.base}/mcp"


async def test_without_a_user_a_login_is_asked_for_and_nothing_is_registered() -> None:
    async with authority() as made:
        with pytest.raises(oauth.OAuthLoginNeeded, match="cockpit mcp login guarded"):
            await asked(made.server())
        assert not made.clients and not made.asked


async def test_what_is_kept_is_for_its_owner_alone() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        file = TokenStore("guarded", f"{made.base}/mcp").file
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert set(made.tokens) == {json.loads(file.read_text())["tokens"]["access_token"]}


async def test_another_name_or_address_is_another_login() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        other = replace(made.server(), name="other")
        assert oauth.is_logged_in(made.server()) and not oauth.is_logged_in(other)
        with pytest.raises(oauth.OAuthLoginNeeded):
            await asked(other)


async def test_a_token_that_is_too_old_is_renewed_after_a_restart_at_the_right_place() -> None:
    async with authority() as made:
        made.expires = -10
        await oauth.login(made.server(), Browser())
        made.tokens.clear()
        made.expires = 3600
        assert (await asked(made.server())).status_code == 200
        assert [one.get("grant_type") for one in made.asked][-1] == "refresh_token"
        # What came with it is kept, for the next start.
        assert (await asked(made.server())).status_code == 200


async def test_a_login_that_was_withdrawn_is_asked_for_again() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        made.tokens.clear()
        made.refreshing.clear()
        with pytest.raises(oauth.OAuthLoginNeeded):
            await asked(made.server())


async def test_a_scope_that_was_missing_is_asked_for_at_the_next_login() -> None:
    async with authority() as made:
        await oauth.login(made.server(scopes=["read"]), Browser())
        made.needs = "write"
        with pytest.raises(oauth.OAuthLoginNeeded, match="for write"):
            await asked(made.server(scopes=["read"]))
        await oauth.login(made.server(scopes=["read"]), Browser())
        assert (await asked(made.server(scopes=["read"]))).status_code == 200
        assert set(made.tokens[list(made.tokens)[-1]].split()) == {"read", "write"}


async def test_a_second_login_uses_the_client_that_is_registered() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        await oauth.login(made.server(), Browser())
        assert len(made.clients) == 1


async def test_a_client_that_the_entry_names_is_never_registered() -> None:
    async with authority() as made:
        server = made.server(clientId="known", clientSecret="secret-9f8e7d6c5b")
        await oauth.login(server, Browser())
        assert not made.clients and made.asked[0]["client_id"] == "known"
        assert "secret-9f8e7d6c5b" not in TokenStore("guarded", server.url).file.read_text()


async def test_what_the_authorization_server_refuses_is_said() -> None:
    async with authority() as made:
        made.refusal = "not on this list"
        with pytest.raises(oauth.LoginFailed, match="not on this list"):
            await oauth.login(made.server(), Browser())


async def test_the_body_of_a_refused_token_is_not_repeated() -> None:
    async with authority() as made:
        made.token_error = "access-0123456789abcdef"
        with pytest.raises(oauth.LoginFailed) as failed:
            await oauth.login(made.server(), Browser())
        assert "too late" in str(failed.value) and made.token_error not in str(failed.value)


async def test_a_code_is_never_sent_without_https() -> None:
    async with authority() as made:
        made.elsewhere = "http://tokens.example/token"
        with pytest.raises(oauth.LoginFailed, match=r"to tokens\.example without https"):
            await oauth.login(made.server(), Browser())


async def test_a_server_without_a_login_says_so() -> None:
    async with authority() as made:
        made.is_open = True
        assert (await oauth.login(made.server(), Browser())).place == ""
        assert not oauth.is_logged_in(made.server())


async def test_logging_out_forgets_and_tells_the_server() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        assert await oauth.logout(made.server())
        assert made.revoked and not oauth.is_logged_in(made.server())
        assert not await oauth.logout(made.server())


async def test_redaction_knows_what_a_login_brought() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        (token,) = made.tokens
        assert Redactor({}).text(f"it was {token} then") == "it was [redacted guarded login key] then"


async def test_a_client_of_its_own_right_needs_no_one_and_goes_where_it_was_told() -> None:
    async with authority() as made:
        secret: dict[str, str] = {"clientId": "robot", "clientSecret": "sssh-12345678"}
        entry = {"grant": "client_credentials", **secret, "issuer": made.base}
        assert (await asked(made.server(**entry))).status_code == 200
        assert made.asked[-1]["grant_type"] == "client_credentials"
        elsewhere = made.server(**{**entry, "issuer": "https://other.example"})
        with pytest.raises(oauth.LoginFailed, match="nothing was sent"):
            await asked(replace(elsewhere, name="second"))


async def test_calls_do_not_wait_for_each_other() -> None:
    async with authority() as made:
        await oauth.login(made.server(), Browser())
        server = made.server()
        async with httpx2.AsyncClient(auth=oauth.auth_for(server)) as client:
            slow = asyncio.create_task(client.post(server.url, json={**INITIALIZE_REQUEST, "method": "slow"}))
            await made.waiting.wait()
            assert (await client.post(server.url, json=INITIALIZE_REQUEST)).status_code == 200
            made.gate.set()
            await slow


async def test_headers_that_authorize_leave_no_room_for_a_login() -> None:
    server = McpServer("keyed", url="https://mcp.example/mcp", headers={"authorization": "Bearer x"})
    assert oauth.auth_for(server) is None
    assert oauth.auth_for(McpServer("local", command=("true",))) is None
