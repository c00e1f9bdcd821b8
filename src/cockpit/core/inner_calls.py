"""Calls that a plugin's function makes for its own work: through the same order as a model's call, with
events of their own, and without a place in the conversation."""

from collections.abc import Mapping

from cockpit.core.agent import Agent
from cockpit.core.loop_guard import LoopGuard
from cockpit.core.tool_calls import note_end, run_call
from cockpit.errors import CockpitError
from cockpit.protocol.events import ToolCallFinished
from cockpit.protocol.messages import Json, ToolCall, ToolResult

DEEPEST = 4
# Between the id of a call and that of one made for it.
BELOW = ">"


async def call_tool(agent: Agent, name: str, arguments: Mapping[str, Json], within: str = "") -> ToolResult:
    """Run `name` for the function that serves the call `within` ("": a command's, or a guard's).

    Raises `CockpitError` below the depth of four: a tool that calls itself would go on for ever.
    """
    if within.count(BELOW) >= DEEPEST:
        raise CockpitError(
            f"{name} was not run: calls make calls more than {DEEPEST} deep", "call it yourself"
        )
    call = ToolCall(f"{within or 'plugin'}{BELOW}{agent.host.new_id()}", name, dict(arguments))
    result = ToolResult(call.id, call.name, "cancelled", "cancelled by the person")
    try:
        result = await run_call(agent, call, LoopGuard(False), "plugin")
    finally:
        note_end(agent, result)
        agent.host.log.emit(ToolCallFinished(result), agent.path, call.id)
    return result
