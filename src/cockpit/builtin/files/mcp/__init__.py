"""MCP: the servers in files, `/mcp`, approval of servers, resources, and verdicts on server tools.

Start with `command.py` for `/mcp` and approval, and with `tools.py` for verdicts, tools and mentions. The
connections belong to the deck; everything here goes through `context.connections`.
"""

from pathlib import Path

from cockpit.builtin.files.mcp.command import ask_before_prompt, mcp_command
from cockpit.builtin.files.mcp.tools import judge_mcp_call, resource_mention, resource_tools
from cockpit.plugin import hookimpl
from cockpit.plugin.context import ConnectionRow, Context
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.safety import Decider, Guard
from cockpit.plugin.values import ContextSource, McpServer, Panel, Register, Scope, Source

# Seconds that a prompt waits for servers that are still starting.
STARTUP_WAIT = 2.0
MAX_TOOL_NAMES = 24
MAX_INSTRUCTIONS = 400
MAX_SERVERS = 12


@hookimpl
def register_mcp_servers(register: Register, scope: Scope) -> None:
    register(Source("files", _load_servers))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in resource_tools():
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(mcp_command())


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("mcp", judge_mcp_call))


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(Guard("MCP servers of this folder", "prompt", ask_before_prompt, float("inf")))


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(resource_mention())


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    # A reminder, never part of the byte-stable prefix: servers come and go.
    register(ContextSource("mcp", "reminder", "turn", _collect_servers, deadline_ms=2_500))


@hookimpl
def register_panels(register: Register, scope: Scope) -> None:
    register(Panel("mcp", "MCP servers"))


def _load_servers(scope: Scope) -> list[McpServer | Unloaded]:
    from cockpit.formats.mcp_files import read_servers

    return list(read_servers(Path(scope.root), scope.trusted, Path.home(), scope.environment))


async def _collect_servers(context: Context) -> str:
    """List the ready servers for the model, and how their tools are found."""
    await context.connections.settled(STARTUP_WAIT)
    ready = [row for row in context.connections.rows() if row.state == "ready"]
    if not ready:
        return ""
    lines = [_describe_server(row) for row in ready[:MAX_SERVERS]]
    if len(ready) > MAX_SERVERS:
        lines.append(f"- and {len(ready) - MAX_SERVERS} more")
    return "MCP servers (find their tools with tool_search, by words or select:NAME):\n" + "\n".join(lines)


def _describe_server(row: ConnectionRow) -> str:
    names = ", ".join(row.tools) if len(row.tools) <= MAX_TOOL_NAMES else f"{len(row.tools)} tools"
    offers = [names or "no tools"]
    if row.resources:
        offers.append(f"{row.resources} resources (list_mcp_resources)")
    text = " ".join(row.instructions.split())
    if len(text) > MAX_INSTRUCTIONS:
        text = f"{text[:MAX_INSTRUCTIONS]}…"
    return f"- {row.name}: {'; '.join(offers)}" + (f". It says: {text}" if text else "")
