"""The rows of Work's tabs, and the lines they are made of."""

from dataclasses import dataclass

from cockpit.tui.render.layout import Piece, StyledLine


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A line, and the action of choosing it: `diff:PATH`, `place:PATH:LINE:COLUMN`, `panel:PLUGIN/ACTION`,
    `option:N`, `part:ID`, `agent:PATH`, `form:`, or nothing."""

    line: StyledLine
    action: str = ""


def blank_row() -> WorkRow:
    return WorkRow(StyledLine([], "body/surface"))


def heading_line(text: str, right: str = "", key: str = "heading") -> StyledLine:
    """The heading of a section."""
    return StyledLine(
        [(" " + text, f"{key}/surface+b")], "body/surface", right=[(f"{right} ", "muted/surface")]
    )


def row_line(*pieces: Piece, right: list[Piece] | None = None) -> StyledLine:
    """A line on Work's background."""
    return StyledLine(pieces, right=right or ()).on("surface")
