"""`list_mcp_resources` and `read_mcp_resource`: what servers let read."""

from dataclasses import dataclass
from typing import Annotated

from cockpit.builtin.mcp.judging import LISTING, READING
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool
from cockpit.protocol.content import Table

MOST = 200


@dataclass(frozen=True, slots=True)
class ListMcpResources:
    server: Annotated[str, "only of this server"] = ""


@dataclass(frozen=True, slots=True)
class ReadMcpResource:
    server: Annotated[str, "the server's name"]
    uri: Annotated[str, "the resource's address, a template's {parts} filled in"]


async def find(arguments: ListMcpResources, context: Context) -> Done:
    rows = [row for row in context.connections.resources() if arguments.server in ("", row.server)]
    if not rows:
        states = ", ".join(f"{row.name} ({row.state})" for row in context.connections.rows())
        return Done(f"no resources; the MCP servers are: {states or 'none'}")
    shown = tuple(
        (row.server, row.uri, row.name, row.media_type, " ".join(row.description.split())[:120])
        for row in rows[:MOST]
    )
    more = f"\n... and {len(rows) - MOST} more; name a server" if len(rows) > MOST else ""
    text = "\n".join("  ".join(cell for cell in row if cell) for row in shown) + more
    table = Table(("server", "address", "name", "type", ""), shown)
    return Done(text, (table,), [{"server": row.server, "uri": row.uri, "name": row.name} for row in rows])


async def read(arguments: ReadMcpResource, context: Context) -> Done:
    return await context.connections.read(arguments.server, arguments.uri, context)


async def preview(arguments: Arguments, context: Context) -> Preview:
    asked = parse(ReadMcpResource, arguments)
    rows = [row for row in context.connections.rows() if row.name == asked.server]
    where = rows[0].target if rows else ""
    part = Part("uri", asked.uri, where)
    return Preview(f"{asked.server}: read {asked.uri}", (part,), destination=where, lift="*")


def tools() -> tuple[Tool, ...]:
    listing = Tool(
        name=LISTING,
        kind="search",
        description="List what MCP servers let read (resources and templates of addresses).",
        parameters=schema(ListMcpResources),
        capabilities=frozenset({"none"}),
        run=typed(ListMcpResources, find),
        title=lambda arguments: f"resources of {arguments.get('server') or 'the MCP servers'}",
        is_concurrent=lambda arguments: True,
        deferred=True,
        aliases=(Alias("ListMcpResourcesTool"), Alias("ListMcpResources")),
        keywords=("mcp", "resource", "resources"),
    )
    reading = Tool(
        name=READING,
        kind="fetch",
        description="Read a resource of an MCP server by its address.",
        parameters=schema(ReadMcpResource),
        capabilities=frozenset({"code.exec"}),
        run=typed(ReadMcpResource, read),
        title=lambda arguments: f"{arguments.get('server')}: read {arguments.get('uri')}",
        preview=preview,
        deferred=True,
        aliases=(Alias("ReadMcpResourceTool"), Alias("ReadMcpResource")),
        keywords=("mcp", "resource", "resources"),
    )
    return (listing, reading)
