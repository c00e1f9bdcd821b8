"""The widget of the Trace: one scroll view that draws the visible rows of a document.

It follows the end until the user scrolls up. There is no widget per message and no timer: the painter calls
`paint` when something changed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from cockpit.tui.render.layout import Moment, StyledLine
from cockpit.tui.render.widgets import StripMark, UnclaimedKey, set_scroll_height, to_strip

if TYPE_CHECKING:
    from cockpit.tui.state.entries import Entry
    from cockpit.tui.trace.document import LinePosition, TraceDocument

_BLANK = StyledLine([])
_OWN_KEYS = frozenset({"enter", "escape", "tab"})


class TraceView(ScrollView, can_focus=True):
    """Shows the rows of a document; before there is one, the lines of `set_lead`."""

    ALLOW_SELECT = True
    DEFAULT_CSS = """
    TraceView { overflow: hidden; scrollbar-gutter: stable; scrollbar-size: 1 1; }
    """

    class EntryClicked(Message):
        """The user clicked row `y` of the document."""

        def __init__(self, y: int) -> None:
            super().__init__()
            self.y = y

    def __init__(self, *, id: str = "trace") -> None:
        super().__init__(id=id)
        self.document: TraceDocument | None = None
        self.following = True
        self._placed_for = (Size(), Size())
        self.needle = ""  # what is searched for, in lower case; its occurrences are marked
        self._lead: Sequence[StyledLine] = ()
        self._tail: Sequence[StyledLine] = ()
        self._moment: Moment | None = None
        self._at: LinePosition | None = None  # the last match
        self._unseen = 0  # rows added while the user had scrolled up
        self._placing = False
        self._painting = False

    def set_lead(self, lines: Sequence[StyledLine]) -> None:
        """Set what is shown before there is a document."""
        self._lead = lines
        self.refresh()

    @property
    def has_tail(self) -> bool:
        return bool(self._tail)

    def set_tail(self, lines: Sequence[StyledLine]) -> None:
        """Set the lines after the last entry: what was sent and is not taken up yet."""
        if lines or self._tail:
            self._tail = lines
            self._place(None)

    def paint(self, entries: "Sequence[Entry]", touched: Sequence[int], moment: Moment) -> None:
        """Draw the entries `touched` again."""
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
        """Drop all rows."""
        if self.document is not None:
            self.document.clear()
        self._unseen = 0
        self.following = True
        self._place(0)

    def hide(self) -> None:
        """Show nothing of the entries so far; new ones are shown."""
        if self.document is not None:
            self.document.hide()
        self.to_end()

    def entry_at(self, y: int) -> int | None:
        """The number of the entry at row `y`, None below the last."""
        if self.document is None or y >= self.document.height:
            return None
        return self.document.section_at(y)

    def find(self, step: int, *, restart: bool = False) -> bool:
        """Go to the next (1) or previous (-1) match, with `restart` from the end. Returns whether there is
        one."""
        document, moment = self.document, self._moment
        if document is None or moment is None or not self.needle:
            return False
        from cockpit.tui.trace.document import find_text

        position = find_text(document, self.needle, None if restart else self._at, step, moment)
        if position is None:
            return False
        self._at, self.following = position, False
        for _ in range(4):  # rows above may turn out higher than estimated once they are laid out
            row = document.row_of(position)
            document.lay_out(max(0, row - self.size.height), 2 * self.size.height, moment)
            if document.row_of(position) == row:
                break
        self._place(None)
        self.scroll_to(y=max(0, document.row_of(position) - self.size.height // 3), animate=False, force=True)
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
            document.lay_out_end(rows, self._moment)
            height = document.height + len(self._tail)
            target = max(0, height - rows)
        else:
            target = top + document.lay_out(top, rows, self._moment)
            height = document.height + len(self._tail)
        set_scroll_height(self, height)
        if target != top:
            self.scroll_target_y = self.scroll_y = target
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
        self.following = following
        self._place(None)

    def on_resize(self, event: events.Resize) -> None:
        self._place(None)

    def on_key(self, event: events.Key) -> None:
        if event.key in _OWN_KEYS or event.character:
            event.stop()
            self.post_message(UnclaimedKey("trace", event.key, event.character or ""))

    def on_click(self, event: events.Click) -> None:
        if not self.text_selection and event.button == 1:
            self.post_message(self.EntryClicked(event.y + self.scroll_offset.y))

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._placed_for != (self.size, self.container_size):
            # A layout changes the two sizes one after the other, without an event.
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
        strip = to_strip(line, width, self, marks)
        # Only Textual's selection needs offsets; painting is faster without them.
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
        if self.needle:
            text, start = line.text.casefold(), 0
            while (start := text.find(self.needle, start)) != -1:
                marks.append((start, start + len(self.needle), "found"))
                start += len(self.needle)
        return marks

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it was written: wrapped lines are joined again."""
        if self.document is None:
            return None
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self.document.height - 1
        texts: list[str] = []
        for row in range(first, min(last, self.document.height - 1) + 1):
            line = self.document.line(row)
            span = selection.get_span(row) or (0, -1)
            text = line.text[max(span[0], line.indent) : None if span[1] < 0 else span[1]].rstrip()
            if line.glue is not None and texts:
                texts[-1] += line.glue + text
            else:
                texts.append(text)
        return "\n".join(texts), "\n"
