"""Places for names that must not come to be while a program runs: an empty folder to mount over, made
before and removed after, also after a kill.

A folder and not a file, because git shows an empty file as new and an empty folder not at all. Several
programs, and several cockpits, may run in one workspace: a lock counts them, and the last one removes
the stubs. A record outside of the workspace says which are ours; what a crash left is removed by the next.
Linux only, as the sandbox that needs it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from cockpit.workspace.sandbox.guarded import stubbed


class Stubs:
    """The stubs of one workspace. Every method may block for a moment: call it in a thread."""

    def __init__(self, root: str, state: str, home: str) -> None:
        self._root, self._is_home = root, root == home
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._folder = Path(state, "sandbox")
        self._record = self._folder / f"{name}.json"
        self._lock = self._folder / f"{name}.lock"
        self._users = self._folder / f"{name}.users"

    def begin(self, extra: tuple[str, ...] = ()) -> tuple[int, tuple[str, ...]]:
        """Make what is missing of the protected names, and of `extra` (absolute paths). A token for `end`,
        and the paths that are stubs now, by this call or by another that still runs."""
        with self._locked():
            token = os.open(self._users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if _is_alone(token):
                    self._sweep()
                known = set(self._read())
                candidates = (*(os.path.join(self._root, one) for one in stubbed(self._is_home)), *extra)
                missing = [one for one in candidates if one not in known and not os.path.lexists(one)]
                # Recorded first: a kill between the two leaves a name too many, not a stub.
                self._write(sorted(known.union(missing)))
                made = known.union(one for one in missing if _make(one))
                fcntl.flock(token, fcntl.LOCK_SH)
            except BaseException:
                os.close(token)
                raise
            return token, tuple(sorted(one for one in made if os.path.lexists(one)))

    def end(self, token: int) -> None:
        """Remove the stubs if nobody else needs them."""
        with self._locked():
            try:
                if _is_alone(token):
                    self._sweep()
            finally:
                os.close(token)

    def sweep(self) -> None:
        """Remove what a killed cockpit left here."""
        if not self._record.exists():
            return
        with self._locked():
            token = os.open(self._users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if _is_alone(token):
                    self._sweep()
            finally:
                os.close(token)

    def _sweep(self) -> None:
        for path in self._read():
            # Only what is still empty: anything else is somebody's.
            with contextlib.suppress(OSError):
                os.rmdir(path)
        self._record.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _read(self) -> list[str]:
        try:
            found = json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return []
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    def _write(self, paths: list[str]) -> None:
        self._record.write_text(json.dumps(paths), encoding="ascii")


def _is_alone(token: int) -> bool:
    """Whether no other holds the users' lock; if so this one holds it alone."""
    try:
        fcntl.flock(token, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make(path: str) -> bool:
    try:
        os.mkdir(path)
    except OSError:
        return False
    return True
