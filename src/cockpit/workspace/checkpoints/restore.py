"""Rewinds files: plans what each path was before the given calls and whose change it is, then writes that to
disk.

A path that the user changed since the last write of an agent counts as the user's. Regular files are restored
in one transaction; links and folders, which transactions do not cover, before and after it. Each is checked
again before it is touched, and stays if it is not as planned.
"""

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    parent_folders,
)
from cockpit.workspace.checkpoints.scanner import read_content
from cockpit.workspace.files.changes import make_file_change
from cockpit.workspace.files.disk_operations import OpenFolders

Owner = Literal["agent", "person"]


@dataclass(frozen=True, slots=True)
class RewindStep:
    """One path of a rewind, as it is now and as it was then. `reason` says why it cannot be rewound."""

    path: str
    now: StoredFile | None
    then: StoredFile | None
    owner: Owner
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """What a rewind would do: steps by path, and the folders to remove and to make, outermost first."""

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


def plan_rewind(records: Iterable[CallRecord], now: Callable[[str], StoredFile | None]) -> RewindPlan:
    """Plan the way back to before `records` (calls and rewinds in one root). `now` reads a path."""
    histories: dict[str, PathHistory] = {}
    made: set[str] = set()
    gone: set[str] = set()
    for record in sorted(records, key=lambda record: record.call.started):
        for file in record.delta.files:
            _extend_history(histories, file, record)
        record_made, record_gone = set(record.delta.made), set(record.delta.gone)
        made, gone = made | (record_made - gone), gone - record_made
        made, gone = made - record_gone, gone | (record_gone - made)
    steps = (_make_step(path, history, now(path)) for path, history in sorted(histories.items()))
    return RewindPlan(
        tuple(step for step in steps if step is not None), tuple(sorted(made)), tuple(sorted(gone))
    )


def rewound_files(plan: RewindPlan, done: Iterable[str]) -> tuple[FileDelta, ...]:
    """The changes that a rewind made to the paths `done`."""
    paths = set(done)
    return tuple(FileDelta(step.path, step.now, step.then) for step in plan.steps if step.path in paths)


def _extend_history(histories: dict[str, PathHistory], file: FileDelta, record: CallRecord) -> None:
    history = histories.get(file.path)
    if history is None:
        histories[file.path] = PathHistory(file.before, file.after, record.ended, sure=record.sure)
        return
    # Two calls that overlap see each other's writes: a difference between them proves nothing.
    apart = record.call.started >= history.ended
    history.broken = history.broken or (apart and not is_same_file(history.last, file.before))
    history.sure = history.sure and record.sure
    if record.ended >= history.ended:
        history.last, history.ended = file.after, record.ended


def _make_step(path: str, history: PathHistory, now: StoredFile | None) -> RewindStep | None:
    if is_same_file(now, history.first):
        return None
    # A file whose current content cannot be stored is not rewound either: that could not be undone.
    incomplete = next((file for file in (history.first, now) if file is not None and not file.id), None)
    reason = MISSING_REASONS[incomplete.why] if incomplete is not None else ""
    is_users = history.broken or not history.sure or not is_same_file(now, history.last)
    return RewindStep(path, now, history.first, "person" if is_users else "agent", reason)


