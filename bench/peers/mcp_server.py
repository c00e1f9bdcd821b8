"""A server with one tool over stdio, using the SDK: `mcp_server.py`."""

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
def echo(text: str) -> str:
    """Return `text`."""
    return text


if __name__ == "__main__":
    server.run()
