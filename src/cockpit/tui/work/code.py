"""Work's tabs Outline and Problems, from the state: pure. Enter on a row opens its place."""

from collections import Counter
from itertools import groupby

from cockpit.protocol.code import ProblemRow, SymbolRow
from cockpit.tui import figures
from cockpit.tui.clean import one_line
from cockpit.tui.state.code import CodeState
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened, shortened_path, width_of
from cockpit.tui.work.lines import Row, blank, row, title

MOST = 2000
"""Rows that are drawn; the screen Problems holds the rest."""
_NAMES = {"class": "heading", "struct": "heading", "interface": "heading", "enum": "heading"}
_NAMES |= {"function": "function", "method": "function", "constructor": "function", "property": "string"}
_SEVERITY = {
    "error": ("✗", "bad"),
    "warning": ("▲", "warn"),
    "info": ("·", "machine"),
    "hint": ("·", "muted"),
}


def place(path: str, line: int, column: int) -> str:
    """What a row that opens a place does."""
    return f"place:{path}:{line}:{column}"


def outline_rows(code: CodeState, width: int) -> list[Row]:
    """The definitions of the file at hand, nested as they are."""
    if not code.at_hand:
        return _said(
            "OUTLINE", "", "no file is at hand: it is the one read or changed last. F6 finds a symbol", width
        )
    path = shortened_path(one_line(code.at_hand), max(8, width - 12))
    if code.outline is None:
        return [Row(title("OUTLINE", path))]
    rows = code.outline.rows
    if not rows:
        return _said("OUTLINE", path, one_line(code.outline.note) or "no definitions in this file", width)
    found = [Row(title("OUTLINE", path))]
    here = _innermost(rows, code.line)
    for depth, one in nested(rows[:MOST]):
        found.append(Row(_symbol(one, depth, one is here, width), place(one.path, one.line, one.column)))
    if not code.outline.complete and code.outline.note:
        found += [blank(), Row(row((f" {one_line(code.outline.note)}", "muted")))]
    return found


def nested(rows: tuple[SymbolRow, ...]) -> list[tuple[int, SymbolRow]]:
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


def _innermost(rows: tuple[SymbolRow, ...], line: int) -> SymbolRow | None:
    around = [one for one in rows if one.first <= line <= one.last]
    return min(around, key=lambda one: one.last - one.first, default=None)


def _symbol(one: SymbolRow, depth: int, here: bool, width: int) -> Line:
    number = f"{one.line} "
    lead = " ▸ " if here else "   "
    bars = "│ " * depth
    room = width - len(lead) - len(bars) - len(number) - 1
    name = shortened(one_line(one.name), max(4, room))
    kind = shortened(one_line(one.kind), max(0, room - width_of(name) - 2))
    pieces: list[Piece] = [(lead, "person"), (bars, "faint")]
    pieces.append((name, _NAMES.get(one.kind, "body") + ("+b" if here else "")))
    if len(kind) > 2:
        pieces.append((f"  {kind}", "faint"))
    return row(*pieces, right=[(number, "muted")])


def problem_rows(code: CodeState, width: int) -> list[Row]:
    """What the servers find wrong, file by file."""
    problems = code.problems
    if problems is None or not problems.rows:
        note = one_line(problems.note) if problems is not None else ""
        return _said("PROBLEMS", "", note or "none known", width)
    found: list[Row] = []
    ordered = sorted(problems.rows[:MOST], key=lambda one: (one.path, one.line, one.column))
    for path, group in groupby(ordered, key=lambda one: one.path):
        rows = list(group)
        if found:
            found.append(blank())
        right = _counted(rows)
        text = shortened_path(one_line(path), max(8, width - width_of(right) - 4))
        found.append(Row(row((f" {text}", "body+b"), right=[(f"{right} ", "muted")])))
        for one in rows:
            does = place(one.path, one.line, one.column)
            found += [Row(line, does) for line in _problem(one, width)]
    if not problems.complete and problems.note:
        found += [blank(), Row(row((f" {one_line(problems.note)}", "muted")))]
    return found


def _counted(rows: list[ProblemRow]) -> str:
    by_severity = Counter(row.severity for row in rows)
    words = [figures.count(by_severity[name], name) for name in ("error", "warning") if by_severity[name]]
    return ", ".join(words) or figures.count(len(rows), "hint")


def _problem(one: ProblemRow, width: int) -> list[Line]:
    """Sign, line number, what is wrong (three lines of it at most), who says so."""
    sign, key = _SEVERITY[one.severity]
    number = f"{one.line:>4}  "
    first: list[Piece] = [(f" {sign}", f"{key}/surface"), (number, "muted/surface")]
    rest: list[Piece] = [(" " * (2 + len(number)), "body/surface")]
    who = f"{one_line(one.server, 20)} "
    text = one_line(one.message.partition("\n")[0])  # what follows is advice; the screen Problems has it
    room = width - 1 - (width_of(who) + 1)
    lines = paragraph(text, max(12, room), key="body/surface", first=first, rest=rest, fill="body/surface")[
        :3
    ]
    lines[0].right = [(who, "faint/surface")]
    return lines


def _said(heading: str, right: str, text: str, width: int) -> list[Row]:
    space: list[Piece] = [(" ", "body/surface")]
    lines = paragraph(text, width - 1, key="muted/surface", first=space, rest=space, fill="body/surface")
    return [Row(title(heading, right)), *[Row(line) for line in lines]]
