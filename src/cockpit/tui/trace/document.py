"""The rows of the Trace: maps a row to an entry, a part of it and a line; finds text.

Only visible rows are laid out; the others have an estimated height. Rows above the screen may therefore move,
and the methods that lay out return by how much. A search reads the sources and lays out only the matches.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from cockpit.tui.render.blocks import MAX_PROSE_WIDTH, draw_part, estimate_height
from cockpit.tui.render.layout import MARGIN, Moment, StyledLine
from cockpit.tui.render.markdown import MarkdownPart, MarkdownSplitter
from cockpit.tui.state.entries import AnswerEntry, Entry
from cockpit.tui.trace.entry_lines import draw_entry, gap_before

_BLANK = StyledLine([])


class LinePosition(NamedTuple):
    """A line by entry, chunk and line, which stays valid when rows above it move."""

    section: int
    chunk: int
    line: int


class TraceChunk:
    """The unit of layout: a part of an answer, or (`part` None) the whole of another entry. `height`
    is an estimate until it is `exact`; `size` counts the characters of prose, -1 for anything else."""

    __slots__ = ("exact", "gap", "height", "lines", "part", "size")

    def __init__(self, part: MarkdownPart | None, gap: int, height: int) -> None:
        self.part = part
        self.gap = gap
        self.height = gap + height
        self.lines: Sequence[StyledLine] = ()
        self.exact = False
        prose = part is not None and part.kind in ("paragraph", "bullet", "quote")
        self.size = sum(len(line) + 1 for line in part.lines) if part is not None and prose else -1


class TraceSection:
    """The rows of one entry. `tops` are the first rows of its chunks, and finally its height."""

    __slots__ = (
        "_characters",
        "_live",
        "_parts",
        "_replacements",
        "_splitter",
        "chunks",
        "entry",
        "gap",
        "tops",
    )

    def __init__(self, entry: Entry, gap: int) -> None:
        self.entry = entry
        self.gap = gap
        self.chunks: list[TraceChunk] = []
        self.tops = [0]
        self._live = 0  # chunks at the end that are still being written
        self._reset()

    def _reset(self) -> None:
        self._splitter = MarkdownSplitter()
        self._characters = self._parts = 0  # of the answer, already split
        self._replacements = self.entry.replacements if isinstance(self.entry, AnswerEntry) else 0
        self._live = 0
        self.chunks.clear()
        del self.tops[1:]

    @property
    def height(self) -> int:
        return self.tops[-1]

    def sync(self, width: int) -> int:
        """Take what is new in the entry. Returns the first row that may have changed."""
        if isinstance(self.entry, AnswerEntry):
            return self._sync_answer(self.entry, width)
        height = self.chunks[0].height - self.gap if self.chunks else 1
        self.chunks[:] = [TraceChunk(None, self.gap, height)]
        self.tops[1:] = [self.chunks[0].height]
        return 0

    def _sync_answer(self, entry: AnswerEntry, width: int) -> int:
        if entry.replacements != self._replacements:
            self._reset()
        new = entry.text[self._characters :] if entry.done else "".join(entry.parts[self._parts :])
        self._parts = len(entry.parts)
        self._characters += len(new)
        if self._live:
            del self.chunks[-self._live :]
            del self.tops[-self._live :]
        first = self.tops[-1]
        self._splitter.feed(new)
        if entry.done:
            self._splitter.close()
        done = self._splitter.done
        for part in done:
            self._append(part, width)
        done.clear()
        live = self._splitter.peek()
        for part in live:
            self._append(part, width)
        self._live = len(live)
        return first

    def _append(self, part: MarkdownPart, width: int) -> None:
        gap = self.gap if not self.chunks else int(part.gap)
        chunk = TraceChunk(part, gap, estimate_height(part, width, MARGIN))
        self.chunks.append(chunk)
        self.tops.append(self.tops[-1] + chunk.height)

    def hide(self) -> None:
        """Drop all rows; an unfinished answer continues with its next part."""
        self.chunks.clear()
        del self.tops[1:]
        self._live = 0

    def resize(self, width: int) -> None:
        """Take another width: every height is an estimate again."""
        room = max(10, min(width, MAX_PROSE_WIDTH) - MARGIN - 1)
        for chunk in self.chunks:
            chunk.exact = False
            if chunk.size >= 0:
                chunk.height = chunk.gap + 1 + chunk.size // room
        self._stack()

    def lay_out(self, first: int, last: int, width: int, moment: Moment) -> int:
        """Lay out the rows `first` to `last`. Returns how far the row `first` moved."""
        index = max(0, bisect_right(self.tops, first) - 1)
        position, shift, changed = self.tops[min(index, len(self.chunks))], 0, False
        while index < len(self.chunks) and position < last:
            chunk = self.chunks[index]
            if not chunk.exact:
                delta = self._lay_out_chunk(chunk, width, moment)
                changed = changed or delta != 0
                if position < first:
                    shift, first, last = shift + delta, first + delta, last + delta
            position += chunk.height
            index += 1
        if changed:
            self._stack()
        return shift

    def lay_out_end(self, rows: int, width: int, moment: Moment) -> int:
        """Lay out the last `rows` rows. Returns how many there are, all of them exact."""
        count, changed = 0, False
        for chunk in reversed(self.chunks):
            if count >= rows:
                break
            if not chunk.exact:
                changed = self._lay_out_chunk(chunk, width, moment) != 0 or changed
            count += chunk.height
        if changed:
            self._stack()
        return count

    def _lay_out_chunk(self, chunk: TraceChunk, width: int, moment: Moment) -> int:
        if chunk.part is None:
            chunk.lines = draw_entry(self.entry, width, moment)
        else:
            chunk.lines = draw_part(chunk.part, width, MARGIN)
        height = chunk.gap + len(chunk.lines)
        delta = height - chunk.height
        chunk.height, chunk.exact = height, True
        return delta

    def _stack(self) -> None:
        self.tops[:] = accumulate((chunk.height for chunk in self.chunks), initial=0)


class TraceDocument:
    """All rows. `height` is their number, partly estimated."""

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self.sections: list[TraceSection] = []
        self._starts = [0]

    @property
    def height(self) -> int:
        return self._starts[-1]

    def sync(self, entries: Sequence[Entry], touched: Sequence[int]) -> int | None:
        """Take the changes of the entries `touched` (in rising order). Returns the first row that changed."""
        first: int | None = None
        lowest = len(self.sections)
        for number in touched:
            while len(self.sections) <= number:
                at = len(self.sections)
                previous = entries[at - 1] if at else None
                self.sections.append(TraceSection(entries[at], gap_before(entries[at], previous)))
                self._starts.append(self._starts[-1])
            row = self.sections[number].sync(self.width) + self._starts[number]
            first = row if first is None else min(first, row)
            lowest = min(lowest, number)
        if first is not None:
            self._stack(lowest)
        return first

    def resize(self, width: int) -> None:
        if width == self.width:
            return
        self.width = width
        for section in self.sections:
            section.resize(width)
        self._stack(0)

    def lay_out(self, y: int, rows: int, moment: Moment) -> int:
        """Lay out the rows `y` to `y + rows`. Returns how far the row `y` moved."""
        shift = 0
        number = self.section_at(y)
        while number < len(self.sections) and self._starts[number] < y + rows:
            section, start = self.sections[number], self._starts[number]
            before = section.height
            moved = section.lay_out(max(0, y - start), y + rows - start, self.width, moment)
            y, shift = y + moved, shift + moved
            if section.height != before:
                self._stack(number)
            number += 1
        return shift

    def lay_out_end(self, rows: int, moment: Moment) -> None:
        """Lay out the last `rows` rows."""
        number = len(self.sections) - 1
        while number >= 0 and rows > 0:
            rows -= self.sections[number].lay_out_end(rows, self.width, moment)
            number -= 1
        self._stack(max(0, number + 1))

    def section_at(self, y: int) -> int:
        """The number of the entry at row `y`."""
        return min(max(0, bisect_right(self._starts, y) - 1), max(0, len(self.sections) - 1))

    def row_of(self, position: LinePosition) -> int:
        """The current row of `position`."""
        section = self.sections[position.section]
        chunk = section.chunks[position.chunk]
        return self._starts[position.section] + section.tops[position.chunk] + chunk.gap + position.line

    def lines_with(self, number: int, chunk: int, needle: str, moment: Moment) -> list[int]:
        """The lines of a chunk that contain `needle`, which is in lower case; where a line break cuts it,
        the first."""
        section = self.sections[number]
        part = section.chunks[chunk].part
        if part is not None and needle not in part.text.casefold():
            return []
        top = section.tops[chunk]
        section.lay_out(top, top + 1, self.width, moment)
        self._stack(number)
        lines = section.chunks[chunk].lines
        matches = [n for n, line in enumerate(lines) if needle in line.text.casefold()]
        return matches or ([0] if part is not None else [])

    def line(self, y: int) -> StyledLine:
        """The line at row `y`; blank outside of the document and where nothing is laid out yet."""
        if not 0 <= y < self.height:
            return _BLANK
        number = self.section_at(y)
        section = self.sections[number]
        row = y - self._starts[number]
        index = bisect_right(section.tops, row) - 1
        if index >= len(section.chunks):
            return _BLANK
        chunk = section.chunks[index]
        at = row - section.tops[index] - chunk.gap
        return chunk.lines[at] if 0 <= at < len(chunk.lines) else _BLANK

    def hide(self) -> None:
        """Drop the rows of every entry until it changes."""
        for section in self.sections:
            section.hide()
        self._stack(0)

    def clear(self) -> None:
        self.sections.clear()
        self._starts[:] = [0]

    def _stack(self, number: int) -> None:
        heights = (section.height for section in self.sections[number:])
        self._starts[number:] = accumulate(heights, initial=self._starts[number])


def find_text(
    document: TraceDocument, needle: str, here: LinePosition | None, step: int, moment: Moment
) -> LinePosition | None:
    """The next line after (`step` 1) or before (-1) `here` that contains `needle` (in lower case); None
    for `here` starts from the beginning or the end."""
    chunks = [(s, c) for s, section in enumerate(document.sections) for c in range(len(section.chunks))]
    if here is not None:
        current = (here.section, here.chunk)
        chunks = [chunk for chunk in chunks if (chunk >= current if step > 0 else chunk <= current)]
    for section, number in chunks if step > 0 else reversed(chunks):
        lines = document.lines_with(section, number, needle, moment)
        if here is not None and (section, number) == (here.section, here.chunk):
            lines = [line for line in lines if (line > here.line if step > 0 else line < here.line)]
        if lines:
            return LinePosition(section, number, lines[0] if step > 0 else lines[-1])
    return None
