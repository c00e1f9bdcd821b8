"""Reads SQLite files over MCP. An example of `register_mcp_servers`.

A plugin registers the command of a server. cockpit starts it, asks before its tools run and keeps its output
off the screen. The server is `server.py` in this folder.
"""

import sys
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.values import McpServer, Register, Scope

SERVER = Path(__file__).with_name("server.py")


@hookimpl
def register_mcp_servers(register: Register, scope: Scope) -> None:
    # Started by path, so that this Python needs only `mcp`, on which cockpit depends.
    register(McpServer("sqlite", command=(sys.executable, str(SERVER), scope.root)))
