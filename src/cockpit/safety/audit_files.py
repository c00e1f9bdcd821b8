"""The files of the audit: which there are, their lock between processes, heads of the chain kept apart.

Refuses to know what a line says.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 2.0
STEP = 0.002


def current(folder: Path) -> Path:
    return folder / "audit.jsonl"


def all_files(folder: Path) -> tuple[Path, ...]:
    """Every file of the chain, the oldest first."""
    rotated = sorted(one for one in folder.glob("audit.*.jsonl") if one.suffixes[0][1:].isdecimal())
    now = current(folder)
    return (*rotated, now) if now.exists() else tuple(rotated)


def rotated_name(folder: Path) -> Path:
    """The name that the current file gets when it is full."""
    numbers = [int(one.suffixes[0][1:]) for one in all_files(folder) if one != current(folder)]
    return folder / f"audit.{max(numbers, default=0) + 1:06}.jsonl"


def opened(path: Path) -> int:
    """A descriptor to append to `path`, 0600, never over a link. Raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Alone among all processes. Raises OSError when another holds the lock for 2 s."""
    descriptor = opened(folder / "audit.lock")
    try:
        until = time.monotonic() + PATIENCE
        while not _take(descriptor):
            if time.monotonic() > until:
                raise TimeoutError("another process holds its lock")
            time.sleep(STEP)
        yield
    finally:
        # Closing gives the lock back, also where taking it failed.
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> bool:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def keep_head(folder: Path, session: str, hashed: str) -> None:
    """Note the chain's newest hash for `session`, apart from the chain. Raises OSError."""
    path = folder / "audit-heads" / session
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return keep_head(folder, session, hashed)
    try:
        # As long as what it replaces: no crash leaves a part.
        os.write(descriptor, hashed.encode("ascii"))
    finally:
        os.close(descriptor)


def heads(folder: Path) -> dict[str, str]:
    """The newest hash each session wrote, by a name for people."""
    try:
        found = sorted((folder / "audit-heads").iterdir())
    except OSError:
        return {}
    return {f"the head of session {one.name}": one.read_text("ascii", "replace").strip() for one in found}
