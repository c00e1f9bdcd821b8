"""The person of a login: who is shown the page, and may paste where it ended."""

import asyncio
from typing import Protocol

from cockpit.mcp.oauth.wanted import LoginFailed
from cockpit.plugin.context import NobodyThere, SessionView
from cockpit.protocol.asking import FormField

ADDRESS = "address"


class Person(Protocol):
    """Whoever logs in."""

    async def guide(self, server: str, url: str) -> str:
        """Show `url`, open it after a yes, and return the address that is pasted.

        Where the browser finds back by itself nothing is pasted: this is cancelled then. Raises
        `LoginFailed` where the person says no.
        """
        ...


class SessionPerson:
    """The person at a session: a question with the page, and a field for the address it ended on."""

    def __init__(self, session: SessionView) -> None:
        self._session = session

    async def guide(self, server: str, url: str) -> str:
        label = "where it ended (only if this machine is not the browser's)"
        question = f"MCP server {server} wants a login. Open its page in the browser?"
        fields = (FormField(ADDRESS, label, "text"),)
        try:
            answer = await self._session.ask_form(question, fields, source=f"MCP server {server}", url=url)
        except NobodyThere as error:
            raise LoginFailed(
                f"{server} wants a login and nobody is there", f"cockpit mcp login {server}"
            ) from error
        if answer.action != "accept":
            raise LoginFailed(f"the login to {server} was declined")
        if address := str(answer.values.get(ADDRESS) or "").strip():
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
