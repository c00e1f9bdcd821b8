"""The workspace on this machine: reads files, plans and applies changes, and runs processes under one root.

Every path goes through the resolver first, and exactly the resolved path is opened. Names that differ only in
case or Unicode form are the same file on macOS and Windows, so a second one is not created beside the first.
"""

import asyncio
import itertools
import os
import stat
import unicodedata
from collections.abc import AsyncIterator, Collection, Iterator
from typing import Literal

from cockpit.plugin.changes import ChangeSet, Edit, FileChange
from cockpit.plugin.context import Applied, ChangeRefused, FileEntry, PathRefused
from cockpit.workspace.files import ignore_rules, safe_open
from cockpit.workspace.files.changes import NEW_MODE, FileSnapshot, SourceTree, plan_changes, undo_changes
from cockpit.workspace.files.disk_operations import DiskOperations
from cockpit.workspace.files.ignore_rules import RuleStack, list_folder, rules_above
from cockpit.workspace.files.journal import RecoveredTransaction, recover_transactions
from cockpit.workspace.files.transaction import Transaction, WriteTarget
from cockpit.workspace.processes.local_processes import LocalProcesses
from cockpit.workspace.resolver import Resolver
from cockpit.workspace.sandbox.values import SandboxUse


def walk_files(root: str, start: str = ".", hidden: bool = False) -> Iterator[FileEntry]:
    """Every file and link below `start` that no ignore rule excludes, sorted by path part by part.

    Blocks: call it in a worker thread. `root` and `start` are real paths (`start` may be relative to the
    root). `hidden` includes names with a leading dot. Folders that cannot be read are left out.
    """
    folder = os.path.normpath(os.path.join(root, start))
    yield from _walk_folder(folder, path_prefix(folder, root), rules_above(root, folder), hidden)


def path_prefix(folder: str, root: str) -> str:
    """The prefix of the names in `folder`: its path relative to the root, absolute outside of it."""
    if folder == root:
        return ""
    if folder.startswith(root.rstrip(os.sep) + os.sep):
        return os.path.relpath(folder, root).replace(os.sep, "/") + "/"
    return folder.replace(os.sep, "/").rstrip("/") + "/"


def _walk_folder(folder: str, prefix: str, levels: RuleStack, hidden: bool) -> Iterator[FileEntry]:
    entries, levels = list_folder(folder, levels, hidden)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(entry.path, f"{prefix}{entry.name}/", levels, hidden)
        elif (file := make_entry(entry, prefix)) is not None:
            yield file


def make_entry(entry: os.DirEntry[str], prefix: str) -> FileEntry | None:
    """The metadata of `entry`, or None if it no longer exists."""
    try:
        facts = entry.stat(follow_symlinks=False)
        path = prefix + entry.name
        if entry.is_symlink():
            return FileEntry(path, "link", facts.st_size, facts.st_mtime)
        if entry.is_dir(follow_symlinks=False):
            return FileEntry(path, "folder", 0, facts.st_mtime)
        kind = entry.is_file(follow_symlinks=False)
        return FileEntry(path, "file" if kind else "other", facts.st_size, facts.st_mtime)
    except OSError:
        return None


WALK_BATCH = 512


