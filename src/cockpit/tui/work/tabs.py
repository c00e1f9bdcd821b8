"""Work's tabs Outline and Problems, from the state: pure. Enter on a row opens its place.

The line of tabs at Work's top: what is shown, what else there is, how many problems. Pure.
"""

from collections import Counter
from itertools import groupby
from typing import NamedTuple

from cockpit.protocol.code import ProblemRow, Severity, SymbolRow
from cockpit.tui.clean import single_line
from cockpit.tui.render import number_format
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph, shorten, shorten_path
from cockpit.tui.state.screen_state import TABS, CodeState, ScreenState, Tab
from cockpit.tui.work.row import WorkRow, blank_row, heading_line, row_line

MAX_ROWS = 2000
"""Rows that are drawn; the screen Problems holds the rest."""
_SYMBOL_STYLES = {"class": "heading", "struct": "heading", "interface": "heading", "enum": "heading"}
_SYMBOL_STYLES |= {
    "function": "function",
    "method": "function",
    "constructor": "function",
    "property": "string",
}
_SEVERITY_SIGNS = {
    "error": ("✗", "bad"),
    "warning": ("▲", "warn"),
    "info": ("·", "machine"),
    "hint": ("·", "muted"),
}


def location_action(path: str, line: int, column: int) -> str:
    """What a row that opens a place does."""
    return f"place:{path}:{line}:{column}"


def outline_rows(code: CodeState, width: int) -> list[WorkRow]:
    """The definitions of the file at hand, nested as they are."""
    if not code.at_hand:
        return _message_rows(
            "OUTLINE", "", "no file is at hand: it is the one read or changed last. F6 finds a symbol", width
        )
    path = shorten_path(single_line(code.at_hand), max(8, width - 12))
    if code.outline is None:
        return [WorkRow(heading_line("OUTLINE", path))]
    rows = code.outline.rows
    if not rows:
        return _message_rows(
            "OUTLINE", path, single_line(code.outline.note) or "no definitions in this file", width
        )
    found = [WorkRow(heading_line("OUTLINE", path))]
    here = _innermost_symbol(rows, code.line)
    for depth, one in nest_symbols(rows[:MAX_ROWS]):
        found.append(
            WorkRow(
                _symbol_line(one, depth, one is here, width), location_action(one.path, one.line, one.column)
            )
        )
    if not code.outline.complete and code.outline.note:
        found += [blank_row(), WorkRow(row_line((f" {single_line(code.outline.note)}", "muted")))]
    return found


def nest_symbols(rows: tuple[SymbolRow, ...]) -> list[tuple[int, SymbolRow]]:
    """Each row with how deep it stands in others, by their lines, or by its container's name."""
    found: list[tuple[int, SymbolRow]] = []
    around: list[SymbolRow] = []
    for one in rows:
        while around and not (around[-1].first <= one.line <= around[-1].last):
            around.pop()
        depth = len(around) if one.last else one.container.count(".") + bool(one.container)
        found.append((depth, one))
        if one.last > one.first:
            around.append(one)
    return found


def _innermost_symbol(rows: tuple[SymbolRow, ...], line: int) -> SymbolRow | None:
    around = [one for one in rows if one.first <= line <= one.last]
    return min(around, key=lambda one: one.last - one.first, default=None)


def _symbol_line(one: SymbolRow, depth: int, here: bool, width: int) -> StyledLine:
    number = f"{one.line} "
    lead = " ▸ " if here else "   "
    bars = "│ " * depth
    room = width - len(lead) - len(bars) - len(number) - 1
    name = shorten(single_line(one.name), max(4, room))
    kind = shorten(single_line(one.kind), max(0, room - cell_width(name) - 2))
    pieces: list[Piece] = [(lead, "person"), (bars, "faint")]
    pieces.append((name, _SYMBOL_STYLES.get(one.kind, "body") + ("+b" if here else "")))
    if len(kind) > 2:
        pieces.append((f"  {kind}", "faint"))
    return row_line(*pieces, right=[(number, "muted")])


