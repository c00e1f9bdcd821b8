"""Copying: which way leads to a person's clipboard, and an honest word on what was done."""

import shutil
import subprocess
from collections.abc import Callable, Mapping

FindProgram = Callable[[str], str | None]


def find_clipboard_tool(
    platform: str, environment: Mapping[str, str], which: FindProgram = shutil.which
) -> tuple[str, ...]:
    """The program that takes text for the clipboard on its standard input; empty where none fits.

    Over SSH a program would copy on the far machine, so there it is the terminal's part alone.
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
    return next((one for one in candidates if which(one[0])), ())


def copy_with_tool(command: tuple[str, ...], text: str) -> bool:
    """Hand `text` to `command`; whether it took it. Called in a thread."""
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


def describe_copy(what: str, length: int, command: tuple[str, ...], taken: bool, in_tmux: bool) -> str:
    """What is said afterwards: that it was copied only where that is known."""
    amount = f"{what} ({length:,} characters)"
    if taken:
        return f"copied {amount} with {command[0]}"
    hint = "; in tmux this needs `set -g set-clipboard on`" if in_tmux else ""
    return f"sent {amount} to the terminal (OSC 52); not every terminal accepts it{hint}"
