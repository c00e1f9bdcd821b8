"""Settings: every key with its value and where that comes from; Enter changes one in the person's own file.

The core knows the keys and writes the file (`config.set`, `config.unset`); nothing is written here.
"""

import json
from typing import TYPE_CHECKING

from cockpit.protocol import queries
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import SettingRow
from cockpit.tui.clean import one_line
from cockpit.tui.screens.ask import Ask
from cockpit.tui.screens.connect import Waiting
from cockpit.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_BACK = "\0"
"""The choice that takes a setting back to what holds without it."""
_FOOT = "Enter change   type to narrow   Esc leave"


async def show(desk: "Desk", wanted: str = "") -> None:
    """The list, and again after each change, until it is left. `wanted` opens a key at once."""
    link, app = desk.link, desk.app
    if link is None:
        return
    at = wanted
    while True:
        reply = await link.ask(queries.Settings())
        rows = reply.rows if isinstance(reply, queries.SettingsTable) else ()
        known = {one.key: one for one in rows}
        if not known:
            app.notify("the settings cannot be read: `cockpit config check` says why", severity="warning")
            return
        if wanted not in known:
            choices = [_choice(one, at) for one in rows]
            picked = await app.push_screen_wait(Picker(app.palette, "Settings", choices, foot=_FOOT))
            if picked is None:
                return
            at = picked
        await _change(desk, known[at])
        wanted = ""


def _choice(row: SettingRow, at: str) -> Choice:
    origin = "" if row.origin == "default" else f"  {one_line(row.origin, 200).rpartition('/')[2]}"
    return Choice(row.key, row.key, row.about, f"{text_of(row.value, row.default)}{origin}", row.key == at)


def text_of(value: Json, default: Json = None) -> str:
    """A value as it is read and typed; what holds where nothing is set stands in brackets."""
    if value is None:
        return "" if default is None else f"({text_of(default)})"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return value if isinstance(value, str) else json.dumps(value)


async def _change(desk: "Desk", row: SettingRow) -> None:
    app = desk.app
    if not row.writable:
        app.notify(
            f"{row.key} is set in {row.origin}, which is stronger than your own file", severity="warning"
        )
        return
    now = text_of(row.value)
    if row.choices:
        choices = [Choice(one, one, now=one == now) for one in row.choices]
        if row.value is not None:
            choices.append(Choice(_BACK, f"default {text_of(None, row.default)}", "take the setting out"))
        picked = await app.push_screen_wait(Picker(app.palette, row.key, choices))
        if picked is not None:
            await _tell(desk, row, "" if picked == _BACK else picked)
        return
    foot = f"{row.about}   Enter keeps it (empty: the default)   Esc leave"
    typed = await app.push_screen_wait(Ask(app.palette, row.key, row.wanted, now, foot))
    if typed is not None and typed != now:
        await _tell(desk, row, typed)


async def _tell(desk: "Desk", row: SettingRow, text: str) -> None:
    app, link = desk.app, desk.link
    assert link is not None
    action = "config.set" if text else "config.unset"
    arguments: dict[str, Json] = {"key": row.key, **({"value": text} if text else {})}
    answer = await app.push_screen_wait(Waiting(app.palette, f"Keeping {row.key} …", link, action, arguments))
    if answer is None:
        return
    said = one_line(answer.text, 200)
    later = "" if row.live else "; it holds from the next session on"
    ok = bool(answer.values.get("ok", True))
    app.notify(f"{said}{later}" if ok else said, severity="information" if ok else "warning")
