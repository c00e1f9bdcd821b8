"""Login prompts at a terminal and in a session."""

import asyncio
import io
from collections.abc import Iterator

import pytest
from tests.support.logins import Browser, authority

from cockpit.mcp import oauth
from cockpit.mcp.oauth.login_prompt import open_page

PAGE = "https://login.example/authorize?state=s"


def saying(*lines: str) -> Iterator[str]:
    yield from (f"{line}\n" for line in lines)


async def test_at_a_terminal_the_page_is_shown_and_the_pasted_address_taken() -> None:
    out, said = io.StringIO(), saying("what?", "http://localhost:1/callback?code=c&state=s")
    person = oauth.TerminalLoginPrompt(out, lambda: next(said), has_browser=False)
    assert await person.guide("github", PAGE) == "http://localhost:1/callback?code=c&state=s"
    assert PAGE in out.getvalue() and "Paste the whole address" in out.getvalue()


async def test_where_no_browser_is_near_a_yes_opens_none(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    said = saying("y", "http://localhost:1/callback?code=c&state=s")
    await oauth.TerminalLoginPrompt(io.StringIO(), lambda: next(said), has_browser=False).guide(
        "github", PAGE
    )
    assert not opened


async def test_a_browser_opens_only_after_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    said = saying("n", "yes", "http://localhost:1/callback?code=c&state=s")
    await oauth.TerminalLoginPrompt(io.StringIO(), lambda: next(said), has_browser=True).guide("github", PAGE)
    assert opened == [PAGE]


async def test_what_is_no_web_page_is_never_opened() -> None:
    with pytest.raises(oauth.LoginFailed, match="not a web page"):
        await open_page("file:///etc/passwd")


async def test_a_login_at_a_terminal_ends_when_the_browser_is_back() -> None:
    async with authority() as made:
        browser = Browser()

        class Watched(oauth.TerminalLoginPrompt):
            async def guide(self, server: str, url: str) -> str:
                going = asyncio.create_task(browser.guide(server, url))
                try:
                    return await super().guide(server, url)
                finally:
                    going.cancel()

        # Nobody types a word.
        done = await oauth.login(made.server(), Watched(io.StringIO(), str, has_browser=True))
        assert done.place
