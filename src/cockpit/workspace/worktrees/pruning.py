"""Taking old worktrees away: only ours, never one that is in use, and none with work that is nowhere else."""

import os
import time

from cockpit.workspace.worktrees import records
from cockpit.workspace.worktrees.ending import remove_folder
from cockpit.workspace.worktrees.listing import is_ours, is_scratch, rows, work_trees
from cockpit.workspace.worktrees.names import folder_of
from cockpit.workspace.worktrees.running import Git
from cockpit.workspace.worktrees.using import is_in_use
from cockpit.workspace.worktrees.values import Pruned, Repository, Row

HOURS = 24.0


async def prune(
    git: Git,
    seen: Repository,
    max_age_hours: float = HOURS,
    dry_run: bool = False,
    unmerged: bool = False,
    only: str = "",
) -> tuple[Pruned, ...]:
    """What went (or would go), and what stays and why. `unmerged` also takes work that is nowhere else;
    `only` looks at one, by name or branch. Raises `CockpitError`."""
    origin = git.at(seen.origin)
    found = await _scratch(origin, seen, dry_run) if not only else []
    for row in await rows(git, seen):
        if only and only not in (row.name, row.branch, row.path):
            continue
        reason = _stays(row, max_age_hours, unmerged)
        if not reason and not dry_run:
            await take_away(origin, row)
        found.append(Pruned(row.name, row.branch, not reason, reason or _why(row)))
    if not dry_run:
        await origin.run("worktree", "prune")
    return (*found, *(_strays(seen, dry_run) if not only else ()))


async def take_away(origin: Git, row: Row) -> None:
    """The worktree, its branch and what is on record of it."""
    if row.path:
        await remove_folder(origin, row.path)
    await origin.run("branch", "-D", "--", row.branch)
    await records.forget(origin, row.branch.rpartition("/")[2])


def _stays(row: Row, max_age_hours: float, unmerged: bool) -> str:
    if row.is_in_use:
        return "an agent works in it"
    if row.uncommitted and not unmerged:
        return f"{row.uncommitted} files in it are not committed"
    if not row.is_merged and row.files and not unmerged:
        return f"{row.commits} commits are not merged ({row.files} files +{row.added} -{row.removed})"
    hours = (time.time() - row.used) / 3600
    return f"used {hours:.1f} hours ago" if hours < max_age_hours else ""


def _why(row: Row) -> str:
    if row.is_empty:
        return "nothing was done in it"
    return "merged" if row.is_merged and not row.uncommitted else "asked for, though it is not merged"


async def _scratch(origin: Git, seen: Repository, dry_run: bool) -> list[Pruned]:
    """What a merge left that was killed."""
    found: list[Pruned] = []
    for one in await work_trees(origin):
        if is_ours(one, seen) and is_scratch(one.path) and not is_in_use(one.path):
            if not dry_run:
                await remove_folder(origin, one.path)
            found.append(Pruned(os.path.basename(one.path), "", True, "a merge that was cut off"))
    return found


def _strays(seen: Repository, dry_run: bool) -> list[Pruned]:
    """Folders beside our worktrees that git does not know. An empty one is what a crash left."""
    folder = folder_of(seen.origin)
    found: list[Pruned] = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if os.path.lexists(os.path.join(path, ".git")) or not os.path.isdir(path) or os.path.islink(path):
            continue
        if os.listdir(path):
            found.append(
                Pruned(name, "", False, "git knows nothing of it: look at it, and remove it by hand")
            )
            continue
        if not dry_run:
            os.rmdir(path)
        found.append(Pruned(name, "", True, "empty, left by a crash"))
    return found
