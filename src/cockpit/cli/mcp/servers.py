"""`cockpit mcp list --check|get|tools|log|approve|login|logout`: find, start, inspect and approve MCP
servers.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cockpit import paths
from cockpit.cli.command import (
    ProjectFolder,
    confirm,
    load_catalog,
    print_json,
    resolve_project,
)
from cockpit.errors import CockpitError
from cockpit.formats import mcp_files
from cockpit.mcp.pins import PinStore, describe_target
from cockpit.mcp.servers import McpServers
from cockpit.mcp.supervisor import CALL_SECONDS, CONNECT_SECONDS, ServersContext, find_server_log
from cockpit.mcp.tool_names import make_tool_name
from cockpit.plugin.context import ConnectionRow
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import McpServer
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import clean, single_line
from cockpit.settings import files
from cockpit.workspace.processes.server_process import ServerLog


def read_server_files(where: ProjectFolder) -> list[McpServer | Unloaded]:
    """The servers that files define, including those that could not be loaded."""
    environment = files.load_environment(where.root, where.trusted)
    return list(mcp_files.read_servers(Path(where.root), where.trusted, Path.home(), environment))


def list_registered_servers(where: ProjectFolder) -> tuple[McpServer, ...]:
    """All registered servers: those of files, bundles and plugins."""
    return load_catalog(where.root, where.trusted).all(McpServer)


def find_server(args: argparse.Namespace) -> McpServer:
    """The server called `name` in the arguments. Raises `CockpitError` with the reason if there is none."""
    where = resolve_project(args)
    known = list_registered_servers(where)
    for server in known:
        if server.name == args.name:
            return server
    for file in read_server_files(where):
        if file.name == args.name and isinstance(file, Unloaded):
            faults = "; ".join(str(fault) for fault in file.origin.refused)
            raise CockpitError(f"{args.name} cannot be used: {faults}")
    names = ", ".join(server.name for server in known)
    hint = f"choose {names}" if names else "none is configured"
    if not where.trusted:
        hint += " (servers of this folder are not read, because it is not trusted)"
    raise CockpitError(f"unknown MCP server '{args.name}'", hint)


def open_pins(root: str) -> PinStore:
    return PinStore(root, paths.state())


def check_servers(args: argparse.Namespace) -> int:
    """Start every server that may start and report its state; exit code 1 if one that should be ready is
    not."""
    where = resolve_project(args)
    return asyncio.run(_check_servers(where.root, list_registered_servers(where), args.json))


async def _check_servers(root: str, servers: tuple[McpServer, ...], as_json: bool) -> int:
    async with _start_servers(root, servers) as running:
        rows = running.rows()
    if as_json:
        print_json([_encode_row(row) for row in rows], 1)
    else:
        for row in rows:
            print(f"{row.name}  {row.state}  {_format_state(row)}")
        if not rows:
            print("no MCP servers here; cockpit mcp add NAME -- COMMAND adds one")
    return 0 if all(row.state in ("ready", "disabled") for row in rows) else 1


def show_server(args: argparse.Namespace) -> int:
    """Show a server's configuration without starting anything."""
    where, server = resolve_project(args), find_server(args)
    standing = open_pins(where.root).status(server)
    agreed = "may start" if standing.allowed else f"does not start: {standing.reason}"
    rows = {
        "name": server.name,
        "starts": describe_target(server),
        "transport": server.transport,
        "folder": server.cwd or where.root,
        "environment": ", ".join(sorted(server.environment)),
        "headers": ", ".join(sorted(server.headers)),
        "file": server.origin.file if server.origin is not None else "a plugin",
        "layer": server.origin.layer if server.origin is not None else "plugin",
        "state": "switched off" if server.disabled else agreed,
        "log": str(find_server_log(paths.state(), server)),
    }
    for name, value in rows.items():
        if value:
            print(f"{name}: {clean(value)}")
    return 0


def list_tools(args: argparse.Namespace) -> int:
    """List what a server offers, under the names that rules use."""
    where, server = resolve_project(args), find_server(args)
    return asyncio.run(_list_tools(where.root, server, args.json))


