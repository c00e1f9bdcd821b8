"""CSV and TSV files are shown as tables. Teaches `register_renderers`.

A renderer changes what people see of one tool's result; the model reads the text as it was. It answers with
blocks, which every frontend can draw.
"""

import csv
import re

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Renderer, Scope
from cockpit.protocol.content import Block, Code, Table
from cockpit.protocol.messages import ToolCall, ToolResult

DELIMITERS = {".csv": ",", ".tsv": "\t"}
# `read` shows lines with their numbers before them.
NUMBER = re.compile(r"^\s*\d+(?:\t|→|: ?|\| ?)")
MOST = 200


def rows_of(text: str, delimiter: str) -> list[tuple[str, ...]]:
    """The cells of the lines in `text`, every row as wide as the first; what is no row is passed over."""
    lines = [NUMBER.sub("", line) for line in text.splitlines()]
    rows = [tuple(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    width = len(rows[0]) if rows else 0
    return [row for row in rows if len(row) == width]


def render(call: ToolCall, result: ToolResult) -> tuple[Block, ...]:
    path = str(call.arguments.get("path", ""))
    delimiter = DELIMITERS.get(path[-4:].lower())
    if delimiter is None or result.is_error:
        return result.blocks
    text = next((block.text for block in result.blocks if isinstance(block, Code)), result.text)
    rows = rows_of(text, delimiter)
    if len(rows) < 2 or len(rows[0]) < 2:
        return result.blocks
    head, *body = rows
    more = f", the first {MOST}" if len(body) > MOST else ""
    return (Table(head, tuple(body[:MOST]), f"{path}: {len(body)} rows{more}"),)


@hookimpl
def register_renderers(register: Register, scope: Scope) -> None:
    register(Renderer("read", render))
