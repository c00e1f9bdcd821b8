"""What servers offer as values of ours: tools, and prompts as commands. A tool of theirs is found by search,
is judged like any other, and its hints about itself can tighten only."""

import asyncio
import json
from urllib.parse import urlsplit

from cockpit.mcp.life import Life
from cockpit.mcp.lives import Lives
from cockpit.mcp.paths import paths_in, words_in
from cockpit.mcp.pins import words_of
from cockpit.mcp.values import McpFailed, Outcome, ToolDefinition
from cockpit.plugin.context import Context, NobodyThere
from cockpit.plugin.tools import Arguments, Capability, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.values import McpServer
from cockpit.protocol.asking import FormField
from cockpit.protocol.clean import clean, one_line
from cockpit.protocol.messages import Kind

LONGEST = 2_000
# The connection bounds a call; this only ends one that a person forgot.
SECONDS = 3_600.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
YES, NO = "approve and call", "no"


def destination(server: McpServer) -> str:
    """Where something would be sent: the host, or the program."""
    return urlsplit(server.url).netloc if server.url else words_of(server)


def kind_of(definition: ToolDefinition) -> Kind:
    """By its own word, where that asks for more care. One that says it only reads is never of a kind that
    rules or modes let run unasked."""
    if definition.destroys and not definition.reads_only:
        return "delete"
    return "fetch" if definition.reads_only else "other"


def capabilities_of(server: McpServer, definition: ToolDefinition) -> frozenset[Capability]:
    """Other people's code does it. What may change something far away sends, too."""
    remote = bool(server.url) and urlsplit(server.url).hostname not in LOOPBACK
    if not definition.reads_only and (remote or definition.is_open):
        return frozenset({"code.exec", "net.egress"})
    return frozenset({"code.exec"})


def tool_of(lives: Lives, server: McpServer, definition: ToolDefinition, name: str) -> Tool:
    """A server's tool under the name `name`."""

    async def run(arguments: Arguments, context: Context) -> Done:
        return await _call(lives, server.name, definition.name, arguments, context)

    async def preview(arguments: Arguments, context: Context) -> Preview:
        # That is where the server runs, whatever worktree its caller works in.
        words = words_in(arguments)
        paths = await asyncio.to_thread(paths_in, words, context.session.root) if words else ()
        written = clean(json.dumps(dict(arguments), ensure_ascii=False, indent=1))
        part = Part("arguments", f"{definition.name} of {server.name}", written)
        where = destination(server)
        title = f"{server.name}: {definition.title or definition.name}"
        return Preview(title, (part,), paths=paths, destination=where, lift="*")

    about = definition.description or definition.title or definition.name
    return Tool(
        name=name,
        kind=kind_of(definition),
        description=f"[MCP server {server.name}] {about}"[:LONGEST],
        parameters=definition.parameters,
        capabilities=capabilities_of(server, definition),
        run=run,
        title=lambda arguments: f"{server.name}: {definition.name} {_brief(arguments)}".rstrip(),
        preview=preview,
        deferred=True,
        keywords=(server.name, definition.name, definition.title, "mcp"),
        seconds=SECONDS,
    )


def _brief(arguments: Arguments) -> str:
    shown = (str(value) for value in arguments.values() if isinstance(value, str | int | float))
    return one_line(" ".join(shown), 80)


async def _call(lives: Lives, server: str, name: str, arguments: Arguments, context: Context) -> Done:
    life = lives.life(server)
    try:
        connection = await life.connected()
        await _approved(life, name, context)
        report = context.running().progress
        asking = lives.asking(server, context)

        def heard(done: float, total: float | None, message: str) -> None:
            report(f"{message or 'working'} {_share(done, total)}".rstrip() + "\n")

        outcome = await connection.call(name, arguments, asking, heard)
    except McpFailed as error:
        raise ToolFailed(error.message, error.hint) from error
    return done_of(outcome)


def done_of(outcome: Outcome) -> Done:
    """A server's answer as a tool's."""
    return Done(outcome.text, outcome.blocks, outcome.structured, outcome.is_error, "none")


def _share(done: float, total: float | None) -> str:
    return f"{done:g}/{total:g}" if total else f"{done:g}" if done else ""


async def _approved(life: Life, name: str, context: Context) -> None:
    """Whether the tool is what was approved; a person is asked where it is not. Raises `ToolFailed`."""
    if name not in life.changed:
        return
    changed, server = life.changed[name], life.server.name
    text = f"the tool {name} of the MCP server {server} is not what was approved, so it was not called"
    hint = f"a person looks at it and approves it with /mcp approve {server}"
    refused = ToolFailed(f"{text}:\n{changed}\n", hint)
    question = f"The MCP server {server} describes {name} otherwise than when it was approved:\n{changed}"
    field = FormField("answer", "Call it?", "choice", True, (YES, NO), (), NO)
    try:
        answer = await context.session.ask_form(question, (field,), source=f"MCP server {server}")
    except NobodyThere as error:
        raise refused from error
    if answer.action != "accept" or answer.values.get("answer") != YES:
        raise refused
    if life.changed.get(name) != changed:
        raise ToolFailed(f"{name} changed again while the person looked; call it again")
    await life.accept(name)
