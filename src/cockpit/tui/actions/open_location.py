"""Opens a file at a line and column: in the user's editor, or in the viewer if none is set."""

import asyncio
import os
import subprocess
from pathlib import Path

from textual.app import SuspendNotSupported

from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.reader import view_file
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.screen_state import set_current_file
from cockpit.tui.terminal import editors


async def open_location(app: ThemedApp, link: SessionLink, location: str, *, view: bool = False) -> None:
    """Open the `PATH:LINE:COLUMN` of a row; with `view` in the viewer even where there is an editor."""
    path, line, column = location.rsplit(":", 2)
    if line.isdecimal() and column.isdecimal():
        await (open_in_viewer if view else open_in_editor)(app, link, path, int(line), int(column))


async def open_in_editor(
    app: ThemedApp, link: SessionLink, path: str, line: int = 1, column: int = 1
) -> None:
    """Open in `$VISUAL` or `$EDITOR`, which runs in this terminal or opens a window."""
    editor = editors.configured_editor(os.environ)
    if not editor:
        await open_in_viewer(app, link, path, line, column)
        return
    _mark_current(link, path, line)
    try:
        command = editors.editor_command(editor, str(Path(link.root, path)), line, column)
    except ValueError as error:  # an unclosed quote
        app.notify(f"$EDITOR cannot be parsed: {error}", severity="warning")
        return
    if command.in_terminal:
        _run_in_terminal(app, command.argv)
    else:
        problem = await asyncio.to_thread(_start_window, command.argv)
        app.notify(problem or f"{command.argv[0]} opens {path}:{line}", timeout=4)


async def open_in_viewer(
    app: ThemedApp, link: SessionLink, path: str, line: int = 1, column: int = 1
) -> None:
    """Open in the viewer, and from there in the editor where the user asks for it."""
    _mark_current(link, path, line)
    if await view_file(app, link, path, line, has_editor=bool(editors.configured_editor(os.environ))):
        await open_in_editor(app, link, path, line, column)


def _mark_current(link: SessionLink, path: str, line: int) -> None:
    set_current_file(link.state.code, path, line)
    link.changed()


def _run_in_terminal(app: ThemedApp, argv: tuple[str, ...]) -> None:
    """Run an editor in the terminal. The event loop stops while the editor has the terminal."""
    try:
        with app.suspend():  # an exception inside would leave the terminal suspended
            problem = _run_editor(argv)
    except SuspendNotSupported:
        problem = "this terminal cannot be suspended for an editor; Tab previews the file here"
    if problem:
        app.notify(problem, severity="warning")
    app.refresh(layout=True)


def _run_editor(argv: tuple[str, ...]) -> str:
    try:
        code = subprocess.run(argv, check=False).returncode
    except OSError as error:
        return f"{argv[0]} did not start: {error.strerror}; set $EDITOR"
    return f"{argv[0]} ended with {code}" if code else ""


def _start_window(argv: tuple[str, ...]) -> str:
    """Start a graphical editor, which outlives cockpit. Returns an error message or ""."""
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=os.name != "nt")
    except OSError as error:
        return f"{argv[0]} did not start: {error.strerror}; set $EDITOR"
    return ""
