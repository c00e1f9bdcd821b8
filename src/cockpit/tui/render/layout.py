"""When a line is drawn, and the few figures that every drawing shares.

Text to lines of a width: wrapping that knows wide characters, and what a laid-out line is.

Pure; knows styles only by their key (`tui/palette`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, get_character_cell_size

MARGIN = 3
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass(frozen=True, slots=True)
class Moment:
    """What a running entry is drawn with: seconds since the epoch and the spinner's step."""

    now: float = 0.0
    step: int = 2


Piece: TypeAlias = tuple[str, str]
"""Text and the key of its style."""

_CLOSING_SIGNS = frozenset("，。、！？；：）」』】》〉”’…‥％,.!?;:)]}%")
_OPENING_SIGNS = frozenset("（「『【《〈“‘([{")


class Span(NamedTuple):
    """`key` for the characters `start` to `end`; spans of a text are sorted and do not overlap."""

    start: int
    end: int
    key: str


class StyledLine:
    """One laid-out line. `fill` is the key of the cells after its text; `glue` is None, or what
    joins it to the line before when it only goes on that one; `indent` is how many characters of
    it are drawing, not text; `right` stands at the right edge where there is room."""

    __slots__ = ("cache", "fill", "glue", "indent", "pieces", "right")

    def __init__(
        self,
        pieces: Sequence[Piece],
        fill: str = "body",
        *,
        glue: str | None = None,
        indent: int = 0,
        right: Sequence[Piece] = (),
    ) -> None:
        self.pieces = pieces
        self.fill = fill
        self.glue = glue
        self.indent = indent
        self.right = right
        self.cache: object = None

    @property
    def text(self) -> str:
        return "".join(piece[0] for piece in self.pieces)


def cell_width(text: str) -> int:
    """Cells that `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Where the lines of `text` begin and end. A newline always ends one; spaces at a break go."""
    width = max(1, width)
    if len(text) <= width and "\n" not in text and text.isascii():
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    start = 0
    for paragraph in text.split("\n"):
        if paragraph.isascii():
            _wrap_ascii(paragraph, start, width, spans)
        else:
            _wrap_wide(paragraph, start, width, spans)
        start += len(paragraph) + 1
    return spans


def _wrap_ascii(text: str, base: int, width: int, spans: list[tuple[int, int]]) -> None:
    position, length = 0, len(text)
    while length - position > width:
        cut = text.rfind(" ", position + 1, position + width + 1)
        if cut == -1:
            spans.append((base + position, base + position + width))
            position += width
            continue
        spans.append((base + position, base + cut))
        position = cut + 1
        while position < length and text[position] == " ":
            position += 1
    if position < length or not length:
        spans.append((base + position, base + length))


def _wrap_wide(text: str, base: int, width: int, spans: list[tuple[int, int]]) -> None:
    start, used = 0, 0
    end_at, next_at, after = -1, -1, 0  # the last place to break: line end, next start, cells so far
    previous, previous_size = "", 1
    index, length = 0, len(text)
    while index < length:
        character = text[index]
        size = get_character_cell_size(character)
        if used and _may_break(previous, previous_size, character, size):
            end_at, next_at, after = index, index, used
        if used + size > width and used and character != " ":
            if end_at <= start:
                end_at, next_at, after = index, index, used
            spans.append((base + start, base + end_at))
            start, used = next_at, used - after
            end_at = -1
            continue
        if character == " ":
            end_at, next_at, after = index, index + 1, used + size
        used += size
        previous, previous_size = character, size or previous_size
        index += 1
    spans.append((base + start, base + length))


def _may_break(previous: str, previous_size: int, character: str, size: int) -> bool:
    """Between two characters of which one is wide, unless a closing sign would start a line or an
    opening one would end it (the rule of Chinese and Japanese typesetting)."""
    if size == 0 or character == " " or previous == " ":
        return False
    if size != 2 and previous_size != 2:
        return False
    return character not in _CLOSING_SIGNS and previous not in _OPENING_SIGNS


def slice_pieces(
    text: str, spans: Sequence[Span], start: int, end: int, key: str, skip: int = 0
) -> list[Piece]:
    """The pieces of `text[start:end]`: `key` where no span from number `skip` on says otherwise."""
    if not spans:
        return [(text[start:end], key)]
    found: list[Piece] = []
    position = start
    for number in range(skip, len(spans)):
        span = spans[number]
        if span.end <= position:
            continue
        if span.start >= end:
            break
        if span.start > position:
            found.append((text[position : span.start], key))
        position = max(position, span.start)
        stop = min(span.end, end)
        found.append((text[position:stop], span.key))
        position = stop
    if position < end:
        found.append((text[position:end], key))
    return found


def layout_paragraph(
    text: str,
    width: int,
    *,
    spans: Sequence[Span] = (),
    key: str = "body",
    first: Sequence[Piece] = (),
    rest: Sequence[Piece] = (),
    fill: str = "body",
) -> list[StyledLine]:
    """`text` wrapped behind a hanging prefix: `first` before its first line, `rest` before others."""
    room = width - sum(cell_width(piece[0]) for piece in first)
    indent_first = sum(len(piece[0]) for piece in first)
    indent_rest = sum(len(piece[0]) for piece in rest)
    lines: list[StyledLine] = []
    position = 0
    for start, end in wrap(text, room):
        while position < len(spans) and spans[position].end <= start:
            position += 1
        prefix, indent = (rest, indent_rest) if lines else (first, indent_first)
        pieces = slice_pieces(text, spans, start, end, key, position)
        lines.append(StyledLine([*prefix, *pieces], fill, glue=_find_glue(text, start), indent=indent))
    return lines


def _find_glue(text: str, start: int) -> str | None:
    """What stood where a line was broken: nothing (a new line), a space, or only the lack of room."""
    if start == 0 or text[start - 1] == "\n":
        return None
    return " " if text[start - 1] == " " else ""


def shorten(text: str, width: int) -> str:
    """`text` in at most `width` cells, with an ellipsis where something went."""
    if cell_width(text) <= width:
        return text
    if width < 1:
        return ""
    kept, used = 0, 1
    for character in text:
        used += get_character_cell_size(character)
        if used > width:
            break
        kept += 1
    return text[:kept] + "…"


def shorten_path(path: str, width: int) -> str:
    """`path` in at most `width` cells; what goes is its beginning."""
    if cell_width(path) <= width:
        return path
    tail = path
    while cell_width(tail) > width - 1 and tail:
        tail = tail[1:]
    return "…" + tail