class LocalFiles:
    """Implements `Files` on the local disk. Blocking calls run in worker threads."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def read(self, path: str) -> bytes:
        real = self._resolver.resolve(path, "read")
        return await asyncio.to_thread(safe_open.read_file, real)

    async def stat(self, path: str) -> FileEntry:
        """The metadata of the real file; its `path` is relative to the root if it is inside."""
        real = self._resolver.resolve(path, "read")
        facts = await asyncio.to_thread(os.stat, real, follow_symlinks=False)
        name = self._resolver.relative(real)
        if stat.S_ISDIR(facts.st_mode):
            return FileEntry(name, "folder", 0, facts.st_mtime)
        kind = stat.S_ISREG(facts.st_mode)
        return FileEntry(name, "file" if kind else "other", facts.st_size, facts.st_mtime)

    async def entries(self, path: str, hidden: bool = False) -> tuple[FileEntry, ...]:
        return await asyncio.to_thread(self._entries, self._folder(path), hidden)

    def _entries(self, folder: str, hidden: bool) -> tuple[FileEntry, ...]:
        root = self._resolver.root
        entries, _ = ignore_rules.list_folder(folder, ignore_rules.rules_above(root, folder), hidden)
        prefix = path_prefix(folder, root)
        rows = [row for entry in entries if (row := make_entry(entry, prefix)) is not None]
        return tuple(sorted(rows, key=lambda row: (row.kind != "folder", row.path)))

    async def walk(self, path: str = ".", hidden: bool = False) -> AsyncIterator[FileEntry]:
        files = walk_files(self._resolver.root, self._folder(path), hidden)
        while batch := await asyncio.to_thread(lambda: tuple(itertools.islice(files, WALK_BATCH))):
            for entry in batch:
                yield entry

    def _folder(self, path: str) -> str:
        real = self._resolver.resolve(path, "read")
        if os.path.isdir(real):
            return real
        if os.path.lexists(real):
            raise PathRefused(f"{path} is a file, not a folder")
        raise FileNotFoundError(2, "no such folder", path)


def fold_case(name: str) -> str:
    """`name` in a form that is equal for names which macOS or Windows treat as the same file."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def refuse_case_collision(root: str, path: str, gone: Collection[str]) -> None:
    """Raise `ChangeRefused` if `path` (relative, with `/`) differs only in case from an existing one.

    `gone` are paths that the same change removes.
    """
    if os.path.isabs(path):
        return
    above = ""
    for name in path.split("/"):
        current = f"{above}{name}"
        if not os.path.lexists(os.path.join(root, current)):
            variant = _find_case_variant(os.path.join(root, above), name)
            if variant and f"{above}{variant}" not in gone:
                raise ChangeRefused(
                    f"{current} differs only in case from {above}{variant}, which exists",
                    "on macOS and Windows they are the same file; use that name, or rename it first",
                )
            return
        above = f"{current}/"


def refuse_case_collisions(paths: Collection[str]) -> None:
    """Raise `ChangeRefused` if two of the paths that a change creates are one file on other systems."""
    by_folded: dict[str, str] = {}
    for path in paths:
        if (other := by_folded.setdefault(fold_case(path), path)) != path:
            raise ChangeRefused(f"{path} differs only in case from {other}, which this change also creates")


def _find_case_variant(folder: str, name: str) -> str:
    try:
        names = os.listdir(folder)
    except OSError:
        return ""
    folded = fold_case(name)
    return next((other for other in names if other != name and fold_case(other) == folded), "")


