"""Editors: the command that opens a file at a line and column, and editing a text in a temporary file.

An unknown editor gets only the path: with a wrong option it would open a file called `+12`.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class EditorCommand(NamedTuple):
    """The command, and whether the editor runs in this terminal (then the cockpit is suspended meanwhile)."""

    argv: tuple[str, ...]
    in_terminal: bool


PositionArguments = tuple[str, ...]
"""Arguments with `{path}`, `{line}`, `{column}` (from 1) and `{offset}` (the column from 0)."""

_VIM: PositionArguments = ("+call cursor({line},{column})", "{path}")
_VI: PositionArguments = ("+{line}", "{path}")  # POSIX vi knows lines only
_PLUS: PositionArguments = ("+{line}:{column}", "{path}")
_NANO: PositionArguments = ("+{line},{column}", "{path}")
_SUFFIX: PositionArguments = ("{path}:{line}:{column}",)
_GOTO: PositionArguments = ("--goto", "{path}:{line}:{column}")
_KATE: PositionArguments = ("--line", "{line}", "--column", "{column}", "{path}")
# JetBrains counts columns from 0 ("Open files from the command line").
_JETBRAINS: PositionArguments = ("--line", "{line}", "--column", "{offset}", "{path}")
_TERMINAL_EDITORS: Mapping[str, PositionArguments] = {
    **dict.fromkeys(("vim", "nvim", "view", "vimdiff", "lvim"), _VIM),
    **dict.fromkeys(("vi", "nvi", "vis", "ex"), _VI),
    **dict.fromkeys(("emacs", "emacsclient", "mg", "jmacs", "kak", "micro"), _PLUS),
    **dict.fromkeys(("hx", "helix"), _SUFFIX),
    **dict.fromkeys(("nano", "pico", "rnano"), _NANO),
}
_GRAPHICAL_EDITORS: Mapping[str, PositionArguments] = {
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"), _GOTO),
    **dict.fromkeys(("idea", "pycharm", "webstorm", "phpstorm", "goland", "clion"), _JETBRAINS),
    **dict.fromkeys(("rider", "rubymine", "rustrover", "studio", "fleet"), _JETBRAINS),
    **dict.fromkeys(("zed", "zeditor", "subl", "sublime_text"), _SUFFIX),
    **dict.fromkeys(("gvim", "mvim", "nvim-qt", "neovide"), _VIM),
    "kate": _KATE,
}
_OTHER_GRAPHICAL_EDITORS = ("gedit", "notepad", "notepad++", "mousepad", "textedit", "xed", "bbedit", "open")
_WAIT_OPTIONS = ("--wait", "-w")
"""Options set for git and similar; nothing waits here, and they would only keep a process alive."""


def editor_command(editor: str, path: str, line: int, column: int) -> EditorCommand:
    """The command that opens `path` at `line` and `column` (from 1); `editor` may have options. Raises
    ValueError for an unclosed quote."""
    words = shlex.split(editor, posix=os.name != "nt") or ["vi"]
    program, options = words[0].strip('"'), words[1:]
    name = _program_name(program)
    values = {"path": path, "line": max(1, line), "column": max(1, column), "offset": max(1, column) - 1}

    def command(options: list[str], arguments: PositionArguments, in_terminal: bool) -> EditorCommand:
        return EditorCommand((program, *options, *(part.format(**values) for part in arguments)), in_terminal)

    if name == "emacsclient" and not {"-t", "-nw", "--tty"} & set(options):
        in_terminal = not {"-c", "-n", "--create-frame", "--no-wait"} & set(options)
        return command(options, _PLUS, in_terminal)
    if name in _TERMINAL_EDITORS:
        return command(options, _TERMINAL_EDITORS[name], True)
    options = [option for option in options if option not in _WAIT_OPTIONS]
    if name in _GRAPHICAL_EDITORS:
        return command(options, _GRAPHICAL_EDITORS[name], False)
    return EditorCommand((program, *words[1:], path), name not in _OTHER_GRAPHICAL_EDITORS)


def _program_name(program: str) -> str:
    """The name in the table for `/usr/bin/nvim`, `C:\\Code.cmd` or `idea64.exe`."""
    name = program.replace("\\", "/").rpartition("/")[2].lower()
    for ending in (".exe", ".cmd", ".bat", ".sh"):
        name = name.removesuffix(ending)
    return name.removesuffix("64")


def configured_editor(environment: Mapping[str, str]) -> str:
    """The editor of `$VISUAL` or `$EDITOR`; empty where neither is set."""
    return environment.get("VISUAL", "").strip() or environment.get("EDITOR", "").strip()


def edit_text(command: str, text: str) -> tuple[str, str]:
    """Edit `text` in `command`. Returns the result, and what went wrong (then the text is unchanged)."""
    descriptor, name = tempfile.mkstemp(suffix=".md", prefix="prompt-")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        code = subprocess.run([*shlex.split(command, posix=os.name != "nt"), name], check=False).returncode
        if code:
            return text, f"{command} ended with {code}; the draft is unchanged"
        return path.read_text("utf-8", "replace").rstrip("\n"), ""
    except OSError as error:
        return text, f"{command} did not start: {error.strerror}; set $EDITOR"
    finally:
        path.unlink(missing_ok=True)
