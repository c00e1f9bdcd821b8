"""Searching the Trace: what is typed is marked at once, Enter goes to the nearest place above."""

from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


class Find(ModalScreen[str | None]):
    """One line at the bottom; gives what to search for, or None."""

    CSS = """
    Find { align: center bottom; background: $background 0%; }
    Find Input {
        border: none; border-left: outer $accent; background: $panel; height: 1; width: 100%; padding: 0 1;
    }
    Find Input:focus { border: none; border-left: outer $accent; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Input(self._text, placeholder="search the Trace; then n and N go on")

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)


async def show(desk: "Desk") -> None:
    view = desk.app.trace
    text = await desk.app.push_screen_wait(Find(view.found))
    if text is None:
        return
    view.found = text.casefold().strip()
    view.focus()
    if view.found and not view.find(-1, anew=True):
        desk.app.notify(f"nowhere in the Trace: {text}")
    view.refresh()
