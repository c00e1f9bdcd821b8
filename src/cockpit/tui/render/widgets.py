"""The base of the app and of its widgets: strips made of lines, painting at once, start options.

Textual passes a refresh to the screen as a message and paints 60 times a second; while an answer streams, a
typed letter would wait up to 33 ms for both. Painting at once shows it after 2 ms.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.geometry import Size
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from cockpit.protocol.safe_text import clean
from cockpit.tui.render import themes
from cockpit.tui.render.layout import StyledLine, cell_width
from cockpit.tui.render.themes import Palette, theme_colours

WIDE_CELLS = 100
"""Width of the terminal from which Trace and Work are side by side."""

StripMark = tuple[int, int, str]
"""Characters `start` to `end` (-1: the end of the text, -2: the end of the row) and their background."""


def to_strip(line: StyledLine, width: int, widget: Widget, marks: Sequence[StripMark] = ()) -> Strip:
    """Render `line` in exactly `width` cells, in the colours of the app that `widget` belongs to."""
    app = widget.app
    assert isinstance(app, ThemedApp)
    palette = app.palette
    if not marks:
        cache = line.cache
        if isinstance(cache, tuple) and cache[0] is palette and cache[1] == width:
            strip: Strip = cache[2]
            return strip
    whole_row = any(end == -2 for _, end, _ in marks)
    # The last gate: no text, wherever it came from, may act on the terminal.
    segments = [Segment(clean(text), palette[key]) for text, key in line.pieces if text]
    if marks and not whole_row:
        segments = _apply_marks(segments, marks, palette)
    used = sum(cell_width(segment.text) for segment in segments)
    fill = palette[line.fill]
    right = [Segment(clean(text), palette[key]) for text, key in line.right]
    right_width = sum(cell_width(segment.text) for segment in right)
    free = width - used
    if right and free > right_width:
        segments += [Segment(" " * (free - right_width), fill), *right]
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
    """Bring what has changed in `widgets` (of one screen) to the terminal now. A change of layout waits as
    usual."""
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
    """Give `view` a height of `height` rows without a layout of the whole screen.

    Textual lays out everything when `virtual_size` changes, which for a growing text is every frame; but no
    widget's position depends on how much there is to scroll (tests/tui/test_speed.py).
    """
    size = Size(view.size.width, max(height, view.size.height))
    if size != view.virtual_size:
        view.set_reactive(Widget.virtual_size, size)
        view._scroll_update(size)


class UnclaimedKey(Message):
    """A key in the Trace or Work that these do not use: an answer, a search, or the start of a prompt."""

    def __init__(self, region: Literal["trace", "work"], key: str, character: str) -> None:
        super().__init__()
        self.region = region
        self.key = key
        self.character = character


class StartOptions(NamedTuple):
    """How the cockpit starts. `still`: no animation, blinking or clock, for pictures and for users who
    want it. An empty `theme` means the one chosen last. `real`: it runs on a real terminal. `quiet`:
    seconds in which an approval that has just appeared takes no key."""

    resume: str | None = None
    theme: str = ""
    still: bool = False
    prompt: str = ""
    real: bool = False
    quiet: float = 0.4


class ThemedApp(App[int]):
    """The part of the app that widgets, screens and actions know: its folder, options, palette and
    notices."""

    def __init__(self, root: str, options: StartOptions) -> None:
        self.root = root
        self.options = options
        super().__init__()
        self.register_theme(themes.default_theme())
        self.set_reactive(App.theme, themes.DEFAULT_THEME)  # nothing is styled yet that would have to change
        self.stylesheet.set_variables(self.get_css_variables())
        self.palette = Palette(theme_colours(self.current_theme))

    @property
    def project(self) -> str:
        """The name of the folder."""
        return Path(self.root).name or self.root

    @property
    def is_narrow(self) -> bool:
        """Whether Trace and Work share the width by turns."""
        return self.size.width < WIDE_CELLS

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notice. Its text is cleaned and, by default, no markup: it may contain names from
        outside."""
        super().notify(clean(message), title=clean(title), severity=severity, timeout=timeout, markup=markup)
