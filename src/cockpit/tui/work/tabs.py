"""The tabs of Work: their rows, the line of tabs, and the tabs Outline and Problems."""

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from cockpit.protocol.code import ProblemRow, Severity, SymbolRow
from cockpit.protocol.safe_text import single_line
from cockpit.tui.render.layout import Piece, StyledLine, cell_width, layout_paragraph, shorten, shorten_path
from cockpit.tui.render.number_format import format_count
from cockpit.tui.state.screen_state import TABS, CodeState, ScreenState, Tab

MAX_ROWS = 2000
"""Rows that are drawn; the screen Problems has the rest."""
_TAB_TITLES: dict[Tab, str] = {"now": "Now", "outline": "Outline", "problems": "Problems"}
_TAB_SIGNS: tuple[tuple[Severity, str, str], ...] = (("error", "✗", "bad"), ("warning", "▲", "warn"))
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


def location_action(path: str, line: int, column: int) -> str:
    """The action of a row that opens a location."""
    return f"place:{path}:{line}:{column}"


def outline_rows(code: CodeState, width: int) -> list[WorkRow]:
    """The definitions of the current file, nested as in the file."""
    if not code.current_file:
        text = "no current file yet: it is the file read or changed last. F6 finds a symbol"
        return _message_rows("OUTLINE", "", text, width)
    path = shorten_path(single_line(code.current_file), max(8, width - 12))
    if code.outline is None:
        return [WorkRow(heading_line("OUTLINE", path))]
    rows = code.outline.rows
    if not rows:
        note = single_line(code.outline.note) or "no definitions in this file"
        return _message_rows("OUTLINE", path, note, width)
    result = [WorkRow(heading_line("OUTLINE", path))]
    current = _innermost_symbol(rows, code.line)
    for depth, symbol in nest_symbols(rows[:MAX_ROWS]):
        line = _symbol_line(symbol, depth, symbol is current, width)
        result.append(WorkRow(line, location_action(symbol.path, symbol.line, symbol.column)))
    if not code.outline.complete and code.outline.note:
        result += [blank_row(), WorkRow(row_line((f" {single_line(code.outline.note)}", "muted")))]
    return result


def nest_symbols(rows: tuple[SymbolRow, ...]) -> list[tuple[int, SymbolRow]]:
    """Each symbol with its depth, from the line ranges or else from its container's name."""
    nested: list[tuple[int, SymbolRow]] = []
    enclosing: list[SymbolRow] = []
    for symbol in rows:
        while enclosing and not (enclosing[-1].first <= symbol.line <= enclosing[-1].last):
            enclosing.pop()
        depth = len(enclosing) if symbol.last else symbol.container.count(".") + bool(symbol.container)
        nested.append((depth, symbol))
        if symbol.last > symbol.first:
            enclosing.append(symbol)
    return nested


def _innermost_symbol(rows: tuple[SymbolRow, ...], line: int) -> SymbolRow | None:
    enclosing = [symbol for symbol in rows if symbol.first <= line <= symbol.last]
    return min(enclosing, key=lambda symbol: symbol.last - symbol.first, default=None)


def _symbol_line(symbol: SymbolRow, depth: int, is_current: bool, width: int) -> StyledLine:
    number = f"{symbol.line} "
    lead = " ▸ " if is_current else "   "
    bars = "│ " * depth
    room = width - len(lead) - len(bars) - len(number) - 1
    name = shorten(single_line(symbol.name), max(4, room))
    kind = shorten(single_line(symbol.kind), max(0, room - cell_width(name) - 2))
    pieces: list[Piece] = [(lead, "person"), (bars, "faint")]
    pieces.append((name, _SYMBOL_STYLES.get(symbol.kind, "body") + ("+b" if is_current else "")))
    if len(kind) > 2:
        pieces.append((f"  {kind}", "faint"))
    return row_line(*pieces, right=[(number, "muted")])


