"""`cockpit mcp list --check|get|tools|log|approve|login|logout`: looking at servers, and agreeing to them."""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cockpit import paths
from cockpit.cli.mcp_found import found, pins_of, registered, server_of
from cockpit.errors import CockpitError
from cockpit.mcp.life import log_of
from cockpit.mcp.naming import full_name
from cockpit.mcp.pins import words_of
from cockpit.mcp.servers import CALL_SECONDS, CONNECT_SECONDS, House, Servers
from cockpit.plugin.connections import ConnectionRow
from cockpit.plugin.values import McpServer
from cockpit.protocol.clean import clean, one_line
from cockpit.protocol.messages import Json
from cockpit.settings import files
from cockpit.workspace.logs import Log


def check(given: argparse.Namespace) -> int:
    """Start what may start, and say how each is; 1 when one is not ready that should be."""
    where = found(given)
    return asyncio.run(_check(where.root, registered(where), given.json))


async def _check(root: str, servers: tuple[McpServer, ...], as_json: bool) -> int:
    async with _started(root, servers) as running:
        rows = running.rows()
    if as_json:
        print(json.dumps([_json(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        for row in rows:
            print(f"{row.name}  {row.state}  {_said(row)}")
        if not rows:
            print("no MCP servers here; cockpit mcp add NAME -- COMMAND adds one")
    return 0 if all(row.state in ("ready", "disabled") for row in rows) else 1


def get(given: argparse.Namespace) -> int:
    """What is known without starting anything."""
    where, server = found(given), server_of(given)
    standing = pins_of(where.root).standing(server)
    agreed = "may start" if standing.allowed else f"does not start: {standing.reason}"
    rows = {
        "name": server.name,
        "starts": words_of(server),
        "transport": server.transport,
        "folder": server.cwd or where.root,
        "environment": ", ".join(sorted(server.environment)),
        "headers": ", ".join(sorted(server.headers)),
        "file": server.origin.file if server.origin is not None else "a plugin",
        "layer": server.origin.layer if server.origin is not None else "plugin",
        "state": "switched off" if server.disabled else agreed,
        "log": str(log_of(paths.state(), server)),
    }
    for name, value in rows.items():
        if value:
            print(f"{name}: {clean(value)}")
    return 0


def tools(given: argparse.Namespace) -> int:
    """What a server offers now, under the names that rules use."""
    where, server = found(given), server_of(given)
    return asyncio.run(_tools(where.root, server, given.json))


async def _tools(root: str, server: McpServer, as_json: bool) -> int:
    async with _started(root, (server,)) as running:
        offer, row = running.life(server.name).offer, running.rows()[0]
    if row.state != "ready":
        raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _next(row))
    changed = row.changed or {}
    if as_json:
        told: list[Json] = [
            {
                "name": full_name(server.name, one.name),
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
        print(f"{full_name(server.name, one.name)}  {one_line(one.description, 100)}{note}")
    for prompt in offer.prompts:
        print(f"/{full_name(server.name, prompt.name)}  {one_line(prompt.description, 100)}")
    for resource in offer.resources:
        print(f"@{server.name}:{clean(resource.uri)}  {one_line(resource.name, 100)}")
    for refused in row.refused:
        print(f"left out: {refused}")
    return 0


def log(given: argparse.Namespace) -> int:
    server = server_of(given)
    text = Log(log_of(paths.state(), server)).tail(given.lines)
    print(clean(text) if text else f"{server.name} has written nothing yet")
    return 0


def approve(given: argparse.Namespace) -> int:
    """Show what is agreed to, ask, and keep the yes; then the same for tools that changed."""
    where, server = found(given), server_of(given)
    pins = pins_of(where.root)
    standing = pins.standing(server)
    if not standing.allowed:
        print(f"{server.name}: {clean(words_of(server))}")
        print(clean(standing.reason))
        if not _agrees("Let it start?", given.yes):
            print("nothing was changed")
            return 1
        pins.approve(server)
        print(f"{server.name} may start")
    return asyncio.run(_approve(where.root, server, given.yes))


async def _approve(root: str, server: McpServer, yes: bool) -> int:
    async with _started(root, (server,)) as running:
        life, row = running.life(server.name), running.rows()[0]
        if row.state != "ready":
            raise CockpitError(f"{server.name}: {row.state}: {row.reason}", _next(row))
        for name, what in (row.changed or {}).items():
            print(f"{name} changed:\n{clean(what)}")
        if row.changed and not _agrees("Call them from now on as they are?", yes):
            print("nothing was changed")
            return 1
        if row.changed:
            await life.accept()
        print(f"{server.name} is approved: {len(row.tools)} tools")
    return 0


def login(given: argparse.Namespace) -> int:
    from cockpit.mcp.oauth import TerminalPerson
    from cockpit.mcp.oauth import login as log_in

    server = server_of(given)
    done = asyncio.run(log_in(server, TerminalPerson()))
    where = f"logged in to {server.name}; kept in {done.place}"
    print(where if done.place else f"{server.name} wants no login")
    return 0


def logout(given: argparse.Namespace) -> int:
    from cockpit.mcp.oauth import logout as log_out

    server = server_of(given)
    was = asyncio.run(log_out(server))
    print(f"the login to {server.name} is forgotten" if was else f"there was no login to {server.name}")
    return 0


@asynccontextmanager
async def _started(root: str, servers: tuple[McpServer, ...]) -> AsyncIterator[Servers]:
    """The servers, started and settled; ended behind it."""
    settings = files.load(root, False)
    connect = settings.number("mcp.connect_seconds") or CONNECT_SECONDS
    call = settings.number("mcp.call_seconds") or CALL_SECONDS
    house = House(root, paths.state(), settings.words("mcp.disabled"), connect, call)
    running = Servers(house)
    running.use(servers, house)
    running.begin()
    try:
        await running.settled(2 * connect)
        yield running
    finally:
        await running.close()


def _agrees(question: str, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise CockpitError("nobody is there to agree", "run it in a terminal, or take --yes")
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _json(row: ConnectionRow) -> dict[str, Json]:
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


def _said(row: ConnectionRow) -> str:
    if row.state != "ready":
        return clean(row.reason or row.target)
    changed = f", {len(row.changed)} changed" if row.changed else ""
    return f"{len(row.tools)} tools{changed}  {one_line(row.target, 80)}"


def _next(row: ConnectionRow) -> str:
    match row.state:
        case "needs approval":
            return f"cockpit mcp approve {row.name}"
        case "needs login":
            return f"cockpit mcp login {row.name}"
        case "disabled":
            return f"cockpit mcp enable {row.name}"
        case _:
            return f"cockpit mcp log {row.name}"
