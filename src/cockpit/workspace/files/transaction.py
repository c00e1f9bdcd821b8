"""Writes files all or nothing. Works on bytes and real paths, not on plans or hunks.

The order, so that a crash at any point leaves the tree before or after, never between: check, journal, new
folders, temporary files, backups, check again, `commit` in the journal, renames, remove backups, remove the
journal. Without `commit` recovery goes back, with it forward.
"""

import errno
import os
import secrets
import stat
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from cockpit.plugin.context import ChangeRefused
from cockpit.workspace.files.changes import digest
from cockpit.workspace.files.disk_operations import DiskOperations, OpenFolders, retry_once, stale_file_error
from cockpit.workspace.files.journal import Journal, JournalEntry, JournalRecord, exclusive_writer

# File systems without hard links (FAT, some network mounts), or files we may not link to.
LINK_UNSUPPORTED = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EACCES)


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """The new content `after` (None: no file) of a real path, if the hash of the old one is `before`."""

    path: str
    before: str
    after: bytes | None
    mode: int


@dataclass(slots=True)
class WriteSlot:
    """A target being written. `facts` is the metadata of the old file."""

    target: WriteTarget
    entry: JournalEntry
    facts: os.stat_result | None
    has_temp: bool = False
    has_backup: bool = False
    placed: bool = False
    swapped: bool = False  # the old file has the temporary name


