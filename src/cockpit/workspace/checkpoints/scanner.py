"""Scans a root for changes since the last scan, and keeps an index of its files for the next one.

Follows no symlink and reads only changed files: a folder with the same modification time is not listed again,
a file with the same metadata is not read again (as git's index and untracked cache do). A time within
`RECENT_NS` of the scan proves nothing, so such files and folders are read again. The index on disk saves the
next session from reading every file, and shows after a crash what the interrupted call changed.
"""

import json
import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

from cockpit.plugin.context import PathRefused
from cockpit.workspace import path_names
from cockpit.workspace.checkpoints.blob_store import BlobStore, blob_id
from cockpit.workspace.checkpoints.records import (
    FileDelta,
    MissingReason,
    StoredFile,
    TreeDelta,
    is_same_file,
)
from cockpit.workspace.files.ignore_rules import RULE_FILES, RuleStack, is_excluded, list_folder, rules_above
from cockpit.workspace.files.journal import try_lock
from cockpit.workspace.files.safe_open import read_file


class IndexedFile(NamedTuple):
    """A scanned file. `mtime` and `ctime` are in ns; `young`: a later write might not change them."""

    mode: int
    size: int
    mtime: int
    ctime: int
    ino: int
    id: str
    why: MissingReason = ""
    young: bool = False

    @property
    def stored(self) -> StoredFile:
        return StoredFile(self.mode, self.size, self.id, self.why)


@dataclass(slots=True)
class IndexedFolder:
    """A folder, its listing as of `mtime` (-1: list it again) and the ignore rules in force in it. `above`
    are the rules that reach into it."""

    mtime: int = -1
    listed: bool = False
    ino: int = 0
    files: dict[str, IndexedFile] = field(default_factory=dict)
    folders: dict[str, "IndexedFolder"] = field(default_factory=dict)
    levels: RuleStack = ()
    rules: tuple[tuple[str, int, int], ...] = ()
    above: RuleStack = ()

    def walk(self, path: str = "") -> Iterator[tuple[str, IndexedFile]]:
        for name, file in self.files.items():
            yield path + name, file
        for name, folder in self.folders.items():
            yield from folder.walk(f"{path}{name}/")

    def walk_folders(self, path: str = "") -> Iterator[str]:
        for name, folder in self.folders.items():
            yield path + name
            yield from folder.walk_folders(f"{path}{name}/")

    def at(self, path: str) -> "IndexedFolder":
        """The folder at `path` below this one, created if it is not indexed."""
        folder = self
        for name in path.split("/") if path else ():
            folder = folder.folders.setdefault(name, IndexedFolder())
        return folder

    def find(self, path: str) -> IndexedFile | None:
        """The file known at `path`, if any."""
        above, _, name = path.rpartition("/")
        folder = self._folder_at(above)
        return folder.files.get(name) if folder is not None else None

    def put(self, path: str, file: IndexedFile | None) -> None:
        """Record the file at `path`, or its absence."""
        above, _, name = path.rpartition("/")
        if file is not None:
            self.at(above).files[name] = file
        elif (folder := self._folder_at(above)) is not None:
            folder.files.pop(name, None)

    def _folder_at(self, path: str) -> "IndexedFolder | None":
        folder: IndexedFolder | None = self
        for name in path.split("/") if path else ():
            folder = folder.folders.get(name) if folder is not None else None
        return folder


def is_trackable(mode: int) -> bool:
    """Whether checkpoints cover this kind of file: regular files and symlinks."""
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


IndexedFacts: TypeAlias = tuple[int, int, int, int, int, str, MissingReason, bool]
MAX_APPENDED_LINES = 20_000
"""Appended lines after which the whole file is written again."""


