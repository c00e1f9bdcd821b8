"""Definitions and uses found by regular expressions, line by line, when nothing better is available.

Every row says `source: "text"`. Reads the workspace for each question.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace

from cockpit.plugin.workspace import FileEntry, PathRefused, Workspace
from cockpit.protocol.code import SymbolRow

MAX_FILE_BYTES = 1_000_000
MAX_ROWS = 500
DEFINITION = re.compile(
    r"^\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|abstract\s+|final\s+|async\s+|pub(?:\([^)]*\))?\s+|unsafe\s+|inline\s+)*"
    r"(?P<kind>def|class|function\*?|fn|func|struct|enum|trait|interface|type|impl|module|namespace|macro_rules!|const|let|var)"
    r"\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)"
)
ASSIGNMENT = re.compile(r"^(?P<name>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)")
KIND_NAMES = {"def": "function", "fn": "function", "func": "function", "function*": "function"}


async def find_outline(workspace: Workspace, path: str) -> tuple[SymbolRow, ...]:
    """The definitions of one file, in order."""
    text = await _read_file(workspace, await workspace.files.stat(path))
    return () if text is None else tuple(await asyncio.to_thread(parse_definitions, path, text))


async def find_symbols(workspace: Workspace, query: str) -> tuple[SymbolRow, ...]:
    """Definitions whose name contains `query`, ignoring case; at most 500."""
    rows: list[SymbolRow] = []
    lower_query = query.lower()
    async for name, text in _read_files(workspace):
        definitions = await asyncio.to_thread(parse_definitions, name, text)
        rows += [row for row in definitions if lower_query in row.name.lower()]
        if len(rows) >= MAX_ROWS:
            break
    return tuple(rows[:MAX_ROWS])


async def find_named(workspace: Workspace, name: str, near: str = "") -> tuple[SymbolRow, ...]:
    """Definitions called `name`; those of the file `near` come first."""
    rows = [row for row in await find_symbols(workspace, name) if row.name == name]
    return tuple(sorted(rows, key=lambda row: (row.path != near, row.path, row.line)))


async def find_references(workspace: Workspace, name: str) -> tuple[SymbolRow, ...]:
    """Every line that contains `name` as a word; at most 500."""
    rows: list[SymbolRow] = []
    async for path, text in _read_files(workspace):
        if name in text:
            rows += await asyncio.to_thread(parse_uses, path, text, name)
        if len(rows) >= MAX_ROWS:
            break
    return tuple(rows[:MAX_ROWS])


def parse_definitions(path: str, text: str) -> list[SymbolRow]:
    """The definitions in `text`, in order."""
    rows = []
    enclosing: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = DEFINITION.match(line) or ASSIGNMENT.match(line)
        if match is None:
            continue
        indent = len(line) - len(line.lstrip())
        while enclosing and enclosing[-1][0] >= indent:
            enclosing.pop()
        container = ".".join(name for _, name in enclosing)
        kind = match.groupdict().get("kind", "variable")
        row = _make_row(
            match["name"], KIND_NAMES.get(kind, kind), path, number, match.start("name") + 1, line
        )
        rows.append(replace(row, first=number, last=number, container=container))
        enclosing.append((indent, match["name"]))
    return rows


def parse_uses(path: str, text: str, name: str) -> list[SymbolRow]:
    """The lines of `text` that contain `name` as a word."""
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return [
        _make_row(name, "reference", path, number, match.start() + 1, line)
        for number, line in enumerate(text.split("\n"), start=1)
        if (match := word.search(line)) is not None
    ]


def word_at(line: str, column: int) -> str:
    """The name at, or ending at, a column (from 1) of a line; empty if there is none."""
    for match in re.finditer(r"[^\W\d][\w$]*", line):
        if match.start() < column <= match.end() + 1:
            return match[0]
    return ""


def _make_row(name: str, kind: str, path: str, line: int, column: int, text: str) -> SymbolRow:
    shown = text.strip()[:200]
    return SymbolRow(name, kind, path, line, column, shown, "text", line, column + len(name))


async def _read_files(workspace: Workspace) -> AsyncIterator[tuple[str, str]]:
    async for entry in workspace.files.walk():
        if (text := await _read_file(workspace, entry)) is not None:
            yield entry.path, text


async def _read_file(workspace: Workspace, entry: FileEntry) -> str | None:
    if entry.kind != "file" or entry.size > MAX_FILE_BYTES:
        return None
    try:
        raw = await workspace.files.read(entry.path)
    except (PathRefused, OSError):
        return None
    return None if b"\0" in raw[:4096] else raw.decode("utf-8", "replace")
