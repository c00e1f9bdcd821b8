"""The files that a change may break without touching them: those that use what it alters or takes away."""

import asyncio
import contextlib

from cockpit.navigation.languages import language_of
from cockpit.navigation.life import Sources
from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.plugin.navigation import Position
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import SymbolRow

MOST_DEFINITIONS = 8
MOST_FILES = 10
SECONDS = 0.5


async def dependents(live: Sources, workspace: Workspace, changes: ChangeSet) -> dict[str, bytes]:
    """Their texts as they are on disk, by path. What takes too long to find is left out."""
    found: dict[str, None] = {}
    # What is found by then is looked at.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            for change in changes.files:
                await _add(found, live, change)
    own = {path for change in changes.files for path in (change.path, change.moved_from)}
    texts: dict[str, bytes] = {}
    for path in [path for path in found if path not in own][:MOST_FILES]:
        try:
            texts[path] = await workspace.files.read(path)
        except (OSError, PathRefused):
            continue
    return texts


async def _add(found: dict[str, None], live: Sources, change: FileChange) -> None:
    path = change.moved_from or change.path
    language = language_of(path, live.languages)
    if live.index is None or change.before is None or language is None or not language.grammar:
        return
    altered = [row for row in await live.index.outline(path) if _is_altered(row, change)]
    for row in altered[:MOST_DEFINITIONS]:
        uses = await live.index.related("references", Position(path, row.line, row.column))
        found |= dict.fromkeys(use.path for use in uses)


def _is_altered(row: SymbolRow, change: FileChange) -> bool:
    """Whether a definition's own line goes: what uses it may mean nothing then."""
    if change.after is None or change.moved_from:
        return not row.container
    return any(row.line in _removed(hunk.old_start, hunk.lines) for hunk in change.hunks)


def _removed(start: int, lines: tuple[str, ...]) -> set[int]:
    """The old numbers of the lines that a hunk takes out."""
    gone: set[int] = set()
    number = start
    for line in lines:
        if line.startswith("-"):
            gone.add(number)
        number += line[:1] in (" ", "-", "")
    return gone
