"""The TODO and FIXME notes of the project, as a list in Work. Teaches `register_panels`.

A panel is a place; its rows come as `PanelChanged` from whoever knows them, here a resident that looks every
few seconds. Rows are values, so every frontend can draw them.
"""

import asyncio
import contextlib
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Panel, Register, Resident, ResidentContext, Scope
from cockpit.protocol.events import PanelChanged
from cockpit.protocol.rows import PanelRow

NOTE = re.compile(r"\b(TODO|FIXME|XXX)\b[:( ]*(.*)")
SECONDS = 5.0
MOST, LARGEST = 100, 400_000
GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard")


def files_of(root: Path) -> list[Path]:
    """The files that git would keep, or those at the top where there is no git."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(GIT, cwd=root, capture_output=True, timeout=10, check=True).stdout
        return [root / name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
    return [path for path in sorted(root.iterdir()) if path.is_file()]


def notes_in(path: Path) -> list[tuple[int, str, str]]:
    """The notes of a file: line, word and text. A file that is no text has none."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if path.is_file() and path.stat().st_size <= LARGEST:
            lines = path.read_text("utf-8").splitlines()
            found = ((number, NOTE.search(line)) for number, line in enumerate(lines, 1))
            return [(number, match[1], match[2].strip()) for number, match in found if match]
    return []


def rows_of(root: Path) -> tuple[PanelRow, ...]:
    rows: list[PanelRow] = []
    for path in files_of(root):
        for number, word, text in notes_in(path):
            rows.append(PanelRow(f"{path.relative_to(root)}:{number}  {text[:80]}", word.lower()))
            if len(rows) == MOST:
                return tuple(rows)
    return tuple(rows)


async def watch(context: ResidentContext) -> None:
    shown: tuple[PanelRow, ...] | None = None
    while True:
        rows = await asyncio.to_thread(rows_of, Path(context.root))
        if rows != shown:
            shown = rows
            context.emit(PanelChanged("todos", rows))
            context.say(f"{len(rows)} notes")
        await asyncio.sleep(SECONDS)


@contextlib.asynccontextmanager
async def run(context: ResidentContext) -> AsyncIterator[None]:
    task = asyncio.create_task(watch(context))
    try:
        yield
    finally:
        task.cancel()


@hookimpl
def register_panels(register: Register, scope: Scope) -> None:
    register(Panel("todos", "Notes"))


@hookimpl
def register_residents(register: Register, scope: Scope) -> None:
    if scope.trusted:  # before a person trusts the folder, no file of it is read
        register(Resident("todos", "root", run))
