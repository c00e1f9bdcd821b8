"""Puts servers that wait for a person's yes to them: all in one form, at their prompt or when they look at
`/mcp`, never before they did anything. Nothing is agreed to that was not shown.

`/mcp [status|tools|restart|stop|log|approve|refuse] [NAME]`: the MCP servers of this folder, to a
person.
"""

import asyncio
from typing import cast

from cockpit.plugin.context import ConnectionRow, ConnectionVerb, Context, FormAnswer, UserUnavailable
from cockpit.plugin.safety import Guard, Guarded, Pass, Ruling
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Block, Code, Table, Text
from cockpit.protocol.events import FormField
from cockpit.protocol.safe_text import clean, single_line

# A prompt that is typed at once finds out so soon which servers wait for a yes.
PROMPT_WAIT = 1.0
START_FIELD, OTHERS_FIELD = "start", "rest"
START_CHOICE, LATER_CHOICE, NEVER_CHOICE = "start it", "not now", "never"
CHANGED_PREFIX = "it changed"
MAX_LABEL = 100


def approval_guard() -> Guard:
    return Guard("MCP servers of this folder", "prompt", _ask_before_prompt, float("inf"))


async def _ask_before_prompt(guarded: Guarded, context: Context) -> Ruling:
    if not guarded.role:
        await context.connections.settled(PROMPT_WAIT)
        await ask_to_start(context.connections.unasked(context.session.id), context)
    return Pass()


async def ask_to_start(rows: tuple[ConnectionRow, ...], context: Context) -> tuple[str, ...]:
    """Ask which of `rows` may start, and start those. What came of each that was answered for, in words;
    nothing where nobody is there."""
    if not rows:
        return ()
    source = f"MCP server {rows[0].name}" if len(rows) == 1 else "this folder"
    try:
        answer = await context.session.ask_form(_format_question(rows), _form_fields(rows), source=source)
    except UserUnavailable:
        return ()
    doing = [
        _apply_answer(verb, row, context)
        for row in rows
        if (verb := _chosen_verb(answer, row, len(rows) == 1))
    ]
    return tuple(await asyncio.gather(*doing))


async def _apply_answer(verb: ConnectionVerb, row: ConnectionRow, context: Context) -> str:
    """The file may have been written meanwhile: the yes was for what was shown."""
    now = next((one for one in context.connections.rows() if one.name == row.name), None)
    if now is None or _displayed_facts(now) != _displayed_facts(row):
        return f"{row.name} is another one now and was left alone; /mcp approve {row.name} looks at it"
    return await context.connections.command(verb, row.name)


def _displayed_facts(row: ConnectionRow) -> tuple[str, str, str, str]:
    return row.target, row.file, row.state, row.reason


def _chosen_verb(answer: FormAnswer, row: ConnectionRow, alone: bool) -> ConnectionVerb | None:
    if answer.action != "accept":
        return None
    chosen, rest = answer.values.get(START_FIELD), answer.values.get(OTHERS_FIELD)
    if chosen == START_CHOICE if alone else isinstance(chosen, list) and row.name in chosen:
        return "approve"
    return "refuse" if NEVER_CHOICE in ((chosen,) if alone else (rest,)) else None


def _format_question(rows: tuple[ConnectionRow, ...]) -> str:
    """What is started or reached, exactly, and which file wants it."""
    what = "an MCP server" if len(rows) == 1 else f"{len(rows)} MCP servers"
    parts = [f"The files of this folder name {what}. A command runs with your rights."]
    for row in rows:
        # The reason of one that was never approved is its target again.
        changed = (clean(row.reason),) if row.reason.startswith(CHANGED_PREFIX) else ()
        parts.append("\n".join((f"{row.name}: {clean(row.target)}", *changed, f"from {clean(row.file)}")))
    return "\n\n".join(parts)


