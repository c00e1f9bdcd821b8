"""What Work's tabs are made of: a row, its shade, the head of a section. Pure."""

from dataclasses import dataclass

from cockpit.tui.render.layout import Piece, StyledLine


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A line, and what choosing it does: `diff:PATH`, `place:PATH:LINE:COLUMN`, `panel:PLUGIN/ACTION`,
    `option:N`, `part:ID`, `agent:PATH`, `form:`, or nothing."""

    line: StyledLine
    does: str = ""


def blank_row() -> WorkRow:
    return WorkRow(StyledLine([], "body/surface"))


def heading_line(text: str, right: str = "", key: str = "heading") -> StyledLine:
    """The head of a section."""
    return StyledLine(
        [(" " + text, f"{key}/surface+b")], "body/surface", right=[(f"{right} ", "muted/surface")]
    )


def row_line(*pieces: Piece, right: list[Piece] | None = None) -> StyledLine:
    """A line on Work's own shade."""
    shaded = [(text, shade_key(key)) for text, key in pieces]
    return StyledLine(shaded, "body/surface", right=[(text, shade_key(key)) for text, key in right or []])


def shade_key(key: str) -> str:
    """`key` on Work's shade, where it names no other."""
    if "/" in key:
        return key
    name, plus, flags = key.partition("+")
    return f"{name}/surface{plus}{flags}"
