"""`@server:address` in a prompt: what an MCP server lets read stands beside the words."""

from cockpit.plugin.context import Context
from cockpit.plugin.tools import ToolFailed
from cockpit.plugin.values import Mention
from cockpit.protocol.content import Block, Text
from cockpit.protocol.queries import Completion

MOST = 20
MOMENT = 3.0
LONGEST = 60_000


def mention() -> Mention:
    return Mention("mcp", "@", complete, expand)


async def complete(word: str, context: Context) -> tuple[Completion, ...]:
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
    return tuple(found[:MOST])


async def expand(word: str, context: Context) -> Block | None:
    """The resource's text; None for what no server is called."""
    server, colon, uri = word.partition(":")
    states = {row.name: row.state for row in context.connections.rows()}
    if not colon or not uri or states.get(server) not in ("ready", "starting", "waiting"):
        return None
    # One that is named a moment after the start is still starting.
    await context.connections.settled(MOMENT)
    try:
        done = await context.connections.read(server, uri, context)
    except ToolFailed as error:
        return Text(f"[@{word}: {error.message}]")
    cut = done.text if len(done.text) <= LONGEST else f"{done.text[:LONGEST]}\n[cut; read it with a tool]"
    return Text(f"[@{word}, from the MCP server {server}]\n{cut}")
