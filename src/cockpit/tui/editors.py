"""How each editor is told to open a file at a line and a column, and whether it needs the terminal. Pure.

An editor that is not in the table gets the path alone: a wrong option would open a file called `+12`.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Opening(NamedTuple):
    """The command, and whether it draws in this terminal (then the cockpit steps aside meanwhile)."""

    argv: tuple[str, ...]
    in_terminal: bool


Placed = Callable[[str, int, int], tuple[str, ...]]


def _vim(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+call cursor({line},{column})", path)


def _vi(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+{line}", path)  # POSIX vi knows lines only


def _plus(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+{line}:{column}", path)


def _nano(path: str, line: int, column: int) -> tuple[str, ...]:
    return (f"+{line},{column}", path)


def _joined(path: str, line: int, column: int) -> tuple[str, ...]:
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


_IDES = ("idea", "pycharm", "webstorm", "phpstorm", "goland", "clion", "rider", "rubymine", "rustrover")
_TERMINAL: Mapping[str, Placed] = {
    **dict.fromkeys(("vim", "nvim", "view", "vimdiff", "lvim"), _vim),
    **dict.fromkeys(("vi", "nvi", "vis", "ex"), _vi),
    **dict.fromkeys(("emacs", "emacsclient", "mg", "jmacs", "kak"), _plus),
    **dict.fromkeys(("hx", "helix"), _joined),
    **dict.fromkeys(("nano", "pico", "rnano"), _nano),
    "micro": _micro,
}
_GRAPHICAL: Mapping[str, Placed] = {
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron"), _goto),
    **dict.fromkeys((*_IDES, "studio", "fleet"), _jetbrains),
    **dict.fromkeys((f"{name}64" for name in _IDES), _jetbrains),
    **dict.fromkeys(("zed", "zeditor", "subl", "sublime_text"), _joined),
    **dict.fromkeys(("gvim", "mvim", "nvim-qt", "neovide"), _vim),
    "kate": _kate,
}
_OTHER_GRAPHICAL = ("gedit", "notepad", "notepad++", "mousepad", "textedit", "xed", "bbedit", "open")
_WAITING = ("--wait", "-w")
"""Set for git and the like; nobody waits here, and an editor that waits keeps a process for nothing."""


def argv_of(editor: str, path: str, line: int, column: int) -> Opening:
    """The command that opens `path` at `line` and `column` (from 1) in `editor`, which may carry options."""
    given = shlex.split(editor, posix=os.name != "nt") or ["vi"]
    program, options = given[0].strip('"'), given[1:]
    name = _name_of(program)
    line, column = max(1, line), max(1, column)
    if name == "emacsclient" and not {"-t", "-nw", "--tty"} & set(options):
        in_terminal = not {"-c", "-n", "--create-frame", "--no-wait"} & set(options)
        return Opening((program, *options, *_plus(path, line, column)), in_terminal)
    if name in _TERMINAL:
        return Opening((program, *options, *_TERMINAL[name](path, line, column)), True)
    options = [one for one in options if one not in _WAITING]
    if name in _GRAPHICAL:
        return Opening((program, *options, *_GRAPHICAL[name](path, line, column)), False)
    return Opening((program, *given[1:], path), name not in _OTHER_GRAPHICAL)


def _name_of(program: str) -> str:
    """`/usr/bin/nvim` and `C:\\Code.cmd` as the table has them."""
    name = program.replace("\\", "/").rpartition("/")[2].lower()
    for ending in (".exe", ".cmd", ".bat", ".sh"):
        name = name.removesuffix(ending)
    return name


def editor_of(environment: Mapping[str, str]) -> str:
    """The person's editor, empty where they have none."""
    return environment.get("VISUAL", "").strip() or environment.get("EDITOR", "").strip()
