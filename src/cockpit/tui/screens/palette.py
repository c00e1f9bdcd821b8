"""The palette: every action and every command by name."""

from typing import TYPE_CHECKING

from cockpit.tui import doing
from cockpit.tui.actions import ACTIONS, BY_SLASH, key_name, keys_of
from cockpit.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def show(desk: "Desk") -> None:
    app = desk.app
    choices: list[Choice] = []
    for action in ACTIONS:
        if action.listed:
            keys = keys_of(action.name, desk.keymap)
            right = key_name(keys[0]) if keys else "/" + action.slash[0] if action.slash else ""
            label = action.label[0].upper() + action.label[1:]
            choices.append(Choice(f"do:{action.name}", label, "", right))
    if desk.link is not None:
        for row in desk.link.commands.values():
            if row.name not in BY_SLASH:
                choices.append(Choice(f"say:/{row.name}", f"/{row.name}", row.description, row.hint))
    chosen = await app.push_screen_wait(
        Picker(app.palette, "Everything", choices, placeholder="what do you want?")
    )
    if chosen is None:
        return
    what, _, value = chosen.partition(":")
    if what == "do":
        await doing.do(desk, value)
    elif desk.link is not None and desk.link.commands[value[1:]].hint:
        app.editor.put(value + " ")
        app.editor.focus()
    else:
        await doing.send(desk, value, queue=False)
