"""The verdict on other people's tools: a person is asked, and what no tool of ours may touch they may not be
told to touch either. A tool's hints about itself loosen nothing.

`list_mcp_resources` and `read_mcp_resource`: what servers let read.

`@server:address` in a prompt: what an MCP server lets read stands beside the words.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.tools import Alias, Arguments, Capability, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.values import Mention
from cockpit.protocol.content import Block, Table, Text
from cockpit.protocol.queries import Completion
from cockpit.workspace.resolver import PathVerdict as Place

TOOL_PREFIX = "mcp__"
READ_RESOURCE = "read_mcp_resource"
LIST_RESOURCES = "list_mcp_resources"
RISKS = {"fetch": 20, "other": 40, "delete": 60}
PROTECTED_SORTS = frozenset({"protected", "secret", "system", "device", "link"})
SAFER_WAY = "use the tools of cockpit for files, which a person can follow"


def mcp_decider() -> Decider:
    return Decider("mcp", judge_mcp_call)


async def judge_mcp_call(judged: Judged) -> Verdict | None:
    """An ask for what calls a server, a deny for what would touch a protected path there."""
    name = judged.tool.name
    if name == LIST_RESOURCES:
        return Verdict("allow", capabilities=judged.tool.capabilities)
    if not name.startswith(TOOL_PREFIX) and name != READ_RESOURCE:
        return None
    paths = judged.preview.paths if judged.preview is not None else ()
    root = judged.context.workspace.root
    # Most calls name no path: a thread is not bothered with them.
    worst = (
        await asyncio.to_thread(_find_protected_path, paths, judged.tool.kind == "fetch", root)
        if paths
        else None
    )
    if worst is not None:
        reason = f"an argument names {worst.real}: {worst.reason}"
        return Verdict("deny", reason, 80, _touched_capabilities(worst), (f"mcp.{worst.sort}",), SAFER_WAY)
    where = judged.preview.destination if judged.preview is not None else ""
    server = judged.preview.title.partition(":")[0] if judged.preview is not None else "a server"
    return Verdict(
        "ask",
        f"it calls the MCP server {server}",
        RISKS.get(judged.tool.kind, 40),
        judged.tool.capabilities,
        ("mcp",),
        destination=where,
    )


def _touched_capabilities(place: Place) -> frozenset[Capability]:
    return frozenset({"secret.read"}) if place.sort == "secret" else frozenset({"fs.write"})


def _find_protected_path(paths: tuple[str, ...], reads: bool, root: str) -> Place | None:
    """The first path that nothing may be told to touch. One that says it only reads may be told of what may
    be read, but never of what is protected: its word is all there is."""
    from cockpit.safety.path_classifier import classify_path
    from cockpit.safety.policy import build_context

    ground = build_context(root, reads_git=False)
    for path in paths:
        read, write = classify_path(path, "read", ground), classify_path(path, "write", ground)
        if read.level == "deny" and read.sort in PROTECTED_SORTS:
            return read
        if write.level == "deny" and (
            write.sort == "protected" or (not reads and write.sort in PROTECTED_SORTS)
        ):
            return write
    return None


MAX_RESOURCES = 200


@dataclass(frozen=True, slots=True)
class ListMcpResources:
    server: Annotated[str, "only of this server"] = ""


@dataclass(frozen=True, slots=True)
class ReadMcpResource:
    server: Annotated[str, "the server's name"]
    uri: Annotated[str, "the resource's address, a template's {parts} filled in"]


async def list_resources(arguments: ListMcpResources, context: Context) -> Done:
    rows = [row for row in context.connections.resources() if arguments.server in ("", row.server)]
    if not rows:
        states = ", ".join(f"{row.name} ({row.state})" for row in context.connections.rows())
        return Done(f"no resources; the MCP servers are: {states or 'none'}")
    shown = tuple(
        (row.server, row.uri, row.name, row.media_type, " ".join(row.description.split())[:120])
        for row in rows[:MAX_RESOURCES]
    )
    more = f"\n... and {len(rows) - MAX_RESOURCES} more; name a server" if len(rows) > MAX_RESOURCES else ""
    text = "\n".join("  ".join(cell for cell in row if cell) for row in shown) + more
    table = Table(("server", "address", "name", "type", ""), shown)
    return Done(text, (table,), [{"server": row.server, "uri": row.uri, "name": row.name} for row in rows])


async def read_resource(arguments: ReadMcpResource, context: Context) -> Done:
    return await context.connections.read(arguments.server, arguments.uri, context)


async def preview_read(arguments: Arguments, context: Context) -> Preview:
    asked = parse(ReadMcpResource, arguments)
    rows = [row for row in context.connections.rows() if row.name == asked.server]
    where = rows[0].target if rows else ""
    part = Part("uri", asked.uri, where)
    return Preview(f"{asked.server}: read {asked.uri}", (part,), destination=where, lift="*")


def resource_tools() -> tuple[Tool, ...]:
    listing = Tool(
        name=LIST_RESOURCES,
        kind="search",
        description="List what MCP servers let read (resources and templates of addresses).",
        parameters=schema(ListMcpResources),
        capabilities=frozenset({"none"}),
        run=typed(ListMcpResources, list_resources),
        title=lambda arguments: f"resources of {arguments.get('server') or 'the MCP servers'}",
        is_concurrent=lambda arguments: True,
        deferred=True,
        aliases=(Alias("ListMcpResourcesTool"), Alias("ListMcpResources")),
        keywords=("mcp", "resource", "resources"),
    )
    reading = Tool(
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
    return (listing, reading)


MAX_COMPLETIONS = 20
MENTION_WAIT = 3.0
MAX_RESOURCE_TEXT = 60_000


def resource_mention() -> Mention:
    return Mention("mcp", "@", complete_resource, expand_resource)


async def complete_resource(word: str, context: Context) -> tuple[Completion, ...]:
    """Resources whose server, address or name holds the letters of `word`."""
    server, colon, rest = word.strip('"').partition(":")
    found: list[Completion] = []
    for row in context.connections.resources():
        if row.is_template or (colon and row.server != server):
            continue
        wanted = (rest if colon else server).lower()
        if wanted and wanted not in f"{row.server} {row.uri} {row.name}".lower():
            continue
        named = f"{row.server}:{row.uri}"
        quoted = f'@"{named}" ' if " " in named else f"@{named} "
        found.append(Completion(quoted, named, row.name or row.description, 0, 0))
    return tuple(found[:MAX_COMPLETIONS])


async def expand_resource(word: str, context: Context) -> Block | None:
    """The resource's text; None for what no server is called."""
    server, colon, uri = word.partition(":")
    states = {row.name: row.state for row in context.connections.rows()}
    if not colon or not uri or states.get(server) not in ("ready", "starting", "waiting"):
        return None
    # One that is named a moment after the start is still starting.
    await context.connections.settled(MENTION_WAIT)
    try:
        done = await context.connections.read(server, uri, context)
    except ToolFailed as error:
        return Text(f"[@{word}: {error.message}]")
    cut = (
        done.text
        if len(done.text) <= MAX_RESOURCE_TEXT
        else f"{done.text[:MAX_RESOURCE_TEXT]}\n[cut; read it with a tool]"
    )
    return Text(f"[@{word}, from the MCP server {server}]\n{cut}")