SkippedPaths: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """`changes` are the regular files that were restored, `links` the links; `left` are the other paths, each
    with the reason. `removed` and `made` are folders."""

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
    Reads the current tree; blocks."""
    changes: list[FileChange] = []
    left: SkippedPaths = []
    for step in steps:
        now = None if _is_link(step.now) else step.now
        then = None if _is_link(step.then) else step.then
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
    links = tuple(step for step in steps if _is_link(step.now) or _is_link(step.then))
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
        await asyncio.to_thread(_put_links, root, [(step.path, step.now) for step in cleared], objects, [])
        raise
    removed = await asyncio.to_thread(_remove_folders, root, plan.remove)
    if second:
        await workspace.apply(ChangeSet(tuple(second), "rewind"))
    made = await asyncio.to_thread(_make_folders, root, plan.make)
    stuck = {path for path, _ in left}
    wanted = [(step.path, step.then) for step in links if step.path not in stuck]
    put = await asyncio.to_thread(_put_links, root, wanted, objects, left)
    files = {change.path for change in changes}
    restored_links = dict.fromkeys(
        path for path in (*(step.path for step in cleared), *put) if path not in files
    )
    return RestoreResult(tuple(changes), tuple(restored_links), tuple(left), removed, made)


def _writable_steps(
    workspace: Workspace, steps: Iterable[RewindStep], left: SkippedPaths
) -> list[RewindStep]:
    """The steps on paths that may be written; the others are added to `left` with the reason."""
    writable: list[RewindStep] = []
    for step in steps:
        lexical = os.path.normpath(os.path.join(workspace.root, step.path))
        try:
            if os.path.normcase(workspace.resolve(lexical, "write")) != os.path.normcase(lexical):
                raise PathRefused("its path now goes through a symbolic link")
        except PathRefused as error:
            left.append((step.path, error.message))
            continue
        writable.append(step)
    return writable


def _read_current(path: str, now: StoredFile | None, root: str) -> bytes | None:
    if now is None:
        return None
    content = read_content(os.path.join(root, path), now.mode)
    if blob_id(content) != now.id:
        raise ChangeRefused("it changed after the rewind was planned")
    return content


def _is_link(file: StoredFile | None) -> bool:
    return file is not None and stat.S_ISLNK(file.mode)


def _error_text(error: Exception) -> str:
    return error.message if isinstance(error, CockpitError) else str(error)


def _split_changes(root: str, changes: list[FileChange]) -> tuple[list[FileChange], list[FileChange]]:
    """One transaction for all, or two (deletions first) if a file replaces a folder or a folder a file."""
    deletions = [change for change in changes if change.after is None]
    writes = [change for change in changes if change.after is not None]
    deleted = {change.path for change in deletions}
    blocked = any(
        os.path.isdir(os.path.join(root, change.path)) or not deleted.isdisjoint(parent_folders(change.path))
        for change in writes
    )
    return (deletions, writes) if blocked else (changes, [])


def _clear_links(root: str, links: tuple[RewindStep, ...], left: SkippedPaths) -> list[RewindStep]:
    """Remove the current links, each only if its target is as recorded."""
    cleared: list[RewindStep] = []
    with contextlib.closing(OpenFolders()) as folders:
        for step in links:
            if step.now is None or not _is_link(step.now):
                continue
            try:
                _refuse_protected(step.path)
                path = os.path.join(root, step.path)
                folder, name = folders.spot(path)
                if blob_id(os.fsencode(os.readlink(name, dir_fd=folder))) != step.now.id:
                    raise ChangeRefused("it changed after the rewind was planned")
                folders.unlink(path)
                cleared.append(step)
            except (OSError, CockpitError) as error:
                left.append((step.path, _error_text(error)))
    return cleared


def _put_links(
    root: str, wanted: Iterable[tuple[str, StoredFile | None]], objects: BlobStore, left: SkippedPaths
) -> list[str]:
    """Make the links among `wanted`; whatever exists at their paths stays."""
    put: list[str] = []
    with contextlib.closing(OpenFolders()) as folders:
        for path, file in wanted:
            if file is None or not _is_link(file):
                continue
            try:
                _refuse_protected(path)
                target = os.fsdecode(objects.get(file.id))
                for above in parent_folders(path):
                    folders.make(os.path.join(root, above))
                folder, name = folders.spot(os.path.join(root, path))
                os.symlink(target, name, dir_fd=folder)
                put.append(path)
            except (OSError, CockpitError) as error:
                left.append((path, _error_text(error)))
    return put


def _refuse_protected(path: str) -> None:
    if reason := path_names.protected_reason(tuple(path.split("/"))):
        raise PathRefused(f"{reason}; only the user may change it")


def _remove_folders(root: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Remove the folders that the calls made, if they are empty."""
    removed: list[str] = []
    with contextlib.closing(OpenFolders()) as folders:
        for name in reversed(wanted):
            with contextlib.suppress(OSError, CockpitError):
                folders.unmake(os.path.join(root, name))
                removed.append(name)
    return tuple(sorted(removed))


def _make_folders(root: str, names: tuple[str, ...]) -> tuple[str, ...]:
    made: list[str] = []
    with contextlib.closing(OpenFolders()) as folders:
        for name in names:
            with contextlib.suppress(OSError, CockpitError):
                if folders.make(os.path.join(root, name)):
                    made.append(name)
    return tuple(made)
