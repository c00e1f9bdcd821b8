"""Opening a place: in the person's editor at line and column, or in the viewer where they have none."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.tui.state.screen_state import set_current_file
from cockpit.tui.terminal import editors

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


async def open_in_editor(desk: "SessionController", path: str, line: int = 1, column: int = 1) -> None:
    """In `$VISUAL` or `$EDITOR`: one of the terminal gets the terminal, another a window beside us."""
    editor = editors.configured_editor(os.environ)
    if not editor:
        await open_in_viewer(desk, path, line, column)
        return
    _mark_current(desk, path, line)
    whole = str(Path(desk.app.root, path))
    try:
        opening = editors.editor_command(editor, whole, line, column)
    except ValueError as error:  # a quote that is never closed
        desk.app.notify(f"$EDITOR cannot be read: {error}", severity="warning")
        return
    if opening.in_terminal:
        _run_in_terminal(desk, opening.argv)
    else:
        problem = await asyncio.to_thread(_start_window, opening.argv)
        desk.app.notify(problem or f"{opening.argv[0]} opens {path}:{line}", timeout=4)


async def open_in_viewer(desk: "SessionController", path: str, line: int = 1, column: int = 1) -> None:
    """In the viewer."""
    from cockpit.tui.screens import reader

    _mark_current(desk, path, line)
    await reader.view_file(desk, path, line, column)


async def open_location(desk: "SessionController", place: str, *, viewed: bool = False) -> None:
    """`PATH:LINE:COLUMN` of a row."""
    path, line, column = place.rsplit(":", 2)
    if line.isdecimal() and column.isdecimal():
        await (open_in_viewer if viewed else open_in_editor)(desk, path, int(line), int(column))


def _mark_current(desk: "SessionController", path: str, line: int) -> None:
    if desk.link is not None:
        set_current_file(desk.link.state.code, path, line)
        desk.changed()


def _run_in_terminal(desk: "SessionController", argv: tuple[str, ...]) -> None:
    """The loop stands still meanwhile, as the terminal belongs to the editor."""
    from textual.app import SuspendNotSupported

    app = desk.app
    try:
        with app.suspend():  # which does not take the terminal back when something is raised in it
            problem = _run_editor(argv)
    except SuspendNotSupported:
        problem = "this terminal cannot be lent to an editor; Tab looks at the place here"
    if problem:
        app.notify(problem, severity="warning")
    app.refresh(layout=True)


def _run_editor(argv: tuple[str, ...]) -> str:
    """The editor until it ends; what went wrong."""
    try:
        code = subprocess.run(argv, check=False).returncode
    except OSError as error:
        return f"{argv[0]} did not start: {error.strerror}; set $EDITOR"
    return f"{argv[0]} ended with {code}" if code else ""


def _start_window(argv: tuple[str, ...]) -> str:
    """Start an editor that has its own window and outlives us; what went wrong."""
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=os.name != "nt")
    except OSError as error:
        return f"{argv[0]} did not start: {error.strerror}; set $EDITOR"
    return ""
