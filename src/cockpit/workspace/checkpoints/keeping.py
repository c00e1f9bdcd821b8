"""How long checkpoints are kept, and how much: old sessions go first. Deletes only in its own folder."""

import os
import time
from pathlib import Path
from typing import Literal

from cockpit.workspace.checkpoints.ledger import Ledger
from cockpit.workspace.checkpoints.objects import Objects

DAYS = 30
BYTES = 2 * 1024**3
EVERY = 86_400.0
ALONE_WITHOUT_LOCKS = False


class Presence:
    """That this process keeps checkpoints here: a lock shared with others, held while it lives."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "present.lock"
        self._file: int | None = None

    def take(self) -> None:
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            self._lock("shared")

    def is_alone(self) -> bool:
        """Take the lock for this process alone; `share` gives it back. Without such locks (Windows)
        nobody can tell, and the answer is no."""
        return self._file is not None and self._lock("alone")

    def share(self) -> None:
        self._lock("shared")

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _lock(self, how: Literal["shared", "alone"]) -> bool:
        try:
            import fcntl
        except ImportError:
            return ALONE_WITHOUT_LOCKS
        # Whoever tidies is soon done; for being alone nobody waits.
        kind = fcntl.LOCK_SH if how == "shared" else fcntl.LOCK_EX | fcntl.LOCK_NB
        try:
            fcntl.flock(self._file or 0, kind)
        except OSError:
            return False
        return True


def tidy(folder: Path, ledger: Ledger, objects: Objects, presence: Presence, named: set[str]) -> int:
    """Drop the records of old sessions, then the oldest while all is too much, then every object that
    no record and no known file (`named`) names. How many objects went; 0 when it was done lately or
    somebody else is here."""
    stamp, now = folder / "tidied", time.time()
    if stamp.exists() and now - stamp.stat().st_mtime < EVERY:
        return 0
    if not presence.is_alone():
        return 0
    try:
        stamp.touch(mode=0o600)
        return _tidy(ledger, objects, named, now)
    finally:
        presence.share()


def _tidy(ledger: Ledger, objects: Objects, named: set[str], now: float) -> int:
    wanted = set(named)
    spent = sum(objects.size_of(one) for one in wanted)
    for session, written in sorted(ledger.sessions(), key=lambda one: -one[1]):
        ids = {
            kept.id
            for record in ledger.of(session)
            for file in record.delta.files
            for kept in (file.before, file.after)
            if kept is not None and kept.id
        }
        more = sum(objects.size_of(one) for one in ids - wanted)
        if now - written > DAYS * 86_400 or spent + more > BYTES:
            ledger.forget(session)
            continue
        wanted |= ids
        spent += more
    return objects.drop(wanted, now)
