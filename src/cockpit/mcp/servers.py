"""The MCP servers of one root, shared by its sessions: what they offer and the user's commands for them.

Implements `plugin.connections`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from cockpit.mcp.offers import make_command, make_done, make_tool
from cockpit.mcp.pins import PinStore
from cockpit.mcp.request_handler import SessionRequestHandler
from cockpit.mcp.supervisor import ServersContext, ServerSupervisor
from cockpit.mcp.tool_names import NameRegistry, make_tool_name
from cockpit.mcp.values import McpFailed
from cockpit.plugin.context import ConnectionRow, ConnectionVerb, Context, ResourceRow
from cockpit.plugin.tools import Done, Tool, ToolFailed
from cockpit.plugin.values import Command, McpServer
from cockpit.settings import api_keys
from cockpit.workspace.environment import is_secret_variable
from cockpit.workspace.processes.server_process import ServerLog

# A shorter value would match ordinary words.
MIN_SECRET = 8


@dataclass(frozen=True, slots=True)
class OfferedValues:
    """The tools and commands of all servers, each with its server; `refused` explains what was left out."""

    tools: tuple[tuple[McpServer, Tool], ...] = ()
    commands: tuple[tuple[McpServer, Command], ...] = ()
    refused: tuple[str, ...] = ()


def _register_secrets(server: McpServer) -> None:
    for name, value in (*server.environment.items(), *server.headers.items()):
        secret = value.removeprefix("Bearer ").strip()
        is_secret = is_secret_variable(name) or name.lower() in ("authorization", "cookie")
        if is_secret and len(secret) >= MIN_SECRET:
            api_keys.register_secret(secret, server.name)


class McpServers:
    """The servers of a root. Nothing starts before `begin()`."""

    def __init__(self, context: ServersContext) -> None:
        self._context = context
        self._pins = PinStore(context.root, context.state)
        self._supervisors: dict[str, ServerSupervisor] = {}
        self._watchers: list[Callable[[bool], None]] = []
        self._begun = False
        self._leaving: set[asyncio.Task[None]] = set()
        self._allowed_sessions: dict[str, set[str]] = {}
        self._asked: set[tuple[str, str, str, str]] = set()

    def watch(self, watcher: Callable[[bool], None]) -> None:
        """Call `watcher` when a server changes; its argument says whether its offer changed too."""
        self._watchers.append(watcher)

    def use(self, servers: tuple[McpServer, ...], context: ServersContext) -> None:
        """Replace the set of servers. Unchanged servers keep running, removed ones are ended."""
        switched = set(self._context.disabled) ^ set(context.disabled)
        self._context = context
        expected = {server.name: server for server in servers}
        for name, supervisor in tuple(self._supervisors.items()):
            if expected.get(name) != supervisor.server or name in switched:
                task = asyncio.create_task(self._supervisors.pop(name).stop())
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)
        for name, server in expected.items():
            if name not in self._supervisors:
                _register_secrets(server)
                self._supervisors[name] = ServerSupervisor(server, context, self._pins, self._notify)
                if self._begun:
                    self._supervisors[name].begin()

    def begin(self) -> None:
        """Start every server that may start. Returns at once."""
        self._begun = True
        for supervisor in self._supervisors.values():
            supervisor.begin()

    async def close(self) -> None:
        """End all servers, within a few seconds."""
        self._begun = False
        supervisors, self._supervisors = tuple(self._supervisors.values()), {}
        self._watchers.clear()
        await asyncio.gather(
            *(supervisor.stop() for supervisor in supervisors), *self._leaving, return_exceptions=True
        )

    def offered(self, known: tuple[str, ...], commands: tuple[str, ...] = ()) -> OfferedValues:
        """What the servers offer, under names that are free. `known` are the names and aliases of other
        tools, `commands` the names of other commands."""
        tools: list[tuple[McpServer, Tool]] = []
        prompts: list[tuple[McpServer, Command]] = []
        refused: list[str] = []

        def reserve(registry: NameRegistry, server: str, name: str) -> str:
            """The name for a tool or prompt, empty if it is taken."""
            full = make_tool_name(server, name)
            if owner := registry.take(full, f"{server}\0{name}").partition("\0")[0]:
                conflict = f"{owner} already uses the name {full}"
                refused.append(f"{name} of the MCP server {server} is left out: {conflict}")
            return "" if owner else full

        tool_names, command_names = NameRegistry(known), NameRegistry(commands)
        for _, supervisor in sorted(self._supervisors.items()):
            server = supervisor.server
            for definition in supervisor.offer.tools:
                if name := reserve(tool_names, server.name, definition.name):
                    tools.append((server, make_tool(self, server, definition, name)))
            for prompt in supervisor.offer.prompts:
                if name := reserve(command_names, server.name, prompt.name):
                    prompts.append((server, make_command(self, server, prompt, name)))
        return OfferedValues(tuple(tools), tuple(prompts), tuple(refused))

    def supervisor(self, server: str) -> ServerSupervisor:
        """The supervisor of a server. Raises `McpFailed` for an unknown name."""
        if (supervisor := self._supervisors.get(server)) is None:
            known = ", ".join(sorted(self._supervisors))
            raise McpFailed(
                f"unknown MCP server '{server}'", f"choose {known}" if known else "none is configured"
            )
        return supervisor

    def request_handler(self, server: str, context: Context) -> SessionRequestHandler:
        return SessionRequestHandler(server, context, self._allowed_sessions.setdefault(server, set()))

    def rows(self) -> tuple[ConnectionRow, ...]:
        return tuple(self._supervisors[name].row() for name in sorted(self._supervisors))

    def resources(self) -> tuple[ResourceRow, ...]:
        return tuple(
            ResourceRow(name, item.uri, item.name, item.description, item.media_type, item.is_template)
            for name, supervisor in sorted(self._supervisors.items())
            for item in supervisor.offer.resources
        )

    async def read(self, server: str, uri: str, context: Context) -> Done:
        try:
            connection = await self.supervisor(server).connected()
            return make_done(await connection.read(uri, self.request_handler(server, context)))
        except McpFailed as error:
            raise ToolFailed(error.message, error.hint) from error

    async def command(self, verb: ConnectionVerb, name: str) -> str:
        try:
            supervisor = self.supervisor(name)
        except McpFailed as error:
            return str(error)
        match verb:
            case "restart":
                return await self._restart(supervisor)
            case "stop":
                await supervisor.stop()
                return f"{name} was stopped; it starts again when one of its tools is called"
            case "approve":
                return await self._approve(supervisor)
            case "refuse":
                await asyncio.to_thread(self._pins.refuse, supervisor.server)
                await supervisor.stop("disabled", "the user rejected it")
                return f"{name} will not be started; undo this with /mcp approve {name}"

    def unasked(self, session: str) -> tuple[ConnectionRow, ...]:
        waiting = tuple(row for row in self.rows() if row.state == "needs approval")
        fresh = tuple(
            row for row in waiting if (session, row.name, row.target, row.reason) not in self._asked
        )
        self._asked |= {(session, row.name, row.target, row.reason) for row in fresh}
        return fresh

    async def settled(self, seconds: float) -> None:
        await asyncio.gather(*(supervisor.settle(seconds) for supervisor in self._supervisors.values()))

    def log(self, name: str) -> str:
        supervisor = self._supervisors.get(name)
        return ServerLog(supervisor.log).tail() if supervisor is not None else ""

    async def _approve(self, supervisor: ServerSupervisor) -> str:
        """Approve what is started, or the changed descriptions of its tools."""
        name = supervisor.server.name
        if supervisor.changed:
            names = ", ".join(supervisor.changed)
            await supervisor.accept()
            return f"approved the current definitions of {names}"
        if supervisor.state == "ready":
            return f"{name} is already approved"
        await asyncio.to_thread(self._pins.approve, supervisor.server)
        return await self._restart(supervisor)

    async def _restart(self, supervisor: ServerSupervisor) -> str:
        await supervisor.stop("waiting")
        supervisor.begin()
        await supervisor.settle(self._context.connect_seconds)
        row = supervisor.row()
        if row.state == "ready":
            return f"{row.name} is ready: {len(row.tools)} tools, {len(row.prompts)} prompts"
        return f"{row.name}: {row.state}{f' ({row.reason})' if row.reason else ''}"

    def _notify(self, offer: bool) -> None:
        for watcher in tuple(self._watchers):
            watcher(offer)
