"""The MCP servers of one root, shared by its sessions: which there are, what they offer, what a person wants
done with them. Implements `plugin.connections`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.mcp.asking import SessionAsking
from cockpit.mcp.life import Ground, Life
from cockpit.mcp.naming import Taken, full_name
from cockpit.mcp.pins import Pins
from cockpit.mcp.prompts import command_of
from cockpit.mcp.tools import done_of, tool_of
from cockpit.mcp.values import Auth, McpFailed
from cockpit.plugin.connections import ConnectionRow, ResourceRow, Verb
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Done, Tool, ToolFailed
from cockpit.plugin.values import Command, McpServer
from cockpit.settings import keys
from cockpit.workspace.environment import is_secret
from cockpit.workspace.logs import Log

if TYPE_CHECKING:
    from cockpit.mcp.oauth.provider import Login

# A shorter one would be found in every other word.
SHORTEST = 8
Watcher = Callable[[bool], None]
CONNECT_SECONDS = 15.0
CALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class House:
    """What a root's servers stand on. `disabled` are switched off by their names; `state` is cockpit's
    state folder."""

    root: str
    state: Path
    disabled: tuple[str, ...] = ()
    connect_seconds: float = CONNECT_SECONDS
    call_seconds: float = CALL_SECONDS


@dataclass(frozen=True, slots=True)
class Offered:
    """The values of all servers, each with its server; `refused` says what was left out, and why."""

    tools: tuple[tuple[McpServer, Tool], ...] = ()
    commands: tuple[tuple[McpServer, Command], ...] = ()
    refused: tuple[str, ...] = ()


def _auth(server: McpServer) -> "Login | None":
    """The login that is kept for a server; what is missing is said, nobody is asked."""
    from cockpit.mcp.oauth import auth_for

    return auth_for(server)


def _know(server: McpServer) -> None:
    """Redaction must know what a file says that is secret."""
    for name, value in (*server.environment.items(), *server.headers.items()):
        secret = value.removeprefix("Bearer ").strip()
        if len(secret) >= SHORTEST and (is_secret(name) or name.lower() in ("authorization", "cookie")):
            keys.know(secret, server.name)


class Servers:
    """The servers of a root. Nothing starts before `begin()`."""

    def __init__(self, house: House, auth: Auth | None = None) -> None:
        self._house = house
        self._auth = auth
        self._pins = Pins(house.root, house.state)
        self._lives: dict[str, Life] = {}
        self._watchers: list[Watcher] = []
        self._begun = False
        self._leaving: set[asyncio.Task[None]] = set()
        self._lets: dict[str, set[str]] = {}
        self._asked: set[tuple[str, str, str, str]] = set()

    def watch(self, heard: Watcher) -> Callable[[], None]:
        """Call `heard` when a server is different; its argument says whether its offer is, too. What is
        returned ends that."""
        self._watchers.append(heard)
        return lambda: self._watchers.remove(heard) if heard in self._watchers else None

    def use(self, servers: tuple[McpServer, ...], house: House) -> None:
        """Exactly these from now on. One that runs and is the same goes on; one that is gone is ended."""
        switched = set(self._house.disabled) ^ set(house.disabled)
        self._house = house
        wanted = {server.name: server for server in servers}
        for name, life in tuple(self._lives.items()):
            if wanted.get(name) != life.server or name in switched:
                self._leave(self._lives.pop(name))
        for name, server in wanted.items():
            if name not in self._lives:
                self._lives[name] = self._made(server)
                if self._begun:
                    self._lives[name].begin()

    def begin(self) -> None:
        """Start all that may start. Returns at once."""
        self._begun = True
        for life in self._lives.values():
            life.begin()

    async def close(self) -> None:
        """End them all, within a few seconds."""
        self._begun = False
        lives, self._lives = tuple(self._lives.values()), {}
        self._watchers.clear()
        await asyncio.gather(*(life.stop() for life in lives), *self._leaving, return_exceptions=True)

    def offered(self, known: tuple[str, ...], commands: tuple[str, ...] = ()) -> Offered:
        """What the servers offer under names that nobody has; `known` are those of other tools and their
        aliases, `commands` those of other commands."""
        taken, slashes = Taken(known), Taken(commands)
        tools: list[tuple[McpServer, Tool]] = []
        prompts: list[tuple[McpServer, Command]] = []
        refused: list[str] = []
        for life in sorted(self._lives.values(), key=lambda one: one.server.name):
            server = life.server
            for definition in life.offer.tools:
                name = full_name(server.name, definition.name)
                if had := taken.take(name, f"{server.name}\0{definition.name}"):
                    refused.append(_shadow(server, definition.name, name, had))
                else:
                    tools.append((server, tool_of(self, server, definition, name)))
            for prompt in life.offer.prompts:
                name = full_name(server.name, prompt.name)
                if had := slashes.take(name, f"{server.name}\0{prompt.name}"):
                    refused.append(_shadow(server, prompt.name, name, had))
                else:
                    prompts.append((server, command_of(self, server, prompt, name)))
        return Offered(tuple(tools), tuple(prompts), tuple(refused))

    def life(self, server: str) -> Life:
        """Raises `McpFailed` for a server that is gone."""
        if (life := self._lives.get(server)) is None:
            raise McpFailed(
                f"there is no MCP server {server}", f"there are: {', '.join(self._lives) or 'none'}"
            )
        return life

    def asking(self, server: str, context: Context) -> SessionAsking:
        return SessionAsking(server, context, self._lets.setdefault(server, set()))

    def rows(self) -> tuple[ConnectionRow, ...]:
        return tuple(self._lives[name].row() for name in sorted(self._lives))

    def resources(self) -> tuple[ResourceRow, ...]:
        return tuple(
            ResourceRow(name, one.uri, one.name, one.description, one.media_type, one.is_template)
            for name, life in sorted(self._lives.items())
            for one in life.offer.resources
        )

    async def read(self, server: str, uri: str, context: Context) -> Done:
        try:
            connection = await self.life(server).connected()
            return done_of(await connection.read(uri, self.asking(server, context)))
        except McpFailed as error:
            raise ToolFailed(error.message, error.hint) from error

    async def command(self, verb: Verb, name: str) -> str:
        try:
            life = self.life(name)
        except McpFailed as error:
            return str(error)
        match verb:
            case "restart":
                await life.stop("waiting")
                life.begin()
                await life.settle(self._house.connect_seconds)
                return _now(life)
            case "stop":
                await life.stop()
                return f"{name} was stopped; it is started again when one of its tools is called"
            case "approve":
                return await self._approve(life)
            case "refuse":
                await asyncio.to_thread(self._pins.refuse, life.server)
                await life.stop("disabled", "a person said no to it")
                return f"{name} is not started; /mcp approve {name} takes that back"

    def unasked(self, session: str) -> tuple[ConnectionRow, ...]:
        waiting = tuple(row for row in self.rows() if row.state == "needs approval")
        fresh = tuple(
            row for row in waiting if (session, row.name, row.target, row.reason) not in self._asked
        )
        self._asked |= {(session, row.name, row.target, row.reason) for row in fresh}
        return fresh

    async def settled(self, seconds: float) -> None:
        await asyncio.gather(*(life.settle(seconds) for life in self._lives.values()))

    def log(self, name: str) -> str:
        life = self._lives.get(name)
        return Log(life.log).tail() if life is not None else ""

    async def _approve(self, life: Life) -> str:
        """A person agreed: to what is started, or to tools that describe themselves otherwise."""
        name = life.server.name
        if life.changed:
            names = ", ".join(life.changed)
            await life.accept()
            return f"approved as they are now: {names}"
        if life.state == "ready":
            return f"{name} is approved already"
        await asyncio.to_thread(self._pins.approve, life.server)
        await life.stop("waiting")
        life.begin()
        await life.settle(self._house.connect_seconds)
        return _now(life)

    def _made(self, server: McpServer) -> Life:
        _know(server)
        house = self._house
        ground = Ground(
            root=house.root,
            state=house.state,
            pins=self._pins,
            auth=self._auth or _auth,
            told=self._told,
            connect_seconds=house.connect_seconds,
            call_seconds=house.call_seconds,
        )
        return Life(server, ground, server.disabled or server.name in house.disabled)

    def _leave(self, life: Life) -> None:
        task = asyncio.create_task(life.stop())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def _told(self, offer: bool) -> None:
        for heard in tuple(self._watchers):
            heard(offer)


def _shadow(server: McpServer, name: str, full: str, had: str) -> str:
    owner = had.partition("\0")[0]
    return f"{name} of the MCP server {server.name} is left out: {full} is a name of {owner} already"


def _now(life: Life) -> str:
    row = life.row()
    if row.state == "ready":
        return f"{row.name} is ready: {len(row.tools)} tools, {len(row.prompts)} prompts"
    return f"{row.name}: {row.state}{f' ({row.reason})' if row.reason else ''}"
