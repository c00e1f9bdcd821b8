"""One line asked of a person: a new name."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.tui.palette import Palette
from cockpit.tui.screens.sheet import SHEET_CSS, Lines
from cockpit.tui.trace.layout import Line


class Ask(ModalScreen[str | None]):
    """Gives what was typed, None when it was left."""

    CSS = (
        "Ask {"
        + SHEET_CSS
        + """}
    Ask Input { border: none; background: $panel; height: 1; padding: 0 1; margin: 1 0; }
    Ask Input:focus { border: none; }
    """
    )

    def __init__(self, palette: Palette, title: str, detail: str, text: str, foot: str) -> None:
        super().__init__()
        self._palette, self._heading, self._detail = palette, title, detail
        self._text, self._foot = text, foot

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(lambda width: [self._head()], self._palette)
            yield Input(self._text)
            yield Lines(lambda width: [Line([(self._foot, "faint/surface")], "body/surface")], self._palette)

    def _head(self) -> Line:
        right = [(f"{self._detail} ", "muted/surface")]
        return Line([(self._heading, "heading/surface+b")], "body/surface", right=right)

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())
