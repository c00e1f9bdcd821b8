"""Looking a root over: what is different from what was known. Follows no link, reads only what changed.

A folder whose time of change is the same is not listed again; a file whose facts are the same is not
read again (git's untracked cache and index do the same). A time that lies within `YOUNG` of the look
proves nothing: such a file is read again, such a folder listed again.
"""

import os
import stat
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from cockpit.plugin.context import PathRefused
from cockpit.workspace import names
from cockpit.workspace.beneath import read_file
from cockpit.workspace.checkpoints.objects import Objects, id_of
from cockpit.workspace.checkpoints.tree import File, Folder, is_kind
from cockpit.workspace.checkpoints.values import Delta, FileDelta, Why, same
from cockpit.workspace.ignores import RULE_FILES, Levels, children, is_left_out, levels_above

YOUNG = 100_000_000
COARSE = 2_100_000_000
"""Nanoseconds: a clock tick of a kernel with room, and the two seconds of file systems like FAT."""
TEMPORARY = ".cockpit-"


@dataclass(frozen=True, slots=True)
class Limits:
    """What is kept: bytes of one file, bytes of all, and how many files a root may have at all."""

    file: int = 16 * 1024 * 1024
    total: int = 1024 * 1024 * 1024
    files: int = 100_000


class TooMany(Exception):
    """The root holds more files than are looked over."""


class Stopped(Exception):
    """Somebody wants the look to end."""


@dataclass(slots=True)
class Look:
    """One look over `root`, changing `tree` as it goes. `stop` is asked at each folder."""

    root: str
    tree: Folder
    objects: Objects
    limits: Limits
    stop: list[bool]
    count: int = 0
    total: int = 0
    found: list[FileDelta] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    began: int = field(default_factory=time.time_ns)

    def run(self, kept: int) -> Delta:
        """What is different. `kept` are the bytes kept so far. Raises `TooMany`, `Stopped`, OSError."""
        self.total = kept
        above, known = levels_above(self.root, self.root), self.tree.above
        is_same = [one.rules.runs for one in above] == [one.rules.runs for one in known]
        self._folder(self.root, "", self.tree, known if is_same else above, False)
        return Delta(tuple(self.found), tuple(self.made), tuple(self.gone))

    def _folder(self, path: str, name: str, known: Folder, above: Levels, quiet: bool) -> None:
        """`quiet`: the folder was ignored until now, so that what is in it may be old."""
        if self.stop:
            raise Stopped
        facts = os.lstat(path)
        is_same = (known.mtime, known.ino) == (facts.st_mtime_ns, facts.st_ino)
        if is_same and _is_as_ruled(path, known, above):
            for one in self._different(path, known):
                self._file(os.path.join(path, one), name, one, known, False)
            for one in tuple(known.folders):
                self._below(os.path.join(path, one), name, one, known, False)
            return
        entries, levels = children(path, above, True)
        before = known.levels if known.listed else levels
        known.above, known.levels, known.listed, known.ino = above, levels, True, facts.st_ino
        known.mtime = -1 if _is_young(facts.st_mtime_ns, self.began) else facts.st_mtime_ns
        known.rules = tuple(
            _rule(path, one) for one in RULE_FILES if os.path.lexists(os.path.join(path, one))
        )
        self._leave(path, name, known, {entry.name: _is_folder(entry) for entry in entries})
        for entry in entries:
            one = entry.name
            hidden = quiet or (before != levels and is_left_out(entry, before))
            if not _is_folder(entry):
                self._file(entry.path, name, one, known, hidden)
                continue
            if one not in known.folders:
                known.folders[one] = Folder()
                self.made += [] if hidden else [name + one]
            self._below(entry.path, name, one, known, hidden)

    def _different(self, path: str, known: Folder) -> list[str]:
        """The files of a folder whose facts are not what they were. Most of a look is spent here."""
        begin, lstat, found = path + os.sep, os.lstat, list[str]()
        for one, file in known.files.items():
            try:
                is_same = not file.young and _facts(lstat(begin + one)) == file[:5]
            except OSError:
                is_same = False
            if not is_same:
                found.append(one)
        self.count += len(known.files) - len(found)
        return found

    def _leave(self, path: str, name: str, known: Folder, listed: dict[str, bool]) -> None:
        """Forget what is listed no more; what is ignored from now on is still there, and not lost."""
        for gone in [one for one in known.files if listed.get(one) is not False]:
            is_there = gone not in listed and os.path.lexists(os.path.join(path, gone))
            self._lost(name + gone, known.files.pop(gone), is_there)
        for gone in [one for one in known.folders if not listed.get(one)]:
            is_there = gone not in listed and os.path.lexists(os.path.join(path, gone))
            self._lost_folder(name + gone, known.folders.pop(gone), is_there)

    def _below(self, path: str, name: str, one: str, known: Folder, quiet: bool) -> None:
        try:
            self._folder(path, f"{name}{one}/", known.folders[one], known.levels, quiet)
        except (FileNotFoundError, NotADirectoryError):
            self._lost_folder(name + one, known.folders.pop(one), False)

    def _file(self, path: str, folder: str, one: str, known: Folder, quiet: bool) -> None:
        if one.startswith(TEMPORARY):
            return
        before = known.files.get(one)
        self.count += 1
        if self.count > self.limits.files:
            raise TooMany
        try:
            facts = os.lstat(path)
        except FileNotFoundError:
            if before is not None:
                self._lost(folder + one, known.files.pop(one), False)
            return
        if before is not None and not before.young and _facts(facts) == before[:5]:
            return
        if not is_kind(facts.st_mode):
            if before is not None:
                self._lost(folder + one, known.files.pop(one), False)
            return
        held = before.size if before is not None and before.id else 0
        after = looked(path, folder + one, facts, self.objects, self._limit(held), self.began)
        self.total += (after.size if after.id else 0) - held
        known.files[one] = after
        is_new = before is None or not same(before.kept, after.kept)
        if is_new and not (quiet and before is None):
            self.found.append(FileDelta(folder + one, before.kept if before else None, after.kept))

    def _limit(self, held: int) -> Limits:
        """What is left of the total for one more file."""
        left = self.limits.total - self.total + held
        return Limits(self.limits.file, left, self.limits.files)

    def _lost(self, path: str, file: File, quiet: bool) -> None:
        self.total -= file.size if file.id else 0
        if not quiet:
            self.found.append(FileDelta(path, file.kept, None))

    def _lost_folder(self, path: str, folder: Folder, quiet: bool) -> None:
        if not quiet:
            self.gone.append(path)
            self.gone += [f"{path}/{one}" for one in folder.walk_folders()]
        for name, file in folder.walk(f"{path}/"):
            self._lost(name, file, quiet)


