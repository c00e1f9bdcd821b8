"""What Work's tabs are made of: a row, its shade, the head of a section. Pure."""

from dataclasses import dataclass

from cockpit.tui.trace.layout import Line, Piece


@dataclass(frozen=True, slots=True)
class Row:
    """A line, and what choosing it does: `diff:PATH`, `place:PATH:LINE:COLUMN`, `panel:PLUGIN/ACTION`,
    `option:N`, `part:ID`, `agent:PATH`, `form:`, or nothing."""

    line: Line
    does: str = ""


def blank() -> Row:
    return Row(Line([], "body/surface"))


def title(text: str, right: str = "", key: str = "heading") -> Line:
    """The head of a section."""
    return Line([(" " + text, f"{key}/surface+b")], "body/surface", right=[(f"{right} ", "muted/surface")])


def row(*pieces: Piece, right: list[Piece] | None = None) -> Line:
    """A line on Work's own shade."""
    shaded = [(text, shade(key)) for text, key in pieces]
    return Line(shaded, "body/surface", right=[(text, shade(key)) for text, key in right or []])


def shade(key: str) -> str:
    """`key` on Work's shade, where it names no other."""
    if "/" in key:
        return key
    name, plus, flags = key.partition("+")
    return f"{name}/surface{plus}{flags}"
