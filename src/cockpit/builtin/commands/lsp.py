"""`/lsp [status|restart|stop|log|allow] [NAME]`: the language servers of this folder, to a person."""

from typing import Literal, cast

from cockpit.plugin.context import Context
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Show
from cockpit.protocol.code import ServerRow
from cockpit.protocol.content import Block, Code, Table, Text

VERBS = ("status", "restart", "stop", "log", "allow")
NONE = "No language server has started: one does with the first file of its language that is read."


def commands() -> tuple[Command, ...]:
    about = "The language servers: what they do, restart, stop, log, allow one that the project names"
    return (Command("lsp", about, _lsp, f"[{'|'.join(VERBS)}] [NAME]"),)


async def _lsp(invoked: Invoked, context: Context) -> CommandAnswer:
    verb, _, name = invoked.text.strip().partition(" ")
    verb, name = verb or "status", name.strip()
    if verb not in VERBS:
        return Show((Text(f"/lsp knows no {verb}; it knows {', '.join(VERBS)}"),))
    navigator = context.navigator
    if verb == "status":
        rows = tuple(row for row in navigator.servers() if name in ("", row.name, row.language))
        return Show((_table(rows) if rows else Text(f"{NONE} `cockpit doctor` names those to install."),))
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


def _table(rows: tuple[ServerRow, ...]) -> Table:
    made = tuple(
        (row.name, row.language, row.state, f"{row.megabytes} MB" if row.megabytes else "", row.detail)
        for row in rows
    )
    return Table(("server", "language", "state", "memory", ""), made, "Language servers")
