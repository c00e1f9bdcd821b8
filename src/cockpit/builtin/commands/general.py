"""Commands that list what is registered and what the session holds. They only read.

Commands that a frontend carries out: each answers with the name of one of its actions.

`/lsp [status|restart|stop|log|allow] [NAME]`: the language servers of this folder, to a person.

Commands whose part is not there yet and that say so.

The slash commands that are not another plugin's: what there is, what it costs, what to do next.
"""

from collections.abc import Awaitable, Callable
from typing import Literal, cast

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import Action, Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.code import ServerRow
from cockpit.protocol.content import Block, Code, Markdown, Table, Text
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

LISTING_KINDS = {
    "tools": ("tools", "What the model can call, sent and deferred"),
    "skills": ("skills", "The skills there are"),
    "roles": ("roles", "The roles a subagent can have"),
}


def listing_commands() -> tuple[Command, ...]:
    listed = (Command(name, text, _list_command(kind)) for name, (kind, text) in LISTING_KINDS.items())
    return (
        *listed,
        Command("help", "What you can type, and the keys (F1)", _show_help, aliases=("?",)),
        Command("plugins", "Every plugin: what it registers, its state, what it cost", _show_plugins),
        Command("permissions", "The rules in force and where they come from", _show_permissions),
        Command("tokens", "What fills the context window", _show_tokens, aliases=("context",)),
        Command("status", "Model, mode, trust, settings and counts", _show_status),
        Command("history", "The prompts of this session and the sessions of this folder", _show_history),
    )


def _list_command(kind: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
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
            (
                _trimmed_table(
                    f"{len(rows)} {kind.replace('_', ' ')}", ("name", "", "plugin", "", "what"), rows
                ),
            )
        )

    return run


