"""The servers that `cockpit mcp` speaks of: those that are registered for a folder.

`cockpit mcp list --check|get|tools|log|approve|login|logout`: looking at servers, and agreeing to them.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.cli.command import is_trusted, load_catalog, resolve_folder
from cockpit.errors import CockpitError
from cockpit.formats import mcp_files
from cockpit.mcp.pins import PinStore, describe_target
from cockpit.mcp.servers import CALL_SECONDS, CONNECT_SECONDS, McpServers, ServersContext
from cockpit.mcp.supervisor import find_server_log
from cockpit.mcp.tool_names import make_tool_name
from cockpit.plugin.context import ConnectionRow
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import McpServer
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import clean, single_line
from cockpit.settings import files
from cockpit.workspace.processes.server_process import ServerLog


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """A folder, and whether its files may be read."""

    root: str
    trusted: bool


def resolve_project(given: argparse.Namespace) -> ProjectFolder:
    """The folder that was named."""
    root = resolve_folder(given.cwd)
    return ProjectFolder(root, given.trust or is_trusted(root))


def read_server_files(where: ProjectFolder) -> list[McpServer | Unloaded]:
    """What the files name."""
    environment = files.load_environment(where.root, where.trusted)
    return list(mcp_files.read_servers(Path(where.root), where.trusted, Path.home(), environment))


def list_registered_servers(where: ProjectFolder) -> tuple[McpServer, ...]:
    """What is registered: by files, bundles and plugins."""
    return load_catalog(where.root, where.trusted).all(McpServer)


def find_server(given: argparse.Namespace) -> McpServer:
    """The server that was named. Raises `CockpitError`, which says why it is none."""
    where = resolve_project(given)
    known = list_registered_servers(where)
    for server in known:
        if server.name == given.name:
            return server
    for one in read_server_files(where):
        if one.name == given.name and isinstance(one, Unloaded):
            faults = "; ".join(str(fault) for fault in one.origin.refused)
            raise CockpitError(f"{given.name} cannot be used: {faults}")
    names = ", ".join(server.name for server in known) or "none"
    hint = f"there are: {names}" if where.trusted else f"there are: {names}; this folder is not trusted"
    raise CockpitError(f"there is no MCP server {given.name}", hint)


def open_pins(root: str) -> PinStore:
    return PinStore(root, paths.state())


def check_servers(given: argparse.Namespace) -> int:
    """Start what may start, and say how each is; 1 when one is not ready that should be."""
    where = resolve_project(given)
    return asyncio.run(_check_servers(where.root, list_registered_servers(where), given.json))


async def _check_servers(root: str, servers: tuple[McpServer, ...], as_json: bool) -> int:
    async with _start_servers(root, servers) as running:
        rows = running.rows()
    if as_json:
        print(json.dumps([_encode_row(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        for row in rows:
            print(f"{row.name}  {row.state}  {_format_state(row)}")
        if not rows:
            print("no MCP servers here; cockpit mcp add NAME -- COMMAND adds one")
    return 0 if all(row.state in ("ready", "disabled") for row in rows) else 1


def show_server(given: argparse.Namespace) -> int:
    """What is known without starting anything."""
    where, server = resolve_project(given), find_server(given)
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


def list_tools(given: argparse.Namespace) -> int:
    """What a server offers now, under the names that rules use."""
    where, server = resolve_project(given), find_server(given)
    return asyncio.run(_list_tools(where.root, server, given.json))


async def _list_tools(root: str, server: McpServer, as_json: bool) -> int:
    async with _start_servers(root, (server,)) as running:
        offer, row = running.supervisor(server.name).offer, running.rows()[0]
    if row.state != "ready":
        raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _suggest_command(row))
    changed = row.changed or {}
    if as_json:
        told: list[Json] = [
            {
                "name": make_tool_name(server.name, one.name),
                "tool": one.name,
                "description": one.description,
                "parameters": dict(one.parameters),
                "changed": changed.get(one.name, ""),
            }
            for one in offer.tools
        ]
        print(json.dumps(told, ensure_ascii=False, indent=1))
        return 0
    for one in offer.tools:
        note = "  (changed since it was approved: not called)" if one.name in changed else ""
        print(f"{make_tool_name(server.name, one.name)}  {single_line(one.description, 100)}{note}")
    for prompt in offer.prompts:
        print(f"/{make_tool_name(server.name, prompt.name)}  {single_line(prompt.description, 100)}")
    for resource in offer.resources:
        print(f"@{server.name}:{clean(resource.uri)}  {single_line(resource.name, 100)}")
    for refused in row.refused:
        print(f"left out: {refused}")
    return 0


def show_log(given: argparse.Namespace) -> int:
    server = find_server(given)
    text = ServerLog(find_server_log(paths.state(), server)).tail(given.lines)
    print(clean(text) if text else f"{server.name} has written nothing yet")
    return 0


def approve_server(given: argparse.Namespace) -> int:
    """Show what is agreed to, ask, and keep the yes; then the same for tools that changed."""
    where, server = resolve_project(given), find_server(given)
    pins = open_pins(where.root)
    standing = pins.status(server)
    if not standing.allowed:
        print(f"{server.name}: {clean(describe_target(server))}")
        print(clean(standing.reason))
        if not _confirm("Let it start?", given.yes):
            print("nothing was changed")
            return 1
        pins.approve(server)
        print(f"{server.name} may start")
    return asyncio.run(_approve_tools(where.root, server, given.yes))


async def _approve_tools(root: str, server: McpServer, yes: bool) -> int:
    async with _start_servers(root, (server,)) as running:
        life, row = running.supervisor(server.name), running.rows()[0]
        if row.state != "ready":
            raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _suggest_command(row))
        for name, what in (row.changed or {}).items():
            print(f"{name} changed:\n{clean(what)}")
        if row.changed and not _confirm("Call them from now on as they are?", yes):
            print("nothing was changed")
            return 1
        if row.changed:
            await life.accept()
        print(f"{server.name} is approved: {len(row.tools)} tools")
    return 0


def login_server(given: argparse.Namespace) -> int:
    from cockpit.mcp.oauth import TerminalLoginPrompt
    from cockpit.mcp.oauth import login as log_in

    server = find_server(given)
    done = asyncio.run(log_in(server, TerminalLoginPrompt()))
    where = f"logged in to {server.name}; kept in {done.place}"
    print(where if done.place else f"{server.name} wants no login")
    return 0


def logout_server(given: argparse.Namespace) -> int:
    from cockpit.mcp.oauth import logout as log_out

    server = find_server(given)
    was = asyncio.run(log_out(server))
    print(f"the login to {server.name} is forgotten" if was else f"there was no login to {server.name}")
    return 0


@asynccontextmanager
async def _start_servers(root: str, servers: tuple[McpServer, ...]) -> AsyncIterator[McpServers]:
    """The servers, started and settled; ended behind it."""
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


def _confirm(question: str, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CockpitError("nobody is there to agree", "run it in a terminal, or take --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


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
