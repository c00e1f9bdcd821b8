"""The MCP servers of one root, shared by its sessions: what they offer and the user's commands for them.

Implements `plugin.connections`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.mcp.offers import make_command, make_done, make_tool
from cockpit.mcp.pins import PinStore
from cockpit.mcp.request_handler import SessionRequestHandler
from cockpit.mcp.supervisor import ServerSupervisor, SupervisorContext
from cockpit.mcp.tool_names import NameRegistry, make_tool_name
from cockpit.mcp.values import AuthProvider, McpFailed
from cockpit.plugin.context import ConnectionRow, ConnectionVerb, Context, ResourceRow
from cockpit.plugin.tools import Done, Tool, ToolFailed
from cockpit.plugin.values import Command, McpServer
from cockpit.settings import api_keys
from cockpit.workspace.environment import is_secret_variable
from cockpit.workspace.processes.server_process import ServerLog

if TYPE_CHECKING:
    from cockpit.mcp.oauth.provider import OAuthLogin

# A shorter value would match ordinary words.
MIN_SECRET = 8
ServerWatcher = Callable[[bool], None]
CONNECT_SECONDS = 15.0
CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ServersContext:
    """Settings that all servers of a root share. `disabled` are names of servers that are switched off;
    `state` is cockpit's state folder."""

    root: str
    state: Path
    disabled: tuple[str, ...] = ()
    connect_seconds: float = CONNECT_SECONDS
    call_seconds: float = CALL_SECONDS


@dataclass(frozen=True, slots=True)
class OfferedValues:
    """The tools and commands of all servers, each with its server; `refused` says what was left out and
    why."""

    tools: tuple[tuple[McpServer, Tool], ...] = ()
    commands: tuple[tuple[McpServer, Command], ...] = ()
    refused: tuple[str, ...] = ()


def _stored_auth(server: McpServer) -> "OAuthLogin | None":
    """The stored login for a server. A missing login is reported; the user is not asked."""
    from cockpit.mcp.oauth import auth_for

    return auth_for(server)


def _register_secrets(server: McpServer) -> None:
    """Register secrets of a server's configuration for redaction."""
    for name, value in (*server.environment.items(), *server.headers.items()):
        secret = value.removeprefix("Bearer ").strip()
        if len(secret) >= MIN_SECRET and (
            is_secret_variable(name) or name.lower() in ("authorization", "cookie")
        ):
            api_keys.register_secret(secret, server.name)


