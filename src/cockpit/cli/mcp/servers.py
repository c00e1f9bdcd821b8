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
    select_fields,
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
from cockpit.protocol.safe_text import clean, single_line
from cockpit.settings import files
from cockpit.workspace.processes.server_process import ServerLog

JSON_FIELDS = (
    *("name", "state", "reason", "target", "protocol", "tools", "prompts", "resources"),
    *("file", "layer", "log"),
)


def read_server_files(project: ProjectFolder) -> list[McpServer | Unloaded]:
    """The servers that files define, including those that could not be loaded."""
    environment = files.load_environment(project.root, project.trusted)
    return list(mcp_files.read_servers(Path(project.root), project.trusted, Path.home(), environment))


def find_server(args: argparse.Namespace) -> tuple[str, McpServer]:
    """The root, and the server `args.name` of a file, bundle or plugin. Raises `CockpitError`."""
    project = resolve_project(args)
    known = load_catalog(*project).all(McpServer)
    for server in known:
        if server.name == args.name:
            return project.root, server
    for item in read_server_files(project):
        if item.name == args.name and isinstance(item, Unloaded):
            faults = "; ".join(str(fault) for fault in item.origin.refused)
            raise CockpitError(f"{args.name} cannot be used: {faults}")
    hint = f"choose {', '.join(server.name for server in known)}" if known else "none is configured"
    hint += "" if project.trusted else "; this folder is not trusted, so its own files were not read"
    raise CockpitError(f"unknown MCP server '{args.name}'", hint)


def open_pins(root: str) -> PinStore:
    return PinStore(root, paths.state())


def check_servers(args: argparse.Namespace) -> int:
    """Start every server that may start and report its state. Exit code 1 if one is neither ready nor
    disabled."""
    project = resolve_project(args)
    return asyncio.run(_check_servers(project.root, load_catalog(*project).all(McpServer), args.json))


async def _check_servers(root: str, servers: tuple[McpServer, ...], as_json: bool) -> int:
    async with _start_servers(root, servers) as running:
        rows = running.rows()
    if as_json:
        print_json([select_fields(row, *JSON_FIELDS) | {"changed": row.changed or {}} for row in rows], 1)
    else:
        for row in rows:
            print(f"{row.name}  {row.state}  {_format_state(row)}")
        if not rows:
            print("no MCP servers here; cockpit mcp add NAME -- COMMAND adds one")
    return 0 if all(row.state in ("ready", "disabled") for row in rows) else 1


def show_server(args: argparse.Namespace) -> int:
    """Show a server's configuration without starting anything."""
    root, server = find_server(args)
    approval = open_pins(root).status(server)
    state = "may start" if approval.allowed else f"does not start: {approval.reason}"
    rows = {
        "name": server.name,
        "starts": describe_target(server),
        "transport": server.transport,
        "folder": server.cwd or root,
        "environment": ", ".join(sorted(server.environment)),
        "headers": ", ".join(sorted(server.headers)),
        "file": server.origin.file if server.origin is not None else "a plugin",
        "layer": server.origin.layer if server.origin is not None else "plugin",
        "state": "disabled" if server.disabled else state,
        "log": str(find_server_log(paths.state(), server)),
    }
    for name, value in rows.items():
        if value:
            print(f"{name}: {clean(value)}")
    return 0


def list_tools(args: argparse.Namespace) -> int:
    """List what a server offers, under the names that rules use."""
    return asyncio.run(_list_tools(*find_server(args), args.json))


async def _list_tools(root: str, server: McpServer, as_json: bool) -> int:
    async with _start_servers(root, (server,)) as running:
        offer, row = running.supervisor(server.name).offer, running.rows()[0]
    if row.state != "ready":
        raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _suggest_command(row))
    changed = row.changed or {}
    if as_json:
        encoded = [
            {
                "name": make_tool_name(server.name, tool.name),
                "tool": tool.name,
                "changed": changed.get(tool.name, ""),
                **select_fields(tool, "description", "parameters"),
            }
            for tool in offer.tools
        ]
        print_json(encoded, 1)
        return 0
    for tool in offer.tools:
        note = "  (changed since it was approved: not called)" if tool.name in changed else ""
        print(f"{make_tool_name(server.name, tool.name)}  {single_line(tool.description, 100)}{note}")
    for prompt in offer.prompts:
        print(f"/{make_tool_name(server.name, prompt.name)}  {single_line(prompt.description, 100)}")
    for resource in offer.resources:
        print(f"@{server.name}:{clean(resource.uri)}  {single_line(resource.name, 100)}")
    for refused in row.refused:
        print(f"left out: {refused}")
    return 0


def show_log(args: argparse.Namespace) -> int:
    _, server = find_server(args)
    text = ServerLog(find_server_log(paths.state(), server)).tail(args.lines)
    print(clean(text) if text else f"{server.name} has not written anything yet")
    return 0


def approve_server(args: argparse.Namespace) -> int:
    """Show what would be approved, ask, and store the approval; then the same for tools that changed."""
    root, server = find_server(args)
    pins = open_pins(root)
    approval = pins.status(server)
    if not approval.allowed:
        print(f"{server.name}: {clean(describe_target(server))}")
        print(clean(approval.reason))
        if not confirm("Allow it to start?", args.yes):
            print("nothing was changed")
            return 1
        pins.approve(server)
        print(f"{server.name} may start")
    return asyncio.run(_approve_tools(root, server, args.yes))


async def _approve_tools(root: str, server: McpServer, yes: bool) -> int:
    async with _start_servers(root, (server,)) as running:
        supervisor, row = running.supervisor(server.name), running.rows()[0]
        if row.state != "ready":
            raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _suggest_command(row))
        for name, what in (row.changed or {}).items():
            print(f"{name} changed:\n{clean(what)}")
        if row.changed and not confirm("Approve these changes?", yes):
            print("nothing was changed")
            return 1
        if row.changed:
            await supervisor.accept()
        print(f"{server.name} is approved: {len(row.tools)} tools")
    return 0


def login_server(args: argparse.Namespace) -> int:
    from cockpit.mcp import oauth

    _, server = find_server(args)
    login = asyncio.run(oauth.login(server, oauth.TerminalLoginPrompt()))
    stored = f"logged in to {server.name}; stored in {login.place}"
    print(stored if login.place else f"{server.name} needs no login")
    return 0


def logout_server(args: argparse.Namespace) -> int:
    from cockpit.mcp import oauth

    _, server = find_server(args)
    was_logged_in = asyncio.run(oauth.logout(server))
    print(f"deleted the login to {server.name}" if was_logged_in else f"there was no login to {server.name}")
    return 0


@asynccontextmanager
async def _start_servers(root: str, servers: tuple[McpServer, ...]) -> AsyncIterator[McpServers]:
    """Start the servers and wait until each is ready or has failed; close them afterwards."""
    settings = files.load_settings(root, False)
    connect = settings.number("mcp.connect_seconds") or CONNECT_SECONDS
    call = settings.number("mcp.call_seconds") or CALL_SECONDS
    context = ServersContext(root, paths.state(), settings.words("mcp.disabled"), connect, call)
    running = McpServers(context)
    running.use(servers, context)
    running.begin()
    try:
        await running.settled(2 * connect)
        yield running
    finally:
        await running.close()


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
