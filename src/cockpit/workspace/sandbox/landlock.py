"""Landlock, the kernel's own fence around files: what it allows for one launch, and whether it is there.

It is less than a sandbox, and is called *partial*: it sees no names within an allowed folder (so .git/config
can be written in a build), does not stop chmod, and hides no processes. Sockets are refused by a filter.
"""

import ctypes
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from cockpit.workspace.resolver import is_within
from cockpit.workspace.sandbox import limits

CREATE = 444
VERSION = 1
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
LAUNCHER = str(Path(__file__).with_name("fenced.py"))


def version() -> int:
    """The version of the kernel's interface; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    try:
        found: int = ctypes.CDLL(None, use_errno=True).syscall(CREATE, None, ctypes.c_size_t(0), VERSION)
    except (OSError, AttributeError):
        return 0
    return max(found, 0)


def open_paths(hides: tuple[str, ...], folder: str = "/") -> Iterator[str]:
    """The paths that hold all of the machine but `hides` and what lies in them."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or any(is_within(entry.path, one) for one in hides):
                continue
            if not any(is_within(one, entry.path) for one in hides):
                yield entry.path
            elif entry.is_dir():
                yield from open_paths(hides, entry.path)


def plan(
    argv: tuple[str, ...],
    *,
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    connects: bool,
    refusals: bytes,
) -> bytes:
    """What the launcher is told: it fences itself in and then becomes `argv`."""
    counts = {name.upper(): most for name, most in limits.numbers()}
    said = {
        "argv": argv,
        "reads": reads,
        "writes": writes,
        "devices": DEVICES,
        "connects": connects,
        "refusals": refusals.hex(),
        "limits": counts,
    }
    return json.dumps(said).encode()


def command(fd: int) -> tuple[str, ...]:
    """The argv of the launcher; its plan is read from `fd`."""
    return (sys.executable, "-I", "-S", LAUNCHER, str(fd))
