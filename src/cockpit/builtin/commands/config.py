"""`/set`: show the settings and where each comes from; `/set KEY VALUE` changes one of the user's.

Frontends change a setting with the hidden commands `config.set` and `config.unset`.
"""

import asyncio
from collections.abc import Callable

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


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    changed = register.changed

    async def set_command(invoked: Invoked, context: Context) -> CommandAnswer:
        key, _, value = invoked.text.strip().partition(" ")
        if value.strip():
            return await _change_setting(key, value.strip(), changed)
        reply = await context.session.ask(Settings())
        settings = reply.rows if isinstance(reply, SettingsTable) else ()
        rows = [row for row in settings if is_key_under(row.key, key)]
        if not rows:
            parse_key_path(key)
            return Show((Text(f"{key} is not set"),))
        return Show((_settings_table(rows),))

    async def config_set(invoked: Invoked, context: Context) -> CommandAnswer:
        key, value = (str(invoked.arguments.get(name, "")) for name in ("key", "value"))
        try:
            return await _change_setting(key, value, changed)
        except (CockpitError, OSError) as error:
            return _failure_answer(key, error)

    async def config_unset(invoked: Invoked, context: Context) -> CommandAnswer:
        key = str(invoked.arguments.get("key", ""))
        try:
            was_set = await asyncio.to_thread(unassign_setting, key)
        except (CockpitError, OSError) as error:
            return _failure_answer(key, error)
        if was_set:
            changed()
        message = f"{key} {'was removed from' if was_set else 'is not in'} {user_file()}"
        return Show((Text(message),), {"key": key, "changed": was_set})

    about = "The active settings and where each comes from; with a value, change one of yours"
    register(Command("set", about, set_command, "[KEY [VALUE]]"))
    register(Command("config.set", "Change a setting", config_set, hidden=True))
    register(Command("config.unset", "Remove a setting", config_unset, hidden=True))


def _failure_answer(key: str, error: Exception) -> CommandAnswer:
    """Answer with the error as a value: a screen waits for an answer."""
    return Show((Text(str(error)),), {"key": key, "changed": False, "ok": False})


async def _change_setting(key: str, value: str, changed: Callable[[], None]) -> CommandAnswer:
    path = await asyncio.to_thread(assign_setting, key, value)
    changed()
    known = find_key(path)
    delay = "" if known is None or known.live else "; it takes effect with the next session"
    data: dict[str, Json] = {"key": format_key(path), "value": value, "changed": True}
    return Show((Text(f"{format_key(path)} is set in {user_file()}{delay}"),), data)


def _settings_table(rows: list[SettingRow]) -> Table:
    """Build a table of the settings that have a value; a single setting is always shown."""
    shown = [row for row in rows if row.value is not None] if len(rows) > 1 else rows
    cells = tuple((row.key, _format_value(row.value), row.origin or "not set", row.about) for row in shown)
    return Table(("setting", "value", "from", "description"), cells, "Settings")


def _format_value(value: Json) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
