"""Tables: columns as wide as they need, cells wrapped when the terminal is too narrow for that."""

import re
from collections.abc import Sequence
from typing import Literal

from cockpit.tui.trace.inline import inline
from cockpit.tui.trace.layout import Line, Piece, Span, pieces_of, width_of, wrap

Align = Literal["left", "right", "centre"]
_CELL = re.compile(r"(?<!\\)\|")


def table(source: Sequence[str], width: int, margin: int) -> list[Line]:
    """A Markdown table: its first line is the head, its second says how columns are set."""
    head = _cells(source[0])
    aligns = [_align(cell) for cell in _cells(source[1])]
    rows = [_cells(line) for line in source[2:]]
    return grid(head, rows, width, margin, aligns)


def grid(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    margin: int,
    aligns: Sequence[Align] = (),
) -> list[Line]:
    """`head` and `rows` as lines; a row that is short is filled, one that is long is cut."""
    count = max(1, len(head))
    table_rows = [[*row, *[""] * count][:count] for row in rows]
    parsed = [[inline(cell.replace("\\|", "|")) for cell in row] for row in table_rows]
    top = [inline(cell, "heading+b") for cell in head]
    sizes = _sizes([top, *parsed], max(count * 3, width - margin - 1 - 3 * (count - 1)))
    setting = [aligns[column] if column < len(aligns) else "left" for column in range(count)]
    space = " " * margin
    lines = _row(top, sizes, setting, space, "heading+b")
    rule = "─┼─".join("─" * size for size in sizes)
    lines.append(Line([(space, "body"), (rule, "faint")], indent=margin))
    for row in parsed:
        lines += _row(row, sizes, setting, space, "body")
    return lines


def _cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    return [cell.strip() for cell in _CELL.split(bare)]


def _align(cell: str) -> Align:
    if cell.startswith(":") and cell.endswith(":"):
        return "centre"
    return "right" if cell.endswith(":") else "left"


def _sizes(rows: Sequence[Sequence[tuple[str, list[Span]]]], room: int) -> list[int]:
    """A width for each column: what it needs, and where that is too much the widest give way."""
    columns = range(len(rows[0]))
    needs = [max(1, *(width_of(row[column][0]) for row in rows)) for column in columns]
    while sum(needs) > room:
        widest = max(columns, key=needs.__getitem__)
        if needs[widest] <= 3:
            break
        second = max((needs[column] for column in columns if column != widest), default=3)
        needs[widest] = max(3, min(needs[widest] - 1, max(second, needs[widest] - (sum(needs) - room))))
    return needs


def _row(
    cells: Sequence[tuple[str, list[Span]]],
    sizes: Sequence[int],
    aligns: Sequence[Align],
    space: str,
    key: str,
) -> list[Line]:
    wrapped = [wrap(text, size) for (text, _), size in zip(cells, sizes, strict=True)]
    lines: list[Line] = []
    for index in range(max(len(one) for one in wrapped)):
        pieces: list[Piece] = [(space, "body")]
        for column, ((text, spans), size) in enumerate(zip(cells, sizes, strict=True)):
            if column:
                pieces.append((" │ ", "faint"))
            start, end = wrapped[column][index] if index < len(wrapped[column]) else (0, 0)
            pieces += _set(text, spans, start, end, size, aligns[column], key)
        lines.append(Line(pieces, indent=len(space)))
    return lines


def _set(
    text: str, spans: list[Span], start: int, end: int, size: int, align: Align, key: str
) -> list[Piece]:
    free = max(0, size - width_of(text[start:end]))
    before = {"left": 0, "right": free, "centre": free // 2}[align]
    pieces = [piece for piece in pieces_of(text, spans, start, end, key) if piece[0]]
    return [(" " * before, key), *pieces, (" " * (free - before), key)]
