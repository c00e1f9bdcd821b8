"""Laid-out lines to Textual strips: style keys to styles, right edges, selection and search marks."""

from collections.abc import Sequence
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from cockpit.tui.clean import clean
from cockpit.tui.palette import Palette
from cockpit.tui.trace.layout import Line, width_of

Mark = tuple[int, int, str]
"""Characters `start` to `end` (-1: to the end of the text, -2: of the row) over the background named."""


def to_strip(line: Line, width: int, palette: Palette, marks: Sequence[Mark] = ()) -> Strip:
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
        segments = _marked(segments, marks, palette)
    used = sum(width_of(segment.text) for segment in segments)
    fill = palette[line.fill]
    right = [Segment(clean(text), palette[key]) for text, key in line.right]
    taken = sum(width_of(segment.text) for segment in right)
    free = width - used
    if right and free > taken:
        segments += [Segment(" " * (free - taken), fill), *right]
        free = 0
    if free > 0:
        segments.append(Segment(" " * free, fill))
    if whole_row:
        segments = _marked(segments, marks, palette)
    strip = Strip(segments, max(used, width))
    if used > width:
        strip = strip.crop(0, width)
    if not marks:
        line.cache = (palette, width, strip)
    return strip


def _marked(segments: list[Segment], marks: Sequence[Mark], palette: Palette) -> list[Segment]:
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