async def _list_tools(root: str, server: McpServer, as_json: bool) -> int:
    async with _start_servers(root, (server,)) as running:
        offer, row = running.supervisor(server.name).offer, running.rows()[0]
    if row.state != "ready":
        raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _suggest_command(row))
    changed = row.changed or {}
    if as_json:
        encoded: list[Json] = [
            {
                "name": make_tool_name(server.name, tool.name),
                "tool": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "changed": changed.get(tool.name, ""),
            }
            for tool in offer.tools
        ]
        print_json(encoded, 1)
        return 0
    for entry in offer.tools:
        note = "  (changed since it was approved: not called)" if entry.name in changed else ""
        print(f"{make_tool_name(server.name, entry.name)}  {single_line(entry.description, 100)}{note}")
    for prompt in offer.prompts:
        print(f"/{make_tool_name(server.name, prompt.name)}  {single_line(prompt.description, 100)}")
    for resource in offer.resources:
        print(f"@{server.name}:{clean(resource.uri)}  {single_line(resource.name, 100)}")
    for refused in row.refused:
        print(f"left out: {refused}")
    return 0


def show_log(args: argparse.Namespace) -> int:
    server = find_server(args)
    text = ServerLog(find_server_log(paths.state(), server)).tail(args.lines)
    print(clean(text) if text else f"{server.name} has not written anything yet")
    return 0


def approve_server(args: argparse.Namespace) -> int:
    """Show what would be approved, ask, and store the approval; then the same for tools that changed."""
    where, server = resolve_project(args), find_server(args)
    pins = open_pins(where.root)
    standing = pins.status(server)
    if not standing.allowed:
        print(f"{server.name}: {clean(describe_target(server))}")
        print(clean(standing.reason))
        if not confirm("Allow it to start?", args.yes):
            print("nothing was changed")
            return 1
        pins.approve(server)
        print(f"{server.name} may start")
    return asyncio.run(_approve_tools(where.root, server, args.yes))


async def _approve_tools(root: str, server: McpServer, yes: bool) -> int:
    async with _start_servers(root, (server,)) as running:
        life, row = running.supervisor(server.name), running.rows()[0]
        if row.state != "ready":
            raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _suggest_command(row))
        for name, what in (row.changed or {}).items():
            print(f"{name} changed:\n{clean(what)}")
        if row.changed and not confirm("Approve these changes?", yes):
            print("nothing was changed")
            return 1
        if row.changed:
            await life.accept()
        print(f"{server.name} is approved: {len(row.tools)} tools")
    return 0


def login_server(args: argparse.Namespace) -> int:
    from cockpit.mcp.oauth import TerminalLoginPrompt
    from cockpit.mcp.oauth import login as log_in

    server = find_server(args)
    done = asyncio.run(log_in(server, TerminalLoginPrompt()))
    where = f"logged in to {server.name}; stored in {done.place}"
    print(where if done.place else f"{server.name} needs no login")
    return 0


def logout_server(args: argparse.Namespace) -> int:
    from cockpit.mcp.oauth import logout as log_out

    server = find_server(args)
    was = asyncio.run(log_out(server))
    print(f"deleted the login to {server.name}" if was else f"there was no login to {server.name}")
    return 0


@asynccontextmanager
async def _start_servers(root: str, servers: tuple[McpServer, ...]) -> AsyncIterator[McpServers]:
    """Start the servers and wait until they are settled; close them afterwards."""
    settings = files.load_settings(root, False)
    connect = settings.number("mcp.connect_seconds") or CONNECT_SECONDS
    call = settings.number("mcp.call_seconds") or CALL_SECONDS
    house = ServersContext(root, paths.state(), settings.words("mcp.disabled"), connect, call)
    running = McpServers(house)
    running.use(servers, house)
    running.begin()
    try:
        await running.settled(2 * connect)
        yield running
    finally:
        await running.close()


def _encode_row(row: ConnectionRow) -> dict[str, Json]:
    return {
        "name": row.name,
        "state": row.state,
        "reason": row.reason,
        "target": row.target,
        "protocol": row.protocol,
        "tools": list(row.tools),
        "prompts": list(row.prompts),
        "resources": row.resources,
        "changed": dict(row.changed or {}),
        "file": row.file,
        "layer": row.layer,
        "log": row.log,
    }


def _format_state(row: ConnectionRow) -> str:
    if row.state != "ready":
        return clean(row.reason or row.target)
    changed = f", {len(row.changed)} changed" if row.changed else ""
    return f"{len(row.tools)} tools{changed}  {single_line(row.target, 80)}"


def _suggest_command(row: ConnectionRow) -> str:
    match row.state:
        case "needs approval":
            return f"cockpit mcp approve {row.name}"
        case "needs login":
            return f"cockpit mcp login {row.name}"
        case "disabled":
            return f"cockpit mcp enable {row.name}"
        case _:
            return f"cockpit mcp log {row.name}"
