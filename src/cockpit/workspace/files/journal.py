"""The journal of a transaction in the state folder, and recovery from it after a crash.

A journal has two lines: what will be done, and `commit` once everything is prepared. Recovery finishes a
transaction that was committed and undoes any other. A file that someone changed since the crash keeps their
content, and this is reported.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from cockpit.plugin.context import ChangeRefused, PathRefused
from cockpit.workspace.files.changes import digest
from cockpit.workspace.files.disk_operations import DiskOperations, OpenFolders, retry_once

JOURNAL_SUFFIX = ".journal"
COMMIT_LINE = b"commit\n"
LOCK_TIMEOUT = 20.0
LOCK_POLL = 0.005


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One file: hashes before and after ("" for none), and temporary paths beside it. All paths are real."""

    path: str
    before: str
    after: str
    temp: str
    backup: str


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """A whole transaction. `folders` are those it makes, outermost first."""

    entries: tuple[JournalEntry, ...]
    folders: tuple[str, ...]
    committed: bool = False


@dataclass(slots=True)
class Journal:
    """An open journal file, locked so that no process recovers a running transaction."""

    path: str
    file: int

    @classmethod
    def begin(cls, folder: str, token: str, record: JournalRecord, calls: DiskOperations) -> "Journal":
        """Write the record and sync it."""
        Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        path = os.path.join(folder, token + JOURNAL_SUFFIX)
        file = calls.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, None)
        journal = cls(path, file)
        try:
            try_lock(file)
            calls.write(file, json.dumps(asdict(record)).encode() + b"\n")
            calls.fsync(file)
        except BaseException:
            journal.release()
            with contextlib.suppress(OSError):
                calls.unlink(path, None)
            raise
        return journal

    def commit(self, calls: DiskOperations) -> None:
        calls.write(self.file, COMMIT_LINE)
        calls.fsync(self.file)

    def end(self, calls: DiskOperations) -> None:
        """Remove the journal: nothing is left to do."""
        calls.unlink(self.path, None)

    def release(self) -> None:
        os.close(self.file)


@contextlib.contextmanager
def exclusive_writer(journals: str) -> Iterator[None]:
    """One transaction at a time among all processes with these journals.

    Raises `ChangeRefused` on a timeout.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    Path(journals).parent.mkdir(parents=True, exist_ok=True)
    file = os.open(f"{journals}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    reason = f"another cockpit has been writing for {LOCK_TIMEOUT:g} s; nothing was written"
                    raise ChangeRefused(reason, "try again, or end the other process") from error
                time.sleep(LOCK_POLL)
        yield
    finally:
        os.close(file)


def try_lock(file: int) -> bool:
    """Lock the file for this process; False if a living process has it."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def unfinished_journals(folder: str) -> Iterator[tuple[Journal, JournalRecord | None]]:
    """The journals of processes that ended; each is closed before the next is opened.

    The record is None for a journal that was cut off while it was written, before anything else was done.
    """
    for path in sorted(Path(folder).glob("*" + JOURNAL_SUFFIX)):
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            continue
        journal = Journal(str(path), file)
        try:
            if try_lock(file):
                yield journal, _parse_record(path.read_bytes())
        finally:
            journal.release()


def _parse_record(content: bytes) -> JournalRecord | None:
    line, newline, rest = content.partition(b"\n")
    try:
        raw = json.loads(line)
        entries = tuple(JournalEntry(**entry) for entry in raw["entries"])
        folders = tuple(str(folder) for folder in raw["folders"])
    except (ValueError, KeyError, TypeError):
        return None
    return JournalRecord(entries, folders, rest == COMMIT_LINE) if newline else None


FileState = Literal["before", "after", "other"]


