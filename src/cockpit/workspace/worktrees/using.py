"""That a worktree is in use: a lock held while its agent lives, gone with the process that held it."""

import os
import sys

from cockpit.workspace.sandbox.repository import pointed_at

FILE = "cockpit-in-use"


class InUse:
    """The lock of the worktree at `path`. It lies in git's folder for that, and goes with it."""

    def __init__(self, path: str) -> None:
        own = pointed_at(os.path.join(path, ".git"), "gitdir:")
        self._file = os.path.join(own, FILE) if own else ""
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take it; False when another holds it."""
        if not self._file or self._descriptor is not None:
            return self._descriptor is not None
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self._file, flags, 0o600)
        except OSError:
            return False
        if not _locked(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_in_use(path: str) -> bool:
    """Whether an agent works in the worktree at `path` now, in whatever process."""
    lock = InUse(path)
    if not pointed_at(os.path.join(path, ".git"), "gitdir:"):
        return False
    if lock.take():
        lock.release()
        return False
    return True


def _locked(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
