"""A patch put on a workspace's files as they are now: read, matched, planned. Writes nothing."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.plugin.workspace import ChangeRefused, Workspace
from cockpit.workspace.patches import planning
from cockpit.workspace.patches.planning import PlannedPatch
from cockpit.workspace.patches.values import FilePatch


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a patch asks of a workspace: its files in order, and the edits that do it."""

    files: tuple[FilePatch, ...]
    patch: PlannedPatch

    @property
    def edits(self) -> tuple[Edit, ...]:
        return self.patch.edits


async def wanted(workspace: Workspace, text: str) -> Wanted:
    """Raises `PatchRefused`, `PathRefused`, `ChangeRefused`."""
    files = planning.parsed(text)
    present: dict[str, bytes | None] = {}
    modes: dict[str, int] = {}
    for file in files:
        real = workspace.resolve(file.path, "write")
        if file.path not in present:
            present[file.path] = await _present(workspace, file.path)
        if file.to:
            workspace.resolve(file.to, "write")
            present[file.to] = await _present(workspace, file.to)
            with suppress(OSError):
                modes[file.path] = stat.S_IMODE(os.lstat(real).st_mode)
    return Wanted(files, planning.planned(files, present, modes))


async def _present(workspace: Workspace, path: str) -> bytes | None:
    try:
        return await workspace.files.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise ChangeRefused(f"{path} is a folder; name a file in it") from error
    except OSError as error:
        raise ChangeRefused(f"{path} cannot be read: {error.strerror or error}") from error


async def planned(workspace: Workspace, text: str) -> tuple[Wanted, ChangeSet]:
    """The patch and what it would change. Raises as `wanted`; `ChangeRefused` if that is nothing."""
    asked = await wanted(workspace, text)
    changes = await workspace.plan(asked.edits)
    if not changes.files:
        raise ChangeRefused("the patch changes nothing: the files already hold exactly this")
    return asked, changes
