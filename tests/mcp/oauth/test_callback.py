"""The callback page takes the answer to its own login and no other."""

import asyncio

import httpx2
import pytest

from cockpit.mcp.oauth.callback import CallbackServer, open_callback, parse_answer
from cockpit.mcp.oauth.config import LoginFailed


async def get(callback: CallbackServer, path: str, host: str = "") -> httpx2.Response:
    headers = {"host": host} if host else {}
    async with httpx2.AsyncClient() as client:
        return await client.get(f"http://127.0.0.1:{callback.port}{path}", headers=headers)


async def test_it_takes_the_answer_with_the_state_it_waits_for() -> None:
    async with open_callback(0) as callback:
        callback.expect("s1")
        assert (await get(callback, "/callback?code=c&state=s1&iss=https://a.example")).status_code == 200
        answered = await callback.answer()
        assert (answered.code, answered.issuer) == ("c", "https://a.example")


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/callback?code=c&state=other", "", 400),
        ("/callback?code=c", "", 400),
        ("/callback?state=s1", "", 400),
        ("/?code=c&state=s1", "", 404),
        ("/callback?code=c&state=s1", "evil.example", 421),
        ("/callback?code=c&state=s1", "localhost.evil.example:80", 421),
    ],
)
async def test_what_is_no_answer_changes_nothing(path: str, host: str, status: int) -> None:
    async with open_callback(0) as callback:
        callback.expect("s1")
        assert (await get(callback, path, host)).status_code == status
        assert (await get(callback, "/callback?code=good&state=s1")).status_code == 200
        assert (await callback.answer()).code == "good"


async def test_nothing_is_taken_before_a_login_waits() -> None:
    async with open_callback(0) as callback:
        assert (await get(callback, "/callback?code=c&state=")).status_code == 400


async def test_a_refusal_comes_with_its_words() -> None:
    found = parse_answer(
        "http://localhost:1/callback?state=s&error=access_denied&error_description=no\x1b[2J", "s"
    )
    assert found is not None and found.error == "no\ufffd[2J"


async def test_a_port_that_is_taken_is_named() -> None:
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    with pytest.raises(LoginFailed, match=f"port {port}"):
        async with open_callback(port):
            pass
    taken.close()


async def test_a_caller_who_says_nothing_holds_up_no_one() -> None:
    async with open_callback(0) as callback:
        callback.expect("s1")
        _, silent = await asyncio.open_connection("127.0.0.1", callback.port)
        assert (await get(callback, "/callback?code=c&state=s1")).status_code == 200
        silent.close()
