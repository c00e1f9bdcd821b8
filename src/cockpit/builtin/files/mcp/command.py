"""`/mcp [status|tools|restart|stop|log|approve|refuse] [NAME]`, and the form that asks to approve servers.

Servers that wait for approval are shown in one form, with the next prompt or in `/mcp`. Only what was
shown can be approved.
"""

import asyncio
from operator import attrgetter
from typing import cast

from cockpit.plugin.context import ConnectionRow, ConnectionVerb, Context, FormAnswer, UserUnavailable
from cockpit.plugin.safety import Guarded, Pass, Ruling
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Block, Code, Table, Text
from cockpit.protocol.events import FormField
from cockpit.protocol.safe_text import clean, single_line

VERBS = ("status", "tools", "restart", "stop", "log", "approve", "refuse")
# Seconds to wait for starting servers, before a prompt and before `/mcp` answers.
PROMPT_WAIT = 1.0
STATUS_WAIT = 3.0
START_FIELD, OTHERS_FIELD = "start", "rest"
START_CHOICE, LATER_CHOICE, NEVER_CHOICE = "start it", "not now", "never"
# How the reason of a server begins that differs from what was approved (`cockpit.mcp.pins`).
CHANGED_PREFIX = "it changed"
MAX_LABEL = 100
NO_SERVERS = "No MCP servers here. Add one with `cockpit mcp add NAME -- COMMAND`; .mcp.json is also read."


async def ask_before_prompt(guarded: Guarded, context: Context) -> Ruling:
    """Guard of the user's prompts: ask about servers that wait for approval."""
    if not guarded.role:
        await context.connections.settled(PROMPT_WAIT)
        await ask_to_start(context.connections.unasked(context.session.id), context)
    return Pass()


async def ask_to_start(rows: tuple[ConnectionRow, ...], context: Context) -> tuple[str, ...]:
    """Ask which of the servers may start, and start or refuse them. Returns a message for each server with an
    answer; nothing if no user is there."""
    if not rows:
        return ()
    single = len(rows) == 1
    source = f"MCP server {rows[0].name}" if single else "this folder"
    try:
        answer = await context.session.ask_form(_format_question(rows), _form_fields(rows), source=source)
    except UserUnavailable:
        return ()
    verbs = ((_chosen_verb(answer, row, single), row) for row in rows)
    return tuple(await asyncio.gather(*(_apply_answer(verb, row, context) for verb, row in verbs if verb)))


async def _apply_answer(verb: ConnectionVerb, row: ConnectionRow, context: Context) -> str:
    """Carry out the answer, unless the server's file changed after the form was shown."""
    current = next((other for other in context.connections.rows() if other.name == row.name), None)
    displayed = attrgetter("target", "file", "state", "reason")
    if current is None or displayed(current) != displayed(row):
        return f"{row.name} has changed since it was shown and was left alone; see /mcp approve {row.name}"
    return await context.connections.command(verb, row.name)


def _chosen_verb(answer: FormAnswer, row: ConnectionRow, single: bool) -> ConnectionVerb | None:
    """Return what the answer means for one server; None leaves it waiting."""
    if answer.action != "accept":
        return None
    start, others = answer.values.get(START_FIELD), answer.values.get(OTHERS_FIELD)
    if start == START_CHOICE if single else isinstance(start, list) and row.name in start:
        return "approve"
    return "refuse" if (start if single else others) == NEVER_CHOICE else None


def _format_question(rows: tuple[ConnectionRow, ...]) -> str:
    count = "an MCP server" if len(rows) == 1 else f"{len(rows)} MCP servers"
    parts = [f"The files of this folder name {count}. A command runs with your rights."]
    for row in rows:
        # For a server that was never approved the reason only repeats the target.
        changed = (clean(row.reason),) if row.reason.startswith(CHANGED_PREFIX) else ()
        parts.append("\n".join((f"{row.name}: {clean(row.target)}", *changed, f"from {clean(row.file)}")))
    return "\n\n".join(parts)


