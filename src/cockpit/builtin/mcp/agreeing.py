"""Puts servers that wait for a person's yes to them: all in one form, at their prompt or when they look at
`/mcp`, never before they did anything. Nothing is agreed to that was not shown."""

import asyncio

from cockpit.plugin.connections import ConnectionRow, Verb
from cockpit.plugin.context import Context, FormAnswer, NobodyThere
from cockpit.plugin.safety import Guard, Guarded, Pass, Ruling
from cockpit.protocol.asking import FormField
from cockpit.protocol.clean import clean, one_line

# A prompt that is typed at once finds out so soon which servers wait for a yes.
MOMENT = 1.0
START, REST = "start", "rest"
YES, LATER, NEVER = "start it", "not now", "never"
CHANGED = "it changed"
WIDEST = 100


def guard() -> Guard:
    return Guard("MCP servers of this folder", "prompt", _ask_first, float("inf"))


async def _ask_first(guarded: Guarded, context: Context) -> Ruling:
    if not guarded.role:
        await context.connections.settled(MOMENT)
        await agree(context.connections.unasked(context.session.id), context)
    return Pass()


async def agree(rows: tuple[ConnectionRow, ...], context: Context) -> tuple[str, ...]:
    """Ask which of `rows` may start, and start those. What came of each that was answered for, in words;
    nothing where nobody is there."""
    if not rows:
        return ()
    source = f"MCP server {rows[0].name}" if len(rows) == 1 else "this folder"
    try:
        answer = await context.session.ask_form(_question(rows), _fields(rows), source=source)
    except NobodyThere:
        return ()
    doing = [_do(verb, row, context) for row in rows if (verb := _verb(answer, row, len(rows) == 1))]
    return tuple(await asyncio.gather(*doing))


async def _do(verb: Verb, row: ConnectionRow, context: Context) -> str:
    """The file may have been written meanwhile: the yes was for what was shown."""
    now = next((one for one in context.connections.rows() if one.name == row.name), None)
    if now is None or _shown(now) != _shown(row):
        return f"{row.name} is another one now and was left alone; /mcp approve {row.name} looks at it"
    return await context.connections.command(verb, row.name)


def _shown(row: ConnectionRow) -> tuple[str, str, str, str]:
    return row.target, row.file, row.state, row.reason


def _verb(answer: FormAnswer, row: ConnectionRow, alone: bool) -> Verb | None:
    if answer.action != "accept":
        return None
    chosen, rest = answer.values.get(START), answer.values.get(REST)
    if chosen == YES if alone else isinstance(chosen, list) and row.name in chosen:
        return "approve"
    return "refuse" if NEVER in ((chosen,) if alone else (rest,)) else None


def _question(rows: tuple[ConnectionRow, ...]) -> str:
    """What is started or reached, exactly, and which file wants it."""
    what = "an MCP server" if len(rows) == 1 else f"{len(rows)} MCP servers"
    parts = [f"The files of this folder name {what}. A command runs with your rights."]
    for row in rows:
        # The reason of one that was never approved is its target again.
        changed = (clean(row.reason),) if row.reason.startswith(CHANGED) else ()
        parts.append("\n".join((f"{row.name}: {clean(row.target)}", *changed, f"from {clean(row.file)}")))
    return "\n\n".join(parts)


def _fields(rows: tuple[ConnectionRow, ...]) -> tuple[FormField, ...]:
    if len(rows) == 1:
        return (FormField(START, "Start it?", "choice", True, (YES, LATER, NEVER), default=LATER),)
    names = tuple(row.name for row in rows)
    labels = tuple(one_line(f"{row.name}  {row.target}", WIDEST) for row in rows)
    rest = "a no is kept; /mcp approve NAME takes it back"
    return (
        FormField(START, "Start which?", "choices", False, names, labels),
        FormField(REST, "The others?", "choice", False, (LATER, NEVER), default=LATER, note=rest),
    )
