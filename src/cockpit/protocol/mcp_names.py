"""The form of the names of MCP servers' tools and prompts: `mcp__server__tool`, as in Claude Code.

`cockpit.mcp.tool_names` shortens such a name and replaces characters that the APIs of models refuse.
"""

MCP_PREFIX = "mcp__"
ALL_MCP_TOOLS = f"{MCP_PREFIX}*"
"""The pattern that matches every tool of every server."""


def mcp_tool_name(server: str, tool: str) -> str:
    """The name of a server's tool. `*` as the tool makes the pattern of all tools of the server."""
    return f"{MCP_PREFIX}{server}__{tool}"


def mcp_server_of(name: str) -> str:
    """The server in a tool's name, or an empty string for a tool of no server."""
    return name.removeprefix(MCP_PREFIX).partition("__")[0] if is_mcp_name(name) else ""


def is_mcp_name(name: str) -> bool:
    """Whether a tool, prompt or pattern of this name belongs to an MCP server."""
    return name.startswith(MCP_PREFIX)
