"""`/mcp [status|tools|restart|stop|log|approve|refuse] [NAME]`: the MCP servers of this folder, to a
person."""

from typing import cast

from cockpit.builtin.mcp.agreeing import agree
from cockpit.plugin.connections import ConnectionRow, Verb
from cockpit.plugin.context import Context
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Block, Code, Table, Text

VERBS = ("status", "tools", "restart", "stop", "log", "approve", "refuse")
# Whoever looks a moment after the start is told how they came up.
MOMENT = 3.0
NONE = "No MCP servers here. `cockpit mcp add NAME -- COMMAND` adds one; .mcp.json is read as it is."


def commands() -> tuple[Command, ...]:
    about = "The MCP servers: what they do and offer; restart, stop, log, approve, refuse one"
    return (Command("mcp", about, _mcp, f"[{'|'.join(VERBS)}] [NAME]"),)


async def _mcp(invoked: Invoked, context: Context) -> CommandAnswer:
    verb, _, name = invoked.text.strip().partition(" ")
    verb, name = verb or "status", name.strip()
    if verb not in VERBS:
        return Show((Text(f"/mcp knows no {verb}; it knows {', '.join(VERBS)}"),))
    await context.connections.settled(MOMENT)
    rows = context.connections.rows()
    if not rows:
        return Show((Text(NONE),))
    chosen = tuple(row for row in rows if name in ("", row.name))
    if not chosen:
        return Show((Text(f"There is no MCP server {name}; there are: {', '.join(r.name for r in rows)}"),))
    match verb:
        case "status":
            await agree(context.connections.unasked(context.session.id), context)
            now = {row.name: row for row in context.connections.rows()}
            return Show(_status(tuple(now.get(row.name, row) for row in chosen)))
        case "tools":
            return Show(tuple(_offer(row) for row in chosen))
        case "log":
            return Show(tuple(Code(f"{row.name}\n{context.connections.log(row.name)}") for row in chosen))
        case _:
            return Show((await _do(cast("Verb", verb), chosen, name, context),))


async def _do(verb: Verb, chosen: tuple[ConnectionRow, ...], name: str, context: Context) -> Block:
    waiting = tuple(row for row in chosen if row.state == "needs approval")
    if verb == "approve" and not name and waiting:
        return Text("\n".join(await agree(waiting, context)) or "Nothing was approved.")
    if not name and len(chosen) > 1:
        return Text(f"Name the server: /mcp {verb} {chosen[0].name}")
    row = chosen[0]
    if verb == "approve" and not name:
        return Text(f"{row.name}: {row.target}\n{row.reason}\nTo agree to it: /mcp approve {row.name}")
    return Text(await context.connections.command(verb, row.name))


def _status(rows: tuple[ConnectionRow, ...]) -> tuple[Block, ...]:
    made = tuple(
        (
            row.name,
            row.state,
            f"{len(row.tools)} tools" if row.state == "ready" else "",
            row.layer,
            _about(row),
        )
        for row in rows
    )
    table = Table(("server", "state", "offers", "layer", ""), made, "MCP servers")
    changes = tuple(
        Code(f"{row.name}: {tool} is not what was approved\n{what}", "diff")
        for row in rows
        for tool, what in (row.changed or {}).items()
    )
    left = tuple(Text(f"{row.name}: {what}") for row in rows for what in row.refused)
    return (table, *changes, *left)


def _about(row: ConnectionRow) -> str:
    return row.reason or row.target


def _offer(row: ConnectionRow) -> Block:
    rows = [(name, "tool") for name in row.tools] + [(name, "prompt") for name in row.prompts]
    if row.resources:
        rows.append((f"{row.resources} resources", "resource"))
    return Table(("name", "kind"), tuple(rows), f"{row.name} ({row.state})")
