"""What the model is told of MCP servers: which are there, how their tools are found, what they say of
themselves. Never part of the byte-stable prefix: servers come and go."""

from cockpit.plugin.connections import ConnectionRow
from cockpit.plugin.context import Context
from cockpit.plugin.values import ContextSource

# A prompt that is typed while servers start waits so long for them, no longer.
MOMENT = 2.0
NAMES = 24
LONGEST = 400
MOST = 12


def source() -> ContextSource:
    return ContextSource("mcp", "reminder", "turn", tell, deadline_ms=2_500)


async def tell(context: Context) -> str:
    await context.connections.settled(MOMENT)
    rows = context.connections.rows()
    ready = [row for row in rows if row.state == "ready"]
    if not ready:
        return ""
    lines = [_line(row) for row in ready[:MOST]]
    if len(ready) > MOST:
        lines.append(f"- and {len(ready) - MOST} more")
    return "MCP servers (find their tools with tool_search, by words or select:NAME):\n" + "\n".join(lines)


def _line(row: ConnectionRow) -> str:
    names = ", ".join(row.tools[:NAMES]) if len(row.tools) <= NAMES else f"{len(row.tools)} tools"
    offers = [names or "no tools"]
    if row.resources:
        offers.append(f"{row.resources} resources (list_mcp_resources)")
    said = " ".join(row.instructions.split())
    said = said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
    return f"- {row.name}: {'; '.join(offers)}" + (f". It says: {said}" if said else "")
