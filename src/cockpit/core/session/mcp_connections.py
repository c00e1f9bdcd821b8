"""The MCP servers of the deck's roots: shared by the sessions of a root, added to its catalog, and shown as a
panel. The protocol itself is in `cockpit.mcp`, imported only when a server is configured.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING

from cockpit import paths
from cockpit.core.plugins.catalog import CatalogEntry, PluginCatalog
from cockpit.core.session.session import AgentSession
from cockpit.plugin.context import ConnectionRow
from cockpit.plugin.origin import Layer
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Command, McpServer
from cockpit.protocol.events import PanelChanged, Warned
from cockpit.protocol.rows import PanelRow
from cockpit.protocol.safe_text import single_line
from cockpit.settings.files import EffectiveSettings

if TYPE_CHECKING:
    from cockpit.mcp.servers import McpServers, ServersContext

MCP_PLUGIN = "mcp"
REFRESH_SECONDS = 0.3
# The first paint comes before other programs start.
START_DELAY = 0.4
RootKey = tuple[str, bool]


@dataclass(slots=True)
class _RootServers:
    """The servers of one root, trusted or not, its catalog without them, and its sessions."""

    base: PluginCatalog
    servers: "McpServers | None" = None
    sessions: dict[str, AgentSession] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    shown: tuple[PanelRow, ...] = ()
    has_begun: bool = False
    is_waiting: bool = False
    is_looking: bool = False
    is_new: bool = False

    def begin(self) -> None:
        self.has_begun = True
        if self.servers is not None:
            self.servers.begin()


class McpServerPool:
    """The MCP servers of a deck. Without a session none starts."""

    def __init__(self, connects: bool = True) -> None:
        self._connects = connects
        self._roots: dict[RootKey, _RootServers] = {}
        self._ends: set[asyncio.Task[None]] = set()

    def joined(
        self, root: str, trusted: bool, settings: EffectiveSettings, catalog: PluginCatalog
    ) -> PluginCatalog:
        """`catalog` with what its servers offer now. Servers it no longer names are closed."""
        found = self._roots.setdefault((root, trusted), _RootServers(catalog))
        found.base = catalog
        # With the plugin switched off its verdicts and listings are gone, so no server may start.
        on = any(
            plugin.found.name == MCP_PLUGIN and plugin.found.state == "loaded" for plugin in catalog.plugins
        )
        wanted = catalog.all(McpServer) if on and self._connects else ()
        if found.servers is None and not wanted:
            return catalog
        from cockpit.mcp.servers import McpServers

        house = _server_config(root, settings)
        if found.servers is None:
            found.servers = McpServers(house)
            found.servers.watch(lambda offer: self._heard(found, offer))
            for session in found.sessions.values():
                session.use_services(replace(session.services, connections=found.servers))
            if found.has_begun:
                found.begin()
        found.servers.use(wanted, house)
        return _with_servers(catalog, found.servers)

    def attach(self, session: AgentSession, at_once: bool) -> None:
        """Connect the session to the servers of its root; they start soon, or `at_once`."""
        services, state = session.services, session.state
        self.detach(services.session, keep=(services.root, state.trusted))
        found = self._roots.setdefault((services.root, state.trusted), _RootServers(services.catalog))
        found.sessions[services.session] = session
        if found.servers is not None:
            session.use_services(replace(services, connections=found.servers))
        loop = asyncio.get_running_loop()
        if at_once:
            loop.call_soon(found.begin)
        else:
            loop.call_later(START_DELAY, found.begin)

    def detach(self, session: str, keep: RootKey | None = None) -> None:
        """The session is closed. Servers without a session are closed."""
        for key, found in tuple(self._roots.items()):
            if found.sessions.pop(session, None) is not None and not found.sessions and key != keep:
                del self._roots[key]
                if found.servers is not None:
                    end = asyncio.create_task(found.servers.close())
                    self._ends.add(end)
                    end.add_done_callback(self._ends.discard)

    async def close(self) -> None:
        """Close all servers, within a few seconds."""
        roots, self._roots = tuple(self._roots.values()), {}
        ends = [root.servers.close() for root in roots if root.servers is not None]
        await asyncio.gather(*ends, *self._ends, return_exceptions=True)

    def _heard(self, found: _RootServers, offer: bool) -> None:
        """A server changed. Several changes are reported together."""
        loop = asyncio.get_running_loop()
        found.is_new = found.is_new or offer
        if not found.is_looking:
            found.is_looking = True
            loop.call_soon(self._look, found)
        if not found.is_waiting:
            found.is_waiting = True
            loop.call_later(REFRESH_SECONDS, self._tell, found)

    def _look(self, found: _RootServers) -> None:
        """Put the current offers into the catalogs, and report states to the user."""
        found.is_looking = False
        if found.servers is None:
            return
        if found.is_new:
            found.is_new = False
            catalog = _with_servers(found.base, found.servers)
            for session in found.sessions.values():
                _use_catalog(session, catalog)
        for row in found.servers.rows():
            self._speak(found, row)

    def _tell(self, found: _RootServers) -> None:
        found.is_waiting = False
        rows = found.servers.rows() if found.servers is not None else ()
        shown = tuple(_panel_row(row) for row in rows)
        if shown != found.shown:
            found.shown = shown
            for session in found.sessions.values():
                session.services.log.emit(PanelChanged(MCP_PLUGIN, shown))

    def _speak(self, found: _RootServers, row: ConnectionRow) -> None:
        """Report the state of a server to the user, once."""
        for said in _notices(row):
            if said in found.told or not found.sessions:
                continue
            found.told.add(said)
            someone = any(session.services.approvals.can_ask for session in found.sessions.values())
            if row.state == "needs approval" and someone:
                continue  # the plugin asks them when they come to it (builtin/mcp/agreeing)
            _warn_sessions(found.sessions.values(), said, _remedy(row))


def import_mcp(catalog: PluginCatalog) -> None:
    """Import what the servers of a catalog need. Called in a worker thread."""
    if catalog.all(McpServer):
        import_module("cockpit.mcp.servers")


def _server_config(root: str, settings: EffectiveSettings) -> "ServersContext":
    from cockpit.mcp.servers import CALL_SECONDS, CONNECT_SECONDS, ServersContext

    connect = settings.number("mcp.connect_seconds") or CONNECT_SECONDS
    call = settings.number("mcp.call_seconds") or CALL_SECONDS
    return ServersContext(root, paths.state(), settings.words("mcp.disabled"), connect, call)


def _with_servers(catalog: PluginCatalog, servers: "McpServers") -> PluginCatalog:
    """The catalog with the servers' tools and commands appended. Existing names are never replaced."""
    tools = catalog.all(Tool)
    known = (*(tool.name for tool in tools), *(alias.name for tool in tools for alias in tool.aliases))
    commands = catalog.all(Command)
    slashes = (
        *(command.name for command in commands),
        *(alias for command in commands for alias in command.aliases),
    )
    offered = servers.offered(known, slashes)
    entries = [_catalog_entry("register_tools", server, tool.name, tool) for server, tool in offered.tools]
    entries += [
        _catalog_entry("register_commands", server, one.name, one) for server, one in offered.commands
    ]
    if not entries and not offered.refused:
        return catalog
    by_hook = {hook: dict(ones) for hook, ones in catalog.by_hook.items()}
    for entry in entries:
        by_hook[entry.hook][entry.name] = entry
    return replace(
        catalog,
        entries=(*catalog.entries, *entries),
        warnings=(*catalog.warnings, *offered.refused),
        by_hook=by_hook,
    )


