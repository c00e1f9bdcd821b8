"""One writer per session: a lock file that names the process which holds it.

The name is process id and start time, so that a lock left by a dead process (or by an older one of
the same id) is recognised and taken over.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from cockpit.errors import SessionBusy


class Lock:
    """The lock at `path`, for the session called `name` in messages."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name

    def take(self) -> None:
        """Raises `SessionBusy` when a live process holds it."""
        mine = json.dumps({"pid": os.getpid(), "started": started_at(os.getpid())}).encode()
        for _ in range(2):
            try:
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                self._drop_a_dead_one()
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(mine)
            return
        raise SessionBusy(f"session {self._name} was taken by another process just now", "try again")

    def release(self) -> None:
        self._path.unlink(missing_ok=True)

    def _drop_a_dead_one(self) -> None:
        try:
            holder = json.loads(self._path.read_bytes())
            pid, started = int(holder["pid"]), str(holder["started"])
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            # A lock without a readable holder was torn by a crash while it was written.
            self._path.unlink(missing_ok=True)
            return
        if pid != os.getpid() and started and started_at(pid) != started:
            self._path.unlink(missing_ok=True)
            return
        raise SessionBusy(
            f"session {self._name} is open in process {pid}", "close it there, or start a new session"
        )


def started_at(pid: int) -> str:
    """When a process started, in words that differ for another process; empty if there is none."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    if sys.platform == "win32":
        return _answer(("tasklist", "/FI", f"PID eq {pid}", "/NH", "/FO", "CSV"), str(pid))
    return _answer(("ps", "-o", "lstart=", "-p", str(pid)), "")


def _answer(argv: tuple[str, ...], must_hold: str) -> str:
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    answer = ended.stdout.strip()
    return answer if must_hold in answer else ""