class StoredIndex:
    """The index on disk (`index.jsonl`). Only the process that holds its lock (`take`) writes it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "index.jsonl"
        self._lock_path = folder / "index.lock"
        self._lock: int | None = None
        self._added = 0

    def take(self) -> bool:
        """Whether this process may write the index; any other keeps its own in memory."""
        if self._lock is None:
            file = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
            if not try_lock(file):
                os.close(file)
                return False
            self._lock = file
        return True

    def load(self) -> IndexedFolder | None:
        """The stored index, or None. A line that a crash cut off ends it: the lines before it count."""
        tree = IndexedFolder()
        try:
            with self._path.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    _read_line(tree, json.loads(line))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, IndexError):
            return None
        return tree

    def write(self, tree: IndexedFolder) -> None:
        """Write the whole index."""
        if self._lock is None:
            return
        temp = self._path.with_suffix(".new")
        with open(temp, "wb", opener=_open_private) as file:
            file.writelines(_encode_line([name]) for name in tree.walk_folders())
            file.writelines(_encode_line([name, *facts]) for name, facts in tree.walk())
        os.replace(temp, self._path)
        self._added = 0

    def add(self, tree: IndexedFolder, changed: Iterable[tuple[str, IndexedFile | None]]) -> None:
        """Append the files that changed."""
        lines = [_encode_line([name, *(facts or (None,))]) for name, facts in changed]
        if self._lock is None or not lines:
            return
        self._added += len(lines)
        if self._added > MAX_APPENDED_LINES:
            self.write(tree)
            return
        with open(self._path, "ab", opener=_open_private) as file:
            file.write(b"".join(lines))

    def ids(self) -> set[str]:
        """The content ids that the index on disk names."""
        tree = self.load()
        return {file.id for _, file in tree.walk()} if tree is not None else set()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _read_line(tree: IndexedFolder, line: list[object]) -> None:
    name = str(line[0])
    if len(line) == 1:
        tree.at(name)
    elif line[1] is None:
        tree.put(name, None)
    else:
        tree.put(name, IndexedFile(*cast("IndexedFacts", line[1:])))


def _encode_line(value: list[object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


RECENT_NS = 100_000_000
COARSE_RECENT_NS = 2_100_000_000
"""Nanoseconds: more than a clock tick of the kernel, and the two-second resolution of file systems like
FAT."""
TEMPORARY_PREFIX = ".cockpit-"


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """What is stored: bytes of one file, bytes in total, and how many files a root may have."""

    file: int = 16 * 1024 * 1024
    total: int = 1024 * 1024 * 1024
    files: int = 100_000


class TooManyFiles(Exception):
    """The root has more files than are scanned."""


class ScanStopped(Exception):
    """The scan was asked to stop."""


@dataclass(slots=True)
class RootScan:
    """One scan of `root`, which updates `tree`. It ends early once `stop` is not empty."""

    root: str
    tree: IndexedFolder
    objects: BlobStore
    limits: CheckpointLimits
    stop: list[bool]
    count: int = 0
    total: int = 0
    changed: list[FileDelta] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    began: int = field(default_factory=time.time_ns)

    def run(self, stored: int) -> TreeDelta:
        """The changes; `stored` bytes are stored so far. Raises `TooManyFiles`, `ScanStopped` and OSError."""
        self.total = stored
        above, known = rules_above(self.root, self.root), self.tree.above
        is_same = [level.rules.runs for level in above] == [level.rules.runs for level in known]
        self._folder(self.root, "", self.tree, known if is_same else above, False)
        return TreeDelta(tuple(self.changed), tuple(self.made), tuple(self.gone))

    def _folder(self, path: str, name: str, known: IndexedFolder, above: RuleStack, quiet: bool) -> None:
        """Scan the folder `name` at `path`. `quiet`: it was ignored until now, so files in it may be old."""
        if self.stop:
            raise ScanStopped
        facts = os.lstat(path)
        is_same = (known.mtime, known.ino) == (facts.st_mtime_ns, facts.st_ino)
        if is_same and _has_same_rules(path, known, above):
            for entry_name in self._changed_files(path, known):
                self._file(os.path.join(path, entry_name), name, entry_name, known, False)
            for entry_name in tuple(known.folders):
                self._below(os.path.join(path, entry_name), name, entry_name, known, False)
            return
        entries, levels = list_folder(path, above, True)
        before = known.levels if known.listed else levels
        known.above, known.levels, known.listed, known.ino = above, levels, True, facts.st_ino
        known.mtime = -1 if _is_recent(facts.st_mtime_ns, self.began) else facts.st_mtime_ns
        known.rules = tuple(
            _stat_rule_file(path, file) for file in RULE_FILES if os.path.lexists(os.path.join(path, file))
        )
        self._drop_unlisted(path, name, known, {entry.name: _is_folder(entry) for entry in entries})
        for entry in entries:
            hidden = quiet or (before != levels and is_excluded(entry, before))
            if not _is_folder(entry):
                self._file(entry.path, name, entry.name, known, hidden)
                continue
            if entry.name not in known.folders:
                known.folders[entry.name] = IndexedFolder()
                self.made += [] if hidden else [name + entry.name]
            self._below(entry.path, name, entry.name, known, hidden)

    def _changed_files(self, path: str, known: IndexedFolder) -> list[str]:
        """The files of a folder whose metadata changed. Most of the time of a scan is spent here."""
        prefix, lstat, changed = path + os.sep, os.lstat, list[str]()
        for name, file in known.files.items():
            try:
                is_same = not file.young and _stat_facts(lstat(prefix + name)) == file[:5]
            except OSError:
                is_same = False
            if not is_same:
                changed.append(name)
        self.count += len(known.files) - len(changed)
        return changed

    def _drop_unlisted(self, path: str, name: str, known: IndexedFolder, listed: dict[str, bool]) -> None:
        """Forget entries that are no longer listed. One that exists is now ignored, and not reported."""
        for entry in [entry for entry in known.files if listed.get(entry) is not False]:
            exists = entry not in listed and os.path.lexists(os.path.join(path, entry))
            self._drop_file(name + entry, known.files.pop(entry), exists)
        for entry in [entry for entry in known.folders if not listed.get(entry)]:
            exists = entry not in listed and os.path.lexists(os.path.join(path, entry))
            self._drop_folder(name + entry, known.folders.pop(entry), exists)

    def _below(self, path: str, folder: str, name: str, known: IndexedFolder, quiet: bool) -> None:
        try:
            self._folder(path, f"{folder}{name}/", known.folders[name], known.levels, quiet)
        except (FileNotFoundError, NotADirectoryError):
            self._drop_folder(folder + name, known.folders.pop(name), False)

    def _file(self, path: str, folder: str, name: str, known: IndexedFolder, quiet: bool) -> None:
        if name.startswith(TEMPORARY_PREFIX):
            return
        before = known.files.get(name)
        self.count += 1
        if self.count > self.limits.files:
            raise TooManyFiles
        try:
            facts = os.lstat(path)
        except FileNotFoundError:
            facts = None
        if facts is None or not is_trackable(facts.st_mode):
            if before is not None:
                self._drop_file(folder + name, known.files.pop(name), False)
            return
        if before is not None and not before.young and _stat_facts(facts) == before[:5]:
            return
        replaced = before.size if before is not None and before.id else 0
        limits = replace(self.limits, total=self.limits.total - self.total + replaced)
        after = index_file(path, folder + name, facts, self.objects, limits, self.began)
        self.total += (after.size if after.id else 0) - replaced
        known.files[name] = after
        is_new = before is None or not is_same_file(before.stored, after.stored)
        if is_new and not (quiet and before is None):
            self.changed.append(FileDelta(folder + name, before.stored if before else None, after.stored))

    def _drop_file(self, path: str, file: IndexedFile, quiet: bool) -> None:
        self.total -= file.size if file.id else 0
        if not quiet:
            self.changed.append(FileDelta(path, file.stored, None))

    def _drop_folder(self, path: str, folder: IndexedFolder, quiet: bool) -> None:
        if not quiet:
            self.gone += [path, *(f"{path}/{name}" for name in folder.walk_folders())]
        for name, file in folder.walk(f"{path}/"):
            self._drop_file(name, file, quiet)


def _has_same_rules(path: str, known: IndexedFolder, above: RuleStack) -> bool:
    return (
        known.listed
        and known.above == above
        and all(_stat_rule_file(path, rule[0]) == rule for rule in known.rules)
    )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def index_file(
    path: str, name: str, facts: os.stat_result, objects: BlobStore | None, limits: CheckpointLimits, now: int
) -> IndexedFile:
    """Index the file at `path`; its content is stored in `objects`, or only hashed where that is None."""
    mode, size, mtime, ctime, ino = _stat_facts(facts)
    why: MissingReason = ""
    id = ""
    if is_secret_path(name):
        why = "secret"
    elif size > limits.file:
        why = "large"
    elif size > limits.total and objects is not None:
        why = "total"
    else:
        try:
            content = read_content(path, mode)
            id = objects.put(content) if objects is not None else blob_id(content)
            size = len(content)
        except (OSError, PathRefused):
            why = "unreadable"
    return IndexedFile(mode, size, mtime, ctime, ino, id, why, _is_recent(max(mtime, ctime), now))


def is_secret_path(path: str) -> bool:
    """Whether the name of a file says that it holds secrets.

    Fast for ten thousand names: if no folder on the way is special, the name of the file decides.
    """
    folder, _, name = path.rpartition("/")
    if (kind := _folder_kind(folder)) == "plain":
        return _is_secret_name(name)
    return kind == "secret" or bool(path_names.secret_reason(tuple(path.split("/"))))


@lru_cache(maxsize=16_384)
def _is_secret_name(name: str) -> bool:
    return bool(path_names.secret_reason((name,)))


@lru_cache(maxsize=4096)
def _folder_kind(folder: str) -> Literal["plain", "special", "secret"]:
    parts = tuple(folder.split("/"))
    if folder and path_names.secret_reason(parts):
        return "secret"
    is_special = any(part.startswith(".") or part.casefold() == "library" for part in parts)
    return "special" if is_special else "plain"


def read_content(path: str, mode: int) -> bytes:
    """The bytes of a file, or the target of a link. Raises OSError and `PathRefused`."""
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))
    return read_file(path)


def _stat_facts(facts: os.stat_result) -> tuple[int, int, int, int, int]:
    return facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _is_recent(changed: int, now: int) -> bool:
    return now - changed < (RECENT_NS if changed % 1_000_000_000 else COARSE_RECENT_NS)


def _stat_rule_file(path: str, name: str) -> tuple[str, int, int]:
    try:
        facts = os.lstat(os.path.join(path, name))
    except OSError:
        return name, -1, -1
    return name, facts.st_mtime_ns, facts.st_size
