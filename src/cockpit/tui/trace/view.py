"""The Trace's widget: one scroll view that draws the visible rows of a document and nothing else.

It follows its end until the reader scrolls up, and then stays where the reader is. No widget per
message, no timer: `Cockpit` calls `frame` when something changed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from cockpit.tui.render.layout import StyledLine
from cockpit.tui.render.themes import Palette
from cockpit.tui.render.widgets import StripMark, UnclaimedKey, set_scroll_height, to_strip

if TYPE_CHECKING:
    from cockpit.tui.render.layout import Moment
    from cockpit.tui.state.entries import Entry
    from cockpit.tui.trace.document import LinePosition, TraceDocument

_BLANK = StyledLine([])
_OWN_KEYS = frozenset({"enter", "escape", "tab"})


class TraceView(ScrollView, can_focus=True):
    """Rows of a `Document`; before there is one, the lines of `lead`."""

    ALLOW_SELECT = True
    DEFAULT_CSS = """
    TraceView { overflow: hidden; scrollbar-gutter: stable; scrollbar-size: 1 1; }
    """

    class Scrolled(Message):
        """The reader moved; `following` says whether the end is in sight again."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    class Opened(Message):
        """The reader clicked row `y` of the document."""

        def __init__(self, y: int) -> None:
            super().__init__()
            self.y = y

    def __init__(self, palette: Palette, *, id: str = "trace") -> None:
        super().__init__(id=id)
        self.palette = palette
        self.document: TraceDocument | None = None
        self.following = True
        self._placed_for = (Size(), Size())
        self.found = ""  # what is searched for; its places are marked
        self._lead: Sequence[StyledLine] = ()
        self._tail: Sequence[StyledLine] = ()
        self._moment: Moment | None = None
        self._at: LinePosition | None = None  # what was found last
        self._unseen = 0  # rows that came while the reader was above
        self._placing = False
        self._painting = False

    def lead(self, lines: Sequence[StyledLine]) -> None:
        """What stands here before there is a document."""
        self._lead = lines
        self.refresh()

    def tail(self, lines: Sequence[StyledLine]) -> None:
        """Lines after the last entry: what a person typed that nobody has taken up yet."""
        if lines or self._tail:
            self._tail = lines
            self._place(None)

    def frame(self, entries: "Sequence[Entry]", touched: Sequence[int], moment: "Moment") -> None:
        """Draw the entries `touched` anew."""
        self._moment = moment
        if self.document is None:
            from cockpit.tui.trace.document import TraceDocument

            self.document = TraceDocument(self._width)
        before = self.document.height
        first = self.document.sync(entries, touched)
        if not self.following and self.document.height > before:
            self._unseen += self.document.height - before
            self.refresh(Region(0, self.size.height - 1, self.size.width, 1))
        self._place(first)

    def clear(self) -> None:
        """Forget all rows."""
        if self.document is not None:
            self.document.clear()
        self._unseen = 0
        self.following = True
        self._place(0)

    def hide(self) -> None:
        """Draw nothing of what is there; what comes is drawn."""
        if self.document is not None:
            self.document.hide()
        self.to_end()

    def repaint(self, palette: Palette) -> None:
        """Other colours."""
        self.palette = palette
        self.refresh()

    def find(self, step: int, *, anew: bool = False) -> bool:
        """Go to the next place (1) or the one before (-1) of what is searched for."""
        document, moment = self.document, self._moment
        if document is None or moment is None or not self.found:
            return False
        from cockpit.tui.trace.document import find_text

        place = find_text(document, self.found, None if anew else self._at, step, moment)
        if place is None:
            return False
        self._at, self.following = place, False
        for _ in range(4):  # rows above may turn out higher than was thought once they are in sight
            row = document.row_of(place)
            document.settle(max(0, row - self.size.height), 2 * self.size.height, moment)
            if document.row_of(place) == row:
                break
        self._place(None)
        self.scroll_to(y=max(0, document.row_of(place) - self.size.height // 3), animate=False, force=True)
        return True

    def to_end(self) -> None:
        """Follow the end again."""
        self.following, self._unseen = True, 0
        self._place(None)
        self.refresh()

    @property
    def _width(self) -> int:
        return max(20, self.size.width)

    def _place(self, first: int | None) -> None:
        """Settle what is in sight, set the size and the position; repaint from row `first` on."""
        rows, document = self.size.height, self.document
        self._placed_for = (self.size, self.container_size)
        if document is not None:
            document.resize(self._width)
        if document is None or self._moment is None or not rows:
            self.refresh()
            return
        self._placing = True
        top = self.scroll_offset.y
        if self.following:
            document.settle_end(rows, self._moment)
            height = document.height + len(self._tail)
            wanted = max(0, height - rows)
        else:
            wanted = top + document.settle(top, rows, self._moment)
            height = document.height + len(self._tail)
        set_scroll_height(self, height)
        if wanted != top:
            self.scroll_target_y = self.scroll_y = wanted
            self.refresh()
        elif first is None:
            self.refresh()
        elif first < top + rows:
            row = max(0, first - top)
            self.refresh(Region(0, row, self.size.width, rows - row))
        self._placing = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self._placing or round(old_value) == round(new_value):
            return
        following = round(new_value) >= self.max_scroll_y
        if following:
            self._unseen = 0
        if following != self.following:
            self.following = following
            self.post_message(self.Scrolled(following))
        self._place(None)

    def on_resize(self, event: events.Resize) -> None:
        self._place(None)

    def on_key(self, event: events.Key) -> None:
        if event.key in _OWN_KEYS or event.character:
            event.stop()
            self.post_message(UnclaimedKey("trace", event.key, event.character or ""))

    def on_click(self, event: events.Click) -> None:
        if not self.text_selection and event.button == 1:
            self.post_message(self.Opened(event.y + self.scroll_offset.y))

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._placed_for != (self.size, self.container_size):
            # A layout of what is in sight changes first the one, then the other, and sends no event of it.
            self._place(None)
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        row = y + self.scroll_offset.y
        line = self._line(row)
        if y == self.size.height - 1 and self._unseen and not self.following:
            line = StyledLine([], right=[(f" ↓ {self._unseen} new lines · End ", "base/person+b")])
        marks = self._marks(line, row)
        strip = to_strip(line, width, self.palette, marks)
        # Only Textual's question for a selection's place needs offsets; painting is quicker without.
        return strip if self._painting else strip.apply_offsets(0, row)

    def _line(self, row: int) -> StyledLine:
        document = self.document
        if document is None:
            lines = [*self._lead, *self._tail]
            return lines[row] if row < len(lines) else _BLANK
        if row < document.height:
            return document.line(row)
        below = row - document.height
        return self._tail[below] if below < len(self._tail) else _BLANK

    def _marks(self, line: StyledLine, row: int) -> list[StripMark]:
        marks: list[StripMark] = []
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row)) is not None:
            marks.append((max(span[0], line.indent), span[1], "selection"))
        if self.found:
            text, start = line.text.casefold(), 0
            while (start := text.find(self.found, start)) != -1:
                marks.append((start, start + len(self.found), "found"))
                start += len(self.found)
        return marks

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it was written: lines that were only wrapped are one line again."""
        if self.document is None:
            return None
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.document.height - 1
        out: list[str] = []
        for row in range(first, min(last, self.document.height - 1) + 1):
            line = self.document.line(row)
            span = selection.get_span(row) or (0, -1)
            text = line.text[max(span[0], line.indent) : None if span[1] < 0 else span[1]].rstrip()
            if line.glue is not None and out:
                out[-1] += line.glue + text
            else:
                out.append(text)
        return "\n".join(out), "\n"
