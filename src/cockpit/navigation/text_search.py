"""Answers that need nothing but the text: definitions and uses found by pattern, line by line.

Never claims more than it knows: every row says `source: "text"`. Reads the workspace anew each time.
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
    """The definitions of one file, in its order."""
    text = await _read_file(workspace, await workspace.files.stat(path))
    return () if text is None else tuple(await asyncio.to_thread(parse_definitions, path, text))


async def find_symbols(workspace: Workspace, query: str) -> tuple[SymbolRow, ...]:
    """Definitions whose name holds `query`, in any case; at most 500."""
    rows: list[SymbolRow] = []
    wanted = query.lower()
    async for name, text in _read_files(workspace):
        found = await asyncio.to_thread(parse_definitions, name, text)
        rows += [row for row in found if wanted in row.name.lower()]
        if len(rows) >= MAX_ROWS:
            break
    return tuple(rows[:MAX_ROWS])


async def find_named(workspace: Workspace, name: str, near: str = "") -> tuple[SymbolRow, ...]:
    """Definitions called `name`; those of the file `near` come first."""
    rows = [row for row in await find_symbols(workspace, name) if row.name == name]
    return tuple(sorted(rows, key=lambda row: (row.path != near, row.path, row.line)))


async def find_references(workspace: Workspace, name: str) -> tuple[SymbolRow, ...]:
    """Every line that holds `name` as a word; at most 500."""
    rows: list[SymbolRow] = []
    async for path, text in _read_files(workspace):
        if name in text:
            rows += await asyncio.to_thread(parse_uses, path, text, name)
        if len(rows) >= MAX_ROWS:
            break
    return tuple(rows[:MAX_ROWS])


def parse_definitions(path: str, text: str) -> list[SymbolRow]:
    """The definitions in `text`, in its order."""
    rows = []
    around: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        found = DEFINITION.match(line) or ASSIGNMENT.match(line)
        if found is None:
            continue
        indent = len(line) - len(line.lstrip())
        while around and around[-1][0] >= indent:
            around.pop()
        container = ".".join(name for _, name in around)
        kind = found.groupdict().get("kind", "variable")
        row = _make_row(
            found["name"], KIND_NAMES.get(kind, kind), path, number, found.start("name") + 1, line
        )
        rows.append(replace(row, first=number, last=number, container=container))
        around.append((indent, found["name"]))
    return rows


def parse_uses(path: str, text: str, name: str) -> list[SymbolRow]:
    """The lines of `text` that hold `name` as a word."""
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return [
        _make_row(name, "reference", path, number, found.start() + 1, line)
        for number, line in enumerate(text.split("\n"), start=1)
        if (found := word.search(line)) is not None
    ]


def word_at(line: str, column: int) -> str:
    """The name that stands at, or ends at, the column (from 1) of a line; empty where none does."""
    for found in re.finditer(r"[^\W\d][\w$]*", line):
        if found.start() < column <= found.end() + 1:
            return found[0]
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
