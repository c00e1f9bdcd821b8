"""MCP, as a plugin: which servers the files name, resources, `/mcp`, who may start, and the verdict on other
people's tools. The servers themselves belong to the deck (`core/connecting`) and speak in the room `mcp`."""

from pathlib import Path

from cockpit.builtin.mcp.agreeing import guard
from cockpit.builtin.mcp.commands import commands
from cockpit.builtin.mcp.judging import decider
from cockpit.builtin.mcp.mentioning import mention
from cockpit.builtin.mcp.resources import tools
from cockpit.builtin.mcp.telling import source
from cockpit.plugin import hookimpl
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import McpServer, Panel, Register, Scope, Source


def _servers(scope: Scope) -> list[McpServer | Unloaded]:
    from cockpit.formats.mcp_files import servers

    return list(servers(Path(scope.root), scope.trusted, Path.home(), scope.environment))


@hookimpl
def register_mcp_servers(register: Register, scope: Scope) -> None:
    register(Source("files", _servers))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in tools():
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in commands():
        register(command)


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(decider())


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(guard())


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(mention())


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(source())


@hookimpl
def register_panels(register: Register, scope: Scope) -> None:
    register(Panel("mcp", "MCP servers"))