def _form_fields(rows: tuple[ConnectionRow, ...]) -> tuple[FormField, ...]:
    if len(rows) == 1:
        answers = (START_CHOICE, LATER_CHOICE, NEVER_CHOICE)
        return (FormField(START_FIELD, "Start it?", "choice", True, answers, default=LATER_CHOICE),)
    names = tuple(row.name for row in rows)
    labels = tuple(single_line(f"{row.name}  {row.target}", MAX_LABEL) for row in rows)
    choices = (LATER_CHOICE, NEVER_CHOICE)
    note = "never is remembered; /mcp approve NAME takes it back"
    return (
        FormField(START_FIELD, "Start which?", "choices", False, names, labels),
        FormField(OTHERS_FIELD, "The others?", "choice", False, choices, default=LATER_CHOICE, note=note),
    )


def mcp_command() -> Command:
    about = "The MCP servers: their state and what they offer; restart, stop, log, approve or refuse one"
    return Command("mcp", about, _run_mcp, f"[{'|'.join(VERBS)}] [NAME]")


async def _run_mcp(invoked: Invoked, context: Context) -> CommandAnswer:
    verb, _, name = invoked.text.strip().partition(" ")
    verb, name = verb or "status", name.strip()
    if verb not in VERBS:
        return Show((Text(f"unknown action '{verb}' of /mcp; choose {', '.join(VERBS)}"),))
    await context.connections.settled(STATUS_WAIT)
    rows = context.connections.rows()
    if not rows:
        return Show((Text(NO_SERVERS),))
    selected = tuple(row for row in rows if name in ("", row.name))
    if not selected:
        names = ", ".join(row.name for row in rows)
        return Show((Text(f"unknown MCP server '{name}'; choose {names}"),))
    match verb:
        case "status":
            await ask_to_start(context.connections.unasked(context.session.id), context)
            current = {row.name: row for row in context.connections.rows()}
            return Show(_status_blocks(tuple(current.get(row.name, row) for row in selected)))
        case "tools":
            return Show(tuple(_offer_table(row) for row in selected))
        case "log":
            return Show(tuple(Code(f"{row.name}\n{context.connections.log(row.name)}") for row in selected))
        case _:
            return Show((await _run_verb(cast("ConnectionVerb", verb), selected, name, context),))


async def _run_verb(
    verb: ConnectionVerb, selected: tuple[ConnectionRow, ...], name: str, context: Context
) -> Block:
    waiting = tuple(row for row in selected if row.state == "needs approval")
    if verb == "approve" and not name and waiting:
        return Text("\n".join(await ask_to_start(waiting, context)) or "Nothing was approved.")
    if not name and len(selected) > 1:
        return Text(f"Name the server: /mcp {verb} {selected[0].name}")
    row = selected[0]
    if verb == "approve" and not name:
        return Text(f"{row.name}: {row.target}\n{row.reason}\nTo approve it: /mcp approve {row.name}")
    return Text(await context.connections.command(verb, row.name))


def _status_blocks(rows: tuple[ConnectionRow, ...]) -> tuple[Block, ...]:
    counts = (f"{len(row.tools)} tools" if row.state == "ready" else "" for row in rows)
    cells = tuple(
        (row.name, row.state, count, row.layer, row.reason or row.target)
        for row, count in zip(rows, counts, strict=True)
    )
    table = Table(("server", "state", "offers", "layer", ""), cells, "MCP servers")
    changes = tuple(
        Code(f"{row.name}: {tool} is not what was approved\n{diff}", "diff")
        for row in rows
        for tool, diff in (row.changed or {}).items()
    )
    refused = tuple(Text(f"{row.name}: {reason}") for row in rows for reason in row.refused)
    return (table, *changes, *refused)


def _offer_table(row: ConnectionRow) -> Block:
    rows = [(name, "tool") for name in row.tools] + [(name, "prompt") for name in row.prompts]
    if row.resources:
        rows.append((f"{row.resources} resources", "resource"))
    return Table(("name", "kind"), tuple(rows), f"{row.name} ({row.state})")
