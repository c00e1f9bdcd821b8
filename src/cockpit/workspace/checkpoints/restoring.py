"""Going back on disk: regular files in one transaction of the workspace, then links and folders, which
it does not know. Each is looked at again before it is touched; what is not as planned stays."""

import asyncio
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.plugin.context import ChangeRefused, PathRefused, Workspace
from cockpit.workspace import names
from cockpit.workspace.calls import Calls
from cockpit.workspace.changes import file_change
from cockpit.workspace.checkpoints.objects import Objects, id_of
from cockpit.workspace.checkpoints.planning import Step, Way
from cockpit.workspace.checkpoints.scanning import bytes_of
from cockpit.workspace.checkpoints.values import Kept
from cockpit.workspace.disk import Folders

Left: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Restored:
    """`changes` are the regular files that are back, `links` the links; `left` could not be, and why.
    `removed` and `made` are folders."""

    changes: tuple[FileChange, ...]
    links: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    removed: tuple[str, ...] = ()
    made: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (*(change.path for change in self.changes), *self.links)


def changes_of(steps: Iterable[Step], root: str, objects: Objects) -> tuple[list[FileChange], Left]:
    """The steps between regular files as changes, and those that cannot be made, with the reason. Reads
    the tree as it is now; blocks."""
    changes: list[FileChange] = []
    left: Left = []
    for step in steps:
        now, then = _file(step.now), _file(step.then)
        if now is None and then is None:
            continue
        try:
            before = _bytes_now(step.path, now, root)
            after = objects.get(then.id) if then is not None else None
        except (CockpitError, OSError) as error:
            left.append((step.path, _said(error)))
            continue
        mode = stat.S_IMODE(then.mode if then is not None else 0o644)
        changes.append(file_change(step.path, before, after, mode))
    return changes, left


async def restore(workspace: Workspace, objects: Objects, way: Way, steps: tuple[Step, ...]) -> Restored:
    """Take `steps` of `way`. The regular files go all or nothing; raises `ChangeRefused` for them when
    somebody wrote one meanwhile, and then nothing was touched."""
    root, left = workspace.root, Left()
    links = tuple(one for one in steps if _file(one.now) is not one.now or _file(one.then) is not one.then)
    cleared = await asyncio.to_thread(_clear_links, root, links, left)
    try:
        stuck = {path for path, _ in left}
        open_steps = [step for step in steps if step.path not in stuck]
        touchable = await asyncio.to_thread(_touchable, workspace, open_steps, left)
        changes, more = await asyncio.to_thread(changes_of, touchable, root, objects)
        left += more
        first, second = _parted(root, changes)
        if first:
            await workspace.apply(ChangeSet(tuple(first), "rewind"))
    except CockpitError:
        await asyncio.to_thread(_put_links, root, [(one.path, one.now) for one in cleared], objects, [])
        raise
    removed = await asyncio.to_thread(_remove, root, way.remove)
    if second:
        await workspace.apply(ChangeSet(tuple(second), "rewind"))
    made = await asyncio.to_thread(_make, root, way.make)
    stuck = {path for path, _ in left}
    wanted = [(one.path, one.then) for one in links if one.path not in stuck]
    put = await asyncio.to_thread(_put_links, root, wanted, objects, left)
    files = {change.path for change in changes}
    others = dict.fromkeys([*(one.path for one in cleared), *put])
    kept = tuple(path for path in others if path not in files)
    return Restored(tuple(changes), kept, tuple(left), removed, made)


def _touchable(workspace: Workspace, steps: Iterable[Step], left: Left) -> list[Step]:
    """The steps on paths that may be written; the others are `left` with the reason."""
    kept: list[Step] = []
    for step in steps:
        lexical = os.path.normpath(os.path.join(workspace.root, step.path))
        try:
            if os.path.normcase(workspace.resolve(lexical, "write")) != os.path.normcase(lexical):
                raise PathRefused("it leads over a symbolic link now")
        except PathRefused as error:
            left.append((step.path, error.message))
            continue
        kept.append(step)
    return kept


def _bytes_now(path: str, now: Kept | None, root: str) -> bytes | None:
    if now is None:
        return None
    content = bytes_of(os.path.join(root, path), now.mode)
    if id_of(content) != now.id:
        raise ChangeRefused("it has changed since it was looked at")
    return content


def _file(kept: Kept | None) -> Kept | None:
    """A regular file; a link stands for none."""
    return None if kept is None or stat.S_ISLNK(kept.mode) else kept


def _said(error: Exception) -> str:
    return error.message if isinstance(error, CockpitError) else str(error)


def _parted(root: str, changes: list[FileChange]) -> tuple[list[FileChange], list[FileChange]]:
    """All in one transaction, unless a file is to stand where a folder is, or the other way round: then
    what goes is one, and what comes another."""
    deleted = {change.path for change in changes if change.after is None}
    written = [change.path for change in changes if change.after is not None]
    blocked = any(
        os.path.isdir(os.path.join(root, path)) or any(one in deleted for one in _above(path))
        for path in written
    )
    if not blocked:
        return changes, []
    return (
        [change for change in changes if change.after is None],
        [change for change in changes if change.after is not None],
    )


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:at]) for at in range(1, len(parts))]


def _clear_links(root: str, links: tuple[Step, ...], left: Left) -> list[Step]:
    """Remove the links that are to go, each only when it still leads where it did."""
    calls, folders = Calls(), Folders(Calls())
    cleared: list[Step] = []
    try:
        for step in links:
            if step.now is None or not stat.S_ISLNK(step.now.mode):
                continue
            try:
                _refuse_protected(step.path)
                folder, name = folders.spot(os.path.join(root, step.path))
                if id_of(os.fsencode(os.readlink(name, dir_fd=folder))) != step.now.id:
                    raise ChangeRefused("it has changed since it was looked at")
                calls.unlink(name, folder)
                cleared.append(step)
            except (OSError, CockpitError) as error:
                left.append((step.path, _said(error)))
    finally:
        folders.close()
    return cleared


def _put_links(
    root: str, wanted: Iterable[tuple[str, Kept | None]], objects: Objects, left: Left
) -> list[str]:
    """Make the links among `wanted`; what stands in the way stays."""
    folders = Folders(Calls())
    put: list[str] = []
    try:
        for path, kept in wanted:
            if kept is None or not stat.S_ISLNK(kept.mode):
                continue
            try:
                _refuse_protected(path)
                target = os.fsdecode(objects.get(kept.id))
                for above in _above(path):
                    folders.make(os.path.join(root, above))
                folder, name = folders.spot(os.path.join(root, path))
                os.symlink(target, name, dir_fd=folder)
                put.append(path)
            except (OSError, CockpitError) as error:
                left.append((path, _said(error)))
    finally:
        folders.close()
    return put


def _refuse_protected(path: str) -> None:
    if reason := names.protected(tuple(path.split("/"))):
        raise PathRefused(f"{reason}; a person must change it")


def _remove(root: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The folders that the calls made, where nothing is left in them."""
    removed: list[str] = []
    folders = Folders(Calls())
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


def _make(root: str, names: tuple[str, ...]) -> tuple[str, ...]:
    made: list[str] = []
    folders = Folders(Calls())
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