class Transaction:
    """One all-or-nothing write; `run` it once. `journals` is a folder, or "" for no crash safety."""

    def __init__(
        self, targets: tuple[WriteTarget, ...], journals: str = "", calls: DiskOperations | None = None
    ) -> None:
        self._targets = targets
        self._journals = journals
        self._calls = calls or DiskOperations()
        self._folders = OpenFolders(self._calls)
        self._slots: list[WriteSlot] = []
        self.made: list[str] = []
        self._journal: Journal | None = None

    def run(self) -> dict[str, int]:
        """Write everything. Returns the old permission bits by path. Raises `ChangeRefused` and OSError."""
        with exclusive_writer(self._journals) if self._journals else nullcontext():
            return self._run()

    def _run(self) -> dict[str, int]:
        try:
            self._prepare()
            self._commit()
        except OSError as error:
            self._go_back()
            where = f"{error.filename}: " if error.filename else ""
            raise ChangeRefused(f"{where}{error.strerror or error}; nothing was written") from error
        except BaseException:
            self._go_back()
            raise
        else:
            self._sweep([])
        finally:
            self._folders.close()
            if self._journal is not None:
                self._journal.release()
        return {slot.target.path: stat.S_IMODE(slot.facts.st_mode) for slot in self._slots if slot.facts}

    def _prepare(self) -> None:
        token = secrets.token_hex(6)
        missing = missing_folders(self._targets)
        entries = tuple(_journal_entry(target, token, at) for at, target in enumerate(self._targets))
        if self._journals:
            self._journal = Journal.begin(self._journals, token, JournalRecord(entries, missing), self._calls)
        for folder in missing:
            if self._folders.make(folder):
                self.made.append(folder)
        for target, entry in zip(self._targets, entries, strict=True):
            self._slots.append(self._open_slot(target, entry))
        for slot in self._slots:
            if slot.target.after is not None:
                self._folders.create(slot.entry.temp, slot.target.after, slot.target.mode, slot.facts)
                slot.has_temp = True
            self._back_up(slot)
        self._folders.sync()

    def _open_slot(self, target: WriteTarget, entry: JournalEntry) -> WriteSlot:
        try:
            self._folders.spot(target.path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise stale_file_error(target.path) from error
        facts = self._require_before(target.path, target)
        if facts is not None and facts.st_nlink > 1:
            hint = "replace it by a separate copy first"
            raise ChangeRefused(f"{target.path} is a hard link ({facts.st_nlink} names)", hint)
        return WriteSlot(target, entry, facts)

    def _require_before(self, path: str, target: WriteTarget) -> os.stat_result | None:
        """The metadata of the file at `path`, which must have the content that was planned for."""
        content, facts = self._folders.read(path)
        if digest(content) != target.before:
            raise stale_file_error(target.path)
        return facts

    def _back_up(self, slot: WriteSlot) -> None:
        if slot.facts is None:
            return
        path, backup = slot.target.path, slot.entry.backup
        try:
            self._folders.link(path, backup)
        except OSError as error:
            if error.errno not in LINK_UNSUPPORTED:
                raise
            content, facts = self._folders.read(path)
            if content is None or facts is None:
                raise stale_file_error(path) from error
            self._folders.create(backup, content, stat.S_IMODE(facts.st_mode), facts)
        slot.has_backup = True

    def _commit(self) -> None:
        for slot in self._slots:
            self._require_before(slot.target.path, slot.target)
        if self._journal is not None:
            self._journal.commit(self._calls)
        for slot in self._slots:
            self._place(slot)
            slot.placed = True
        self._folders.sync()
        for slot in self._slots:
            if slot.has_backup:
                # The backup is the old file itself: a write into it since the last check shows here.
                self._require_before(slot.entry.backup, slot.target)

    def _place(self, slot: WriteSlot) -> None:
        path, temp = slot.target.path, slot.entry.temp
        if slot.facts is None:
            self._place_new(slot)
        elif slot.target.after is None:
            # Moved aside and not unlinked: a file that someone saved since the check is not lost.
            self._folders.rename(path, temp)
            slot.swapped = slot.has_temp = True
            self._check_same(slot, temp)
        elif slot.entry.after != slot.entry.before and self._folders.exchange(temp, path):
            slot.swapped = True
            self._check_same(slot, temp)
        else:
            # Recovery tells the two files apart by content, so a change of the mode alone is a rename.
            self._check_same(slot, path)
            self._folders.rename(temp, path)
            slot.has_temp = False

    def _check_same(self, slot: WriteSlot, path: str) -> None:
        now = self._folders.lstat(path)
        if slot.facts is None or (now.st_dev, now.st_ino) != (slot.facts.st_dev, slot.facts.st_ino):
            raise stale_file_error(slot.target.path)

    def _place_new(self, slot: WriteSlot) -> None:
        """A link, unlike a rename, fails if someone has made the file meanwhile."""
        try:
            self._folders.link(slot.entry.temp, slot.target.path)
        except FileExistsError as error:
            raise stale_file_error(slot.target.path) from error
        except OSError as error:
            if error.errno not in LINK_UNSUPPORTED:
                raise
            self._folders.rename(slot.entry.temp, slot.target.path)
            slot.has_temp = False

    def _go_back(self) -> None:
        for slot in reversed(self._slots):
            if (slot.placed or slot.swapped) and not self._put_back(slot):
                return
        self._sweep(self.made)

    def _put_back(self, slot: WriteSlot) -> bool:
        path, temp, backup = slot.target.path, slot.entry.temp, slot.entry.backup
        if slot.swapped and slot.target.after is not None:
            return retry_once(partial(self._exchange, temp, path))
        if slot.swapped:
            restored = retry_once(partial(self._folders.rename, temp, path))
            slot.has_temp = not restored
        elif slot.has_backup:
            restored = retry_once(partial(self._folders.rename, backup, path))
            slot.has_backup = not restored
        else:
            restored = retry_once(partial(self._folders.unlink, path))
        return restored

    def _exchange(self, path: str, other: str) -> None:
        if not self._folders.exchange(path, other):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), other)

    def _sweep(self, folders: list[str]) -> None:
        """Remove the temporary files. What cannot be removed stays in the journal for later."""
        clean = True
        for slot in self._slots:
            for path, exists in ((slot.entry.temp, slot.has_temp), (slot.entry.backup, slot.has_backup)):
                if exists and not retry_once(partial(self._folders.unlink, path)):
                    clean = False
        for path in reversed(folders):
            clean = retry_once(partial(self._folders.unmake, path)) and clean
        if clean and self._journal is not None:
            retry_once(partial(self._journal.end, self._calls))


def missing_folders(targets: tuple[WriteTarget, ...]) -> tuple[str, ...]:
    """The folders that must be made, outermost first."""
    missing: set[str] = set()
    for target in targets:
        above = os.path.dirname(target.path)
        while target.after is not None and not os.path.lexists(above):
            missing.add(above)
            above = os.path.dirname(above)
    return tuple(sorted(missing))


def _journal_entry(target: WriteTarget, token: str, at: int) -> JournalEntry:
    folder = os.path.dirname(target.path)
    temp, backup = (os.path.join(folder, f".cockpit-{token}-{at}.{end}") for end in ("new", "old"))
    return JournalEntry(target.path, target.before, digest(target.after), temp, backup)
