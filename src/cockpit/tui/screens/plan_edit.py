"""The text of a plan under a person's hands. Esc is done; what they leave there is what counts."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from cockpit.tui.palette import Palette
from cockpit.tui.screens.sheet import SHEET_CSS, Lines
from cockpit.tui.trace.layout import Line


class PlanEdit(ModalScreen[str]):
    """Gives the text as it was left."""

    CSS = (
        "PlanEdit {"
        + SHEET_CSS
        + """}
    PlanEdit > #sheet { width: 94%; max-width: 110; max-height: 92%; border-left: outer $accent; }
    PlanEdit TextArea {
        height: 1fr; min-height: 6; border: none; padding: 0; margin: 1 0; background: $panel;
    }
    PlanEdit TextArea:focus { border: none; }
    PlanEdit > #sheet { height: 92%; }
    """
    )

    def __init__(self, palette: Palette, text: str) -> None:
        super().__init__()
        self._palette, self._text = palette, text

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(lambda width: [self._head()], self._palette)
            area = TextArea(self._text, soft_wrap=True, show_line_numbers=False)
            area.cursor_blink = False
            yield area
            yield Lines(lambda width: [self._foot()], self._palette)

    def _head(self) -> Line:
        return Line([("Edit the plan", "heading/surface+b")], "body/surface")

    def _foot(self) -> Line:
        text = "Esc done (nothing is approved yet)   Ctrl+Z undo"
        return Line([(text, "faint/surface")], "body/surface")

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(self.query_one(TextArea).text)
