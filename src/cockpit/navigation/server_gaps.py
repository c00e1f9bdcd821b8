"""Fills the gaps of servers that see only the files they have open, such as clangd without a build
description.

Files that use a symbol are opened before the server is asked; the index supplies uses in files that the
server still leaves out (headers read as another language).
"""

import asyncio
import re
from dataclasses import replace

from cockpit.navigation.answers import ServerAnswer, find_language
from cockpit.navigation.backends import Backends
from cockpit.navigation.query_router import merge_rows, sort_by_location
from cockpit.plugin.changes import Edit, WriteFile
from cockpit.plugin.navigation import Position
from cockpit.plugin.workspace import Workspace
from cockpit.protocol.code import SymbolRow, SymbolRows
from cockpit.workspace.files.changes import digest

MAX_FILES = 60
INDEX_SECONDS = 2.0
CONCURRENT_FILES = 8
Rows = tuple[SymbolRow, ...]


async def find_index_uses(live: Backends, at: Position, seconds: float) -> Rows:
    """The index's uses of the symbol at `at`, after opening their files; empty if the server needs no
    help."""
    language = find_language(at.path, live.languages)
    servers, index = live.servers, live.index
    if language is None or servers is None or index is None:
        return ()
    if not any(server.sees_open_only for server in language.servers):
        return ()
    await index.whole(seconds)
    rows = await index.related("references", at)
    paths = [path for path in dict.fromkeys(row.path for row in rows) if path != at.path][:MAX_FILES]
    limit = asyncio.Semaphore(CONCURRENT_FILES)

    async def open_file(path: str) -> None:
        async with limit:
            # Asking for its outline opens the file; the answer does not matter.
            await servers.outline(path, seconds)

    await asyncio.gather(*(open_file(path) for path in paths))
    # From a use, the index may include a namesake; from the server's definition it does not.
    definition = await servers.related("definition", at, seconds)
    if isinstance(definition, ServerAnswer) and definition.rows:
        row = definition.rows[0]
        rows = await index.related("references", Position(row.path, row.line, row.column))
    return _drop_static_namesakes(rows, at.path)


def _drop_static_namesakes(rows: Rows, path: str) -> Rows:
    """Without files that define their own `static` symbol of this name, which no other file can use."""
    own = {row.path for row in rows if row.path != path and row.text.startswith("static ") and row.last}
    return tuple(row for row in rows if row.path not in own)


def add_index_uses(answer: SymbolRows, rows: Rows) -> SymbolRows:
    """A server's uses plus the index's uses in files that the server does not mention."""
    if not any(row.source == "lsp" for row in answer.rows):
        return answer
    covered = {row.path for row in answer.rows}
    more = [replace(row, kind="reference") for row in rows if row.path not in covered]
    return replace(answer, rows=sort_by_location(merge_rows(answer.rows, more))) if more else answer


async def complete_rename(
    workspace: Workspace, edits: tuple[Edit, ...], rows: Rows, to: str
) -> tuple[Edit, ...]:
    """A server's edits plus edits of the index's uses (`rows`) in files that the server leaves out."""
    covered = {(await workspace.files.stat(edit.path)).path for edit in edits}
    missing = _group_by_file(tuple(row for row in rows if row.path not in covered))
    more = [await _rename_in_file(workspace, path, uses, to) for path, uses in missing.items()]
    return (*edits, *(edit for edit in more if edit is not None))


async def find_remaining_uses(
    live: Backends, workspace: Workspace, at: Position, edits: tuple[Edit, ...]
) -> Rows:
    """The index's uses of the symbol at `at` that a rename leaves unchanged: a file in another encoding, a
    macro, or a namesake where the index knows less than the server."""
    if live.index is None or not await live.index.whole(INDEX_SECONDS):
        return ()
    content = {
        (await workspace.files.stat(edit.path)).path: edit.content.decode("utf-8", "replace").split("\n")
        for edit in edits
        if isinstance(edit, WriteFile)
    }
    remaining: list[SymbolRow] = []
    for path, rows in _group_by_file(await live.index.related("references", at)).items():
        if path not in content:
            remaining += rows
            continue
        before = (await workspace.files.read(path)).decode("utf-8", "replace").split("\n")
        for number in {row.line for row in rows}:
            line_uses = [row for row in rows if row.line == number]
            word = re.compile(rf"(?<![\w$]){re.escape(line_uses[0].name)}(?![\w$])")
            old_count, new_count = (
                len(word.findall("".join(lines[number - 1 : number]))) for lines in (before, content[path])
            )
            remaining += line_uses[max(old_count - new_count, 0) :]
    return tuple(remaining)


def _group_by_file(rows: Rows) -> dict[str, list[SymbolRow]]:
    files: dict[str, list[SymbolRow]] = {}
    for row in rows:
        files.setdefault(row.path, []).append(row)
    return files


async def _rename_in_file(
    workspace: Workspace, path: str, rows: list[SymbolRow], to: str
) -> WriteFile | None:
    name = rows[0].name
    content = await workspace.files.read(path)
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    for row in sorted(rows, key=lambda use: (use.line, use.column), reverse=True):
        line = lines[row.line - 1] if row.line <= len(lines) else ""
        start = row.column - 1
        if line[start : start + len(name)] == name:
            lines[row.line - 1] = line[:start] + to + line[start + len(name) :]
    after = "\n".join(lines).encode("utf-8", "surrogateescape")
    return WriteFile(path, after, before=digest(content)) if after != content else None
