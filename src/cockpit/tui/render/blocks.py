"""Draws content blocks (text, Markdown, code, diffs, tables, trees, plots) and parts of Markdown sources."""

import re
from collections.abc import Sequence
from typing import Literal, assert_never

from cockpit.protocol.content import Block, Code, Diff, Image, Markdown, Plot, Table, Text, Tree
from cockpit.tui.render import diffs
from cockpit.tui.render.layout import (
    Piece,
    Span,
    StyledLine,
    cell_width,
    layout_paragraph,
    on_background,
    shorten,
    slice_pieces,
    wrap,
)
from cockpit.tui.render.markdown import MarkdownPart, MarkdownSplitter, parse_inline
from cockpit.tui.render.syntax import detect_language, highlight

ColumnAlign = Literal["left", "right", "centre"]
_CELL_SEPARATOR = re.compile(r"(?<!\\)\|")
_BARS = "▁▂▃▄▅▆▇█"
_BULLETS = ("•", "◦", "▪")
MAX_PROSE_WIDTH = 100
"""Maximum width of prose in a wide terminal, as longer lines are hard to read."""


def draw_block(block: Block, width: int, margin: int) -> list[StyledLine]:
    """The lines of `block`, indented by `margin`."""
    space = [(" " * margin, "body")]
    match block:
        case Text(text):
            return layout_paragraph(text.rstrip("\n").expandtabs(4), width - 1, first=space, rest=space)
        case Markdown(text):
            return draw_markdown(text, width, margin)
        case Code():
            return _draw_code_block(block, width, margin)
        case Diff():
            return [diffs.diff_heading(block, width, margin), *diffs.diff_body(block, width, margin)]
        case Table():
            return _draw_table_block(block, width, margin)
        case Tree():
            return [StyledLine([*space, *pieces], indent=margin) for pieces in _tree_rows(block, "", "")]
        case Image():
            label = f"[picture: {block.alt or block.media_type}]"
            return [StyledLine([*space, (label, "muted+i")], indent=margin)]
        case Plot():
            return _draw_plot(block, width, margin)
        case _:
            assert_never(block)


def draw_markdown(text: str, width: int, margin: int) -> list[StyledLine]:
    """The lines of a whole Markdown text."""
    splitter = MarkdownSplitter()
    splitter.feed(text)
    splitter.close()
    lines: list[StyledLine] = []
    for part in splitter.done:
        if part.gap and lines:
            lines.append(StyledLine([]))
        lines += draw_part(part, width, margin)
    return lines


def _draw_code_block(block: Code, width: int, margin: int) -> list[StyledLine]:
    language = block.language or detect_language(block.path)
    first = block.line if block.path else 0
    lines = draw_code(block.text, language, width, margin, first)
    if block.path:
        title = f"{block.path}:{block.line}" if block.line > 1 else block.path
        lines.insert(0, StyledLine([(" " * margin, "body"), (title, "place")], indent=margin))
    return lines


def _draw_table_block(block: Table, width: int, margin: int) -> list[StyledLine]:
    lines: list[StyledLine] = []
    if block.title:
        lines.append(StyledLine([(" " * margin, "body"), (block.title, "heading+b")], indent=margin))
    escaped = [[_escape_markdown(cell) for cell in row] for row in block.rows]
    return lines + draw_grid([_escape_markdown(cell) for cell in block.columns], escaped, width, margin)


