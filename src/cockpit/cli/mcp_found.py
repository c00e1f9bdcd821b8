"""The servers that `cockpit mcp` speaks of: those that are registered for a folder."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.cli.catalogs import catalog_of, folder_of, is_trusted
from cockpit.errors import CockpitError
from cockpit.formats import mcp_files
from cockpit.mcp.pins import Pins
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import McpServer
from cockpit.settings import files


@dataclass(frozen=True, slots=True)
class Found:
    """A folder, and whether its files may be read."""

    root: str
    trusted: bool


def found(given: argparse.Namespace) -> Found:
    """The folder that was named."""
    root = folder_of(given.cwd)
    return Found(root, given.trust or is_trusted(root))


def servers_of(where: Found) -> list[McpServer | Unloaded]:
    """What the files name."""
    environment = files.environment(where.root, where.trusted)
    return list(mcp_files.servers(Path(where.root), where.trusted, Path.home(), environment))


def registered(where: Found) -> tuple[McpServer, ...]:
    """What is registered: by files, bundles and plugins."""
    return catalog_of(where.root, where.trusted).all(McpServer)


def server_of(given: argparse.Namespace) -> McpServer:
    """The server that was named. Raises `CockpitError`, which says why it is none."""
    where = found(given)
    known = registered(where)
    for server in known:
        if server.name == given.name:
            return server
    for one in servers_of(where):
        if one.name == given.name and isinstance(one, Unloaded):
            faults = "; ".join(str(fault) for fault in one.origin.refused)
            raise CockpitError(f"{given.name} cannot be used: {faults}")
    names = ", ".join(server.name for server in known) or "none"
    hint = f"there are: {names}" if where.trusted else f"there are: {names}; this folder is not trusted"
    raise CockpitError(f"there is no MCP server {given.name}", hint)


def pins_of(root: str) -> Pins:
    return Pins(root, paths.state())
