"""Which worktrees exist, their state, whether an agent uses them, and pruning of old ones.

Pruning removes only our own worktrees, never one that is in use, and none with work that exists nowhere else.
"""

import asyncio
import os
import sys
import time
from dataclasses import dataclass

from cockpit.errors import CockpitError
from cockpit.workspace.sandbox.git_folders import read_pointer
from cockpit.workspace.worktrees import git_client
from cockpit.workspace.worktrees.git_client import GitClient, list_changed_paths, take_snapshot
from cockpit.workspace.worktrees.lifecycle import count_changes, remove_worktree_folder, work_commit
from cockpit.workspace.worktrees.values import (
    BRANCH_PREFIX,
    SCRATCH_PREFIX,
    PruneOutcome,
    Repository,
    Worktree,
    WorktreeRow,
    worktrees_folder,
)

LOCK_FILE = "cockpit-in-use"


class WorktreeLock:
    """A lock that marks the worktree at `path` as in use while its agent runs. It ends with the process."""

    def __init__(self, path: str) -> None:
        store = read_pointer(os.path.join(path, ".git"), "gitdir:")
        self._file = os.path.join(store, LOCK_FILE) if store else ""
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Take the lock; False if another process has it."""
        if not self._file or self._descriptor is not None:
            return self._descriptor is not None
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self._file, flags, 0o600)
        except OSError:
            return False
        if not _try_lock(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_in_use(path: str) -> bool:
    """Whether an agent, in any process, works in the worktree at `path`."""
    lock = WorktreeLock(path)
    if not read_pointer(os.path.join(path, ".git"), "gitdir:"):
        return False
    if lock.take():
        lock.release()
        return False
    return True


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class CheckedOutTree:
    """A checkout as git lists it: `branch` is "" if HEAD is detached; `gone`: its folder does not exist."""

    path: str
    head: str
    branch: str = ""
    gone: bool = False


async def list_work_trees(git: GitClient) -> tuple[CheckedOutTree, ...]:
    """Every checkout of the repository, the main one first."""
    trees: list[CheckedOutTree] = []
    # Without -z, which needs git 2.36: these paths have no line breaks.
    for block in (await git.output("worktree", "list", "--porcelain")).split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in block.splitlines() if line)
        if path := fields.get("worktree"):
            branch = fields.get("branch", "").removeprefix("refs/heads/")
            trees.append(CheckedOutTree(path, fields.get("HEAD", ""), branch, "prunable" in fields))
    return tuple(trees)


async def list_worktrees(git: GitClient, repo: Repository) -> tuple[Worktree, ...]:
    """Our worktrees of this origin whose folder exists, without scratch ones."""
    refs = await git_client.read_refs(git)
    return tuple(
        git_client.recorded_worktree(refs, _recorded_branch(tree, refs), repo.origin, tree.head, tree.path)
        for tree in await list_work_trees(git)
        if is_own_worktree(tree, repo) and not tree.gone and not is_scratch_path(tree.path)
    )


async def find_worktree(git: GitClient, repo: Repository, name: str) -> Worktree | None:
    """The worktree with this name, branch or path."""
    for tree in await list_worktrees(git, repo):
        if name in (tree.name, tree.branch, tree.tail, tree.path):
            return tree
    return None


async def list_rows(git: GitClient, repo: Repository) -> tuple[WorktreeRow, ...]:
    """Our worktrees, then our branches without one."""
    trees = await list_worktrees(git, repo)
    rows = [await read_row(git, tree) for tree in trees]
    with_worktree = {tree.branch for tree in trees}
    refs = await git_client.read_refs(git)
    for branch, tip in (await git_client.list_branches(git)).items():
        if branch not in with_worktree:
            tree = git_client.recorded_worktree(refs, branch, repo.origin, tip)
            rows.append(await _make_row(git, tree, tip, 0))
    return tuple(rows)


async def read_row(git: GitClient, tree: Worktree) -> WorktreeRow:
    """The state of one worktree."""
    own = git.at(tree.path)
    tip = await own.commit_of("HEAD")
    return await _make_row(own, tree, tip, await count_uncommitted(own, tree, tip) if tip else 0)


def is_own_worktree(tree: CheckedOutTree, repo: Repository) -> bool:
    above, folder = os.path.dirname(os.path.normpath(tree.path)), worktrees_folder(repo.origin)
    return os.path.normcase(above) == os.path.normcase(os.path.normpath(folder))


def is_scratch_path(path: str) -> bool:
    return os.path.basename(path).startswith(SCRATCH_PREFIX)


def _recorded_branch(tree: CheckedOutTree, refs: dict[str, dict[str, str]]) -> str:
    """The branch that a worktree was made with: its agent may have switched to another."""
    if tree.branch.removeprefix(BRANCH_PREFIX) in refs:
        return tree.branch
    name = os.path.basename(tree.path)
    for tail in refs:
        slug, _, number = tail.rpartition("-")
        if name == (slug if number == "1" else tail):
            return f"{BRANCH_PREFIX}{tail}"
    return tree.branch


async def count_uncommitted(own: GitClient, tree: Worktree, tip: str) -> int:
    """How many files differ from the branch, or from what the worktree started with."""
    try:
        snapshot = await take_snapshot(own, work_commit(tree, tip), "count of uncommitted changes")
    except CockpitError:
        return len(await list_changed_paths(own))
    return snapshot.files + len(snapshot.left_out)


async def _make_row(git: GitClient, tree: Worktree, tip: str, open_files: int) -> WorktreeRow:
    end = work_commit(tree, tip)
    files, added, removed = await count_changes(git, tree.base, end) if end else (0, 0, 0)
    output = await git.output("rev-list", "--count", f"{tree.base}..{end}") if end else "0"
    used, in_use = await asyncio.to_thread(_read_use, tree.path)
    used = max(used, float((await git.output("log", "-1", "--format=%ct", end)).strip() or 0) if end else 0.0)
    merged = await is_merged(git, tree, end)
    commits = int(output.strip() or 0)
    return WorktreeRow(
        tree.name, tree.branch, tree.path, commits, files, added, removed, open_files, merged, in_use, used
    )


async def is_merged(git: GitClient, tree: Worktree, tip: str) -> bool:
    """Whether the commits are in a branch of the user's, or their changes were brought into one."""
    if not tip or tip == tree.base:
        return True
    if (await git_client.read_refs(git)).get(tree.tail, {}).get(git_client.MERGED_REF) == tip:
        return True
    output = await git.output("for-each-ref", "--format=%(refname:short)", f"--contains={tip}", "refs/heads")
    return any(not name.startswith(BRANCH_PREFIX) for name in output.split())