def _form_fields(rows: tuple[ConnectionRow, ...]) -> tuple[FormField, ...]:
    if len(rows) == 1:
        return (
            FormField(
                START_FIELD,
                "Start it?",
                "choice",
                True,
                (START_CHOICE, LATER_CHOICE, NEVER_CHOICE),
                default=LATER_CHOICE,
            ),
        )
    names = tuple(row.name for row in rows)
    labels = tuple(single_line(f"{row.name}  {row.target}", MAX_LABEL) for row in rows)
    rest = "a no is kept; /mcp approve NAME takes it back"
    return (
        FormField(START_FIELD, "Start which?", "choices", False, names, labels),
        FormField(
            OTHERS_FIELD,
            "The others?",
            "choice",
            False,
            (LATER_CHOICE, NEVER_CHOICE),
            default=LATER_CHOICE,
            note=rest,
        ),
    )


VERBS = ("status", "tools", "restart", "stop", "log", "approve", "refuse")
# Whoever looks a moment after the start is told how they came up.
STATUS_WAIT = 3.0
NO_SERVERS = "No MCP servers here. `cockpit mcp add NAME -- COMMAND` adds one; .mcp.json is read as it is."


def mcp_commands() -> tuple[Command, ...]:
    about = "The MCP servers: what they do and offer; restart, stop, log, approve, refuse one"
    return (Command("mcp", about, _run_mcp, f"[{'|'.join(VERBS)}] [NAME]"),)


async def _run_mcp(invoked: Invoked, context: Context) -> CommandAnswer:
    verb, _, name = invoked.text.strip().partition(" ")
    verb, name = verb or "status", name.strip()
    if verb not in VERBS:
        return Show((Text(f"/mcp knows no {verb}; it knows {', '.join(VERBS)}"),))
    await context.connections.settled(STATUS_WAIT)
    rows = context.connections.rows()
    if not rows:
        return Show((Text(NO_SERVERS),))
    chosen = tuple(row for row in rows if name in ("", row.name))
    if not chosen:
        return Show((Text(f"There is no MCP server {name}; there are: {', '.join(r.name for r in rows)}"),))
    match verb:
        case "status":
            await ask_to_start(context.connections.unasked(context.session.id), context)
            now = {row.name: row for row in context.connections.rows()}
            return Show(_status_blocks(tuple(now.get(row.name, row) for row in chosen)))
        case "tools":
            return Show(tuple(_offer_table(row) for row in chosen))
        case "log":
            return Show(tuple(Code(f"{row.name}\n{context.connections.log(row.name)}") for row in chosen))
        case _:
            return Show((await _run_verb(cast("ConnectionVerb", verb), chosen, name, context),))


async def _run_verb(
    verb: ConnectionVerb, chosen: tuple[ConnectionRow, ...], name: str, context: Context
) -> Block:
    waiting = tuple(row for row in chosen if row.state == "needs approval")
    if verb == "approve" and not name and waiting:
        return Text("\n".join(await ask_to_start(waiting, context)) or "Nothing was approved.")
    if not name and len(chosen) > 1:
        return Text(f"Name the server: /mcp {verb} {chosen[0].name}")
    row = chosen[0]
    if verb == "approve" and not name:
        return Text(f"{row.name}: {row.target}\n{row.reason}\nTo agree to it: /mcp approve {row.name}")
    return Text(await context.connections.command(verb, row.name))


def _status_blocks(rows: tuple[ConnectionRow, ...]) -> tuple[Block, ...]:
    made = tuple(
        (
            row.name,
            row.state,
            f"{len(row.tools)} tools" if row.state == "ready" else "",
            row.layer,
            _reason_or_target(row),
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


def _reason_or_target(row: ConnectionRow) -> str:
    return row.reason or row.target


def _offer_table(row: ConnectionRow) -> Block:
    rows = [(name, "tool") for name in row.tools] + [(name, "prompt") for name in row.prompts]
    if row.resources:
        rows.append((f"{row.resources} resources", "resource"))
    return Table(("name", "kind"), tuple(rows), f"{row.name} ({row.state})")
