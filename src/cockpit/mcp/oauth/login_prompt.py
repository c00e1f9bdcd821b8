"""Prompts the user to log in: shows the page and accepts the pasted address it ended on."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import Protocol, TextIO

from cockpit.mcp.oauth.config import LoginFailed
from cockpit.protocol.safe_text import clean

YES_WORDS = ("y", "yes")


class LoginPrompt(Protocol):
    """Guides the user through a login."""

    async def guide(self, server: str, url: str) -> str:
        """Show `url`, open it if the user agrees, and return the pasted address. Cancelled when the browser
        returns by itself. Raises `LoginFailed` if the user declines."""
        ...


async def open_page(url: str) -> bool:
    """Open `url` in the user's browser. Returns whether there was one. Only web pages are opened."""
    import webbrowser

    if not url.startswith(("https://", "http://")):
        reason = f"the server's login page is not a web page: {clean(url)[:200]}"
        raise LoginFailed(reason, "report this to the operator of the server")
    return await asyncio.to_thread(webbrowser.open, url)


class TerminalLoginPrompt:
    """Asks at a plain terminal, for `cockpit mcp login NAME`. Shows the page on `out` and reads lines with
    `read_line`. With `has_browser` None it checks for a browser."""

    def __init__(
        self,
        out: TextIO | None = None,
        read_line: Callable[[], str] | None = None,
        has_browser: bool | None = None,
    ) -> None:
        self._out = out or sys.stderr
        self._read_line = read_line or sys.stdin.readline
        self._has_browser = has_local_browser() if has_browser is None else has_browser

    async def guide(self, server: str, url: str) -> str:
        self._print(f"{server} requires a login on this page:\n\n  {url}\n")
        if self._has_browser:
            self._print("Open it in the browser? [y/N], or paste the address the browser ended on:")
        else:
            self._print("Open it in any browser, then paste the address that it ended on:")
        while True:
            line = await self._line()
            if line.lower() in YES_WORDS and self._has_browser:
                await open_page(url)
                self._print("Waiting for the browser ...")
            elif line.startswith(("http://", "https://")):
                return line
            elif line:
                self._print("Paste the whole address, starting with http:// (Ctrl+C cancels the login).")

    def _print(self, text: str) -> None:
        print(clean(text), file=self._out, flush=True)

    async def _line(self) -> str:
        """A line of the user, read in a thread that is abandoned once the browser has returned."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()

        def deliver(line: str) -> None:
            if not future.done():
                future.set_result(line)

        def read() -> None:
            line = self._read_line()
            # At the end of input the browser may still return.
            if line and not loop.is_closed():
                loop.call_soon_threadsafe(deliver, line.strip())

        threading.Thread(target=read, daemon=True).start()
        return await future


def has_local_browser() -> bool:
    """Whether the user would see a browser that is started here."""
    if os.environ.get("SSH_CONNECTION") or not sys.stdin.isatty():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
