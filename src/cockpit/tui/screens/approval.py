"""The whole of what an approval asks, on the whole screen; its keys answer from here too."""

from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.tui import doing
from cockpit.tui.screens.reader import Reader
from cockpit.tui.trace.layout import Line
from cockpit.tui.work.approval import approval_rows

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def show(desk: "Desk") -> None:
    link, app = desk.link, desk.app
    if link is None or not link.state.approvals:
        return
    request = next(iter(link.state.approvals.values()))

    def lay(width: int) -> list[Line]:
        return [line for line, _ in approval_rows(request, 1, 1, width, replace(desk.choice, all_of_it=True))]

    words = {"y": "once", "a": "session", "p": "always", "n": "reject", "e": "edit hunk"}
    keys = [(key, words[key]) for key in app.editor.answers if key in words]
    key = await app.push_screen_wait(Reader(app.palette, "Approval", lay, keys=keys))
    if key and next(iter(link.state.approvals), "") != request.id:
        app.notify("what you answered does not wait any more; look at what is asked now")
    elif key in app.editor.answers:
        await doing.do(desk, app.editor.answers[key])
