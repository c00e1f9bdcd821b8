"""Stored sessions of this folder, the newest first; choosing one opens it in this one's place."""

import time
from typing import TYPE_CHECKING

from cockpit.errors import CockpitError
from cockpit.protocol.queries import SessionRow
from cockpit.tui import figures, opening
from cockpit.tui.clean import one_line
from cockpit.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def show(desk: "Desk") -> None:
    app, link = desk.app, desk.link
    if link is None:
        return
    try:
        rows = await link.deck.list(app.root)
    except CockpitError as error:
        link.say("error", error.message, error.hint)
        return
    choices = [Choice("", "start a new session"), *[_choice(row, link.state.session, desk) for row in rows]]
    foot = "Enter open   Esc stay"
    chosen = await app.push_screen_wait(Picker(app.palette, f"Sessions of {app.project}", choices, foot=foot))
    if chosen is None or chosen == link.state.session:
        return
    await opening.switch(desk, chosen or None)


def _choice(row: SessionRow, current: str, desk: "Desk") -> Choice:
    now = row.updated if desk.app.options.still else time.time()
    detail = f"{figures.count(row.turns, 'turn')} · {row.model} · {row.id[:8]}"
    right = figures.ago(max(0.0, now - row.updated))
    return Choice(row.id, one_line(row.title) or "(nothing said)", detail, right, now=row.id == current)
