"""Themes, with each one shown on the whole cockpit while the cursor is on it."""

from typing import TYPE_CHECKING

from cockpit.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def show(desk: "Desk") -> None:
    app = desk.app
    before = app.theme
    names = sorted(app.available_themes, key=lambda name: (not name.startswith("cockpit"), name))
    choices = [Choice(name, name, _words(desk, name), now=name == before) for name in names]
    picker = Picker(
        app.palette, "Theme", choices, seen=desk.set_theme, foot="Up, Down look   Enter keep   Esc as before"
    )
    chosen = await app.push_screen_wait(picker)
    desk.set_theme(chosen or before)
    if chosen:
        desk.memory.theme = chosen
        desk.memory.save()


def _words(desk: "Desk", name: str) -> str:
    theme = desk.app.available_themes[name]
    return "terminal's own colours" if theme.ansi else "dark" if theme.dark else "light"
