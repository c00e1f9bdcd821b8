"""What the model is told of MCP servers: which are there, how their tools are found, what they say of
themselves. Never part of the byte-stable prefix: servers come and go.

MCP, as a plugin: which servers the files name, resources, `/mcp`, who may start, and the verdict on other
people's tools. The servers themselves belong to the deck (`core/connecting`) and speak in the room `mcp`.
"""

from pathlib import Path

from cockpit.builtin.files.mcp.command import approval_guard, mcp_commands
from cockpit.builtin.files.mcp.tools import mcp_decider, resource_mention, resource_tools
from cockpit.plugin import hookimpl
from cockpit.plugin.context import ConnectionRow, Context
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import ContextSource, McpServer, Panel, Register, Scope, Source

# A prompt that is typed while servers start waits so long for them, no longer.
STARTUP_WAIT = 2.0
MAX_TOOL_NAMES = 24
MAX_INSTRUCTIONS = 400
MAX_SERVERS = 12


def server_reminder() -> ContextSource:
    return ContextSource("mcp", "reminder", "turn", collect_servers, deadline_ms=2_500)


async def collect_servers(context: Context) -> str:
    await context.connections.settled(STARTUP_WAIT)
    rows = context.connections.rows()
    ready = [row for row in rows if row.state == "ready"]
    if not ready:
        return ""
    lines = [_describe_server(row) for row in ready[:MAX_SERVERS]]
    if len(ready) > MAX_SERVERS:
        lines.append(f"- and {len(ready) - MAX_SERVERS} more")
    return "MCP servers (find their tools with tool_search, by words or select:NAME):\n" + "\n".join(lines)


def _describe_server(row: ConnectionRow) -> str:
    names = (
        ", ".join(row.tools[:MAX_TOOL_NAMES])
        if len(row.tools) <= MAX_TOOL_NAMES
        else f"{len(row.tools)} tools"
    )
    offers = [names or "no tools"]
    if row.resources:
        offers.append(f"{row.resources} resources (list_mcp_resources)")
    said = " ".join(row.instructions.split())
    said = said if len(said) <= MAX_INSTRUCTIONS else f"{said[:MAX_INSTRUCTIONS]}…"
    return f"- {row.name}: {'; '.join(offers)}" + (f". It says: {said}" if said else "")


def _load_servers(scope: Scope) -> list[McpServer | Unloaded]:
    from cockpit.formats.mcp_files import read_servers

    return list(read_servers(Path(scope.root), scope.trusted, Path.home(), scope.environment))


@hookimpl
def register_mcp_servers(register: Register, scope: Scope) -> None:
    register(Source("files", _load_servers))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in resource_tools():
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in mcp_commands():
        register(command)


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(mcp_decider())


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(approval_guard())


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(resource_mention())


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(server_reminder())


@hookimpl
def register_panels(register: Register, scope: Scope) -> None:
    register(Panel("mcp", "MCP servers"))
