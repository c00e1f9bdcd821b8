"""How a tool's result is shown where a plugin draws it in place of the tool's own blocks."""

from cockpit.core.agent import Agent
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Renderer
from cockpit.protocol.content import Block
from cockpit.protocol.events import Warned
from cockpit.protocol.messages import ToolCall, ToolResult


def rendered(agent: Agent, tool: Tool, call: ToolCall, result: ToolResult) -> tuple[Block, ...]:
    """The blocks of the tool's renderer; the result's own where there is none, or it fails."""
    renderer = agent.host.catalog.get(Renderer, tool.name)
    if renderer is None:
        return result.blocks
    try:
        return renderer.render(call, result)
    # Foreign code: a renderer that raises leaves the tool's own blocks.
    except (Exception, SystemExit) as error:
        agent.host.log.emit(Warned(f"the renderer of {tool.name} failed: {error}"), agent.path, call.id)
        return result.blocks
