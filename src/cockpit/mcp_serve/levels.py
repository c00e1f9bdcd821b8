"""What of the log each client wants to hear (`logging/setLevel`), and telling it. Words on a call go with
that call; the era of 2026-07-28 asks for them per request, which the SDK looks after."""

from collections import OrderedDict
from typing import Any, TypeAlias

from mcp.server import ServerRequestContext
from mcp_types import LoggingLevel

from cockpit.protocol.events import Warned

Request: TypeAlias = ServerRequestContext[Any, Any]
LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
MOST_CLIENTS = 1_000


class Levels:
    """The lowest level that each client hears; all of them where it said nothing."""

    def __init__(self) -> None:
        self._levels: OrderedDict[str, int] = OrderedDict()

    def set(self, ctx: Request, level: LoggingLevel) -> None:
        self._levels[_client(ctx)] = LEVELS.index(level)
        if len(self._levels) > MOST_CLIENTS:
            self._levels.popitem(last=False)

    async def tell(self, ctx: Request, event: Warned) -> None:
        """A warning on this request's call."""
        if self._levels.get(_client(ctx), 0) > LEVELS.index("warning"):
            return
        text = f"{event.text} ({event.hint})" if event.hint else event.text
        await ctx.session.send_log_message("warning", text, event.source or "cockpit", ctx.request_id)


def _client(ctx: Request) -> str:
    """Which client it is: its HTTP session, or the one at the pipe."""
    headers = getattr(ctx.request, "headers", None)
    return headers.get("mcp-session-id", "") if headers is not None else ""
