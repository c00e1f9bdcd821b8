"""Copies to the clipboard, and reports how."""

import shutil
import subprocess
from collections.abc import Callable, Mapping

FindProgram = Callable[[str], str | None]


def find_clipboard_tool(
    platform: str, environment: Mapping[str, str], which: FindProgram = shutil.which
) -> tuple[str, ...]:
    """The program that copies its standard input to the clipboard; empty where there is none.

    Over SSH a program would copy on the remote machine, so there copying is left to the terminal.
    """
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return ()
    candidates: list[tuple[str, ...]] = []
    if platform == "darwin":
        candidates.append(("pbcopy",))
    if platform == "win32" or "WSL_DISTRO_NAME" in environment:
        candidates.append(("clip.exe",))
    if environment.get("WAYLAND_DISPLAY"):
        candidates.append(("wl-copy",))
    if environment.get("DISPLAY"):
        candidates += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    if environment.get("TERMUX_VERSION"):
        candidates.append(("termux-clipboard-set",))
    return next((command for command in candidates if which(command[0])), ())


def copy_with_tool(command: tuple[str, ...], text: str) -> bool:
    """Pass `text` to `command`. Returns whether it succeeded. Called in a thread."""
    encoding = "utf-16-le" if command[0] == "clip.exe" else "utf-8"
    try:
        done = subprocess.run(
            command,
            input=text.encode(encoding, "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=3,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def describe_copy(what: str, length: int, command: tuple[str, ...], copied: bool, in_tmux: bool) -> str:
    """Report a copy; it is called copied only where that is certain."""
    amount = f"{what} ({length:,} characters)"
    if copied:
        return f"copied {amount} with {command[0]}"
    hint = "; in tmux this needs `set -g set-clipboard on`" if in_tmux else ""
    return f"sent {amount} to the terminal (OSC 52); not every terminal accepts it{hint}"
