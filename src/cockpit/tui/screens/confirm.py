"""A question with a key for each answer."""

import time
from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from cockpit.tui.palette import Palette
from cockpit.tui.screens.sheet import SHEET_CSS, Lines
from cockpit.tui.trace.layout import Line, Piece, paragraph


class Confirm(ModalScreen[str]):
    """Gives the key that was pressed, or an empty string for Esc. A screen that opens by itself takes no
    answer while hands are on the keys: for `quiet` seconds, and as long again after each key in them; what
    is typed then goes to `early`."""

    CSS = "Confirm {" + SHEET_CSS + "} Confirm > #sheet { width: 72; }"

    def __init__(
        self,
        palette: Palette,
        title: str,
        lines: Sequence[str],
        keys: Sequence[tuple[str, str]],
        *,
        quiet: float = 0.0,
        early: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__()
        self._palette = palette
        self._title_text = title
        self._lines = lines
        self._keys = keys
        self._quiet, self._early = quiet, early
        self._from = time.monotonic() + quiet

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(self._lay, self._palette)

    def _lay(self, width: int) -> list[Line]:
        ground = "body/surface"
        lines = [Line([(self._title_text, "heading/surface+b")], ground), Line([], ground)]
        for text in self._lines:
            lines += paragraph(text, width, key=ground, fill=ground)
        pieces: list[Piece] = []
        for key, label in self._keys:
            pieces += [(f" {key} ", "person/boost+b"), (f" {label}    ", ground)]
        return [*lines, Line([], ground), Line(pieces, ground)]

    def on_key(self, event: events.Key) -> None:
        event.stop()
        # What is typed on while the question goes answers nothing twice.
        if not self.is_current:
            return
        if event.key == "escape":
            self.dismiss("")
        elif time.monotonic() < self._from:
            self._from = time.monotonic() + self._quiet
            if self._early is not None and event.is_printable and event.character:
                self._early(event.character)
        elif event.character in [key for key, _ in self._keys]:
            self.dismiss(event.character or "")
