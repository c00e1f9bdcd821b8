"""Files that a held program leaves for cockpit, outside of the project: one folder for each root.

What lies there was written by a program: whoever reads it follows no link.
"""

import contextlib
import os
import stat

from cockpit.workspace.sandbox.places import scratch

LONGEST = 64_000_000


def scratch_file(root: str, name: str) -> str:
    """Where a program that runs in `root` may leave a file called `name`."""
    return os.path.join(scratch(os.path.realpath(root)), name)


def make_room(path: str) -> None:
    """Before a run: the folder is there, the file is not."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def take(path: str) -> str:
    """What a run left at `path`, which is removed; "" where that is no plain file."""
    if not path:
        return ""
    # Not blocking: a pipe in its place would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(path, flags)
    except OSError:
        return ""
    with open(fd, encoding="utf-8", errors="replace") as file:
        text = file.read(LONGEST) if stat.S_ISREG(os.fstat(fd).st_mode) else ""
    with contextlib.suppress(OSError):
        os.unlink(path)
    return text