def problem_rows(code: CodeState, width: int) -> list[WorkRow]:
    """What the language servers report, file by file."""
    problems = code.problems
    if problems is None or not problems.rows:
        note = single_line(problems.note) if problems is not None else ""
        return _message_rows("PROBLEMS", "", note or "none known", width)
    result: list[WorkRow] = []
    ordered = sorted(problems.rows[:MAX_ROWS], key=lambda row: (row.path, row.line, row.column))
    for path, group in groupby(ordered, key=lambda row: row.path):
        rows = list(group)
        if result:
            result.append(blank_row())
        right = _describe_counts(rows)
        text = shorten_path(single_line(path), max(8, width - cell_width(right) - 4))
        result.append(WorkRow(row_line((f" {text}", "body+b"), right=[(f"{right} ", "muted")])))
        for row in rows:
            action = location_action(row.path, row.line, row.column)
            result += [WorkRow(line, action) for line in _problem_lines(row, width)]
    if not problems.complete and problems.note:
        result += [blank_row(), WorkRow(row_line((f" {single_line(problems.note)}", "muted")))]
    return result


def _describe_counts(rows: list[ProblemRow]) -> str:
    by_severity = Counter(row.severity for row in rows)
    counts = [format_count(by_severity[name], name) for name in ("error", "warning") if by_severity[name]]
    return ", ".join(counts) or format_count(len(rows), "hint")


def _problem_lines(row: ProblemRow, width: int) -> list[StyledLine]:
    """Sign, line number, message (at most three lines of it), server."""
    sign, key = _SEVERITY_SIGNS[row.severity]
    number = f"{row.line:>4}  "
    first: list[Piece] = [(f" {sign}", f"{key}/surface"), (number, "muted/surface")]
    rest: list[Piece] = [(" " * (2 + len(number)), "body/surface")]
    server = f"{single_line(row.server, 20)} "
    text = single_line(row.message.partition("\n")[0])  # advice follows; the screen Problems shows it
    room = width - 1 - (cell_width(server) + 1)
    lines = layout_paragraph(
        text, max(12, room), key="body/surface", first=first, rest=rest, fill="body/surface"
    )[:3]
    lines[0].right = [(server, "faint/surface")]
    return lines


def _message_rows(heading: str, right: str, text: str, width: int) -> list[WorkRow]:
    space: list[Piece] = [(" ", "body/surface")]
    lines = layout_paragraph(
        text, width - 1, key="muted/surface", first=space, rest=space, fill="body/surface"
    )
    return [WorkRow(heading_line(heading, right)), *[WorkRow(line) for line in lines]]


class TabStrip(NamedTuple):
    """The line of tabs, and which cells (from, to) belong to which tab."""

    line: StyledLine
    spans: tuple[tuple[int, int, Tab], ...]

    def tab_at(self, x: int) -> Tab | None:
        return next((tab for start, end, tab in self.spans if start <= x < end), None)


def tab_strip(state: ScreenState) -> TabStrip:
    """The line of tabs, the open one in bold on a lighter background."""
    pieces: list[Piece] = []
    spans: list[tuple[int, int, Tab]] = []
    used = 0
    for tab in TABS:
        ground = "boost" if tab == state.tab else "surface"
        key = f"body/{ground}+b" if tab == state.tab else f"muted/{ground}"
        label: list[Piece] = [(f" {_TAB_TITLES[tab]} ", key)]
        if tab == "problems":
            label += [(text, f"{colour}/{ground}+b") for text, colour in _problem_counts(state)]
        size = sum(cell_width(text) for text, _ in label)
        spans.append((used, used + size, tab))
        pieces += [*label, (" ", "body/surface")]
        used += size + 1
    return TabStrip(StyledLine(pieces, "body/surface"), tuple(spans))


def _problem_counts(state: ScreenState) -> list[Piece]:
    """How many errors and warnings there are; without either, how many lesser problems."""
    rows = state.code.problems.rows if state.code.problems is not None else ()
    by_severity = Counter(row.severity for row in rows)
    counts = [(f"{sign}{by_severity[name]} ", key) for name, sign, key in _TAB_SIGNS if by_severity[name]]
    return counts or ([(f"{len(rows)} ", "muted")] if rows else [])
