"""Rewinds files: plans what each path was before the given calls and whose change it is, then writes that to
disk.

A path that the user changed since the last write of an agent is the user's. Regular files go back in one
transaction; links and folders, which transactions do not cover, before and after it. Each is checked again
before it is touched: what is not as planned stays.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.plugin.context import ChangeRefused, PathRefused, Workspace
from cockpit.workspace import path_names
from cockpit.workspace.checkpoints.blob_store import BlobStore, blob_id
from cockpit.workspace.checkpoints.records import (
    MISSING_REASONS,
    CallRecord,
    FileDelta,
    StoredFile,
    is_same_file,
)
from cockpit.workspace.checkpoints.scanner import read_content
from cockpit.workspace.files.changes import make_file_change
from cockpit.workspace.files.disk_operations import DiskOperations, OpenFolders

Owner = Literal["agent", "person"]


@dataclass(frozen=True, slots=True)
class RewindStep:
    """One path of a rewind: what it is now and what it would be. `reason` says why it cannot be rewound."""

    path: str
    now: StoredFile | None
    then: StoredFile | None
    owner: Owner
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """Everything a rewind would do: steps by path, and the folders to remove and to make, outermost first."""

    steps: tuple[RewindStep, ...] = ()
    remove: tuple[str, ...] = ()
    make: tuple[str, ...] = ()

    def of(self, owner: Owner) -> tuple[RewindStep, ...]:
        return tuple(step for step in self.steps if step.owner == owner and not step.reason)

    @property
    def blocked(self) -> tuple[RewindStep, ...]:
        return tuple(step for step in self.steps if step.reason)


@dataclass(slots=True)
class PathHistory:
    """One path through the calls. `broken`: something else wrote it between two of them."""

    first: StoredFile | None
    last: StoredFile | None
    ended: float
    broken: bool = False
    sure: bool = True


@dataclass(slots=True)
class PathHistories:
    files: dict[str, PathHistory] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)


def plan_rewind(records: Iterable[CallRecord], now: Callable[[str], StoredFile | None]) -> RewindPlan:
    """Plan the way back to before `records`, each of which is a call (or a rewind) in the same root. `now`
    reads a path."""
    threads = PathHistories()
    for record in sorted(records, key=lambda one: one.call.started):
        for file in record.delta.files:
            _extend_history(threads.files, file, record)
        back = threads.gone & set(record.delta.made)
        threads.gone -= back
        threads.made |= set(record.delta.made) - back
        again = threads.made & set(record.delta.gone)
        threads.made -= again
        threads.gone |= set(record.delta.gone) - again
    steps = (_make_step(path, thread, now(path)) for path, thread in sorted(threads.files.items()))
    return RewindPlan(
        tuple(step for step in steps if step is not None),
        tuple(sorted(threads.made)),
        tuple(sorted(threads.gone)),
    )


def rewound_files(plan: RewindPlan, done: Iterable[str]) -> tuple[FileDelta, ...]:
    """What a rewind changed, for the paths that were rewound."""
    went = set(done)
    return tuple(FileDelta(step.path, step.now, step.then) for step in plan.steps if step.path in went)


def _extend_history(threads: dict[str, PathHistory], file: FileDelta, record: CallRecord) -> None:
    known = threads.get(file.path)
    if known is None:
        threads[file.path] = PathHistory(file.before, file.after, record.ended, sure=record.sure)
        return
    # Two calls that overlap see each other's writes: a difference between them proves nothing.
    apart = record.call.started >= known.ended
    known.broken = known.broken or (apart and not is_same_file(known.last, file.before))
    known.sure = known.sure and record.sure
    if record.ended >= known.ended:
        known.last, known.ended = file.after, record.ended


def _make_step(path: str, thread: PathHistory, now: StoredFile | None) -> RewindStep | None:
    if is_same_file(now, thread.first):
        return None
    reason = ""
    if thread.first is not None and not thread.first.id:
        reason = MISSING_REASONS[thread.first.why]
    elif now is not None and not now.id:
        # This step could not be undone.
        reason = MISSING_REASONS[now.why]
    theirs = thread.broken or not thread.sure or not is_same_file(now, thread.last)
    return RewindStep(path, now, thread.first, "person" if theirs else "agent", reason)


SkippedPaths: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """`changes` are the regular files that were restored, `links` the links; `left` are the paths that could
    not be, with the reason. `removed` and `made` are folders."""

    changes: tuple[FileChange, ...]
    links: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    removed: tuple[str, ...] = ()
    made: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (*(change.path for change in self.changes), *self.links)


def changes_for_steps(
    steps: Iterable[RewindStep], root: str, objects: BlobStore
) -> tuple[list[FileChange], SkippedPaths]:
    """The steps between regular files as changes, and the paths that cannot be changed, with the reason.
    Reads the tree as it is now; blocks."""
    changes: list[FileChange] = []
    left: SkippedPaths = []
    for step in steps:
        now, then = _as_regular_file(step.now), _as_regular_file(step.then)
        if now is None and then is None:
            continue
        try:
            before = _read_current(step.path, now, root)
            after = objects.get(then.id) if then is not None else None
        except (CockpitError, OSError) as error:
            left.append((step.path, _error_text(error)))
            continue
        mode = stat.S_IMODE(then.mode if then is not None else 0o644)
        changes.append(make_file_change(step.path, before, after, mode))
    return changes, left


async def restore_files(
    workspace: Workspace, objects: BlobStore, plan: RewindPlan, steps: tuple[RewindStep, ...]
) -> RestoreResult:
    """Take `steps` of `plan`. The regular files are written all or nothing: raises `ChangeRefused` if one of
    them changed meanwhile, and then nothing was touched."""
    root, left = workspace.root, SkippedPaths()
    links = tuple(
        one
        for one in steps
        if _as_regular_file(one.now) is not one.now or _as_regular_file(one.then) is not one.then
    )
    cleared = await asyncio.to_thread(_clear_links, root, links, left)
    try:
        stuck = {path for path, _ in left}
        open_steps = [step for step in steps if step.path not in stuck]
        touchable = await asyncio.to_thread(_writable_steps, workspace, open_steps, left)
        changes, more = await asyncio.to_thread(changes_for_steps, touchable, root, objects)
        left += more
        first, second = _split_changes(root, changes)
        if first:
            await workspace.apply(ChangeSet(tuple(first), "rewind"))
    except CockpitError:
        await asyncio.to_thread(_put_links, root, [(one.path, one.now) for one in cleared], objects, [])
        raise
    removed = await asyncio.to_thread(_remove_folders, root, plan.remove)
    if second:
        await workspace.apply(ChangeSet(tuple(second), "rewind"))
    made = await asyncio.to_thread(_make_folders, root, plan.make)
    stuck = {path for path, _ in left}
    wanted = [(one.path, one.then) for one in links if one.path not in stuck]
    put = await asyncio.to_thread(_put_links, root, wanted, objects, left)
    files = {change.path for change in changes}
    others = dict.fromkeys([*(one.path for one in cleared), *put])
    kept = tuple(path for path in others if path not in files)
    return RestoreResult(tuple(changes), kept, tuple(left), removed, made)


def _writable_steps(
    workspace: Workspace, steps: Iterable[RewindStep], left: SkippedPaths
) -> list[RewindStep]:
    """The steps on paths that may be written; the others are added to `left` with the reason."""
    kept: list[RewindStep] = []
    for step in steps:
        lexical = os.path.normpath(os.path.join(workspace.root, step.path))
        try:
            if os.path.normcase(workspace.resolve(lexical, "write")) != os.path.normcase(lexical):
                raise PathRefused("its path now goes through a symbolic link")
        except PathRefused as error:
            left.append((step.path, error.message))
            continue
        kept.append(step)
    return kept


def _read_current(path: str, now: StoredFile | None, root: str) -> bytes | None:
    if now is None:
        return None
    content = read_content(os.path.join(root, path), now.mode)
    if blob_id(content) != now.id:
        raise ChangeRefused("it changed after the rewind was planned")
    return content


def _as_regular_file(kept: StoredFile | None) -> StoredFile | None:
    """The file if it is a regular one; a link counts as none."""
    return None if kept is None or stat.S_ISLNK(kept.mode) else kept


def _error_text(error: Exception) -> str:
    return error.message if isinstance(error, CockpitError) else str(error)


def _split_changes(root: str, changes: list[FileChange]) -> tuple[list[FileChange], list[FileChange]]:
    """One transaction for all, or two (deletions first) if a file replaces a folder or the other way
    round."""
    deleted = {change.path for change in changes if change.after is None}
    written = [change.path for change in changes if change.after is not None]
    blocked = any(
        os.path.isdir(os.path.join(root, path)) or any(one in deleted for one in _parent_folders(path))
        for path in written
    )
    if not blocked:
        return changes, []
    return (
        [change for change in changes if change.after is None],
        [change for change in changes if change.after is not None],
    )


def _parent_folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:at]) for at in range(1, len(parts))]


def _clear_links(root: str, links: tuple[RewindStep, ...], left: SkippedPaths) -> list[RewindStep]:
    """Remove the links that are to go, each only if its target is still as recorded."""
    calls, folders = DiskOperations(), OpenFolders(DiskOperations())
    cleared: list[RewindStep] = []
    try:
        for step in links:
            if step.now is None or not stat.S_ISLNK(step.now.mode):
                continue
            try:
                _refuse_protected(step.path)
                folder, name = folders.spot(os.path.join(root, step.path))
                if blob_id(os.fsencode(os.readlink(name, dir_fd=folder))) != step.now.id:
                    raise ChangeRefused("it changed after the rewind was planned")
                calls.unlink(name, folder)
                cleared.append(step)
            except (OSError, CockpitError) as error:
                left.append((step.path, _error_text(error)))
    finally:
        folders.close()
    return cleared


def _put_links(
    root: str, wanted: Iterable[tuple[str, StoredFile | None]], objects: BlobStore, left: SkippedPaths
) -> list[str]:
    """Make the links among `wanted`; whatever exists at their paths stays."""
    folders = OpenFolders(DiskOperations())
    put: list[str] = []
    try:
        for path, kept in wanted:
            if kept is None or not stat.S_ISLNK(kept.mode):
                continue
            try:
                _refuse_protected(path)
                target = os.fsdecode(objects.get(kept.id))
                for above in _parent_folders(path):
                    folders.make(os.path.join(root, above))
                folder, name = folders.spot(os.path.join(root, path))
                os.symlink(target, name, dir_fd=folder)
                put.append(path)
            except (OSError, CockpitError) as error:
                left.append((path, _error_text(error)))
    finally:
        folders.close()
    return put


def _refuse_protected(path: str) -> None:
    if reason := path_names.protected_reason(tuple(path.split("/"))):
        raise PathRefused(f"{reason}; only the user may change it")


def _remove_folders(root: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Remove the folders that the calls made, if they are empty."""
    removed: list[str] = []
    folders = OpenFolders(DiskOperations())
    try:
        for name in reversed(wanted):
            try:
                folders.unmake(os.path.join(root, name))
                removed.append(name)
            except (OSError, CockpitError):
                continue
    finally:
        folders.close()
    return tuple(sorted(removed))


def _make_folders(root: str, names: tuple[str, ...]) -> tuple[str, ...]:
    made: list[str] = []
    folders = OpenFolders(DiskOperations())
    try:
        for name in names:
            try:
                if folders.make(os.path.join(root, name)):
                    made.append(name)
            except (OSError, CockpitError):
                continue
    finally:
        folders.close()
    return tuple(made)
