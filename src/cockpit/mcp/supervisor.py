"""Supervises one server: starts it when needed, restarts it when it dies, and ends it.

Never starts what the user has not approved. Stores which servers only understand the older handshake (an
empty file per server in the state folder, valid for a week), so that they are not probed at every start.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from cockpit.mcp.connection import McpConnection
from cockpit.mcp.oauth import auth_for
from cockpit.mcp.pins import PinStore, describe_target, is_project_server
from cockpit.mcp.request_handler import SessionRequestHandler
from cockpit.mcp.tool_names import DISALLOWED_CHARACTERS
from cockpit.mcp.values import (
    ChangedList,
    ConnectionSettings,
    GreetingTimeout,
    LoginNeeded,
    McpFailed,
    ServerNotStarted,
    ServerOffer,
)
from cockpit.plugin.context import ConnectionRow, ConnectionState, Context
from cockpit.plugin.values import McpServer
from cockpit.workspace.processes.server_process import ServerLog

CONNECT_SECONDS = 15.0
CALL_SECONDS = 30.0
LEGACY_SECONDS = 7 * 24 * 3600.0
FIRST_BACKOFF = 1.0
MAX_BACKOFF = 30.0
MAX_STARTS = 5
STEADY_SECONDS = 60.0
REFRESH_DELAY = 0.3
REFRESH_INTERVAL = 2.0
GreetingMode = Literal["auto", "legacy"]


def load_greeting_mode(state: Path, server: McpServer) -> GreetingMode:
    """Which handshake to start with. Call it in a worker thread."""
    try:
        age = time.time() - _legacy_marker(state, server).stat().st_mtime
    except OSError:
        return "auto"
    return "legacy" if 0 <= age < LEGACY_SECONDS else "auto"


def store_greeting_mode(state: Path, server: McpServer, mode: GreetingMode) -> None:
    """Store which handshake `server` understood. If that fails, the server is probed again next time."""
    file = _legacy_marker(state, server)
    with contextlib.suppress(OSError):
        if mode == "auto":
            file.unlink(missing_ok=True)
        elif load_greeting_mode(state, server) == "auto":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            os.utime(file)


def _legacy_marker(state: Path, server: McpServer) -> Path:
    text = json.dumps([server.command, server.url, server.transport, server.cwd])
    return state / "mcp" / "legacy" / hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ServersContext:
    """Settings that all servers of a root share. `disabled` are names of servers that are switched off;
    `state` is cockpit's state folder."""

    root: str
    state: Path
    disabled: tuple[str, ...] = ()
    connect_seconds: float = CONNECT_SECONDS
    call_seconds: float = CALL_SECONDS


def find_server_log(state: Path, server: McpServer) -> Path:
    """The log file of a server; `state` is cockpit's state folder. Two projects may use the same name."""
    own = server.origin.file if server.origin is not None and is_project_server(server) else ""
    mark = f"-{hashlib.sha256(own.encode('utf-8', 'replace')).hexdigest()[:8]}" if own else ""
    return state / "mcp" / "logs" / f"{DISALLOWED_CHARACTERS.sub('_', server.name)}{mark}.log"