class McpServers:
    """The servers of a root. Nothing starts before `begin()`."""

    def __init__(self, house: ServersContext, auth: AuthProvider | None = None) -> None:
        self._house = house
        self._auth = auth
        self._pins = PinStore(house.root, house.state)
        self._supervisors: dict[str, ServerSupervisor] = {}
        self._watchers: list[ServerWatcher] = []
        self._begun = False
        self._leaving: set[asyncio.Task[None]] = set()
        self._allowed_sessions: dict[str, set[str]] = {}
        self._asked: set[tuple[str, str, str, str]] = set()

    def watch(self, heard: ServerWatcher) -> Callable[[], None]:
        """Call `heard` when a server changes; its argument says whether its offer changed too. Returns a
        function that ends that."""
        self._watchers.append(heard)
        return lambda: self._watchers.remove(heard) if heard in self._watchers else None

    def use(self, servers: tuple[McpServer, ...], house: ServersContext) -> None:
        """Replace the set of servers. Unchanged servers keep running, removed ones are ended."""
        switched = set(self._house.disabled) ^ set(house.disabled)
        self._house = house
        expected = {server.name: server for server in servers}
        for name, supervisor in tuple(self._supervisors.items()):
            if expected.get(name) != supervisor.server or name in switched:
                self._leave(self._supervisors.pop(name))
        for name, server in expected.items():
            if name not in self._supervisors:
                self._supervisors[name] = self._made(server)
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
        accepted, slashes = NameRegistry(known), NameRegistry(commands)
        tools: list[tuple[McpServer, Tool]] = []
        prompts: list[tuple[McpServer, Command]] = []
        refused: list[str] = []
        for supervisor in sorted(self._supervisors.values(), key=lambda live: live.server.name):
            server = supervisor.server
            for definition in supervisor.offer.tools:
                name = make_tool_name(server.name, definition.name)
                if owner := accepted.take(name, f"{server.name}\0{definition.name}"):
                    refused.append(_describe_conflict(server, definition.name, name, owner))
                else:
                    tools.append((server, make_tool(self, server, definition, name)))
            for prompt in supervisor.offer.prompts:
                name = make_tool_name(server.name, prompt.name)
                if owner := slashes.take(name, f"{server.name}\0{prompt.name}"):
                    refused.append(_describe_conflict(server, prompt.name, name, owner))
                else:
                    prompts.append((server, make_command(self, server, prompt, name)))
        return OfferedValues(tuple(tools), tuple(prompts), tuple(refused))

    def supervisor(self, server: str) -> ServerSupervisor:
        """The supervisor of a server. Raises `McpFailed` for an unknown name."""
        if (supervisor := self._supervisors.get(server)) is None:
            raise McpFailed(
                f"unknown MCP server {server}",
                f"configured servers: {', '.join(self._supervisors) or 'none'}",
            )
        return supervisor

    def asking(self, server: str, context: Context) -> SessionRequestHandler:
        return SessionRequestHandler(server, context, self._allowed_sessions.setdefault(server, set()))

    def rows(self) -> tuple[ConnectionRow, ...]:
        return tuple(self._supervisors[name].row() for name in sorted(self._supervisors))

    def resources(self) -> tuple[ResourceRow, ...]:
        return tuple(
            ResourceRow(
                name,
                resource.uri,
                resource.name,
                resource.description,
                resource.media_type,
                resource.is_template,
            )
            for name, supervisor in sorted(self._supervisors.items())
            for resource in supervisor.offer.resources
        )

    async def read(self, server: str, uri: str, context: Context) -> Done:
        try:
            connection = await self.supervisor(server).connected()
            return make_done(await connection.read(uri, self.asking(server, context)))
        except McpFailed as error:
            raise ToolFailed(error.message, error.hint) from error

    async def command(self, verb: ConnectionVerb, name: str) -> str:
        try:
            supervisor = self.supervisor(name)
        except McpFailed as error:
            return str(error)
        match verb:
            case "restart":
                await supervisor.stop("waiting")
                supervisor.begin()
                await supervisor.settle(self._house.connect_seconds)
                return _describe_state(supervisor)
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
        await supervisor.stop("waiting")
        supervisor.begin()
        await supervisor.settle(self._house.connect_seconds)
        return _describe_state(supervisor)

    def _made(self, server: McpServer) -> ServerSupervisor:
        _register_secrets(server)
        house = self._house
        ground = SupervisorContext(
            root=house.root,
            state=house.state,
            pins=self._pins,
            auth=self._auth or _stored_auth,
            on_change=self._notify,
            connect_seconds=house.connect_seconds,
            call_seconds=house.call_seconds,
        )
        return ServerSupervisor(server, ground, server.disabled or server.name in house.disabled)

    def _leave(self, supervisor: ServerSupervisor) -> None:
        task = asyncio.create_task(supervisor.stop())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def _notify(self, offer: bool) -> None:
        for heard in tuple(self._watchers):
            heard(offer)


def _describe_conflict(server: McpServer, name: str, full: str, owner_key: str) -> str:
    owner = owner_key.partition("\0")[0]
    return f"{name} of the MCP server {server.name} is left out: {owner} already uses the name {full}"


def _describe_state(supervisor: ServerSupervisor) -> str:
    row = supervisor.row()
    if row.state == "ready":
        return f"{row.name} is ready: {len(row.tools)} tools, {len(row.prompts)} prompts"
    return f"{row.name}: {row.state}{f' ({row.reason})' if row.reason else ''}"