def _escape_markdown(cell: str) -> str:
    """Escape the cell of a table value: it is text, not Markdown."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>&~" else sign for sign in cell)


def _tree_rows(tree: Tree, lead: str, below: str) -> list[list[tuple[str, str]]]:
    rows = [[(lead, "faint"), (tree.label, "body")]]
    for number, child in enumerate(tree.children):
        last = number == len(tree.children) - 1
        rows += _tree_rows(child, below + ("└ " if last else "├ "), below + ("  " if last else "│ "))
    return rows


def _draw_plot(plot: Plot, width: int, margin: int) -> list[StyledLine]:
    lines = [StyledLine([(" " * margin, "body"), (plot.title, "heading+b")], indent=margin)]
    names = max((len(name) for name, _ in plot.series), default=0)
    room = max(8, min(60, width - margin - names - 24))
    for name, points in plot.series:
        values = [y for _, y in points]
        if not values:
            continue
        low, high = min(values), max(values)
        step = max(1, -(-len(values) // room))
        peaks = [max(values[at : at + step]) for at in range(0, len(values), step)]
        scale = (high - low) or 1.0
        bars = "".join(_BARS[round((value - low) / scale * 7)] for value in peaks)
        pieces = [(" " * margin + name.ljust(names) + " ", "muted"), (bars, "machine")]
        lines.append(StyledLine([*pieces, (f" {low:g} to {high:g}", "muted")], indent=margin))
    return lines


def draw_part(part: MarkdownPart, width: int, margin: int, key: str = "body") -> list[StyledLine]:
    """The lines of `part` in `width` cells, indented by `margin`, without the gap before it."""
    space = " " * (margin + part.indent)
    match part.kind:
        case "paragraph":
            return _draw_prose(_join_prose_lines(part.lines), width, [(space, key)], key)
        case "heading":
            return _draw_heading(part, width, space)
        case "bullet":
            return _draw_bullet(part, width, space, key)
        case "quote":
            bar = [(space, key), ("│ ", "faint")]
            return _draw_prose(_join_prose_lines(part.lines), width, bar, "muted+i")
        case "rule":
            length = max(3, min(width, MAX_PROSE_WIDTH) - len(space) - 2)
            return [StyledLine([(space, key), ("─" * length, "faint")])]
        case "code":
            return draw_code(part.text, part.language, width, len(space), labelled=not part.marker)
        case "table":
            return draw_table(part.lines, width, len(space))


def estimate_height(part: MarkdownPart, width: int, margin: int) -> int:
    """Roughly how many lines `draw_part` would return; quick, and exact for a short line of plain text."""
    room = max(10, min(width, MAX_PROSE_WIDTH) - margin - part.indent - 1)
    if part.kind == "code":
        return sum(1 + len(line) // max(10, width - margin - 4) for line in part.lines)
    if part.kind in ("table", "rule"):
        return max(1, len(part.lines))
    length = sum(len(line) + 1 for line in part.lines)
    return 1 + (length - 1) // room


def draw_code(
    text: str, language: str, width: int, margin: int, first: int = 0, labelled: bool = True
) -> list[StyledLine]:
    """Code on a shaded background, with line numbers from `first` on (0: none)."""
    space = " " * margin
    rows = highlight(text.rstrip("\n"), language)
    digits = len(str(first + len(rows))) if first else 0
    room = max(8, width - margin - 3 - (digits + 1 if digits else 0))
    lines: list[StyledLine] = []
    for number, row in enumerate(rows):
        label = f"{first + number:>{digits}} " if digits else ""
        head: list[Piece] = [(space, "body"), (" " + label, "faint/surface")]
        for index, pieces in enumerate(_hard_wrap(row, room)):
            lead = head if not index else [(space, "body"), (" " + " " * len(label), "faint/surface")]
            shaded = [(piece, on_background(key, "surface")) for piece, key in pieces]
            lines.append(
                StyledLine(
                    [*lead, *shaded],
                    "body/surface",
                    glue="" if index else None,
                    indent=margin + 1 + len(label),
                )
            )
    if language and lines and labelled:
        lines[0].right = [(f" {shorten(language, 16)} ", "faint/surface+i")]
    return lines


def _hard_wrap(row: list[Piece], room: int) -> list[list[Piece]]:
    text = "".join(piece[0] for piece in row)
    if "\t" in text:
        row = [(piece.replace("\t", "    "), key) for piece, key in row]
        text = text.replace("\t", "    ")
    if cell_width(text) <= room:
        return [row]
    rows: list[list[Piece]] = [[]]
    used = 0
    for piece, key in row:
        rest = piece
        while rest:
            start, end = wrap(rest.replace(" ", "\u00a0"), max(1, room - used))[0]
            if used and cell_width(rest[start:end]) > room - used:
                rows.append([])
                used = 0
                continue
            rows[-1].append((rest[:end], key))
            used += cell_width(rest[:end])
            rest = rest[end:]
            if used >= room and rest:
                rows.append([])
                used = 0
    return rows


def _join_prose_lines(lines: list[str]) -> str:
    """Join source lines; only two spaces or a backslash at the end of a line break it."""
    if len(lines) == 1:
        return lines[0].strip()
    texts: list[str] = []
    for line in lines:
        hard = line.endswith(("  ", "\\"))
        texts.append(line.rstrip().removesuffix("\\") + ("\n" if hard else " "))
    return "".join(texts).strip()


def _draw_prose(source: str, width: int, prefix: list[Piece], key: str) -> list[StyledLine]:
    text, spans = parse_inline(source, key)
    room = min(width, MAX_PROSE_WIDTH) - 1
    return layout_paragraph(text, room, spans=spans, key=key, first=prefix, rest=prefix)


def _draw_heading(part: MarkdownPart, width: int, space: str) -> list[StyledLine]:
    key = "heading+b" if part.level <= 2 else "body+b"
    text, spans = parse_inline(part.text, key)
    prefix = [(space, key)]
    room = min(width, MAX_PROSE_WIDTH) - 1
    lines = layout_paragraph(text, room, spans=spans, key=key, first=prefix, rest=prefix)
    if part.level == 1:
        length = max(cell_width(line.text) for line in lines) - len(space)
        lines.append(StyledLine([(space, key), ("━" * length, "faint")], indent=len(space) + length))
    return lines


def _draw_bullet(part: MarkdownPart, width: int, space: str, key: str) -> list[StyledLine]:
    source = _join_prose_lines(part.lines)
    sign = part.marker if part.marker[0].isdigit() else _BULLETS[min(part.indent // 2, 2)]
    sign_key = "machine"
    for box, drawn, box_key in (("[ ] ", "☐", "muted"), ("[x] ", "☑", "good"), ("[X] ", "☑", "good")):
        if source.startswith(box):
            source, sign, sign_key = source[4:], drawn, box_key
    text, spans = parse_inline(source, key)
    first: list[Piece] = [(space, key), (sign + " ", sign_key)]
    rest: list[Piece] = [(space + " " * (cell_width(sign) + 1), key)]
    room = min(width, MAX_PROSE_WIDTH) - 1
    return layout_paragraph(text, room, spans=spans, key=key, first=first, rest=rest)


def draw_table(source: Sequence[str], width: int, margin: int) -> list[StyledLine]:
    """A Markdown table: the first line is the head, the second the alignment of the columns."""
    head = _split_cells(source[0])
    aligns = [_parse_align(cell) for cell in _split_cells(source[1])]
    rows = [_split_cells(line) for line in source[2:]]
    return draw_grid(head, rows, width, margin, aligns)


def draw_grid(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    margin: int,
    aligns: Sequence[ColumnAlign] = (),
) -> list[StyledLine]:
    """A table of `head` and `rows`; cells wrap where the terminal is too narrow, a short row is padded, a
    long row cut."""
    count = max(1, len(head))
    table_rows = [[*row, *[""] * count][:count] for row in rows]
    parsed = [[parse_inline(cell.replace("\\|", "|")) for cell in row] for row in table_rows]
    top = [parse_inline(cell, "heading+b") for cell in head]
    sizes = _column_widths([top, *parsed], max(count * 3, width - margin - 1 - 3 * (count - 1)))
    setting = [aligns[column] if column < len(aligns) else "left" for column in range(count)]
    space = " " * margin
    lines = _grid_row(top, sizes, setting, space, "heading+b")
    rule = "─┼─".join("─" * size for size in sizes)
    lines.append(StyledLine([(space, "body"), (rule, "faint")], indent=margin))
    for row in parsed:
        lines += _grid_row(row, sizes, setting, space, "body")
    return lines


def _split_cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    if bare.endswith("|") and not bare.endswith("\\|"):
        bare = bare[:-1]
    return [cell.strip() for cell in _CELL_SEPARATOR.split(bare)]


def _parse_align(cell: str) -> ColumnAlign:
    if cell.startswith(":") and cell.endswith(":"):
        return "centre"
    return "right" if cell.endswith(":") else "left"


def _column_widths(rows: Sequence[Sequence[tuple[str, list[Span]]]], room: int) -> list[int]:
    """A width for each column: what it needs, or less for the widest columns where there is no room."""
    columns = range(len(rows[0]))
    needs = [max(1, *(cell_width(row[column][0]) for row in rows)) for column in columns]
    while sum(needs) > room:
        widest = max(columns, key=needs.__getitem__)
        if needs[widest] <= 3:
            break
        second = max((needs[column] for column in columns if column != widest), default=3)
        needs[widest] = max(3, min(needs[widest] - 1, max(second, needs[widest] - (sum(needs) - room))))
    return needs


def _grid_row(
    cells: Sequence[tuple[str, list[Span]]],
    sizes: Sequence[int],
    aligns: Sequence[ColumnAlign],
    space: str,
    key: str,
) -> list[StyledLine]:
    wrapped = [wrap(text, size) for (text, _), size in zip(cells, sizes, strict=True)]
    lines: list[StyledLine] = []
    for index in range(max(map(len, wrapped))):
        pieces: list[Piece] = [(space, "body")]
        for column, ((text, spans), size) in enumerate(zip(cells, sizes, strict=True)):
            if column:
                pieces.append((" │ ", "faint"))
            start, end = wrapped[column][index] if index < len(wrapped[column]) else (0, 0)
            pieces += _pad_cell(text, spans, start, end, size, aligns[column], key)
        lines.append(StyledLine(pieces, indent=len(space)))
    return lines


def _pad_cell(
    text: str, spans: list[Span], start: int, end: int, size: int, align: ColumnAlign, key: str
) -> list[Piece]:
    free = max(0, size - cell_width(text[start:end]))
    before = {"left": 0, "right": free, "centre": free // 2}[align]
    pieces = [piece for piece in slice_pieces(text, spans, start, end, key) if piece[0]]
    return [(" " * before, key), *pieces, (" " * (free - before), key)]
