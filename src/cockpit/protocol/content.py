"""Blocks: the pieces of content that every frontend can draw. Knows nothing about how they are drawn."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, never read as markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Markdown:
    """CommonMark source."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Source text; `line` is the number (from 1) of its first line in `path`."""

    text: str
    language: str = ""
    path: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class Hunk:
    """One contiguous change, as in a unified diff.

    `lines` keep their leading ' ', '+', '-' or '\\\\' (no newline at the end of the file) but not their
    newline. Line numbers count from 1; a side without lines has start 0.
    """

    id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The change of one file. `moved_from` is empty unless the file also moves."""

    path: str
    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    moved_from: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; each row has as many cells as `columns`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A label and the trees below it."""

    label: str
    children: tuple["Tree", ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as base64 of its bytes; `alt` is shown by a terminal without pictures."""

    media_type: str
    base64: str
    alt: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A line plot: named series of (x, y) points."""

    title: str
    series: tuple[tuple[str, tuple[tuple[float, float], ...]], ...]


def new_text(hunk: Hunk) -> str:
    """The new lines of the hunk as an editor shows them: without CR at line ends, and with the last newline
    if the file has one."""
    lines: list[str] = []
    closed = True
    sign = ""
    for line in hunk.lines:
        if line[:1] == "\\":
            closed = closed and sign == "-"
            continue
        sign = line[:1]
        if sign in (" ", "+"):
            lines.append(line[1:].removesuffix("\r"))
    return "\n".join(lines) + ("\n" if lines and closed else "")


Block: TypeAlias = Text | Markdown | Code | Diff | Table | Tree | Image | Plot


def plain_text(blocks: tuple[Block, ...]) -> str:
    """The text of `blocks` for a reader of plain lines: a model, a pipe, a screen reader."""
    return "\n".join(_plain(block) for block in blocks)


def _plain(block: Block) -> str:
    match block:
        case Text(text) | Markdown(text) | Code(text):
            return text
        case Diff():
            body = "\n".join(line for hunk in block.hunks for line in hunk.lines)
            return f"{block.path} (+{block.added} -{block.removed})\n{body}"
        case Table():
            rows = [" | ".join(row) for row in (block.columns, *block.rows)]
            return "\n".join([block.title, *rows] if block.title else rows)
        case Tree():
            return "\n".join(_branches(block, 0))
        case Image(alt=alt):
            return f"[image: {alt}]"
        case Plot(title=title):
            return f"[plot: {title}]"


def _branches(tree: Tree, depth: int) -> list[str]:
    lines = ["  " * depth + tree.label]
    for child in tree.children:
        lines += _branches(child, depth + 1)
    return lines
