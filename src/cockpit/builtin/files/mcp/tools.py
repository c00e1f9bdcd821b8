"""Verdicts on calls to MCP servers, the two resource tools, and `@server:address` mentions of resources.

A server's tool always asks, and is denied a path that cockpit's own tools may not touch. A tool's hints about
itself loosen nothing.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Judged, Verdict
from cockpit.plugin.tools import Alias, Arguments, Capability, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.values import Mention
from cockpit.protocol.content import Block, Table, Text
from cockpit.protocol.mcp_names import is_mcp_name
from cockpit.protocol.queries import Completion
from cockpit.workspace.resolver import PathVerdict

READ_RESOURCE = "read_mcp_resource"
LIST_RESOURCES = "list_mcp_resources"
RISKS = {"fetch": 20, "other": 40, "delete": 60}
PROTECTED_SORTS = frozenset({"protected", "secret", "system", "device", "link"})
SAFER_WAY = "use cockpit's own file tools, which the user can follow"
MAX_RESOURCES = 200
MAX_COMPLETIONS = 20
# Seconds that a mention waits for a server that is still starting.
MENTION_WAIT = 3.0
MAX_RESOURCE_TEXT = 60_000


async def judge_mcp_call(judged: Judged) -> Verdict | None:
    """Ask for calls to a server; deny calls with a protected path among their arguments."""
    tool, preview = judged.tool, judged.preview
    if tool.name == LIST_RESOURCES:
        return Verdict("allow", capabilities=tool.capabilities)
    if not is_mcp_name(tool.name) and tool.name != READ_RESOURCE:
        return None
    if preview is not None and preview.paths:
        root, read_only = judged.context.workspace.root, tool.kind == "fetch"
        path = await asyncio.to_thread(_find_protected_path, preview.paths, read_only, root)
        if path is not None:
            touched: Capability = "secret.read" if path.sort == "secret" else "fs.write"
            reason = f"an argument names {path.real}: {path.reason}"
            return Verdict("deny", reason, 80, frozenset({touched}), (f"mcp.{path.sort}",), SAFER_WAY)
    server = preview.title.partition(":")[0] if preview is not None else "a server"
    reason, risk = f"it calls the MCP server {server}", RISKS.get(tool.kind, 40)
    destination = preview.destination if preview is not None else ""
    return Verdict("ask", reason, risk, tool.capabilities, ("mcp",), destination=destination)


def _find_protected_path(paths: tuple[str, ...], read_only: bool, root: str) -> PathVerdict | None:
    """Return the first path that a server may not touch. A tool that claims to be read-only may name what can
    be read, but nothing protected: its claim cannot be verified."""
    from cockpit.safety.path_classifier import classify_path
    from cockpit.safety.policy import build_context

    context = build_context(root, reads_git=False)
    for path in paths:
        read, write = classify_path(path, "read", context), classify_path(path, "write", context)
        if read.level == "deny" and read.sort in PROTECTED_SORTS:
            return read
        refused_sorts = {"protected"} if read_only else PROTECTED_SORTS
        if write.level == "deny" and write.sort in refused_sorts:
            return write
    return None


@dataclass(frozen=True, slots=True)
class ListMcpResources:
    server: Annotated[str, "only of this server"] = ""


@dataclass(frozen=True, slots=True)
class ReadMcpResource:
    server: Annotated[str, "the server's name"]
    uri: Annotated[str, "the resource's address, a template's {parts} filled in"]


async def list_resources(arguments: ListMcpResources, context: Context) -> Done:
    servers = context.connections.rows()
    states = ", ".join(f"{row.name} ({row.state})" for row in servers)
    if arguments.server and arguments.server not in {row.name for row in servers}:
        known = f"choose {states}" if states else "none is configured"
        return Done(f"unknown MCP server '{arguments.server}'; {known}")
    rows = [row for row in context.connections.resources() if arguments.server in ("", row.server)]
    if not rows:
        return Done(f"no resources; the MCP servers are: {states or 'none'}")
    cells = tuple(
        (row.server, row.uri, row.name, row.media_type, " ".join(row.description.split())[:120])
        for row in rows[:MAX_RESOURCES]
    )
    more = f"\n... and {len(rows) - MAX_RESOURCES} more; name a server" if len(rows) > MAX_RESOURCES else ""
    text = "\n".join("  ".join(filter(None, row)) for row in cells) + more
    table = Table(("server", "address", "name", "type", ""), cells)
    return Done(text, (table,), [{"server": row.server, "uri": row.uri, "name": row.name} for row in rows])


async def read_resource(arguments: ReadMcpResource, context: Context) -> Done:
    return await context.connections.read(arguments.server, arguments.uri, context)


async def preview_read(arguments: Arguments, context: Context) -> Preview:
    request = parse(ReadMcpResource, arguments)
    rows = context.connections.rows()
    target = next((row.target for row in rows if row.name == request.server), "")
    part = Part("uri", request.uri, target)
    return Preview(f"{request.server}: read {request.uri}", (part,), destination=target, lift="*")


def resource_tools() -> tuple[Tool, ...]:
    list_tool = Tool(
        name=LIST_RESOURCES,
        kind="search",
        description="List the resources of MCP servers, and the templates of resource addresses.",
        parameters=schema(ListMcpResources),
        capabilities=frozenset({"none"}),
        run=typed(ListMcpResources, list_resources),
        title=lambda arguments: f"resources of {arguments.get('server') or 'the MCP servers'}",
        is_concurrent=lambda arguments: True,
        deferred=True,
        aliases=(Alias("ListMcpResourcesTool"), Alias("ListMcpResources")),
        keywords=("mcp", "resource", "resources"),
    )
    read_tool = Tool(
        name=READ_RESOURCE,
        kind="fetch",
        description="Read a resource of an MCP server by its address.",
        parameters=schema(ReadMcpResource),
        capabilities=frozenset({"code.exec"}),
        run=typed(ReadMcpResource, read_resource),
        title=lambda arguments: f"{arguments.get('server')}: read {arguments.get('uri')}",
        preview=preview_read,
        deferred=True,
        aliases=(Alias("ReadMcpResourceTool"), Alias("ReadMcpResource")),
        keywords=("mcp", "resource", "resources"),
    )
    return (list_tool, read_tool)


def resource_mention() -> Mention:
    return Mention("mcp", "@", complete_resource, expand_resource)


async def complete_resource(word: str, context: Context) -> tuple[Completion, ...]:
    """Complete resources whose server, address or name contains `word`."""
    server, colon, rest = word.strip('"').partition(":")
    wanted = (rest if colon else server).lower()
    completions: list[Completion] = []
    for row in context.connections.resources():
        if row.is_template or (colon and row.server != server):
            continue
        if wanted not in f"{row.server} {row.uri} {row.name}".lower():
            continue
        label = f"{row.server}:{row.uri}"
        insert = f'@"{label}" ' if " " in label else f"@{label} "
        completions.append(Completion(insert, label, row.name or row.description, 0, 0))
    return tuple(completions[:MAX_COMPLETIONS])


async def expand_resource(word: str, context: Context) -> Block | None:
    """Read the mentioned resource; None if `word` does not begin with the name of a server."""
    server, colon, uri = word.partition(":")
    states = {row.name: row.state for row in context.connections.rows()}
    if not colon or not uri or states.get(server) not in ("ready", "starting", "waiting"):
        return None
    await context.connections.settled(MENTION_WAIT)
    try:
        text = (await context.connections.read(server, uri, context)).text
    except ToolFailed as error:
        return Text(f"[@{word}: {error.message}]")
    if len(text) > MAX_RESOURCE_TEXT:
        text = f"{text[:MAX_RESOURCE_TEXT]}\n[cut; read it with a tool]"
    return Text(f"[@{word}, from the MCP server {server}]\n{text}")
