"""Laid-out lines to Textual strips: style keys to styles, right edges, selection and search marks.

Painting at once what changed, rather than with the next beat of Textual's clock.

A widget's refresh goes to its screen as a message, and the screen paints 60 times a second; while an
answer streams, a typed letter waits up to 33 ms for both, though it could be seen after 2. This does
what they would do, in one step, so nothing is painted twice. A change of layout goes the usual way.

The height of a scroll view, changed without a layout of the whole screen.

Textual lays out everything when `virtual_size` changes, which for a growing text is every frame; but
the place of no widget depends on how much there is to scroll (tests/tui/test_speed.py).

Messages that more than one region posts.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from cockpit.tui.clean import clean
from cockpit.tui.render.layout import StyledLine, cell_width
from cockpit.tui.render.themes import Palette

StripMark = tuple[int, int, str]
"""Characters `start` to `end` (-1: to the end of the text, -2: of the row) over the background named."""


def to_strip(line: StyledLine, width: int, palette: Palette, marks: Sequence[StripMark] = ()) -> Strip:
    """`line` in exactly `width` cells."""
    if not marks:
        cache = line.cache
        if isinstance(cache, tuple) and cache[0] is palette and cache[1] == width:
            strip: Strip = cache[2]
            return strip
    whole_row = any(end == -2 for _, end, _ in marks)
    # The last gate: whatever was laid out, nothing in it acts on the terminal.
    segments = [Segment(clean(text), palette[key]) for text, key in line.pieces if text]
    if marks and not whole_row:
        segments = _apply_marks(segments, marks, palette)
    used = sum(cell_width(segment.text) for segment in segments)
    fill = palette[line.fill]
    right = [Segment(clean(text), palette[key]) for text, key in line.right]
    taken = sum(cell_width(segment.text) for segment in right)
    free = width - used
    if right and free > taken:
        segments += [Segment(" " * (free - taken), fill), *right]
        free = 0
    if free > 0:
        segments.append(Segment(" " * free, fill))
    if whole_row:
        segments = _apply_marks(segments, marks, palette)
    strip = Strip(segments, max(used, width))
    if used > width:
        strip = strip.crop(0, width)
    if not marks:
        line.cache = (palette, width, strip)
    return strip


def _apply_marks(segments: list[Segment], marks: Sequence[StripMark], palette: Palette) -> list[Segment]:
    """Segments with the background of `marks` under the characters they name."""
    cuts = sorted({cut for start, end, _ in marks for cut in (start, end) if cut >= 0})
    out: list[Segment] = []
    position = 0
    for segment in segments:
        text, style, _ = segment
        end = position + len(text)
        edges = [position, *[cut for cut in cuts if position < cut < end], end]
        for first, last in pairwise(edges):
            background = next((b for s, e, b in marks if s <= first and (e < 0 or last <= e)), None)
            shade = palette[f"body/{background}"].bgcolor if background else None
            painted = style + Style(bgcolor=shade) if style and shade else style
            out.append(Segment(text[first - position : last - position], painted))
        position = end
    return out


def paint_now(*widgets: Widget) -> None:
    """Bring what is dirty in `widgets` (of one screen) to the terminal."""
    if not widgets or not widgets[0].is_attached or not widgets[0].app.is_running:
        return
    screen = widgets[0].screen
    for widget in widgets:
        if widget._repaint_required and not widget._layout_required:
            widget._repaint_required = False
            screen._dirty_widgets.add(widget)
    if screen.is_current:
        screen._on_timer_update()


def set_scroll_height(view: ScrollView, height: int) -> None:
    """`view` has `height` rows from now on; its scroll bar says so."""
    size = Size(view.size.width, max(height, view.size.height))
    if size != view.virtual_size:
        view.set_reactive(Widget.virtual_size, size)
        view._scroll_update(size)


class UnclaimedKey(Message):
    """A key in Trace or Work that is not theirs: an answer, a search, or the start of a prompt."""

    def __init__(self, place: Literal["trace", "work"], key: str, character: str) -> None:
        super().__init__()
        self.place = place
        self.key = key
        self.character = character
