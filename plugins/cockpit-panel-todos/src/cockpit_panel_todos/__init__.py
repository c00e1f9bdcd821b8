"""Lists the project's TODO and FIXME notes in Work. An example of `register_panels`.

A panel is an empty list; its rows arrive as `PanelChanged` events, here from a resident that scans the files
every few seconds. Rows are values, so every frontend can draw them.
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
MAX_ROWS, MAX_BYTES = 100, 400_000
GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard")


def list_files(root: Path) -> list[Path]:
    """The files that git does not ignore, or without git the files at the top."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(GIT, cwd=root, capture_output=True, timeout=10, check=True).stdout
        return [root / name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
    return [path for path in sorted(root.iterdir()) if path.is_file()]


def find_notes(path: Path) -> list[tuple[int, str, str]]:
    """The notes of a file: line, word and text. A binary file has none."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if path.is_file() and path.stat().st_size <= MAX_BYTES:
            lines = path.read_text("utf-8").splitlines()
            matches = ((number, NOTE.search(line)) for number, line in enumerate(lines, 1))
            return [(number, match[1], match[2].strip()) for number, match in matches if match]
    return []


def build_rows(root: Path) -> tuple[PanelRow, ...]:
    rows: list[PanelRow] = []
    for path in list_files(root):
        for number, word, text in find_notes(path):
            rows.append(PanelRow(f"{path.relative_to(root)}:{number}  {text[:80]}", word.lower()))
            if len(rows) == MAX_ROWS:
                return tuple(rows)
    return tuple(rows)


async def watch(context: ResidentContext) -> None:
    shown: tuple[PanelRow, ...] | None = None
    while True:
        rows = await asyncio.to_thread(build_rows, Path(context.root))
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
    if scope.trusted:  # No file is read before the user trusts the folder.
        register(Resident("todos", "root", run))
