"""Everything said before, the newest first; what is chosen comes into the Composer."""

from typing import TYPE_CHECKING

from cockpit.tui.clean import one_line
from cockpit.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def show(desk: "Desk") -> None:
    said = list(dict.fromkeys(reversed(desk.history.said)))
    choices = [Choice(str(number), one_line(text)) for number, text in enumerate(said)]
    chosen = await desk.app.push_screen_wait(Picker(desk.app.palette, "Said before", choices))
    if chosen is not None:
        desk.app.editor.put(said[int(chosen)])
    desk.app.editor.focus()
