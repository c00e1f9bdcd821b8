"""What the screens share: the shape of a sheet over the cockpit, and a scroll of laid-out lines."""

from collections.abc import Callable, Sequence

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cockpit.tui.palette import Palette
from cockpit.tui.trace.layout import Line, width_of
from cockpit.tui.trace.strips import to_strip

SHEET_CSS = """
    align: center middle; background: $background 55%;
    & > #sheet { width: 84; max-width: 94%; height: auto; max-height: 86%; background: $surface; padding: 1 2;
        border-left: outer $primary; }
"""
_SHARE = 86  # of the screen's height, as above
_AROUND = 2  # the sheet's own empty lines


def room_for_list(height: int, others: int, most: int) -> int:
    """Lines a list on a sheet may have on a screen of `height`, beside `others` of the sheet: what is more
    would push the sheet's last lines out of sight."""
    return max(1, min(most, height * _SHARE // 100 - _AROUND - others))


def keys_that_fit(keys: Sequence[str], width: int) -> str:
    """As many of the keys' words as one line holds; the first ones matter most."""
    text = ""
    for one in keys:
        longer = f"{text}   {one}" if text else one
        if text and width_of(longer) > width:
            break
        text = longer
    return text


class Lines(ScrollView, can_focus=True):
    """Lines made by `lay(width)`, made anew when the width changes."""

    DEFAULT_CSS = """
    Lines { background: $surface; height: auto; max-height: 100%; overflow-x: hidden; scrollbar-size: 1 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface; }
    """

    def __init__(
        self, lay: Callable[[int], Sequence[Line]], palette: Palette, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.lay = lay
        self.palette = palette
        self.lines: Sequence[Line] = ()
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
        line = self.lines[row] if row < len(self.lines) else Line([], "body/surface")
        return to_strip(line, self.size.width, self.palette)


def shaded(lines: Sequence[Line]) -> list[Line]:
    """Lines drawn for the Trace, on a sheet's shade."""

    def on(key: str) -> str:
        if "/" in key:
            return key.replace("/background", "/surface")
        name, plus, flags = key.partition("+")
        return f"{name}/surface{plus}{flags}"

    return [
        Line(
            [(text, on(key)) for text, key in line.pieces],
            on(line.fill),
            right=[(text, on(key)) for text, key in line.right],
        )
        for line in lines
    ]
