"""Answers that need nothing but the text: definitions and uses found by pattern, line by line.

Never claims more than it knows: every row says `source: "text"`. Reads the workspace anew each time.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace

from cockpit.plugin.workspace import FileEntry, PathRefused, Workspace
from cockpit.protocol.code import SymbolRow

LARGEST = 1_000_000
MOST = 500
DEFINES = re.compile(
    r"^\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|abstract\s+|final\s+|async\s+|pub(?:\([^)]*\))?\s+|unsafe\s+|inline\s+)*"
    r"(?P<kind>def|class|function\*?|fn|func|struct|enum|trait|interface|type|impl|module|namespace|macro_rules!|const|let|var)"
    r"\s+(?:\([^)]*\)\s*)?(?P<name>[A-Za-z_$][\w$]*)"
)
ASSIGNS = re.compile(r"^(?P<name>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)")
KINDS = {"def": "function", "fn": "function", "func": "function", "function*": "function"}


async def outline(workspace: Workspace, path: str) -> tuple[SymbolRow, ...]:
    """The definitions of one file, in its order."""
    text = await _text(workspace, await workspace.files.stat(path))
    return () if text is None else tuple(await asyncio.to_thread(definitions, path, text))


async def symbols(workspace: Workspace, query: str) -> tuple[SymbolRow, ...]:
    """Definitions whose name holds `query`, in any case; at most 500."""
    rows: list[SymbolRow] = []
    wanted = query.lower()
    async for name, text in _texts(workspace):
        found = await asyncio.to_thread(definitions, name, text)
        rows += [row for row in found if wanted in row.name.lower()]
        if len(rows) >= MOST:
            break
    return tuple(rows[:MOST])


async def named(workspace: Workspace, name: str, near: str = "") -> tuple[SymbolRow, ...]:
    """Definitions called `name`; those of the file `near` come first."""
    rows = [row for row in await symbols(workspace, name) if row.name == name]
    return tuple(sorted(rows, key=lambda row: (row.path != near, row.path, row.line)))


async def references(workspace: Workspace, name: str) -> tuple[SymbolRow, ...]:
    """Every line that holds `name` as a word; at most 500."""
    rows: list[SymbolRow] = []
    async for path, text in _texts(workspace):
        if name in text:
            rows += await asyncio.to_thread(uses, path, text, name)
        if len(rows) >= MOST:
            break
    return tuple(rows[:MOST])


def definitions(path: str, text: str) -> list[SymbolRow]:
    """The definitions in `text`, in its order."""
    rows = []
    around: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        found = DEFINES.match(line) or ASSIGNS.match(line)
        if found is None:
            continue
        indent = len(line) - len(line.lstrip())
        while around and around[-1][0] >= indent:
            around.pop()
        container = ".".join(name for _, name in around)
        kind = found.groupdict().get("kind", "variable")
        row = _row(found["name"], KINDS.get(kind, kind), path, number, found.start("name") + 1, line)
        rows.append(replace(row, first=number, last=number, container=container))
        around.append((indent, found["name"]))
    return rows


def uses(path: str, text: str, name: str) -> list[SymbolRow]:
    """The lines of `text` that hold `name` as a word."""
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return [
        _row(name, "reference", path, number, found.start() + 1, line)
        for number, line in enumerate(text.split("\n"), start=1)
        if (found := word.search(line)) is not None
    ]


def word_at(line: str, column: int) -> str:
    """The name that stands at, or ends at, the column (from 1) of a line; empty where none does."""
    for found in re.finditer(r"[^\W\d][\w$]*", line):
        if found.start() < column <= found.end() + 1:
            return found[0]
    return ""


def _row(name: str, kind: str, path: str, line: int, column: int, text: str) -> SymbolRow:
    shown = text.strip()[:200]
    return SymbolRow(name, kind, path, line, column, shown, "text", line, column + len(name))


async def _texts(workspace: Workspace) -> AsyncIterator[tuple[str, str]]:
    async for entry in workspace.files.walk():
        if (text := await _text(workspace, entry)) is not None:
            yield entry.path, text


async def _text(workspace: Workspace, entry: FileEntry) -> str | None:
    if entry.kind != "file" or entry.size > LARGEST:
        return None
    try:
        raw = await workspace.files.read(entry.path)
    except (PathRefused, OSError):
        return None
    return None if b"\0" in raw[:4096] else raw.decode("utf-8", "replace")
