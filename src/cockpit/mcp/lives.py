"""The servers, as what they offer finds them again when it is used."""

from typing import Protocol

from cockpit.mcp.asking import SessionAsking
from cockpit.mcp.life import Life
from cockpit.plugin.context import Context


class Lives(Protocol):
    """Raises `McpFailed` for a server that is gone."""

    def life(self, server: str) -> Life: ...
    def asking(self, server: str, context: Context) -> SessionAsking: ...