class ServerSupervisor:
    """One server. `offer` is its offer with the approved definitions; `changed` describes the tools that
    differ from them now. `on_change` is called on each change, with whether the offer changed too."""

    def __init__(
        self, server: McpServer, context: ServersContext, pins: PinStore, on_change: Callable[[bool], None]
    ) -> None:
        disabled = server.disabled or server.name in context.disabled
        self.server = server
        self.offer = ServerOffer()
        self.changed: Mapping[str, str] = {}
        self._context = context
        self._pins = pins
        self._on_change = on_change
        self._state: ConnectionState = "disabled" if disabled else "waiting"
        self._reason = "switched off" if disabled else ""
        self._connection: McpConnection | None = None
        self._current_offer = ServerOffer()
        self._task: asyncio.Task[None] | None = None
        self._refresh: asyncio.Task[None] | None = None
        self._is_stale = False
        self._settled = asyncio.Event()
        if disabled:
            self._settled.set()

    @property
    def state(self) -> ConnectionState:
        return self._state

    @property
    def log(self) -> Path:
        """The file with the server's output."""
        return find_server_log(self._context.state, self.server)

    def row(self) -> ConnectionRow:
        connection, origin = self._connection, self.server.origin
        welcome = connection.welcome if connection is not None else None
        return ConnectionRow(
            name=self.server.name,
            state=self._state,
            target=describe_target(self.server),
            reason=self._reason,
            layer=origin.layer if origin is not None else "",
            file=origin.file if origin is not None else "",
            protocol=welcome.protocol if welcome is not None else "",
            instructions=welcome.instructions if welcome is not None else "",
            tools=tuple(tool.name for tool in self.offer.tools),
            prompts=tuple(prompt.name for prompt in self.offer.prompts),
            resources=len(self.offer.resources),
            changed=self.changed,
            refused=self._connection.refused if self._connection is not None else (),
            log=str(self.log),
        )

    def begin(self) -> None:
        """Start the server unless it is disabled or running. Returns at once."""
        if self._state == "disabled" or (self._task is not None and not self._task.done()):
            return
        self._set_state("starting")
        self._settled.clear()
        self._task = asyncio.create_task(self._run(), name=f"mcp supervisor {self.server.name}")

    async def settle(self, seconds: float) -> None:
        """Wait until it is ready or has failed, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), seconds)

    async def connected(self) -> McpConnection:
        """The connection, restarted if it ended. Raises `McpFailed`."""
        if self._state in ("failed", "stopped", "waiting"):
            self.begin()
        if self._state == "ready" and self._connection is not None and self._connection.is_over:
            # It has just ended and will be restarted.
            self._settled.clear()
            self._state = "starting"
        if self._state == "starting":
            await self.settle(self._context.connect_seconds + REFRESH_DELAY)
        if self._state != "ready" or self._connection is None:
            raise McpFailed(
                f"the MCP server {self.server.name} is not available: {self._reason or self._state}"
            )
        return self._connection

    async def stop(self, state: ConnectionState = "stopped", reason: str = "") -> None:
        """End it, within a few seconds."""
        tasks = [task for task in (self._task, self._refresh) if task is not None]
        self._task = self._refresh = None
        for task in tasks:
            task.cancel()
        if self._connection is not None:
            await self._connection.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._connection, self.offer, self.changed = None, ServerOffer(), {}
        self._set_state(state, reason)
        self._settled.set()

    async def accept(self, *names: str) -> None:
        """Approve the current definitions of the tools `names`, or of all tools."""
        tools = tuple(tool for tool in self._current_offer.tools if not names or tool.name in names)
        await asyncio.to_thread(self._pins.accept, self.server, tools)
        agreed = {tool.name: tool for tool in tools}
        merged = tuple(agreed.get(tool.name, tool) for tool in self.offer.tools)
        self.offer = replace(self.offer, tools=merged)
        self.changed = {name: change for name, change in self.changed.items() if name not in agreed}
        self._on_change(True)

    async def _run(self) -> None:
        """Start the server, and again each time it ends, until it fails too often."""
        wait, starts = FIRST_BACKOFF, 0
        while True:
            began = time.monotonic()
            try:
                connection = await self._connect()
            except LoginNeeded as error:
                return self._end("needs login", error)
            except (McpFailed, OSError) as error:
                return self._end("failed", error)
            if connection is None:
                return None
            fault = await connection.ended()
            await connection.close()
            self._connection = None
            if time.monotonic() - began > STEADY_SECONDS:
                wait, starts = FIRST_BACKOFF, 0
            starts += 1
            if starts >= MAX_STARTS:
                return self._end("failed", McpFailed(f"it ended {starts} times in a row: {fault}"))
            self._settled.clear()
            self._set_state("starting", f"restarting: {fault}")
            self._log(f"it ended and restarts in {wait:g} s: {fault}")
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_BACKOFF)

    async def _connect(self) -> McpConnection | None:
        """Start it and read its offer. Returns None if the user must approve it first."""
        status = await asyncio.to_thread(self._pins.status, self.server)
        if not status.allowed:
            self._set_state("disabled" if status.is_refused else "needs approval", status.reason)
            self._settled.set()
            return None
        connection = await self._open()
        self._connection = connection
        try:
            await self._read_offer(connection)
        except McpFailed:
            await connection.close()
            self._connection = None
            raise
        self._set_state("ready")
        # Callers that wait for the server must find its tools.
        self._on_change(True)
        self._settled.set()
        return connection

    async def _open(self) -> McpConnection:
        """An open connection, with the handshake that the server understood last time.

        An older server may end at the first message of the newer protocol, and an older server may have been
        updated. In both cases it is started once more with the other handshake.
        """
        state, server = self._context.state, self.server
        mode = await asyncio.to_thread(load_greeting_mode, state, server)
        other: GreetingMode = "legacy" if mode == "auto" else "auto"
        try:
            connection = await self._open_with(mode)
        except GreetingTimeout:
            # It used up its time, so the other handshake is tried at the next start.
            await asyncio.to_thread(store_greeting_mode, state, server, other)
            raise
        except (LoginNeeded, ServerNotStarted):
            raise
        except McpFailed as error:
            if mode == "auto" and not server.command:
                raise
            self._log(f"it did not understand the handshake ({error}); trying the other one")
            connection = await self._open_with(other)
        if (welcome := connection.welcome) is not None:
            mode = "auto" if welcome.is_later else "legacy"
            await asyncio.to_thread(store_greeting_mode, state, server, mode)
        return connection

    async def _open_with(self, mode: GreetingMode) -> McpConnection:
        context = self._context
        settings = ConnectionSettings(
            context.root,
            self.log,
            context.connect_seconds,
            self.server.seconds or context.call_seconds,
            auth_for,
            self._schedule_refresh,
        )
        connection = McpConnection(self.server, settings, mode)
        await connection.open()
        return connection

    async def _read_offer(self, connection: McpConnection) -> None:
        offer = await connection.offer()
        tools, changed = await asyncio.to_thread(self._pins.checked, self.server, offer.tools)
        self._current_offer = offer
        self.offer, self.changed = replace(offer, tools=tools), changed

    def _schedule_refresh(self, changed: ChangedList) -> None:
        """Refresh the offer, because the server reports a change. Frequent reports share one refresh."""
        self._is_stale = True
        if self._refresh is None or self._refresh.done():
            self._refresh = asyncio.create_task(self._refresh_offer())

    async def _refresh_offer(self) -> None:
        await asyncio.sleep(REFRESH_DELAY)
        while self._is_stale and (connection := self._connection) is not None:
            self._is_stale = False
            before = self.offer, self.changed
            try:
                await self._read_offer(connection)
            except (McpFailed, OSError) as error:
                self._log(f"its new offer cannot be read: {error}")
            if (self.offer, self.changed) != before:
                self._on_change(True)
            await asyncio.sleep(REFRESH_INTERVAL)

    def _log(self, text: str) -> None:
        ServerLog(self.log).say("cockpit", text)

    def _end(self, state: ConnectionState, error: Exception) -> None:
        self._log(f"{state}: {error}")
        self._set_state(state, str(error))
        self._settled.set()

    def _set_state(self, state: ConnectionState, reason: str = "") -> None:
        self._state, self._reason = state, reason
        self._on_change(False)


class SupervisorLookup(Protocol):
    """Finds the supervisor of a server. Raises `McpFailed` for an unknown name."""

    def supervisor(self, server: str) -> ServerSupervisor: ...
    def request_handler(self, server: str, context: Context) -> SessionRequestHandler: ...
