"""Commands that list what is registered and what the session holds. They only read."""

from collections.abc import Awaitable, Callable

from cockpit.plugin.context import Context
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Show
from cockpit.protocol.content import Block, Markdown, Table, Text
from cockpit.protocol.queries import (
    CommandRows,
    Commands,
    ContextRows,
    ContextTable,
    Listing,
    ListingRows,
    PluginRows,
    Plugins,
    Reply,
    SessionRows,
    Sessions,
    Settings,
    SettingsTable,
)

KINDS = {
    "tools": ("tools", "What the model can call, sent and deferred"),
    "skills": ("skills", "The skills there are"),
    "roles": ("roles", "The roles a subagent can have"),
}


def commands() -> tuple[Command, ...]:
    listed = (Command(name, text, _lister(kind)) for name, (kind, text) in KINDS.items())
    return (
        *listed,
        Command("help", "What you can type, and the keys (F1)", _help, aliases=("?",)),
        Command("plugins", "Every plugin: what it registers, its state, what it cost", _plugins),
        Command("permissions", "The rules in force and where they come from", _permissions),
        Command("tokens", "What fills the context window", _tokens, aliases=("context",)),
        Command("status", "Model, mode, trust, settings and counts", _status),
        Command("history", "The prompts of this session and the sessions of this folder", _history),
    )


def _lister(kind: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        reply = await context.session.ask(Listing(kind))
        if not isinstance(reply, ListingRows) or not reply.rows:
            return Show(
                (Text(f"No {kind.replace('_', ' ')} are registered. Plugins bring them: docs/plugins.md"),)
            )
        rows = tuple(
            (
                row.name,
                row.state,
                row.plugin,
                f"shadows {row.shadows}" if row.shadows else "",
                row.description,
            )
            for row in reply.rows
            if invoked.text.strip().lower() in f"{row.name} {row.description}".lower()
        )
        return Show(
            (_table(f"{len(rows)} {kind.replace('_', ' ')}", ("name", "", "plugin", "", "what"), rows),)
        )

    return run


def _table(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Table:
    """A table without the columns that are empty in every row."""
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    return Table(
        tuple(columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows), title
    )


async def _help(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(Commands())
    rows = reply.rows if isinstance(reply, CommandRows) else ()
    table = _table(
        "Commands", ("", "", ""), tuple((f"/{row.name}", row.hint, row.description) for row in rows)
    )
    text = (
        "Type what you want done. `/` commands, `@` names a file, `!` runs a shell command, `>` the palette. "
        "Enter sends, Shift+Enter breaks the line; while a turn runs Enter steers it and Tab queues. "
        "Esc interrupts. F1 shows every key."
    )
    return Show((Markdown(text), table))


async def _plugins(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(Plugins())
    rows = reply.rows if isinstance(reply, PluginRows) else ()
    shown = tuple(
        (
            row.name,
            row.state,
            f"{row.milliseconds:.0f} ms",
            ", ".join(f"{hook} {took:.1f}" for hook, took in row.hooks.items()),
            ", ".join(f"{hook} {times}x {row.spent.get(hook, 0):.1f}" for hook, times in row.calls.items()),
            row.reason or ", ".join(row.registers),
            f"{row.distribution} {row.version}",
        )
        for row in rows
    )
    columns = ("name", "state", "took", "ms per hook", "ms in calls", "registers", "from")
    return Show((_table(f"{len(shown)} plugins", columns, shown),))


async def _permissions(invoked: Invoked, context: Context) -> CommandAnswer:
    table = await _settings(context)
    if table is None:
        return Show((Text("The settings cannot be read now."),))
    rules = table.values.get("rules")
    lines = [str(rule) for rule in rules] if isinstance(rules, list) else []
    mode = f"Mode: {context.session.mode} (Shift+Tab changes it)."
    kept = "\n".join(f"- {line}" for line in lines) or "- none"
    where = "Rules are written as `Tool(pattern)` under `[permissions]` in your settings."
    return Show((Markdown(f"{mode}\n\nRules in force, deny before ask before allow:\n\n{kept}\n\n{where}"),))


async def _tokens(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(ContextRows())
    if not isinstance(reply, ContextTable):
        return Show((Text("The context cannot be read now."),))
    total = sum(row.tokens for row in reply.rows if row.state != "dropped")
    rows = tuple((row.label, f"{row.tokens:,}", row.state) for row in reply.rows)
    title = f"About {total:,} of {reply.window:,} tokens ({100 * total // max(1, reply.window)} %)"
    fingerprint = Text(f"prefix and tools: {reply.fingerprint}")
    return Show((_table(title, ("what", "tokens", ""), rows), fingerprint))


async def _status(invoked: Invoked, context: Context) -> CommandAnswer:
    table = await _settings(context)
    if table is None:
        return Show((Text("The settings cannot be read now."),))
    rows: list[tuple[str, ...]] = [
        (key, _word(value)) for key, value in table.values.items() if key != "rules"
    ]
    rows += [(kind.replace("_", " "), str(count)) for kind, count in table.counts.items() if count]
    rows += [("settings", source) for source in table.sources]
    return Show((_table("Status", ("", ""), (("session", context.session.id), *rows)),))


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


async def _history(invoked: Invoked, context: Context) -> CommandAnswer:
    import time

    reply = await context.session.ask(Sessions())
    rows = reply.rows if isinstance(reply, SessionRows) else ()
    shown = tuple(
        (row.id, time.strftime("%Y-%m-%d %H:%M", time.localtime(row.updated)), str(row.turns), row.title)
        for row in rows[:20]
    )
    blocks: tuple[Block, ...] = (
        _table("Sessions of this folder", ("id", "last", "turns", "first prompt"), shown),
    )
    return Show(blocks)


async def _settings(context: Context) -> SettingsTable | None:
    reply: Reply = await context.session.ask(Settings())
    return reply if isinstance(reply, SettingsTable) else None
