"""A server of one tool over stdio, on the SDK's own: `mcp_server.py`."""

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
def echo(text: str) -> str:
    """Give `text` back."""
    return text


if __name__ == "__main__":
    server.run()