def _catalog_entry(hook: str, server: McpServer, name: str, value: object) -> CatalogEntry:
    layer: Layer = server.origin.layer if server.origin is not None else "plugin"
    return CatalogEntry(hook, name, value, MCP_PLUGIN, layer)


def _use_catalog(session: AgentSession, catalog: PluginCatalog) -> None:
    """Use another catalog from the next step on; what was already sent to a model is unchanged."""
    known = set(session.services.catalog.warnings)
    session.use_services(replace(session.services, catalog=catalog))
    for agent in session.agents():
        agent.context.fixed.pop(MCP_PLUGIN, None)
    for text in (text for text in catalog.warnings if text not in known):
        session.services.log.emit(Warned(text, source="mcp"))


def _panel_row(row: ConnectionRow) -> PanelRow:
    why = "" if row.state == "needs approval" else row.reason
    counts = f"{len(row.tools)} tools" if row.state == "ready" else single_line(why, 120)
    changed = f", {len(row.changed)} changed" if row.changed else ""
    text = f"{row.name}  {counts or single_line(row.target, 120)}{changed}"
    return PanelRow(text, row.state, f"{MCP_PLUGIN}/mcp")


def _notices(row: ConnectionRow) -> Iterable[str]:
    """What to report about the state of a server."""
    name = f"MCP server {row.name}"
    match row.state:
        case "needs approval":
            yield f"{name} is not started: {row.reason}"
        case "needs login":
            yield f"{name} wants a login"
        case "failed":
            yield f"{name} is not there: {row.reason}"
        case _:
            pass
    for tool in row.changed or {}:
        yield f"{name} describes {tool} otherwise than when it was approved: it is not called"


def _remedy(row: ConnectionRow) -> str:
    remedies: Mapping[str, str] = {
        "needs approval": f"look at it, then: cockpit mcp approve {row.name}",
        "needs login": f"cockpit mcp login {row.name}",
        "failed": f"cockpit mcp log {row.name} shows what it wrote; /mcp restart {row.name} tries again",
    }
    return remedies.get(row.state, f"/mcp shows what changed; /mcp approve {row.name} agrees to it")


def _warn_sessions(sessions: Iterable[AgentSession], text: str, hint: str) -> None:
    for session in sessions:
        session.services.log.emit(Warned(text, hint, "mcp"))