class LocalWorkspace:
    """Implements `Workspace` for a folder.

    `state` is the folder for journals of writes; "" for none: a crash during a write is not recovered then.
    `calls` are the disk operations, for fault tests. For a worktree, `origin` is the tree it was made from,
    which is never written from it, and `linked` are the targets of its links in that tree.
    """

    def __init__(
        self,
        root: str,
        state: str = "",
        calls: DiskOperations | None = None,
        sandbox: SandboxUse = "auto",
        origin: str = "",
        linked: tuple[str, ...] = (),
    ) -> None:
        named = os.path.abspath(root)
        self.resolver = Resolver(os.path.realpath(named), named, origin=origin)
        self._journals = os.path.join(state, "journals") if state else ""
        self._calls = calls or DiskOperations()
        self._files = LocalFiles(self.resolver)
        self._processes = LocalProcesses(self.resolver.root, sandbox, linked)
        self._writing = asyncio.Lock()
        self._made: set[str] = set()

    @property
    def root(self) -> str:
        return self.resolver.root

    @property
    def files(self) -> LocalFiles:
        return self._files

    @property
    def processes(self) -> LocalProcesses:
        return self._processes

    def resolve(self, path: str, access: Literal["read", "write"]) -> str:
        return self.resolver.resolve(path, access)

    def is_inside(self, path: str) -> bool:
        return self.resolver.is_inside(path)

    async def plan(self, edits: tuple[Edit, ...], agent: str = "main", call: str = "") -> ChangeSet:
        return await asyncio.to_thread(self._plan, edits, agent, call)

    async def apply(self, changes: ChangeSet) -> Applied:
        """Write a change set. If cancelled while it writes, the change is undone."""
        async with self._writing:
            writing = asyncio.ensure_future(asyncio.to_thread(self._write, changes))
            try:
                return await asyncio.shield(writing)
            except asyncio.CancelledError:
                applied = await _wait_for_write(writing)
                if applied is not None:
                    await _wait_for_write(asyncio.ensure_future(asyncio.to_thread(self._write, applied.undo)))
                raise

    async def recover(self) -> tuple[RecoveredTransaction, ...]:
        """Finish or undo what a crash interrupted, in any root. Call it once at the start."""
        if not self._journals:
            return ()
        return await asyncio.to_thread(recover_transactions, self._journals, self._calls)

    async def close(self) -> None:
        """End every process; none can be started afterwards."""
        await self._processes.close()

    def _plan(self, edits: tuple[Edit, ...], agent: str, call: str) -> ChangeSet:
        changes = plan_changes(edits, SourceTree(self._find, self._look, self.resolver.relative), agent, call)
        gone = {
            file.moved_from or file.path for file in changes.files if file.moved_from or file.after is None
        }
        created: list[str] = []
        for change in changes.files:
            if change.before is None or change.moved_from:
                created.append(change.path)
                refuse_case_collision(self.resolver.root, change.path, gone)
        refuse_case_collisions(created)
        return changes

    def _write(self, changes: ChangeSet) -> Applied:
        targets = tuple(target for change in changes.files for target in self._targets(change))
        transaction = Transaction(targets, self._journals, self._calls)
        bits = transaction.run()
        self._made.update(transaction.made)
        self._drop_empty(targets)
        modes = {self.resolver.relative(path): mode for path, mode in bits.items()}
        return Applied(changes, undo_changes(changes, modes))

    def _drop_empty(self, targets: tuple[WriteTarget, ...]) -> None:
        """Remove folders that were made for files which no longer exist: an undo leaves none behind."""
        for target in targets:
            above = os.path.dirname(target.path)
            while target.after is None and above in self._made:
                try:
                    os.rmdir(above)
                except OSError:
                    break
                self._made.discard(above)
                above = os.path.dirname(above)

    def _find(self, path: str) -> str:
        """The real path of a file to be written. A link on the way is refused by name."""
        real = self.resolver.resolve(path, "write")
        lexical = os.path.normpath(self.resolver.lexical(path))
        if os.path.normcase(lexical) != os.path.normcase(real):
            name = self.resolver.relative(real)
            raise PathRefused(f"{path} is or contains a symbolic link to {name}; use that path instead")
        return real

    def _targets(self, change: FileChange) -> tuple[WriteTarget, ...]:
        real = self._find(change.path)
        if not change.moved_from:
            return (WriteTarget(real, change.before_hash, change.after, change.mode),)
        source = self._find(change.moved_from)
        gone = WriteTarget(source, change.before_hash, None, change.mode)
        return (gone, WriteTarget(real, "", change.after, change.mode))

    def _look(self, real: str) -> FileSnapshot:
        """The file at a real path. Raises `ChangeRefused` for anything but a regular file with one name."""
        name = self.resolver.relative(real)
        try:
            facts = os.lstat(real)
        except FileNotFoundError:
            return FileSnapshot(None, NEW_MODE)
        except NotADirectoryError as error:
            raise ChangeRefused(f"{name} cannot be written: a part of the path is a file") from error
        if stat.S_ISDIR(facts.st_mode):
            raise ChangeRefused(f"{name} is a folder; name a file in it")
        if not stat.S_ISREG(facts.st_mode):
            raise ChangeRefused(f"{name} is a {safe_open.file_kind(facts.st_mode)}, not a file")
        if facts.st_nlink > 1:
            hint = "replace it by a separate copy first"
            raise ChangeRefused(f"{name} is a hard link ({facts.st_nlink} names)", hint)
        try:
            return FileSnapshot(safe_open.read_file(real), stat.S_IMODE(facts.st_mode))
        except OSError as error:
            raise ChangeRefused(f"{name} cannot be read: {error.strerror or error}") from error


async def _wait_for_write(task: "asyncio.Future[Applied]") -> Applied | None:
    """Wait for a write that cannot be stopped, even when cancelled again; None if it failed."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    return None if task.exception() else task.result()
