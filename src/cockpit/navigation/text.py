"""The navigator that needs nothing: definitions and uses found by pattern, line by line.

Never claims more than it knows: every row says `source: "text"`.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from cockpit.plugin.context import FileEntry, PathRefused, Workspace
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


@dataclass(frozen=True, slots=True)
class TextNavigator:
    """Symbols of a workspace, read anew for each question."""

    workspace: Workspace

    async def symbols(self, query: str, path: str = "") -> tuple[SymbolRow, ...]:
        """Definitions whose name holds `query`, in the file `path` or everywhere."""
        rows: list[SymbolRow] = []
        wanted = query.lower()
        async for name, text in self._texts(path):
            for row in definitions(name, text):
                if wanted in row.name.lower():
                    rows.append(row)
                if len(rows) >= MOST:
                    return tuple(rows)
        return tuple(rows)

    async def definition(self, name: str, path: str = "", line: int = 0) -> tuple[SymbolRow, ...]:
        """Where `name` is defined; those of `path` come first."""
        rows = [
            row for row in await self.symbols(name.rpartition(".")[2]) if row.name == name.rpartition(".")[2]
        ]
        return tuple(sorted(rows, key=lambda row: (row.path != path, row.path, row.line)))

    async def references(self, name: str, path: str = "", line: int = 0) -> tuple[SymbolRow, ...]:
        """Every line that holds `name` as a word."""
        word = re.compile(rf"(?<![\w$]){re.escape(name.rpartition('.')[2])}(?![\w$])")
        rows: list[SymbolRow] = []
        async for file, text in self._texts(""):
            for number, one in enumerate(text.split("\n"), start=1):
                found = word.search(one)
                if found is not None:
                    rows.append(_row(name, "reference", file, number, found.start() + 1, one))
                if len(rows) >= MOST:
                    return tuple(rows)
        return tuple(rows)

    async def _texts(self, path: str) -> AsyncIterator[tuple[str, str]]:
        if path:
            entry = await self.workspace.files.stat(path)
            if (text := await self._text(entry)) is not None:
                yield entry.path, text
            return
        async for entry in self.workspace.files.walk():
            if (text := await self._text(entry)) is not None:
                yield entry.path, text

    async def _text(self, entry: FileEntry) -> str | None:
        if entry.kind != "file" or entry.size > LARGEST:
            return None
        try:
            raw = await self.workspace.files.read(entry.path)
        except (PathRefused, OSError):
            return None
        return None if b"\0" in raw[:4096] else raw.decode("utf-8", "replace")


def definitions(path: str, text: str) -> list[SymbolRow]:
    """The definitions in `text`, in its order."""
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        found = DEFINES.match(line) or ASSIGNS.match(line)
        if found is None:
            continue
        kind = found.groupdict().get("kind", "variable")
        column = found.start("name") + 1
        rows.append(_row(found["name"], KINDS.get(kind, kind), path, number, column, line))
    return rows


def _row(name: str, kind: str, path: str, line: int, column: int, text: str) -> SymbolRow:
    return SymbolRow(name, kind, path, line, column, text.strip()[:200], "text")
