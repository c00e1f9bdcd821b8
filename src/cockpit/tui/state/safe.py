"""Blocks of content made safe to draw, and cut to what a screen can use."""

from dataclasses import replace

from cockpit.protocol.content import Block, Code, Diff, Image, Markdown, Plot, Table, Text, Tree
from cockpit.tui.clean import clean, clean_output, one_line

_MOST = 400_000


def safe_blocks(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    return tuple(_safe(block) for block in blocks)


def safe_diff(diff: Diff) -> Diff:
    hunks = tuple(replace(hunk, lines=tuple(map(_line, hunk.lines))) for hunk in diff.hunks)
    return replace(
        diff,
        path=one_line(diff.path),
        hunks=hunks,
        moved_from=one_line(diff.moved_from),
        note=one_line(diff.note),
    )


def _safe(block: Block) -> Block:
    match block:
        case Text(text):
            return Text(clean_output(text[:_MOST]))
        case Markdown(text):
            return Markdown(clean(text[:_MOST]))
        case Code():
            return replace(block, text=clean(block.text[:_MOST]), path=one_line(block.path))
        case Diff():
            return safe_diff(block)
        case Table():
            rows = tuple(tuple(map(one_line, row)) for row in block.rows)
            return Table(tuple(map(one_line, block.columns)), rows, one_line(block.title))
        case Tree():
            return _tree(block)
        case Image():
            return replace(block, alt=one_line(block.alt))
        case Plot():
            return replace(block, title=one_line(block.title))


def _tree(tree: Tree) -> Tree:
    return Tree(one_line(tree.label), tuple(_tree(child) for child in tree.children))


def _line(line: str) -> str:
    """A line of a diff: a carriage return at its end is a fact of the file and is shown."""
    if line.endswith("\r"):
        return clean(line[:-1]) + "␍"
    return clean(line.replace("\r", "␍"))
