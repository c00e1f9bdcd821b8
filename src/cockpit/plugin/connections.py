"""The MCP servers of a root, as plugins may see and touch them. Implemented in the room `mcp`; a session
without any has `NO_CONNECTIONS`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from cockpit.plugin.tools import Done, ToolFailed

if TYPE_CHECKING:
    from cockpit.plugin.context import Context

ConnectionState = Literal[
    "disabled", "needs approval", "waiting", "starting", "ready", "needs login", "failed", "stopped"
]
Verb = Literal["restart", "stop", "approve", "refuse"]


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """A server now. `target` is what is started, or where it is; `reason` says why it is not ready.
    `changed` are its tools whose definitions are not those that were approved, each with what is
    different. `refused` is what of its offer was left out. `log` is the file of what it wrote."""

    name: str
    state: ConnectionState
    target: str
    reason: str = ""
    layer: str = ""
    file: str = ""
    protocol: str = ""
    instructions: str = ""
    tools: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    resources: int = 0
    changed: Mapping[str, str] | None = None
    refused: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """Something a server lets read. A template's `uri` has `{parts}` to fill in."""

    server: str
    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


class Connections(Protocol):
    """The servers of one root. Nothing here starts one that waits for a person's yes."""

    def rows(self) -> tuple[ConnectionRow, ...]:
        """Every server, by name."""
        ...

    def resources(self) -> tuple[ResourceRow, ...]:
        """What the ready ones let read."""
        ...

    async def read(self, server: str, uri: str, context: "Context") -> Done:
        """A resource. Raises `ToolFailed`."""
        ...

    async def command(self, verb: Verb, name: str) -> str:
        """What a person wants done with a server; what came of it, in words."""
        ...

    def unasked(self, session: str) -> tuple[ConnectionRow, ...]:
        """Those that wait for a yes and that the person of `session` was not asked about; now they are."""
        ...

    async def settled(self, seconds: float) -> None:
        """Wait until no server is starting any more, at most so long."""
        ...

    def log(self, name: str) -> str:
        """The last lines that a server wrote."""
        ...


class NoConnections:
    """No servers."""

    def rows(self) -> tuple[ConnectionRow, ...]:
        return ()

    def resources(self) -> tuple[ResourceRow, ...]:
        return ()

    async def read(self, server: str, uri: str, context: "Context") -> Done:
        raise ToolFailed(f"there is no MCP server {server}")

    async def command(self, verb: Verb, name: str) -> str:
        return f"there is no MCP server {name}"

    def unasked(self, session: str) -> tuple[ConnectionRow, ...]:
        return ()

    async def settled(self, seconds: float) -> None:
        """Nothing starts."""

    def log(self, name: str) -> str:
        return ""


NO_CONNECTIONS: Connections = NoConnections()
