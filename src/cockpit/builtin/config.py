"""`/set`: the settings in force and where each comes from; `/set KEY VALUE` changes the person's own.

Screens change one with the hidden commands `config.set` and `config.unset`.
"""

import asyncio
from collections.abc import Awaitable, Callable

from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Table, Text
from cockpit.protocol.messages import Json
from cockpit.protocol.queries import Settings, SettingsTable
from cockpit.protocol.rows import SettingRow
from cockpit.settings.assigning import assign, path_of, unassign
from cockpit.settings.files import user_file
from cockpit.settings.schema import dotted, find, is_under

Run = Callable[[Invoked, Context], Awaitable[CommandAnswer]]


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    about = "The settings in force and where each comes from; with a value, change one of yours"
    register(Command("set", about, _config(register.changed), "[KEY [VALUE]]"))
    register(Command("config.set", "Change a setting", _set(register.changed), hidden=True))
    register(Command("config.unset", "Take a setting back", _unset(register.changed), hidden=True))


def _config(changed: Callable[[], None]) -> Run:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        key, _, value = invoked.text.strip().partition(" ")
        if value.strip():
            return await _changed(key, value.strip(), changed)
        rows = [row for row in await _rows(context) if is_under(row.key, key)]
        if not rows:
            path_of(key)
            return Show((Text(f"{key} is not set"),))
        return Show((_table(rows),))

    return run


def _set(changed: Callable[[], None]) -> Run:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        key, value = (str(invoked.arguments.get(one, "")) for one in ("key", "value"))
        try:
            return await _changed(key, value, changed)
        except (CockpitError, OSError) as error:
            return _unchanged(key, error)

    return run


def _unset(changed: Callable[[], None]) -> Run:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        key = str(invoked.arguments.get("key", ""))
        try:
            was_there = await asyncio.to_thread(unassign, key)
        except (CockpitError, OSError) as error:
            return _unchanged(key, error)
        if was_there:
            changed()
        said = (
            f"{key} is taken out of {user_file()}" if was_there else f"{key} does not stand in {user_file()}"
        )
        return Show((Text(said),), {"key": key, "changed": was_there})

    return run


def _unchanged(key: str, error: Exception) -> CommandAnswer:
    """A screen waits for an answer: that it could not be is one."""
    return Show((Text(str(error)),), {"key": key, "changed": False, "ok": False})


async def _changed(key: str, value: str, changed: Callable[[], None]) -> CommandAnswer:
    path = await asyncio.to_thread(assign, key, value)
    changed()
    known = find(path)
    later = "" if known is None or known.live else "; it holds from the next session on"
    told: dict[str, Json] = {"key": dotted(path), "value": value, "changed": True}
    return Show((Text(f"{dotted(path)} is set in {user_file()}{later}"),), told)


async def _rows(context: Context) -> tuple[SettingRow, ...]:
    reply = await context.session.ask(Settings())
    return reply.rows if isinstance(reply, SettingsTable) else ()


def _table(rows: list[SettingRow]) -> Table:
    """Those that somebody has set, and of the rest the defaults."""
    shown = [row for row in rows if row.value is not None] if len(rows) > 1 else rows
    cells = tuple((row.key, _word(row.value), row.origin or "not set", row.about) for row in shown)
    return Table(("setting", "value", "from", "what it is"), cells, "Settings")


def _word(value: Json) -> str:
    if value is None:
        return ""
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)
