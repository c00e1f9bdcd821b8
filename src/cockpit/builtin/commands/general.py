"""Slash commands that belong to no other plugin: listings, `/help`, `/status`, `/lsp`, and frontend actions.

The listings only read. A frontend action answers with the name of an action that the frontend carries out.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Literal, cast

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import Action, Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Code, Markdown, Table, Text
from cockpit.protocol.queries import (
    CommandRows,
    Commands,
    ContextRows,
    ContextTable,
    Listing,
    ListingRows,
    PluginRows,
    Plugins,
    SessionRows,
    Sessions,
    Settings,
    SettingsTable,
)

HELP = (
    "Type what you want done. `/` commands, `@` names a file, `!` runs a shell command, `>` the palette. "
    "Enter sends, Shift+Enter breaks the line; while a turn runs Enter steers it and Tab queues. "
    "Esc interrupts. F1 shows every key."
)
SETTINGS_UNREADABLE = "The settings cannot be read now."
LSP_VERBS = ("status", "restart", "stop", "log", "allow")
NO_LANGUAGE_SERVERS = (
    "No language server has started: each starts when the first file of its language is read. "
    "`cockpit doctor` names those to install."
)
# Name, description, hint and aliases of each command that a frontend carries out.
ACTION_COMMANDS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("callers", "Who calls a symbol", "", ()),
    ("clear", "Empty the screen; the conversation stays", "", ()),
    ("compact", "Summarise the older part of the conversation", "[what to keep]", ()),
    ("copy", "Copy the last answer", "", ()),
    ("display", "What the Trace shows: thoughts, tools", "[thoughts|tools]", ("live",)),
    ("exit", "Leave; the session is saved", "", ("quit",)),
    ("new", "Start a new session", "", ()),
    ("outline", "Go to a symbol of the current file", "", ()),
    ("problems", "Problems that the language servers report", "", ()),
    ("references", "Where a symbol is used", "", ()),
    ("rename", "Rename a symbol everywhere", "", ()),
    ("resume", "Continue a stored session", "[id]", ()),
    ("rewind", "Go back to before a turn; `undo` takes that back", "[undo]", ()),
    ("sessions", "The sessions of this folder", "", ()),
    ("settings", "Every setting, its value and its source", "", ("config",)),
    ("symbols", "Go to a symbol", "", ()),
    ("theme", "Choose colours", "[name]", ()),
    ("trust", "Trust this folder, or stop trusting it", "[yes|no]", ()),
    ("mode", "Change the permission mode", "[ask|auto-edit|plan|full|deny]", ()),
)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Command("tools", "What the model can call, sent and deferred", _list_command("tools")))
    register(Command("skills", "The available skills", _list_command("skills")))
    register(Command("roles", "The roles a subagent can have", _list_command("roles")))
    register(Command("help", "What you can type, and the keys (F1)", _show_help, aliases=("?",)))
    register(Command("plugins", "Every plugin: what it registers, its state, its cost", _show_plugins))
    register(Command("permissions", "The active rules and where they come from", _show_permissions))
    register(Command("tokens", "What fills the context window", _show_tokens, aliases=("context",)))
    register(Command("status", "Model, mode, trust, settings and counts", _show_status))
    register(Command("history", "The stored sessions of this folder", _show_history))
    for name, description, hint, aliases in ACTION_COMMANDS:
        register(Command(name, description, _frontend_action(name), hint, aliases))
    about = "The language servers: their state; restart, stop, log, or allow a server of the project"
    register(Command("lsp", about, _run_lsp, f"[{'|'.join(LSP_VERBS)}] [NAME]"))


def _frontend_action(action: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return Action(action, {"text": invoked.text})

    return run


def _list_command(kind: str) -> Callable[[Invoked, Context], Awaitable[CommandAnswer]]:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        reply = await context.session.ask(Listing(kind))
        if not isinstance(reply, ListingRows) or not reply.rows:
            return Show((Text(f"No {kind} are registered. Plugins provide them: docs/extend/plugins.md"),))
        filter_text = invoked.text.strip().lower()
        rows = tuple(
            (row.name, row.state, row.plugin, row.shadows and f"shadows {row.shadows}", row.description)
            for row in reply.rows
            if filter_text in f"{row.name} {row.description}".lower()
        )
        columns = ("name", "", "plugin", "", "description")
        return Show((_trimmed_table(f"{len(rows)} {kind}", columns, rows),))

    return run


def _trimmed_table(title: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> Table:
    """Build a table without the columns that are empty in every row."""
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    cells = tuple(tuple(row[index] for index in used) for row in rows)
    return Table(tuple(columns[index] for index in used), cells, title)


async def _show_help(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(Commands())
    rows = reply.rows if isinstance(reply, CommandRows) else ()
    cells = tuple((f"/{row.name}", row.hint, row.description) for row in rows)
    return Show((Markdown(HELP), _trimmed_table("Commands", ("", "", ""), cells)))


async def _show_plugins(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(Plugins())
    rows = reply.rows if isinstance(reply, PluginRows) else ()
    cells = tuple(
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
    return Show((_trimmed_table(f"{len(cells)} plugins", columns, cells),))


async def _show_permissions(invoked: Invoked, context: Context) -> CommandAnswer:
    table = await _load_settings(context)
    if table is None:
        return Show((Text(SETTINGS_UNREADABLE),))
    rules = table.values.get("rules")
    listed = "\n".join(f"- {rule}" for rule in rules) if isinstance(rules, list) else ""
    text = (
        f"Mode: {context.session.mode} (Shift+Tab changes it).\n\n"
        f"Active rules, deny before ask before allow:\n\n{listed or '- none'}\n\n"
        "Rules are written as `Tool(pattern)` under `[permissions]` in your settings."
    )
    return Show((Markdown(text),))


async def _show_tokens(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(ContextRows())
    if not isinstance(reply, ContextTable):
        return Show((Text("The context cannot be read now."),))
    total = sum(row.tokens for row in reply.rows if row.state != "dropped")
    rows = tuple((row.label, f"{row.tokens:,}", row.state) for row in reply.rows)
    title = f"About {total:,} of {reply.window:,} tokens ({100 * total // max(1, reply.window)} %)"
    fingerprint = Text(f"prefix and tools: {reply.fingerprint}")
    return Show((_trimmed_table(title, ("part", "tokens", ""), rows), fingerprint))


async def _show_status(invoked: Invoked, context: Context) -> CommandAnswer:
    table = await _load_settings(context)
    if table is None:
        return Show((Text(SETTINGS_UNREADABLE),))
    rows = [("session", context.session.id)]
    rows += [(key, _format_value(value)) for key, value in table.values.items() if key != "rules"]
    rows += [(kind.replace("_", " "), str(count)) for kind, count in table.counts.items() if count]
    rows += [("settings", source) for source in table.sources]
    return Show((_trimmed_table("Status", ("", ""), tuple(rows)),))


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


async def _show_history(invoked: Invoked, context: Context) -> CommandAnswer:
    reply = await context.session.ask(Sessions())
    rows = reply.rows if isinstance(reply, SessionRows) else ()
    cells = tuple(
        (row.id, time.strftime("%Y-%m-%d %H:%M", time.localtime(row.updated)), str(row.turns), row.title)
        for row in rows[:20]
    )
    columns = ("id", "last", "turns", "first prompt")
    return Show((_trimmed_table("Sessions of this folder", columns, cells),))


async def _load_settings(context: Context) -> SettingsTable | None:
    reply = await context.session.ask(Settings())
    return reply if isinstance(reply, SettingsTable) else None


async def _run_lsp(invoked: Invoked, context: Context) -> CommandAnswer:
    """`/lsp [status|restart|stop|log|allow] [NAME]`."""
    verb, _, name = invoked.text.strip().partition(" ")
    verb, name = verb or "status", name.strip()
    if verb not in LSP_VERBS:
        return Show((Text(f"unknown action '{verb}' of /lsp; choose {', '.join(LSP_VERBS)}"),))
    navigator = context.navigator
    if verb == "status":
        cells = tuple(
            (row.name, row.language, row.state, f"{row.megabytes} MB" if row.megabytes else "", row.detail)
            for row in navigator.servers()
            if name in ("", row.name, row.language)
        )
        table = Table(("server", "language", "state", "memory", ""), cells, "Language servers")
        return Show((table if cells else Text(NO_LANGUAGE_SERVERS),))
    if verb == "log":
        logs = tuple(Code(f"{server}\n{text}") for server, text in navigator.log(name).items())
        return Show(logs or (Text("No server has written anything."),))
    if verb == "allow" and not name:
        waiting = [f"{row.name}: {row.detail}" for row in navigator.servers() if row.state == "waiting"]
        listed = "\n".join(waiting) or "No server waits for approval."
        return Show((Text(f"{listed}\nName the server to allow: /lsp allow NAME"),))
    message = await navigator.command(cast('Literal["restart", "stop", "allow"]', verb), name)
    return Show((Text(message),))
