"""Lays text out in lines of a given width, with wide characters.

Styles are known only by their key, which `themes.Palette` resolves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, get_character_cell_size

MARGIN = 3
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a frame, for what changes while it runs: seconds since the epoch and the spinner's step."""

    now: float = 0.0
    step: int = 2


Piece: TypeAlias = tuple[str, str]
"""Text and the key of its style."""

_CLOSING_SIGNS = frozenset("，。、！？；：）」』】》〉”’…‥％,.!?;:)]}%")
_OPENING_SIGNS = frozenset("（「『【《〈“‘([{")


class Span(NamedTuple):
    """The style `key` of the characters `start` to `end`. The spans of a text are sorted and do not
    overlap."""

    start: int
    end: int
    key: str


class StyledLine:
    """One laid-out line. `fill` is the key of the cells after its text. `glue` joins a wrapped line to the
    line before (None: not wrapped). The first `indent` characters are decoration, not text. `right` is shown
    at the right edge if there is room."""

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

    def on(self, background: str) -> "StyledLine":
        """The same line over another background than the terminal's."""
        pieces = [(text, on_background(key, background)) for text, key in self.pieces]
        right = [(text, on_background(key, background)) for text, key in self.right]
        return StyledLine(pieces, on_background(self.fill, background), right=right)


def on_background(key: str, background: str) -> str:
    """A style key over `background`, unless it names a background."""
    if "/" in key:
        return key.replace("/background", f"/{background}")
    name, plus, flags = key.partition("+")
    return f"{name}/{background}{plus}{flags}"


def cell_width(text: str) -> int:
    """How many cells `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Where the lines of `text` begin and end. A newline always ends a line; spaces at a break are
    dropped."""
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
    """Whether a line may break between two characters: one of them is wide, and neither a closing sign would
    start a line nor an opening sign end one (the rule of Chinese and Japanese typesetting)."""
    if size == 0 or character == " " or previous == " ":
        return False
    if size != 2 and previous_size != 2:
        return False
    return character not in _CLOSING_SIGNS and previous not in _OPENING_SIGNS


def slice_pieces(
    text: str, spans: Sequence[Span], start: int, end: int, key: str, skip: int = 0
) -> list[Piece]:
    """The pieces of `text[start:end]`, with `key` outside of the spans from number `skip` on."""
    if not spans:
        return [(text[start:end], key)]
    pieces: list[Piece] = []
    position = start
    for number in range(skip, len(spans)):
        span = spans[number]
        if span.end <= position:
            continue
        if span.start >= end:
            break
        if span.start > position:
            pieces.append((text[position : span.start], key))
        position = max(position, span.start)
        stop = min(span.end, end)
        pieces.append((text[position:stop], span.key))
        position = stop
    if position < end:
        pieces.append((text[position:end], key))
    return pieces


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
    """Wrap `text` behind a hanging prefix: `first` before the first line, `rest` before the others."""
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
    """The glue of the line at `start`: None after a newline, the space at the break, or ""."""
    if start == 0 or text[start - 1] == "\n":
        return None
    return " " if text[start - 1] == " " else ""


def shorten(text: str, width: int) -> str:
    """Cut `text` to at most `width` cells, with an ellipsis at the end."""
    if cell_width(text) <= width:
        return text
    if width < 1:
        return ""
    count, used = 0, 1
    for character in text:
        used += get_character_cell_size(character)
        if used > width:
            break
        count += 1
    return text[:count] + "…"


def shorten_path(path: str, width: int) -> str:
    """Cut `path` to at most `width` cells, with an ellipsis at the beginning."""
    if cell_width(path) <= width:
        return path
    tail = path
    while cell_width(tail) > width - 1 and tail:
        tail = tail[1:]
    return "…" + tail
