"""Folder trust: asked once, in plain words; refusing leaves a working cockpit."""

import os
from typing import TYPE_CHECKING

from cockpit.tui.screens.confirm import Confirm

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_LINES = (
    "A folder can carry settings, instructions, hooks, servers and plugins that act by themselves. "
    "In a trusted folder cockpit uses them.",
    "",
    "Not trusted: cockpit still reads, searches and edits here, and asks as always; nothing of the "
    "folder's own configuration is read or run.",
)


async def ask_once(desk: "Desk") -> None:
    """Ask unless this folder was refused before."""
    if _real(desk) not in desk.memory.refused:
        await show(desk, desk.app.options.quiet)


async def show(desk: "Desk", quiet: float = 0.0) -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    title = f"Do you trust {app.root}?"
    keys = (("y", "trust it"), ("n", "not now, work without"))
    screen = Confirm(app.palette, title, _LINES, keys, quiet=quiet, early=app.editor.insert)
    answer = await app.push_screen_wait(screen)
    real = _real(desk)
    if answer == "y":
        desk.memory.refused = [one for one in desk.memory.refused if one != real]
        await link.trust(True)
    elif answer == "n":
        if real not in desk.memory.refused:
            desk.memory.refused.append(real)
        if link.state.trusted:
            await link.trust(False)
    else:
        return
    desk.memory.save()


def _real(desk: "Desk") -> str:
    return os.path.realpath(desk.app.root)
