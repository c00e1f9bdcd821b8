"""The person of a login: who is shown the page, and may paste where it ended.

The person of a login at a plain terminal: `cockpit mcp login NAME`.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import Protocol, TextIO

from cockpit.mcp.oauth.config import LoginFailed
from cockpit.plugin.context import SessionView, UserUnavailable
from cockpit.protocol.events import FormField
from cockpit.protocol.safe_text import clean

ADDRESS_FIELD = "address"


class LoginPrompt(Protocol):
    """Whoever logs in."""

    async def guide(self, server: str, url: str) -> str:
        """Show `url`, open it after a yes, and return the address that is pasted.

        Where the browser finds back by itself nothing is pasted: this is cancelled then. Raises
        `LoginFailed` where the person says no.
        """
        ...


class SessionLoginPrompt:
    """The person at a session: a question with the page, and a field for the address it ended on."""

    def __init__(self, session: SessionView) -> None:
        self._session = session

    async def guide(self, server: str, url: str) -> str:
        label = "where it ended (only if this machine is not the browser's)"
        question = f"MCP server {server} wants a login. Open its page in the browser?"
        fields = (FormField(ADDRESS_FIELD, label, "text"),)
        try:
            answer = await self._session.ask_form(question, fields, source=f"MCP server {server}", url=url)
        except UserUnavailable as error:
            raise LoginFailed(
                f"{server} wants a login and nobody is there", f"cockpit mcp login {server}"
            ) from error
        if answer.action != "accept":
            raise LoginFailed(f"the login to {server} was declined")
        if address := str(answer.values.get(ADDRESS_FIELD) or "").strip():
            return address
        await open_page(url)
        # The way back is the browser's now.
        await asyncio.get_running_loop().create_future()
        return ""


async def open_page(url: str) -> bool:
    """Open `url` in the person's browser; whether there was one. Only web pages are opened."""
    import webbrowser

    if not url.startswith(("https://", "http://")):
        raise LoginFailed("the server's login page is no web page", "tell whoever runs the server")
    return await asyncio.to_thread(webbrowser.open, url)


YES_WORDS = ("y", "yes")


class TerminalLoginPrompt:
    """Shows the page on `out`, reads lines from `ask`. `has_browser` None looks around for one."""

    def __init__(
        self,
        out: TextIO | None = None,
        ask: Callable[[], str] | None = None,
        has_browser: bool | None = None,
    ) -> None:
        self._out = out or sys.stderr
        self._ask = ask or sys.stdin.readline
        self._has_browser = has_local_browser() if has_browser is None else has_browser

    async def guide(self, server: str, url: str) -> str:
        self._say(f"{server} wants a login on this page:\n\n  {url}\n")
        if self._has_browser:
            self._say("Open it in the browser? [y/N], or paste the address the browser ended on:")
        else:
            self._say("Open it in any browser, then paste the address that it ended on:")
        while True:
            line = await self._line()
            if line.lower() in YES_WORDS and self._has_browser:
                await open_page(url)
                self._say("Waiting for the browser ...")
            elif line.startswith(("http://", "https://")):
                return line
            elif line:
                self._say("Paste the whole address, from http:// on (Ctrl+C ends the login).")

    def _say(self, text: str) -> None:
        print(clean(text), file=self._out, flush=True)

    async def _line(self) -> str:
        """A line of the person. A thread reads it, which nobody waits for once the browser is back."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()

        def told(line: str) -> None:
            if not future.done():
                future.set_result(line)

        def read() -> None:
            line = self._ask()
            # Where nobody types any more, the browser is still waited for.
            if line and not loop.is_closed():
                loop.call_soon_threadsafe(told, line.strip())

        threading.Thread(target=read, daemon=True).start()
        return await future


def has_local_browser() -> bool:
    """Whether a browser started here would be seen by the person."""
    if os.environ.get("SSH_CONNECTION") or not sys.stdin.isatty():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