def _is_as_ruled(path: str, known: Folder, above: Levels) -> bool:
    """Whether the ignore files that reach here are what they were."""
    return known.listed and known.above == above and all(_rule(path, one[0]) == one for one in known.rules)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def looked(
    path: str, name: str, facts: os.stat_result, objects: Objects | None, limits: Limits, now: int
) -> File:
    """The file at `path` as it is, its bytes kept in `objects` (with None only named)."""
    mode, size, mtime, ctime, ino = _facts(facts)
    why: Why = ""
    id = ""
    if is_secret(name):
        why = "secret"
    elif size > limits.file:
        why = "large"
    elif size > limits.total and objects is not None:
        why = "total"
    else:
        try:
            content = bytes_of(path, mode)
            id = objects.put(content) if objects is not None else id_of(content)
            size = len(content)
        except (OSError, PathRefused):
            why = "unreadable"
    return File(mode, size, mtime, ctime, ino, id, why, _is_young(max(mtime, ctime), now))


def is_secret(path: str) -> bool:
    """Whether the name says that secrets are in it. Ten thousand plain names must not cost a second:
    where no folder on the way is special, the file's own name decides."""
    folder, _, name = path.rpartition("/")
    if (kind := _folder_kind(folder)) == "plain":
        return _is_secret_name(name)
    return kind == "secret" or bool(names.sensitive(tuple(path.split("/"))))


@lru_cache(maxsize=16_384)
def _is_secret_name(name: str) -> bool:
    return bool(names.sensitive((name,)))


@lru_cache(maxsize=4096)
def _folder_kind(folder: str) -> Literal["plain", "special", "secret"]:
    parts = tuple(folder.split("/"))
    if folder and names.sensitive(parts):
        return "secret"
    return (
        "special" if any(part.startswith(".") or part.casefold() == "library" for part in parts) else "plain"
    )


def bytes_of(path: str, mode: int) -> bytes:
    """The bytes of a file, or of a link where it leads. Raises OSError, `PathRefused`."""
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))
    return read_file(path)


def _facts(facts: os.stat_result) -> tuple[int, int, int, int, int]:
    return facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _is_young(changed: int, now: int) -> bool:
    return now - changed < (YOUNG if changed % 1_000_000_000 else COARSE)


def _rule(path: str, name: str) -> tuple[str, int, int]:
    try:
        facts = os.lstat(os.path.join(path, name))
    except OSError:
        return name, -1, -1
    return name, facts.st_mtime_ns, facts.st_size
