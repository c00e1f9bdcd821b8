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
from cockpit.settings.files import assign_setting, parse_key_path, unassign_setting, user_file
from cockpit.settings.schema import find_key, format_key, is_key_under

CommandRun = Callable[[Invoked, Context], Awaitable[CommandAnswer]]


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    about = "The settings in force and where each comes from; with a value, change one of yours"
    register(Command("set", about, _set_command(register.changed), "[KEY [VALUE]]"))
    register(Command("config.set", "Change a setting", _config_set(register.changed), hidden=True))
    register(Command("config.unset", "Take a setting back", _config_unset(register.changed), hidden=True))


def _set_command(changed: Callable[[], None]) -> CommandRun:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        key, _, value = invoked.text.strip().partition(" ")
        if value.strip():
            return await _change_setting(key, value.strip(), changed)
        rows = [row for row in await _load_rows(context) if is_key_under(row.key, key)]
        if not rows:
            parse_key_path(key)
            return Show((Text(f"{key} is not set"),))
        return Show((_settings_table(rows),))

    return run


def _config_set(changed: Callable[[], None]) -> CommandRun:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        key, value = (str(invoked.arguments.get(one, "")) for one in ("key", "value"))
        try:
            return await _change_setting(key, value, changed)
        except (CockpitError, OSError) as error:
            return _failure_answer(key, error)

    return run


def _config_unset(changed: Callable[[], None]) -> CommandRun:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        key = str(invoked.arguments.get("key", ""))
        try:
            was_there = await asyncio.to_thread(unassign_setting, key)
        except (CockpitError, OSError) as error:
            return _failure_answer(key, error)
        if was_there:
            changed()
        said = (
            f"{key} is taken out of {user_file()}" if was_there else f"{key} does not stand in {user_file()}"
        )
        return Show((Text(said),), {"key": key, "changed": was_there})

    return run


def _failure_answer(key: str, error: Exception) -> CommandAnswer:
    """A screen waits for an answer: that it could not be is one."""
    return Show((Text(str(error)),), {"key": key, "changed": False, "ok": False})


async def _change_setting(key: str, value: str, changed: Callable[[], None]) -> CommandAnswer:
    path = await asyncio.to_thread(assign_setting, key, value)
    changed()
    known = find_key(path)
    later = "" if known is None or known.live else "; it holds from the next session on"
    told: dict[str, Json] = {"key": format_key(path), "value": value, "changed": True}
    return Show((Text(f"{format_key(path)} is set in {user_file()}{later}"),), told)


async def _load_rows(context: Context) -> tuple[SettingRow, ...]:
    reply = await context.session.ask(Settings())
    return reply.rows if isinstance(reply, SettingsTable) else ()


def _settings_table(rows: list[SettingRow]) -> Table:
    """Those that somebody has set, and of the rest the defaults."""
    shown = [row for row in rows if row.value is not None] if len(rows) > 1 else rows
    cells = tuple((row.key, _format_value(row.value), row.origin or "not set", row.about) for row in shown)
    return Table(("setting", "value", "from", "what it is"), cells, "Settings")


def _format_value(value: Json) -> str:
    if value is None:
        return ""
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)
