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
    from cockpit.mcp.servers import McpServers
    from cockpit.mcp.supervisor import ServersContext

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
    reported: set[str] = field(default_factory=set)
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
        root_servers = self._roots.setdefault((root, trusted), _RootServers(catalog))
        root_servers.base = catalog
        # With the plugin switched off its verdicts and listings are gone, so no server may start.
        on = any(
            plugin.found.name == MCP_PLUGIN and plugin.found.state == "loaded" for plugin in catalog.plugins
        )
        configured = catalog.all(McpServer) if on and self._connects else ()
        if root_servers.servers is None and not configured:
            return catalog
        from cockpit.mcp.servers import McpServers

        config = _server_config(root, settings)
        if root_servers.servers is None:
            root_servers.servers = McpServers(config)
            root_servers.servers.watch(lambda offer: self._heard(root_servers, offer))
            for session in root_servers.sessions.values():
                session.use_services(replace(session.services, connections=root_servers.servers))
            if root_servers.has_begun:
                root_servers.begin()
        root_servers.servers.use(configured, config)
        return _with_servers(catalog, root_servers.servers)

    def attach(self, session: AgentSession, at_once: bool) -> None:
        """Connect the session to the servers of its root; they start soon, or `at_once`."""
        services, state = session.services, session.state
        self.detach(services.session, keep=(services.root, state.trusted))
        root_servers = self._roots.setdefault((services.root, state.trusted), _RootServers(services.catalog))
        root_servers.sessions[services.session] = session
        if root_servers.servers is not None:
            session.use_services(replace(services, connections=root_servers.servers))
        loop = asyncio.get_running_loop()
        if at_once:
            loop.call_soon(root_servers.begin)
        else:
            loop.call_later(START_DELAY, root_servers.begin)

    def detach(self, session: str, keep: RootKey | None = None) -> None:
        """The session is closed. Servers without a session are closed."""
        for key, root_servers in tuple(self._roots.items()):
            if (
                root_servers.sessions.pop(session, None) is not None
                and not root_servers.sessions
                and key != keep
            ):
                del self._roots[key]
                if root_servers.servers is not None:
                    end = asyncio.create_task(root_servers.servers.close())
                    self._ends.add(end)
                    end.add_done_callback(self._ends.discard)

    async def close(self) -> None:
        """Close all servers, within a few seconds."""
        roots, self._roots = tuple(self._roots.values()), {}
        ends = [root.servers.close() for root in roots if root.servers is not None]
        await asyncio.gather(*ends, *self._ends, return_exceptions=True)

    def _heard(self, root_servers: _RootServers, offer: bool) -> None:
        """A server changed. Several changes are reported together."""
        loop = asyncio.get_running_loop()
        root_servers.is_new = root_servers.is_new or offer
        if not root_servers.is_looking:
            root_servers.is_looking = True
            loop.call_soon(self._look, root_servers)
        if not root_servers.is_waiting:
            root_servers.is_waiting = True
            loop.call_later(REFRESH_SECONDS, self._tell, root_servers)

    def _look(self, root_servers: _RootServers) -> None:
        """Put the current offers into the catalogs, and report states to the user."""
        root_servers.is_looking = False
        if root_servers.servers is None:
            return
        if root_servers.is_new:
            root_servers.is_new = False
            catalog = _with_servers(root_servers.base, root_servers.servers)
            for session in root_servers.sessions.values():
                _use_catalog(session, catalog)
        for row in root_servers.servers.rows():
            self._speak(root_servers, row)

    def _tell(self, root_servers: _RootServers) -> None:
        root_servers.is_waiting = False
        rows = root_servers.servers.rows() if root_servers.servers is not None else ()
        shown = tuple(_panel_row(row) for row in rows)
        if shown != root_servers.shown:
            root_servers.shown = shown
            for session in root_servers.sessions.values():
                session.services.log.emit(PanelChanged(MCP_PLUGIN, shown))

    def _speak(self, found: _RootServers, row: ConnectionRow) -> None:
        """Report the state of a server to the user, once."""
        for text in _notices(row):
            if text in found.reported or not found.sessions:
                continue
            found.reported.add(text)
            someone = any(session.services.approvals.can_ask for session in found.sessions.values())
            if row.state == "needs approval" and someone:
                continue  # the plugin asks them when they come to it (builtin/mcp/agreeing)
            _warn_sessions(found.sessions.values(), text, _remedy(row))


def import_mcp(catalog: PluginCatalog) -> None:
    """Import what the servers of a catalog need. Called in a worker thread."""
    if catalog.all(McpServer):
        import_module("cockpit.mcp.servers")


def _server_config(root: str, settings: EffectiveSettings) -> "ServersContext":
    from cockpit.mcp.supervisor import CALL_SECONDS, CONNECT_SECONDS, ServersContext

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
