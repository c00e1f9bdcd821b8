"""Questions to SQLite files, over MCP. Teaches `register_mcp_servers`.

A plugin registers how a server is started; cockpit starts it, asks before its tools run and keeps what it
prints off the screen. The server is the file `server.py` beside this one.
"""

import sys
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.values import McpServer, Register, Scope

SERVER = Path(__file__).with_name("server.py")


@hookimpl
def register_mcp_servers(register: Register, scope: Scope) -> None:
    # By its path: this Python need not find the plugin's package, only the `mcp` that cockpit has.
    register(McpServer("sqlite", command=(sys.executable, str(SERVER), scope.root)))