@dataclass(frozen=True, slots=True)
class RecoveredTransaction:
    """A transaction that recovery finished or undid. `conflicts` are files left as the user changed them."""

    outcome: Literal["finished", "undone"]
    paths: tuple[str, ...]
    conflicts: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line for the user who opens the session."""
        text = f"a write that a crash interrupted was {self.outcome}: {', '.join(self.paths)}"
        conflicts = ", ".join(self.conflicts)
        return f"{text}; changed since the crash and left as they are: {conflicts}" if conflicts else text


def recover_transactions(
    journals: str, calls: DiskOperations | None = None
) -> tuple[RecoveredTransaction, ...]:
    """Finish or undo every unfinished transaction. Those of living processes are left alone."""
    calls = calls or DiskOperations()
    recovered: list[RecoveredTransaction] = []
    for journal, record in unfinished_journals(journals):
        clean = True
        if record is not None:
            with contextlib.closing(OpenFolders(calls)) as folders:
                result, clean = _recover_transaction(record, folders)
            recovered.append(result)
        if clean:
            retry_once(partial(journal.end, calls))
    return tuple(recovered)


def _recover_transaction(record: JournalRecord, folders: OpenFolders) -> tuple[RecoveredTransaction, bool]:
    """The result, and whether nothing is left to do."""
    paths = tuple(entry.path for entry in record.entries)
    edited = [
        entry for entry in record.entries if record.committed and _was_edited_during_swap(entry, folders)
    ]
    restored = [retry_once(partial(folders.rename, entry.temp, entry.path)) for entry in edited]
    if not all(restored):
        return RecoveredTransaction("undone", paths), False
    states = {entry.path: _file_state(entry, folders) for entry in record.entries}
    conflicts = tuple(path for path, state in states.items() if state == "other")
    # Going forward needs the complete new content of each file that is not in place yet.
    waiting = [entry for entry in record.entries if entry.after and states[entry.path] != "after"]
    ready = all(_digest_of(entry.temp, folders) == entry.after for entry in waiting)
    forward = record.committed and not conflicts and ready
    clean = True
    for entry in record.entries:
        if forward and states[entry.path] == "before":
            clean = retry_once(partial(_roll_forward, entry, folders)) and clean
        elif record.committed and not forward and states[entry.path] == "after":
            clean = retry_once(partial(_roll_back, entry, folders)) and clean
    if clean:
        clean = _remove_leftovers(record, folders, forward)
    return RecoveredTransaction("finished" if forward else "undone", paths, conflicts), clean


def _was_edited_during_swap(entry: JournalEntry, folders: OpenFolders) -> bool:
    """Whether our file is in place and was swapped with neither the old content nor ours: the user saved the
    file in that moment."""
    if entry.before == entry.after or _digest_of(entry.path, folders) != entry.after:
        return False
    return _digest_of(entry.temp, folders) not in ("", entry.before, entry.after)


def _file_state(entry: JournalEntry, folders: OpenFolders) -> FileState:
    current = _digest_of(entry.path, folders)
    if current == entry.before and bool(_digest_of(entry.temp, folders)) == bool(entry.after):
        return "before"
    if current == entry.after:
        return "after"
    return "before" if current == entry.before else "other"


def _digest_of(path: str, folders: OpenFolders) -> str | None:
    """The hash of a file, "" for none, None for anything but a regular file."""
    try:
        return digest(folders.read(path)[0])
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (ChangeRefused, PathRefused):
        return None


def _roll_forward(entry: JournalEntry, folders: OpenFolders) -> None:
    if entry.after:
        folders.rename(entry.temp, entry.path)
    else:
        folders.unlink(entry.path)


def _roll_back(entry: JournalEntry, folders: OpenFolders) -> None:
    if not entry.before:
        folders.unlink(entry.path)
    elif _digest_of(entry.backup, folders):
        folders.rename(entry.backup, entry.path)


def _remove_leftovers(record: JournalRecord, folders: OpenFolders, forward: bool) -> bool:
    clean = True
    for entry in record.entries:
        for path in (entry.temp, entry.backup):
            if _digest_of(path, folders) not in ("", None):
                clean = retry_once(partial(folders.unlink, path)) and clean
    for path in reversed(record.folders):
        if not forward and os.path.isdir(path) and not os.listdir(path):
            clean = retry_once(partial(folders.unmake, path)) and clean
    return clean