def _read_use(path: str) -> tuple[float, bool]:
    """When a worktree was last changed, and whether an agent is in it."""
    if not path:
        return 0.0, False
    try:
        return os.stat(path).st_mtime, is_in_use(path)
    except OSError:
        return time.time(), False


MAX_AGE_HOURS = 24.0


async def prune_worktrees(
    git: GitClient,
    repo: Repository,
    max_age_hours: float = MAX_AGE_HOURS,
    dry_run: bool = False,
    unmerged: bool = False,
    only: str = "",
) -> tuple[PruneOutcome, ...]:
    """What was removed (or would be), and what stays and why.

    `unmerged` also removes work that exists nowhere else; `only` limits it to one worktree by name, branch or
    path. Raises `CockpitError`.
    """
    origin = git.at(repo.origin)
    outcomes = await _prune_scratch(origin, repo, dry_run) if not only else []
    for row in await list_rows(git, repo):
        if only and only not in (row.name, row.branch, row.path):
            continue
        reason = _reason_to_stay(row, max_age_hours, unmerged)
        if not reason and not dry_run:
            await remove_worktree(origin, row)
        outcomes.append(PruneOutcome(row.name, row.branch, not reason, reason or _reason_to_remove(row)))
    if not dry_run:
        await origin.run("worktree", "prune")
    return (*outcomes, *(_prune_strays(repo, dry_run) if not only else ()))


async def remove_worktree(origin: GitClient, row: WorktreeRow) -> None:
    """Remove the worktree, its branch and its refs."""
    if row.path:
        await remove_worktree_folder(origin, row.path)
    await origin.run("branch", "-D", "--", row.branch)
    await git_client.delete_refs(origin, row.branch.rpartition("/")[2])


def _reason_to_stay(row: WorktreeRow, max_age_hours: float, unmerged: bool) -> str:
    if row.is_in_use:
        return "an agent is working in it"
    if row.uncommitted and not unmerged:
        return f"{row.uncommitted} files in it are not committed"
    if not row.is_merged and row.files and not unmerged:
        return f"{row.commits} commits are not merged ({row.files} files +{row.added} -{row.removed})"
    hours = (time.time() - row.used) / 3600
    return f"used {hours:.1f} hours ago" if hours < max_age_hours else ""


def _reason_to_remove(row: WorktreeRow) -> str:
    if row.is_empty:
        return "it has no changes"
    if row.is_merged and not row.uncommitted:
        return "merged"
    return "removal was requested, although it is not merged"


async def _prune_scratch(origin: GitClient, repo: Repository, dry_run: bool) -> list[PruneOutcome]:
    """Remove what an interrupted merge left."""
    outcomes: list[PruneOutcome] = []
    for tree in await list_work_trees(origin):
        if is_own_worktree(tree, repo) and is_scratch_path(tree.path) and not is_in_use(tree.path):
            if not dry_run:
                await remove_worktree_folder(origin, tree.path)
            outcomes.append(
                PruneOutcome(os.path.basename(tree.path), "", True, "left by an interrupted merge")
            )
    return outcomes


def _prune_strays(repo: Repository, dry_run: bool) -> list[PruneOutcome]:
    """Folders beside our worktrees that git does not know. Empty ones are left from a crash."""
    folder = worktrees_folder(repo.origin)
    outcomes: list[PruneOutcome] = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if os.path.lexists(os.path.join(path, ".git")) or not os.path.isdir(path) or os.path.islink(path):
            continue
        if os.listdir(path):
            reason = "git does not know this folder: check it, and remove it yourself"
            outcomes.append(PruneOutcome(name, "", False, reason))
            continue
        if not dry_run:
            os.rmdir(path)
        outcomes.append(PruneOutcome(name, "", True, "empty, left by a crash"))
    return outcomes
