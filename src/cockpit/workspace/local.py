"""The files of a root that no rule names, as values. Beside `ignores`, which the index's process needs alone
and at once: what a `FileEntry` stands on takes it 20 ms to import.

Reading the files of one root on this machine. Every path goes through the resolver first, and what
is opened is what was resolved. Writes nothing.

Names that only case or Unicode form tells apart. macOS and Windows take them for one file, so a second
one is not made beside the first. Reads folders; writes nothing.

The workspace on this machine: files, processes and all-or-nothing writing under one root.
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
from cockpit.workspace.sandbox.values import SandboxSettings


def walk_files(root: str, start: str = ".", hidden: bool = False) -> Iterator[FileEntry]:
    """Every file and link below `start` that no rule names, sorted by path part by part.

    For worker threads: it blocks. `root` and `start` are real paths (`start` may be relative to the
    root). `hidden` brings in names with a leading dot. A folder that cannot be read is left out.
    """
    folder = os.path.normpath(os.path.join(root, start))
    yield from _walk_folder(folder, path_prefix(folder, root), rules_above(root, folder), hidden)


def path_prefix(folder: str, root: str) -> str:
    """What stands before the names in `folder`: relative to the root, absolute outside of it."""
    if folder == root:
        return ""
    if folder.startswith(root.rstrip(os.sep) + os.sep):
        return os.path.relpath(folder, root).replace(os.sep, "/") + "/"
    return folder.replace(os.sep, "/").rstrip("/") + "/"


def _walk_folder(folder: str, prefix: str, levels: RuleStack, hidden: bool) -> Iterator[FileEntry]:
    found, levels = list_folder(folder, levels, hidden)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(entry.path, f"{prefix}{entry.name}/", levels, hidden)
        elif (file := make_entry(entry, prefix)) is not None:
            yield file


def make_entry(entry: os.DirEntry[str], prefix: str) -> FileEntry | None:
    """`entry` as a value, or None when it is gone meanwhile."""
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
    """`Files` on the local disk. Blocking calls run in worker threads."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def read(self, path: str) -> bytes:
        real = self._resolver.resolve(path, "read")
        return await asyncio.to_thread(safe_open.read_file, real)

    async def stat(self, path: str) -> FileEntry:
        """What the real file is; `path` in the answer is relative to the root where it lies in it."""
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
        found, _ = ignore_rules.list_folder(folder, ignore_rules.rules_above(root, folder), hidden)
        prefix = path_prefix(folder, root)
        rows = [row for entry in found if (row := make_entry(entry, prefix)) is not None]
        return tuple(sorted(rows, key=lambda row: (row.kind != "folder", row.path)))

    async def walk(self, path: str = ".", hidden: bool = False) -> AsyncIterator[FileEntry]:
        found = walk_files(self._resolver.root, self._folder(path), hidden)
        while batch := await asyncio.to_thread(lambda: tuple(itertools.islice(found, WALK_BATCH))):
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
    """What two names have in common that such a file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def refuse_case_collision(root: str, path: str, gone: Collection[str]) -> None:
    """Raise `ChangeRefused` where making `path` (from the root, with `/`) would make a look-alike of
    something that is there. `gone` are paths that the same change takes away."""
    if os.path.isabs(path):
        return
    above = ""
    for name in path.split("/"):
        here = f"{above}{name}"
        if not os.path.lexists(os.path.join(root, here)):
            twin = _find_case_variant(os.path.join(root, above), name)
            if twin and f"{above}{twin}" not in gone:
                raise ChangeRefused(
                    f"{here} differs only in case from {above}{twin}, which is there",
                    "on macOS and Windows they are one file; use that name, or rename it first",
                )
            return
        above = f"{here}/"


def refuse_case_collisions(paths: Collection[str]) -> None:
    """Raise `ChangeRefused` where two of the paths that a change makes are one file elsewhere."""
    seen: dict[str, str] = {}
    for path in paths:
        if (other := seen.setdefault(fold_case(path), path)) != path:
            raise ChangeRefused(f"{path} differs only in case from {other}, which this change makes too")


def _find_case_variant(folder: str, name: str) -> str:
    try:
        names = os.listdir(folder)
    except OSError:
        return ""
    wanted = fold_case(name)
    return next((one for one in names if one != name and fold_case(one) == wanted), "")


class LocalWorkspace:
    """`Workspace` over a folder. `state` is where journals of writes are kept; "" keeps none, and then
    a crash in the middle of a write is not mended. `calls` are the file calls, for fault tests.
    `sandbox` is what settings say of holding programs in. For a worktree, `origin` is the tree it was made
    from, which nothing here writes, and `linked` are the folders of it that links of the worktree lead to.
    """

    def __init__(
        self,
        root: str,
        state: str = "",
        calls: DiskOperations | None = None,
        sandbox: SandboxSettings | None = None,
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
        """Cancelled while it writes, it takes back what it wrote."""
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
        """Bring to an end what a crash left half written, of any root. Call it once at the start."""
        if not self._journals:
            return ()
        return await asyncio.to_thread(recover_transactions, self._journals, self._calls)

    async def close(self) -> None:
        """End every process; nothing can be started after."""
        await self._processes.close()

    def _plan(self, edits: tuple[Edit, ...], agent: str, call: str) -> ChangeSet:
        changes = plan_changes(edits, SourceTree(self._find, self._look, self.resolver.relative), agent, call)
        gone = {one.moved_from or one.path for one in changes.files if one.moved_from or one.after is None}
        made: list[str] = []
        for change in changes.files:
            if change.before is None or change.moved_from:
                made.append(change.path)
                refuse_case_collision(self.resolver.root, change.path, gone)
        refuse_case_collisions(made)
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
        """Folders that were made for files which are gone again go with them: an undo leaves none."""
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
            raise PathRefused(
                f"{path} is a symbolic link, or leads over one, to {name}; name that path instead"
            )
        return real

    def _targets(self, change: FileChange) -> tuple[WriteTarget, ...]:
        real = self._find(change.path)
        if not change.moved_from:
            return (WriteTarget(real, change.before_hash, change.after, change.mode),)
        source = self._find(change.moved_from)
        gone = WriteTarget(source, change.before_hash, None, change.mode)
        return (gone, WriteTarget(real, "", change.after, change.mode))

    def _look(self, real: str) -> FileSnapshot:
        """What stands at a real path. Raises `ChangeRefused` for what is no plain file of its own."""
        name = self.resolver.relative(real)
        try:
            facts = os.lstat(real)
        except FileNotFoundError:
            return FileSnapshot(None, NEW_MODE)
        except NotADirectoryError as error:
            raise ChangeRefused(f"{name} cannot be written: a folder in it is a file") from error
        if stat.S_ISDIR(facts.st_mode):
            raise ChangeRefused(f"{name} is a folder; name a file in it")
        if not stat.S_ISREG(facts.st_mode):
            raise ChangeRefused(f"{name} is a {safe_open.file_kind(facts.st_mode)}, not a file")
        if facts.st_nlink > 1:
            hint = "replace it by a copy of its own first"
            raise ChangeRefused(f"{name} is a hard link: {facts.st_nlink} names share it", hint)
        try:
            return FileSnapshot(safe_open.read_file(real), stat.S_IMODE(facts.st_mode))
        except OSError as error:
            raise ChangeRefused(f"{name} cannot be read: {error.strerror or error}") from error


async def _wait_for_write(task: "asyncio.Future[Applied]") -> Applied | None:
    """Wait for a write that cannot be stopped, through further cancelling; None when it failed."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    return None if task.exception() else task.result()
