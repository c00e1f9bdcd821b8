"""The user's editor: the command that opens a file at a line and column, and editing a text in a temporary
file.

An editor that is not in the table gets only the path: with a wrong option it would open a file called `+12`.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple


class EditorCommand(NamedTuple):
    """The command, and whether the editor runs in this terminal (then the cockpit is suspended meanwhile)."""

    argv: tuple[str, ...]
    in_terminal: bool


PositionArguments = Callable[[str, int, int], tuple[str, ...]]


def _vim(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+call cursor({line},{column})", path)


def _vi(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+{line}", path)  # POSIX vi knows lines only


def _plus_line_column(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+{line}:{column}", path)


def _nano(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+{line},{column}", path)


def _path_line_column(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"{path}:{line}:{column}",)


def _goto(path: str, line: int, column: int) -> tuple[str, ...]:
    return ("--goto", f"{path}:{line}:{column}")


def _jetbrains(path: str, line: int, column: int) -> tuple[str, ...]:
    # Its columns count from 0 (JetBrains, "Open files from the command line").
    return ("--line", str(line), "--column", str(column - 1), path)


def _micro(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+{line}:{column}", path)


def _kate(path: str, line: int, column: int) -> tuple[str, ...]:
    return ("--line", str(line), "--column", str(column), path)


_JETBRAINS_IDES = (
    "idea",
    "pycharm",
    "webstorm",
    "phpstorm",
    "goland",
    "clion",
    "rider",
    "rubymine",
    "rustrover",
)
_TERMINAL_EDITORS: Mapping[str, PositionArguments] = {
    **dict.fromkeys(("vim", "nvim", "view", "vimdiff", "lvim"), _vim),
    **dict.fromkeys(("vi", "nvi", "vis", "ex"), _vi),
    **dict.fromkeys(("emacs", "emacsclient", "mg", "jmacs", "kak"), _plus_line_column),
    **dict.fromkeys(("hx", "helix"), _path_line_column),
    **dict.fromkeys(("nano", "pico", "rnano"), _nano),
    "micro": _micro,
}
_GRAPHICAL_EDITORS: Mapping[str, PositionArguments] = {
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"), _goto),
    **dict.fromkeys((*_JETBRAINS_IDES, "studio", "fleet"), _jetbrains),
    **dict.fromkeys((f"{name}64" for name in _JETBRAINS_IDES), _jetbrains),
    **dict.fromkeys(("zed", "zeditor", "subl", "sublime_text"), _path_line_column),
    **dict.fromkeys(("gvim", "mvim", "nvim-qt", "neovide"), _vim),
    "kate": _kate,
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
    line, column = max(1, line), max(1, column)
    if name == "emacsclient" and not {"-t", "-nw", "--tty"} & set(options):
        in_terminal = not {"-c", "-n", "--create-frame", "--no-wait"} & set(options)
        return EditorCommand((program, *options, *_plus_line_column(path, line, column)), in_terminal)
    if name in _TERMINAL_EDITORS:
        return EditorCommand((program, *options, *_TERMINAL_EDITORS[name](path, line, column)), True)
    options = [option for option in options if option not in _WAIT_OPTIONS]
    if name in _GRAPHICAL_EDITORS:
        return EditorCommand((program, *options, *_GRAPHICAL_EDITORS[name](path, line, column)), False)
    return EditorCommand((program, *words[1:], path), name not in _OTHER_GRAPHICAL_EDITORS)


def _program_name(program: str) -> str:
    """The name in the table for `/usr/bin/nvim` or `C:\\Code.cmd`."""
    name = program.replace("\\", "/").rpartition("/")[2].lower()
    for ending in (".exe", ".cmd", ".bat", ".sh"):
        name = name.removesuffix(ending)
    return name


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
