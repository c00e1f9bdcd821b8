"""Shows CSV and TSV files as tables. An example of `register_renderers`.

A renderer changes how the user sees a tool's result; the model reads the unchanged text. It returns blocks,
which every frontend can draw.
"""

import csv
import re

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Renderer, Scope
from cockpit.protocol.content import Block, Code, Table
from cockpit.protocol.messages import ToolCall, ToolResult

DELIMITERS = {".csv": ",", ".tsv": "\t"}
# `read` puts a number before each line.
LINE_NUMBER = re.compile(r"^\s*\d+(?:\t|→|: ?|\| ?)")
MAX_ROWS = 200


def parse_rows(text: str, delimiter: str) -> list[tuple[str, ...]]:
    """The cells of each line of `text`. Rows that are not as wide as the first are left out."""
    lines = [LINE_NUMBER.sub("", line) for line in text.splitlines()]
    rows = [tuple(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    width = len(rows[0]) if rows else 0
    return [row for row in rows if len(row) == width]


def render(call: ToolCall, result: ToolResult) -> tuple[Block, ...]:
    path = str(call.arguments.get("path", ""))
    delimiter = DELIMITERS.get(path[-4:].lower())
    if delimiter is None or result.is_error:
        return result.blocks
    text = next((block.text for block in result.blocks if isinstance(block, Code)), result.text)
    rows = parse_rows(text, delimiter)
    if len(rows) < 2 or len(rows[0]) < 2:
        return result.blocks
    head, *body = rows
    more = f", the first {MAX_ROWS}" if len(body) > MAX_ROWS else ""
    return (Table(head, tuple(body[:MAX_ROWS]), f"{path}: {len(body)} rows{more}"),)


@hookimpl
def register_renderers(register: Register, scope: Scope) -> None:
    register(Renderer("read", render))
