"""The worktrees there are, and how each stands. Changes nothing."""

import asyncio
import os
import time
from dataclasses import dataclass

from cockpit.errors import CockpitError
from cockpit.workspace.worktrees import records
from cockpit.workspace.worktrees.ending import counts, done
from cockpit.workspace.worktrees.names import BRANCHES, SCRATCH, folder_of
from cockpit.workspace.worktrees.running import Git
from cockpit.workspace.worktrees.snapshots import changed, snapshot
from cockpit.workspace.worktrees.using import is_in_use
from cockpit.workspace.worktrees.values import Repository, Row, Worktree


@dataclass(frozen=True, slots=True)
class Checked:
    """A work tree as git lists it: `branch` "" where HEAD is detached; `gone`: its folder is not there."""

    path: str
    head: str
    branch: str = ""
    gone: bool = False


async def work_trees(git: Git) -> tuple[Checked, ...]:
    """Every work tree of the repository, the main one first."""
    found: list[Checked] = []
    # Without -z, which git has since 2.36 alone: nobody has a line break in the path of a work tree.
    for block in (await git.say("worktree", "list", "--porcelain")).split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in block.splitlines() if line)
        if path := fields.get("worktree"):
            branch = fields.get("branch", "").removeprefix("refs/heads/")
            found.append(Checked(path, fields.get("HEAD", ""), branch, "prunable" in fields))
    return tuple(found)


async def ours(git: Git, seen: Repository) -> tuple[Worktree, ...]:
    """Our worktrees of this origin whose folder is there, scratch ones left out."""
    kept = await records.read(git)
    found: list[Worktree] = []
    for one in await work_trees(git):
        if is_ours(one, seen) and not one.gone and not is_scratch(one.path):
            branch = _recorded(one, kept)
            own = kept.get(branch.removeprefix(BRANCHES), {})
            head = own.get(records.HEAD, one.head)
            base = own.get(records.BASE, head)
            found.append(Worktree(os.path.basename(one.path), branch, one.path, seen.origin, head, base))
    return tuple(found)


async def find(git: Git, seen: Repository, name: str) -> Worktree | None:
    """The worktree of that name, branch or path."""
    for one in await ours(git, seen):
        if name in (one.name, one.branch, one.tail, one.path):
            return one
    return None


async def rows(git: Git, seen: Repository) -> tuple[Row, ...]:
    """Our worktrees, then our branches that have none."""
    trees = await ours(git, seen)
    found = [await row(git, one) for one in trees]
    known = {one.branch for one in trees}
    kept = await records.read(git)
    for branch, tip in (await records.branches(git)).items():
        if branch not in known:
            own = kept.get(branch.removeprefix(BRANCHES), {})
            head = own.get(records.HEAD, tip)
            tree = Worktree("", branch, "", seen.origin, head, own.get(records.BASE, head))
            found.append(await _row(git, tree, tip, 0))
    return tuple(found)


async def row(git: Git, tree: Worktree) -> Row:
    """How one worktree stands."""
    own = git.at(tree.path)
    tip = await own.commit_of("HEAD")
    return await _row(own, tree, tip, await uncommitted(own, tree, tip) if tip else 0)


def is_ours(one: Checked, seen: Repository) -> bool:
    return _folded(os.path.dirname(os.path.normpath(one.path))) == _folded(folder_of(seen.origin))


def _folded(path: str) -> str:
    return os.path.normcase(os.path.normpath(path))


def is_scratch(path: str) -> bool:
    return os.path.basename(path).startswith(SCRATCH)


def _recorded(one: Checked, kept: dict[str, dict[str, str]]) -> str:
    """The branch that a worktree was made with: its agent may have switched to another."""
    if one.branch.removeprefix(BRANCHES) in kept:
        return one.branch
    name = os.path.basename(one.path)
    for tail in kept:
        slug, _, number = tail.rpartition("-")
        if name == (slug if number == "1" else tail):
            return f"{BRANCHES}{tail}"
    return one.branch


async def uncommitted(own: Git, tree: Worktree, tip: str) -> int:
    """How many files differ from what its branch holds, or from what it was given."""
    try:
        taken = await snapshot(own, done(tree, tip), "a look")
    except CockpitError:
        return len(await changed(own))
    return taken.files + len(taken.left_out)


async def _row(git: Git, tree: Worktree, tip: str, open_files: int) -> Row:
    end = done(tree, tip)
    files, added, removed = await counts(git, tree.base, end) if end else (0, 0, 0)
    said = await git.say("rev-list", "--count", f"{tree.base}..{end}") if end else "0"
    used, in_use = await asyncio.to_thread(_use, tree.path)
    used = max(used, float((await git.say("log", "-1", "--format=%ct", end)).strip() or 0) if end else 0.0)
    merged = await is_merged(git, tree, end)
    commits = int(said.strip() or 0)
    return Row(
        tree.name, tree.branch, tree.path, commits, files, added, removed, open_files, merged, in_use, used
    )


async def is_merged(git: Git, tree: Worktree, tip: str) -> bool:
    """Whether what was committed there is in a branch of the person's, or was brought into one."""
    if not tip or tip == tree.base:
        return True
    if (await records.read(git)).get(tree.tail, {}).get(records.MERGED) == tip:
        return True
    said = await git.say("for-each-ref", "--format=%(refname:short)", f"--contains={tip}", "refs/heads")
    return any(not name.startswith(BRANCHES) for name in said.split())


def _use(path: str) -> tuple[float, bool]:
    """When something was last done in a worktree, and whether an agent is in it now."""
    if not path:
        return 0.0, False
    try:
        return os.stat(path).st_mtime, is_in_use(path)
    except OSError:
        return time.time(), False
