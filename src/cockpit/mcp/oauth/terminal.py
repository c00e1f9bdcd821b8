"""The person of a login at a plain terminal: `cockpit mcp login NAME`."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from typing import TextIO

from cockpit.mcp.oauth.person import open_page
from cockpit.protocol.clean import clean

YES = ("y", "yes")


class TerminalPerson:
    """Shows the page on `out`, reads lines from `ask`. `has_browser` None looks around for one."""

    def __init__(
        self,
        out: TextIO | None = None,
        ask: Callable[[], str] | None = None,
        has_browser: bool | None = None,
    ) -> None:
        self._out = out or sys.stderr
        self._ask = ask or sys.stdin.readline
        self._has_browser = browser_is_near() if has_browser is None else has_browser

    async def guide(self, server: str, url: str) -> str:
        self._say(f"{server} wants a login on this page:\n\n  {url}\n")
        if self._has_browser:
            self._say("Open it in the browser? [y/N], or paste the address the browser ended on:")
        else:
            self._say("Open it in any browser, then paste the address that it ended on:")
        while True:
            line = await self._line()
            if line.lower() in YES and self._has_browser:
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


def browser_is_near() -> bool:
    """Whether a browser started here would be seen by the person."""
    if os.environ.get("SSH_CONNECTION") or not sys.stdin.isatty():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