def problem_rows(code: CodeState, width: int) -> list[WorkRow]:
    """What the servers find wrong, file by file."""
    problems = code.problems
    if problems is None or not problems.rows:
        note = single_line(problems.note) if problems is not None else ""
        return _message_rows("PROBLEMS", "", note or "none known", width)
    found: list[WorkRow] = []
    ordered = sorted(problems.rows[:MAX_ROWS], key=lambda one: (one.path, one.line, one.column))
    for path, group in groupby(ordered, key=lambda one: one.path):
        rows = list(group)
        if found:
            found.append(blank_row())
        right = _describe_counts(rows)
        text = shorten_path(single_line(path), max(8, width - cell_width(right) - 4))
        found.append(WorkRow(row_line((f" {text}", "body+b"), right=[(f"{right} ", "muted")])))
        for one in rows:
            does = location_action(one.path, one.line, one.column)
            found += [WorkRow(line, does) for line in _problem_lines(one, width)]
    if not problems.complete and problems.note:
        found += [blank_row(), WorkRow(row_line((f" {single_line(problems.note)}", "muted")))]
    return found


def _describe_counts(rows: list[ProblemRow]) -> str:
    by_severity = Counter(row.severity for row in rows)
    words = [
        number_format.format_count(by_severity[name], name)
        for name in ("error", "warning")
        if by_severity[name]
    ]
    return ", ".join(words) or number_format.format_count(len(rows), "hint")


def _problem_lines(one: ProblemRow, width: int) -> list[StyledLine]:
    """Sign, line number, what is wrong (three lines of it at most), who says so."""
    sign, key = _SEVERITY_SIGNS[one.severity]
    number = f"{one.line:>4}  "
    first: list[Piece] = [(f" {sign}", f"{key}/surface"), (number, "muted/surface")]
    rest: list[Piece] = [(" " * (2 + len(number)), "body/surface")]
    who = f"{single_line(one.server, 20)} "
    text = single_line(one.message.partition("\n")[0])  # what follows is advice; the screen Problems has it
    room = width - 1 - (cell_width(who) + 1)
    lines = layout_paragraph(
        text, max(12, room), key="body/surface", first=first, rest=rest, fill="body/surface"
    )[:3]
    lines[0].right = [(who, "faint/surface")]
    return lines


def _message_rows(heading: str, right: str, text: str, width: int) -> list[WorkRow]:
    space: list[Piece] = [(" ", "body/surface")]
    lines = layout_paragraph(
        text, width - 1, key="muted/surface", first=space, rest=space, fill="body/surface"
    )
    return [WorkRow(heading_line(heading, right)), *[WorkRow(line) for line in lines]]


_TAB_TITLES: dict[Tab, str] = {"now": "Now", "outline": "Outline", "problems": "Problems"}
_TAB_SIGNS: tuple[tuple[Severity, str, str], ...] = (("error", "✗", "bad"), ("warning", "▲", "warn"))


class TabStrip(NamedTuple):
    """The line, and which cells (from, to) belong to which tab."""

    line: StyledLine
    spans: tuple[tuple[int, int, Tab], ...]

    def tab_at(self, x: int) -> Tab | None:
        return next((tab for start, end, tab in self.spans if start <= x < end), None)


def tab_strip(state: ScreenState) -> TabStrip:
    """The tabs, the open one in bold on a lighter shade."""
    pieces: list[Piece] = []
    spans: list[tuple[int, int, Tab]] = []
    used = 0
    for tab in TABS:
        ground = "boost" if tab == state.tab else "surface"
        key = f"body/{ground}+b" if tab == state.tab else f"muted/{ground}"
        made: list[Piece] = [(f" {_TAB_TITLES[tab]} ", key)]
        if tab == "problems":
            made += [(text, f"{colour}/{ground}+b") for text, colour in _problem_counts(state)]
        wide = sum(cell_width(text) for text, _ in made)
        spans.append((used, used + wide, tab))
        pieces += [*made, (" ", "body/surface")]
        used += wide + 1
    return TabStrip(StyledLine(pieces, "body/surface"), tuple(spans))


def _problem_counts(state: ScreenState) -> list[Piece]:
    """Errors and warnings; what is less than that only where there is nothing else."""
    rows = state.code.problems.rows if state.code.problems is not None else ()
    by_severity = Counter(row.severity for row in rows)
    found = [(f"{sign}{by_severity[name]} ", key) for name, sign, key in _TAB_SIGNS if by_severity[name]]
    return found or ([(f"{len(rows)} ", "muted")] if rows else [])
