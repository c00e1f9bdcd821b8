"""The note of a transaction on its way, kept in the state folder: enough to finish or undo it after a
crash. Two lines: what will be done, and `commit` once everything is prepared."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from cockpit.plugin.workspace import ChangeRefused
from cockpit.workspace.calls import Calls

SUFFIX = ".journal"
COMMIT = b"commit\n"
PATIENCE = 20.0
TICK = 0.005


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: hashes before and after ("" for none), and the names beside it, as real paths."""

    path: str
    before: str
    after: str
    temp: str
    backup: str


@dataclass(frozen=True, slots=True)
class Record:
    """A whole transaction. `folders` are those it makes, outermost first."""

    entries: tuple[Entry, ...]
    folders: tuple[str, ...]
    committed: bool = False


@dataclass(slots=True)
class Journal:
    """An open journal file; it is locked, so that nobody recovers what is still going on."""

    path: str
    file: int

    @classmethod
    def begin(cls, folder: str, token: str, record: Record, calls: Calls) -> "Journal":
        """Write the record and make it last."""
        Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        path = os.path.join(folder, token + SUFFIX)
        file = calls.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, None)
        journal = cls(path, file)
        try:
            locked(file)
            calls.write(file, json.dumps(asdict(record)).encode() + b"\n")
            calls.fsync(file)
        except BaseException:
            journal.let_go()
            with contextlib.suppress(OSError):
                calls.unlink(path, None)
            raise
        return journal

    def commit(self, calls: Calls) -> None:
        calls.write(self.file, COMMIT)
        calls.fsync(self.file)

    def end(self, calls: Calls) -> None:
        """The transaction left nothing to do."""
        calls.unlink(self.path, None)

    def let_go(self) -> None:
        os.close(self.file)


@contextlib.contextmanager
def only_writer(journals: str) -> Iterator[None]:
    """One transaction at a time among all processes with these journals. Raises `ChangeRefused` when
    another one does not end."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    Path(journals).parent.mkdir(parents=True, exist_ok=True)
    file = os.open(f"{journals}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise ChangeRefused(
                        f"another cockpit has been writing for {PATIENCE:g} s; nothing was written",
                        "try again, or end the other one",
                    ) from error
                time.sleep(TICK)
        yield
    finally:
        os.close(file)


def locked(file: int) -> bool:
    """Take the journal for this process; False when a living one has it."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def unfinished(folder: str) -> Iterator[tuple[Journal, Record | None]]:
    """The journals of processes that are gone; None for one torn while it was written, which is
    before anything else was. Each is closed when the next is asked for."""
    for path in sorted(Path(folder).glob("*" + SUFFIX)):
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
        journal = Journal(str(path), file)
        try:
            if locked(file):
                yield journal, _parsed(path.read_bytes())
        finally:
            journal.let_go()


def _parsed(content: bytes) -> Record | None:
    line, newline, rest = content.partition(b"\n")
    try:
        raw = json.loads(line)
        entries = tuple(Entry(**entry) for entry in raw["entries"])
        folders = tuple(str(folder) for folder in raw["folders"])
    except (ValueError, KeyError, TypeError):
        return None
    return Record(entries, folders, rest == COMMIT) if newline else None
