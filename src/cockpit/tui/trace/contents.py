"""How the blocks of `protocol/content` are drawn: block and width to lines."""

from typing import assert_never

from cockpit.protocol.content import Block, Code, Diff, Image, Markdown, Plot, Table, Text, Tree
from cockpit.tui.trace import diffs, parts
from cockpit.tui.trace.code import language_of
from cockpit.tui.trace.layout import Line, paragraph
from cockpit.tui.trace.markdown import Splitter
from cockpit.tui.trace.tables import grid

_BARS = "▁▂▃▄▅▆▇█"


def draw_block(block: Block, width: int, margin: int) -> list[Line]:
    """The lines of `block`, set in by `margin`."""
    space = [(" " * margin, "body")]
    match block:
        case Text(text):
            return paragraph(text.rstrip("\n").expandtabs(4), width - 1, first=space, rest=space)
        case Markdown(text):
            return markdown(text, width, margin)
        case Code():
            return _code(block, width, margin)
        case Diff():
            return [diffs.head(block, width, margin), *diffs.body(block, width, margin)]
        case Table():
            return _table(block, width, margin)
        case Tree():
            return [Line([*space, *pieces], indent=margin) for pieces in _tree(block, "", "")]
        case Image():
            label = f"[picture: {block.alt or block.media_type}]"
            return [Line([*space, (label, "muted+i")], indent=margin)]
        case Plot():
            return _plot(block, width, margin)
        case _:
            assert_never(block)


def markdown(text: str, width: int, margin: int) -> list[Line]:
    """Whole Markdown at once."""
    splitter = Splitter()
    splitter.feed(text)
    splitter.close()
    lines: list[Line] = []
    for part in splitter.done:
        if part.gap and lines:
            lines.append(Line([]))
        lines += parts.draw(part, width, margin)
    return lines


def _code(block: Code, width: int, margin: int) -> list[Line]:
    language = block.language or language_of(block.path)
    first = block.line if block.path else 0
    lines = parts.code(block.text, language, width, margin, first)
    if block.path:
        title = f"{block.path}:{block.line}" if block.line > 1 else block.path
        lines.insert(0, Line([(" " * margin, "body"), (title, "place")], indent=margin))
    return lines


def _table(block: Table, width: int, margin: int) -> list[Line]:
    lines = [Line([(" " * margin, "body"), (block.title, "heading+b")], indent=margin)] if block.title else []
    escaped = [[_literal(cell) for cell in row] for row in block.rows]
    return lines + grid([_literal(cell) for cell in block.columns], escaped, width, margin)


def _literal(cell: str) -> str:
    """A cell of a table value is text: its signs are not Markdown."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>&~" else sign for sign in cell)


def _tree(tree: Tree, lead: str, below: str) -> list[list[tuple[str, str]]]:
    rows = [[(lead, "faint"), (tree.label, "body")]]
    for number, child in enumerate(tree.children):
        last = number == len(tree.children) - 1
        rows += _tree(child, below + ("└ " if last else "├ "), below + ("  " if last else "│ "))
    return rows


def _plot(plot: Plot, width: int, margin: int) -> list[Line]:
    """Each series as one line of bars, with its least and greatest value."""
    lines = [Line([(" " * margin, "body"), (plot.title, "heading+b")], indent=margin)]
    names = max((len(name) for name, _ in plot.series), default=0)
    room = max(8, min(60, width - margin - names - 24))
    for name, points in plot.series:
        values = [y for _, y in points]
        if not values:
            continue
        low, high = min(values), max(values)
        step = max(1, -(-len(values) // room))
        shown = [max(values[at : at + step]) for at in range(0, len(values), step)]
        scale = (high - low) or 1.0
        bars = "".join(_BARS[round((value - low) / scale * 7)] for value in shown)
        pieces = [(" " * margin + name.ljust(names) + " ", "muted"), (bars, "machine")]
        lines.append(Line([*pieces, (f" {low:g} to {high:g}", "muted")], indent=margin))
    return lines
