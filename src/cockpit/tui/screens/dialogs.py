"""What the screens share: the shape of a sheet over the cockpit, and a scroll of laid-out lines.

One line asked of a person: a new name.

A question with a key for each answer.

Searching the Trace: what is typed is marked at once, Enter goes to the nearest place above.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import to_strip

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


SHEET_CSS = """
    align: center middle; background: $background 55%;
    & > #sheet { width: 84; max-width: 94%; height: auto; max-height: 86%; background: $surface; padding: 1 2;
        border-left: outer $primary; }
"""
_SHEET_PERCENT = 86  # of the screen's height, as above
_SHEET_PADDING = 2  # the sheet's own empty lines


def list_height(height: int, others: int, most: int) -> int:
    """Lines a list on a sheet may have on a screen of `height`, beside `others` of the sheet: what is more
    would push the sheet's last lines out of sight."""
    return max(1, min(most, height * _SHEET_PERCENT // 100 - _SHEET_PADDING - others))


def fit_keys(keys: Sequence[str], width: int) -> str:
    """As many of the keys' words as one line holds; the first ones matter most."""
    text = ""
    for one in keys:
        longer = f"{text}   {one}" if text else one
        if text and cell_width(longer) > width:
            break
        text = longer
    return text


class LinesView(ScrollView, can_focus=True):
    """Lines made by `lay(width)`, made anew when the width changes."""

    DEFAULT_CSS = """
    Lines { background: $surface; height: auto; max-height: 100%; overflow-x: hidden; scrollbar-size: 1 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    def __init__(
        self, lay: Callable[[int], Sequence[StyledLine]], palette: Palette, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.lay = lay
        self.palette = palette
        self.lines: Sequence[StyledLine] = ()
        self._width = 0

    def _make(self, width: int) -> None:
        if width > 0 and width != self._width:
            self._width = width
            self.lines = self.lay(width)
            self.virtual_size = Size(width, len(self.lines))

    def on_resize(self) -> None:
        self._make(self.size.width)

    def anew(self) -> None:
        """What `lay` tells is different now."""
        width, self._width, before = self._width, 0, len(self.lines)
        self._make(width)
        self.refresh(layout=len(self.lines) != before)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lay(max(10, width)))

    def render_line(self, y: int) -> Strip:
        row = y + self.scroll_offset.y
        line = self.lines[row] if row < len(self.lines) else StyledLine([], "body/surface")
        return to_strip(line, self.size.width, self.palette)


def shade_lines(lines: Sequence[StyledLine]) -> list[StyledLine]:
    """Lines drawn for the Trace, on a sheet's shade."""

    def on(key: str) -> str:
        if "/" in key:
            return key.replace("/background", "/surface")
        name, plus, flags = key.partition("+")
        return f"{name}/surface{plus}{flags}"

    return [
        StyledLine(
            [(text, on(key)) for text, key in line.pieces],
            on(line.fill),
            right=[(text, on(key)) for text, key in line.right],
        )
        for line in lines
    ]


class TextDialog(ModalScreen[str | None]):
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
            yield LinesView(lambda width: [self._head()], self._palette)
            yield Input(self._text)
            yield LinesView(
                lambda width: [StyledLine([(self._foot, "faint/surface")], "body/surface")], self._palette
            )

    def _head(self) -> StyledLine:
        right = [(f"{self._detail} ", "muted/surface")]
        return StyledLine([(self._heading, "heading/surface+b")], "body/surface", right=right)

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


class ConfirmDialog(ModalScreen[str]):
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
            yield LinesView(self._lay, self._palette)

    def _lay(self, width: int) -> list[StyledLine]:
        ground = "body/surface"
        lines = [StyledLine([(self._title_text, "heading/surface+b")], ground), StyledLine([], ground)]
        for text in self._lines:
            lines += layout_paragraph(text, width, key=ground, fill=ground)
        pieces: list[Piece] = []
        for key, label in self._keys:
            pieces += [(f" {key} ", "person/boost+b"), (f" {label}    ", ground)]
        return [*lines, StyledLine([], ground), StyledLine(pieces, ground)]

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


class FindBar(ModalScreen[str | None]):
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


async def search_trace(desk: "SessionController") -> None:
    view = desk.app.trace
    text = await desk.app.push_screen_wait(FindBar(view.found))
    if text is None:
        return
    view.found = text.casefold().strip()
    view.focus()
    if view.found and not view.find(-1, anew=True):
        desk.app.notify(f"nowhere in the Trace: {text}")
    view.refresh()
