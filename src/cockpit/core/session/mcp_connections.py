"""The MCP servers of the deck's roots: shared by the sessions of a root, added to its catalog, and shown as a
panel. `cockpit.mcp` implements the protocol and is imported only when a server is configured.
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
    """The servers of one root, trusted or not, and its sessions. `base` is its catalog without them."""

    base: PluginCatalog
    servers: "McpServers | None" = None
    sessions: dict[str, AgentSession] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)
    shown: tuple[PanelRow, ...] = ()
    has_begun: bool = False
    has_new_offers: bool = False
    _report: asyncio.Handle | None = None
    _drawing: asyncio.Handle | None = None

    def begin(self) -> None:
        self.has_begun = True
        if self.servers is not None:
            self.servers.begin()

    def changed(self, offers: bool) -> None:
        """A server changed. Several changes are reported together."""
        loop = asyncio.get_running_loop()
        self.has_new_offers = self.has_new_offers or offers
        self._report = self._report or loop.call_soon(self._report_changes)
        self._drawing = self._drawing or loop.call_later(REFRESH_SECONDS, self._draw)

    def _report_changes(self) -> None:
        """Put the current offers into the catalogs, and report states to the user."""
        self._report = None
        if self.servers is None:
            return
        if self.has_new_offers:
            self.has_new_offers = False
            catalog = _with_servers(self.base, self.servers)
            for session in self.sessions.values():
                _use_catalog(session, catalog)
        for row in self.servers.rows():
            self._report_state(row)

    def _report_state(self, row: ConnectionRow) -> None:
        """Report the state of a server to the user, once."""
        for text in _notices(row):
            if text in self.reported or not self.sessions:
                continue
            self.reported.add(text)
            can_ask = any(session.services.approvals.can_ask for session in self.sessions.values())
            if row.state == "needs approval" and can_ask:
                continue  # The plugin `cockpit.builtin.mcp` asks the user.
            for session in self.sessions.values():
                session.services.log.emit(Warned(text, _remedy(row), "mcp"))

    def _draw(self) -> None:
        self._drawing = None
        rows = tuple(map(_panel_row, self.servers.rows())) if self.servers is not None else ()
        if rows != self.shown:
            self.shown = rows
            for session in self.sessions.values():
                session.services.log.emit(PanelChanged(MCP_PLUGIN, rows))


class McpServerPool:
    """The MCP servers of a deck. Without a session none starts."""

    def __init__(self, connects: bool = True) -> None:
        self._connects = connects
        self._roots: dict[RootKey, _RootServers] = {}
        self._ends: set[asyncio.Task[None]] = set()

    def joined(
        self, root: str, trusted: bool, settings: EffectiveSettings, catalog: PluginCatalog
    ) -> PluginCatalog:
        """`catalog` with what its servers offer now. Servers that are no longer configured are closed."""
        shared = self._roots.setdefault((root, trusted), _RootServers(catalog))
        shared.base = catalog
        # With the plugin switched off its verdicts and listings are missing, so no server may start.
        is_loaded = any(
            plugin.found.name == MCP_PLUGIN and plugin.found.state == "loaded" for plugin in catalog.plugins
        )
        configured = catalog.all(McpServer) if is_loaded and self._connects else ()
        if shared.servers is None and not configured:
            return catalog
        from cockpit.mcp.servers import McpServers

        config = _server_config(root, settings)
        if shared.servers is None:
            shared.servers = McpServers(config)
            shared.servers.watch(shared.changed)
            for session in shared.sessions.values():
                session.use_services(replace(session.services, connections=shared.servers))
            if shared.has_begun:
                shared.begin()
        shared.servers.use(configured, config)
        return _with_servers(catalog, shared.servers)

    def attach(self, session: AgentSession, at_once: bool) -> None:
        """Connect the session to the servers of its root; they start soon, or `at_once`."""
        services, state = session.services, session.state
        services, state = session.services, session.state
        self.detach(services.session, keep=(services.root, state.trusted))
        shared = self._roots.setdefault((services.root, state.trusted), _RootServers(services.catalog))
        shared.sessions[services.session] = session
        if shared.servers is not None:
            session.use_services(replace(services, connections=shared.servers))
        asyncio.get_running_loop().call_later(0 if at_once else START_DELAY, shared.begin)

    def detach(self, session: str, keep: RootKey | None = None) -> None:
        """The session is closed. Servers without a session are closed."""
        for key, shared in tuple(self._roots.items()):
            left = shared.sessions.pop(session, None)
            if left is None or shared.sessions or key == keep:
                continue
            del self._roots[key]
            if shared.servers is not None:
                end = asyncio.create_task(shared.servers.close())
                self._ends.add(end)
                end.add_done_callback(self._ends.discard)

    async def close(self) -> None:
        """Close all servers, within a few seconds."""
        roots, self._roots = tuple(self._roots.values()), {}
        ends = [root.servers.close() for root in roots if root.servers is not None]
        await asyncio.gather(*ends, *self._ends, return_exceptions=True)


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
    tools, commands = catalog.all(Tool), catalog.all(Command)
    tool_names = (*(tool.name for tool in tools), *(alias.name for tool in tools for alias in tool.aliases))
    command_names = (name for command in commands for name in (command.name, *command.aliases))
    offered = servers.offered(tool_names, tuple(command_names))
    entries = [
        *(_catalog_entry("register_tools", server, tool.name, tool) for server, tool in offered.tools),
        *(_catalog_entry("register_commands", server, made.name, made) for server, made in offered.commands),
    ]
    if not entries and not offered.refused:
        return catalog
    by_hook = {hook: dict(entries) for hook, entries in catalog.by_hook.items()}
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
    """Use another catalog from the next step on; requests that were already sent are unchanged."""
    known = session.services.catalog.warnings
    session.use_services(replace(session.services, catalog=catalog))
    for agent in session.agents():
        agent.context.fixed.pop(MCP_PLUGIN, None)
    for text in catalog.warnings:
        if text not in known:
            session.services.log.emit(Warned(text, source="mcp"))


def _panel_row(row: ConnectionRow) -> PanelRow:
    reason = "" if row.state == "needs approval" else row.reason
    counts = f"{len(row.tools)} tools" if row.state == "ready" else single_line(reason, 120)
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
            yield f"{name} needs a login"
        case "failed":
            yield f"{name} is not available: {row.reason}"
        case _:
            pass
    for tool in row.changed or {}:
        yield f"{name} changed its description of {tool} since it was approved, so it is not called"


def _remedy(row: ConnectionRow) -> str:
    remedies: Mapping[str, str] = {
        "needs approval": f"look at it, then: cockpit mcp approve {row.name}",
        "needs login": f"cockpit mcp login {row.name}",
        "failed": f"cockpit mcp log {row.name} shows what it wrote; /mcp restart {row.name} tries again",
    }
    return remedies.get(row.state, f"/mcp shows what changed; /mcp approve {row.name} approves it")