def _trimmed_table(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Table:
    """A table without the columns that are empty in every row."""
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    return Table(
        tuple(columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows), title
    )


async def _show_help(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(Commands())
    rows = reply.rows if isinstance(reply, CommandRows) else ()
    table = _trimmed_table(
        "Commands", ("", "", ""), tuple((f"/{row.name}", row.hint, row.description) for row in rows)
    )
    text = (
        "Type what you want done. `/` commands, `@` names a file, `!` runs a shell command, `>` the palette. "
        "Enter sends, Shift+Enter breaks the line; while a turn runs Enter steers it and Tab queues. "
        "Esc interrupts. F1 shows every key."
    )
    return Show((Markdown(text), table))


async def _show_plugins(invoked: Invoked, context: Context) -> CommandAnswer:
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
    return Show((_trimmed_table(f"{len(shown)} plugins", columns, shown),))


async def _show_permissions(invoked: Invoked, context: Context) -> CommandAnswer:
    table = await _load_settings(context)
    if table is None:
        return Show((Text("The settings cannot be read now."),))
    rules = table.values.get("rules")
    lines = [str(rule) for rule in rules] if isinstance(rules, list) else []
    mode = f"Mode: {context.session.mode} (Shift+Tab changes it)."
    kept = "\n".join(f"- {line}" for line in lines) or "- none"
    where = "Rules are written as `Tool(pattern)` under `[permissions]` in your settings."
    return Show((Markdown(f"{mode}\n\nRules in force, deny before ask before allow:\n\n{kept}\n\n{where}"),))


async def _show_tokens(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(ContextRows())
    if not isinstance(reply, ContextTable):
        return Show((Text("The context cannot be read now."),))
    total = sum(row.tokens for row in reply.rows if row.state != "dropped")
    rows = tuple((row.label, f"{row.tokens:,}", row.state) for row in reply.rows)
    title = f"About {total:,} of {reply.window:,} tokens ({100 * total // max(1, reply.window)} %)"
    fingerprint = Text(f"prefix and tools: {reply.fingerprint}")
    return Show((_trimmed_table(title, ("what", "tokens", ""), rows), fingerprint))


async def _show_status(invoked: Invoked, context: Context) -> CommandAnswer:
    table = await _load_settings(context)
    if table is None:
        return Show((Text("The settings cannot be read now."),))
    rows: list[tuple[str, ...]] = [
        (key, _format_value(value)) for key, value in table.values.items() if key != "rules"
    ]
    rows += [(kind.replace("_", " "), str(count)) for kind, count in table.counts.items() if count]
    rows += [("settings", source) for source in table.sources]
    return Show((_trimmed_table("Status", ("", ""), (("session", context.session.id), *rows)),))


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


async def _show_history(invoked: Invoked, context: Context) -> CommandAnswer:
    import time

    reply = await context.session.ask(Sessions())
    rows = reply.rows if isinstance(reply, SessionRows) else ()
    shown = tuple(
        (row.id, time.strftime("%Y-%m-%d %H:%M", time.localtime(row.updated)), str(row.turns), row.title)
        for row in rows[:20]
    )
    blocks: tuple[Block, ...] = (
        _trimmed_table("Sessions of this folder", ("id", "last", "turns", "first prompt"), shown),
    )
    return Show(blocks)


async def _load_settings(context: Context) -> SettingsTable | None:
    reply: Reply = await context.session.ask(Settings())
    return reply if isinstance(reply, SettingsTable) else None


ACTION_COMMANDS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("callers", "Who calls a symbol", "", ()),
    ("clear", "Empty the screen; the conversation stays", "", ()),
    ("compact", "Summarise the older part of the conversation", "[what to keep]", ()),
    ("copy", "Copy the last answer", "", ()),
    ("display", "What the Trace shows: thoughts, tools", "[thoughts|tools]", ("live",)),
    ("exit", "Leave; the session is kept", "", ("quit",)),
    ("new", "Begin a new session", "", ()),
    ("outline", "Go to a symbol of the file at hand", "", ()),
    ("problems", "What the language servers find wrong", "", ()),
    ("references", "Where a symbol is used", "", ()),
    ("rename", "Rename a symbol everywhere", "", ()),
    ("resume", "Go on with a stored session", "[id]", ()),
    ("rewind", "Go back to before a turn; `undo` takes that back", "[undo]", ()),
    ("sessions", "The sessions of this folder", "", ()),
    ("settings", "Every setting, its value and where that comes from", "", ("config",)),
    ("symbols", "Go to a symbol", "", ()),
    ("theme", "Choose colours", "[name]", ()),
    ("trust", "Trust this folder, or stop trusting it", "[yes|no]", ()),
)


def action_commands() -> tuple[Command, ...]:
    plain = tuple(
        Command(name, text, _frontend_action(name), hint, aliases)
        for name, text, hint, aliases in ACTION_COMMANDS
    )
    return (
        *plain,
        Command(
            "mode", "Change the permission mode", _frontend_action("mode"), "[ask|auto-edit|plan|full|deny]"
        ),
    )


def _frontend_action(action: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return Action(action, {"text": invoked.text})

    return run


LSP_VERBS = ("status", "restart", "stop", "log", "allow")
NO_LANGUAGE_SERVERS = (
    "No language server has started: one does with the first file of its language that is read."
)


def lsp_commands() -> tuple[Command, ...]:
    about = "The language servers: what they do, restart, stop, log, allow one that the project names"
    return (Command("lsp", about, _run_lsp, f"[{'|'.join(LSP_VERBS)}] [NAME]"),)


async def _run_lsp(invoked: Invoked, context: Context) -> CommandAnswer:
    verb, _, name = invoked.text.strip().partition(" ")
    verb, name = verb or "status", name.strip()
    if verb not in LSP_VERBS:
        return Show((Text(f"/lsp knows no {verb}; it knows {', '.join(LSP_VERBS)}"),))
    navigator = context.navigator
    if verb == "status":
        rows = tuple(row for row in navigator.servers() if name in ("", row.name, row.language))
        return Show(
            (
                _server_table(rows)
                if rows
                else Text(f"{NO_LANGUAGE_SERVERS} `cockpit doctor` names those to install."),
            )
        )
    if verb == "log":
        logs = navigator.log(name)
        blocks: tuple[Block, ...] = tuple(Code(f"{one}\n{text}") for one, text in logs.items())
        return Show(blocks or (Text("No server has written anything."),))
    if verb == "allow" and not name:
        waiting = [row for row in navigator.servers() if row.state == "waiting"]
        asked = "\n".join(f"{row.name}: {row.detail}" for row in waiting) or "No server waits for a yes."
        return Show((Text(f"{asked}\nName the one to allow: /lsp allow NAME"),))
    said = await navigator.command(cast('Literal["restart", "stop", "allow"]', verb), name)
    return Show((Text(said),))


def _server_table(rows: tuple[ServerRow, ...]) -> Table:
    made = tuple(
        (row.name, row.language, row.state, f"{row.megabytes} MB" if row.megabytes else "", row.detail)
        for row in rows
    )
    return Table(("server", "language", "state", "memory", ""), made, "Language servers")


UNAVAILABLE = {
    "memory": (
        "What is remembered across sessions",
        "memory comes with a later version; AGENTS.md is read today",
    ),
}


def unavailable_commands() -> tuple[Command, ...]:
    return tuple(
        Command(name, text, _explain_unavailable(name, why)) for name, (text, why) in UNAVAILABLE.items()
    )


def _explain_unavailable(name: str, why: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return Show((Text(f"/{name} is not there yet: {why}."),))

    return run


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in (*listing_commands(), *action_commands(), *lsp_commands(), *unavailable_commands()):
        register(command)
