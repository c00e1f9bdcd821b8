"""The line of tabs at Work's top: what is shown, what else there is, how many problems. Pure."""

from collections import Counter
from typing import NamedTuple

from cockpit.protocol.code import Severity
from cockpit.tui.state.code import TABS, Tab
from cockpit.tui.state.state import State
from cockpit.tui.trace.layout import Line, Piece, width_of

_TITLES: dict[Tab, str] = {"now": "Now", "outline": "Outline", "problems": "Problems"}
_SIGNS: tuple[tuple[Severity, str, str], ...] = (("error", "✗", "bad"), ("warning", "▲", "warn"))


class Strip(NamedTuple):
    """The line, and which cells (from, to) belong to which tab."""

    line: Line
    spans: tuple[tuple[int, int, Tab], ...]

    def tab_at(self, x: int) -> Tab | None:
        return next((tab for start, end, tab in self.spans if start <= x < end), None)


def strip_of(state: State) -> Strip:
    """The tabs, the open one in bold on a lighter shade."""
    pieces: list[Piece] = []
    spans: list[tuple[int, int, Tab]] = []
    used = 0
    for tab in TABS:
        ground = "boost" if tab == state.tab else "surface"
        key = f"body/{ground}+b" if tab == state.tab else f"muted/{ground}"
        made: list[Piece] = [(f" {_TITLES[tab]} ", key)]
        if tab == "problems":
            made += [(text, f"{colour}/{ground}+b") for text, colour in _counts(state)]
        wide = sum(width_of(text) for text, _ in made)
        spans.append((used, used + wide, tab))
        pieces += [*made, (" ", "body/surface")]
        used += wide + 1
    return Strip(Line(pieces, "body/surface"), tuple(spans))


def _counts(state: State) -> list[Piece]:
    """Errors and warnings; what is less than that only where there is nothing else."""
    rows = state.code.problems.rows if state.code.problems is not None else ()
    by_severity = Counter(row.severity for row in rows)
    found = [(f"{sign}{by_severity[name]} ", key) for name, sign, key in _SIGNS if by_severity[name]]
    return found or ([(f"{len(rows)} ", "muted")] if rows else [])
