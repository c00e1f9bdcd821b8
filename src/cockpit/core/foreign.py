"""Calls of other people's tools (MCP): found when their server has started, and what they bring back is
text of strangers."""

from cockpit.core.agent import Agent
from cockpit.plugin.tools import Arguments, Tool
from cockpit.protocol.messages import ToolCall

PREFIX = "mcp__"
# What brings back what other people's servers say.
OUTSIDE = (PREFIX, "list_mcp_", "read_mcp_")
STARTING = 15.0
# Whose resources a prompt names.
MENTION = "mcp"


async def found(agent: Agent, call: ToolCall) -> tuple[Tool, Arguments] | None:
    """The tool of a call. Its server may still be starting; one that is dead is not waited for."""
    known = agent.toolbox.find(call.name, call.arguments)
    if known is None and call.name.startswith(PREFIX):
        await agent.host.connections.settled(STARTING)
        known = agent.toolbox.find(call.name, call.arguments)
    return known


async def listen(agent: Agent) -> None:
    """What a server's prompt says is about to be heard, once its server has started."""
    await agent.host.connections.settled(STARTING)
    agent.host.has_read_outside = True


def is_outside(tool: Tool, sends: bool) -> bool:
    """Whether the result is text of strangers; `sends`: the call went over the network."""
    return sends or tool.kind == "fetch" or tool.name.startswith(OUTSIDE)
