"""`tool_search`: finds the tools whose schemas are not sent with every request."""

import json
from dataclasses import dataclass
from typing import Annotated

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Done, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

MAX_NAMES = 60
# Seconds that a search waits for MCP servers that are starting.
STARTUP_WAIT = 15.0


@dataclass(frozen=True, slots=True)
class ToolSearch:
    query: Annotated[str, "words, or select:name,name"]


async def find_tools(arguments: ToolSearch, context: Context) -> Done:
    if not arguments.query.strip():
        raise ToolFailed("`query` is empty; write what the tool should do, or select:name")
    if any(row.state == "starting" for row in context.connections.rows()):
        await context.connections.settled(STARTUP_WAIT)
    tools = context.session.toolbox.search(arguments.query)
    if not tools:
        deferred = sorted(tool.name for tool in context.session.toolbox.tools() if tool.deferred)
        more = f" and {len(deferred) - MAX_NAMES} more" if len(deferred) > MAX_NAMES else ""
        names = (", ".join(deferred[:MAX_NAMES]) or "none") + more
        return Done(f"no tool matches; the other tools are: {names}")
    schemas = [
        f"{tool.name}: {tool.description}\n{json.dumps(tool.parameters, ensure_ascii=False)}"
        for tool in tools
    ]
    return Done("\n\n".join(["these can be called from now on:", *schemas]))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="tool_search",
            kind="think",
            description="Find more tools: git changes, code navigation, web, MCP servers and others.",
            parameters=schema(ToolSearch),
            capabilities=frozenset({"none"}),
            run=typed(ToolSearch, find_tools),
            title=lambda arguments: f"find a tool: {arguments.get('query', '')}",
            aliases=(Alias("ToolSearch", (("max_results", ""),)),),
        )
    )
