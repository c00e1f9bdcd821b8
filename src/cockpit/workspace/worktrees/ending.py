"""The end of an agent's work in a worktree: what it did goes onto its branch; what holds nothing goes."""

import asyncio
import contextlib
import os
import shutil
import stat

from cockpit.errors import CockpitError
from cockpit.workspace.worktrees.linking import links, unlink
from cockpit.workspace.worktrees.records import forget
from cockpit.workspace.worktrees.running import Git
from cockpit.workspace.worktrees.snapshots import listed, snapshot
from cockpit.workspace.worktrees.values import Settled, Worktree


async def settle(git: Git, tree: Worktree, message: str) -> Settled:
    """Commit what is in `tree` on its branch, or take it away where nothing was done in it. Raises
    `CockpitError`; the worktree stays then."""
    own = git.at(tree.path)
    notes = await commit(own, tree, message)
    tip = done(tree, await own.commit_of("HEAD"))
    branch = await _branch(own) or tree.branch
    if not notes and await _same_tree(own, tree.base, tip):
        await discard(git.at(tree.origin), tree)
        return Settled(branch, False)
    files, added, removed = await counts(own, tree.base, tip)
    return Settled(branch, True, tip, files, added, removed, notes)


async def commit(own: Git, tree: Worktree, message: str) -> tuple[str, ...]:
    """Put what is not committed onto the branch that is checked out in `tree`; what cannot be is said."""
    tip = await own.commit_of("HEAD")
    if not tip:
        raise CockpitError(f"the branch of the worktree {tree.name} is gone", f"look at {tree.path}")
    notes: list[str] = []
    taken = await snapshot(own, done(tree, tip), message)
    if taken.left_out:
        notes.append(f"not committed: {listed(taken.left_out)}")
    if taken.files:
        branch = await _branch(own)
        if branch:
            await own.say(
                "update-ref", "-m", "cockpit: work of an agent", f"refs/heads/{branch}", taken.commit, tip
            )
        else:
            await own.say("update-ref", "--no-deref", "HEAD", taken.commit, tip)
            await own.say("branch", "--force", tree.branch, taken.commit)
        # The index follows; files are as they were.
        await own.say("reset", "--quiet")
    return tuple(notes)


async def discard(git: Git, tree: Worktree) -> None:
    """Take worktree, branch and records away, whatever they hold. `git` is that of the origin."""
    await remove_folder(git, tree.path)
    await git.run("branch", "-D", "--", tree.branch)
    await forget(git, tree.tail)


async def remove_folder(git: Git, path: str) -> None:
    """Take a worktree's folder away; its branch stays. What its links lead to is not touched."""
    with contextlib.suppress(CockpitError, OSError):
        unlink(path, await links(git, git.top, path))
    await git.run("worktree", "remove", "--force", "--force", path)
    if await asyncio.to_thread(_left, path):
        await git.run("worktree", "prune")


def done(tree: Worktree, tip: str) -> str:
    """The commit that holds what was done, for the branch's commit `tip`: with no commit of its own a branch
    stands before what was carried."""
    return tree.base if tip == tree.head else tip


async def counts(git: Git, base: str, tip: str) -> tuple[int, int, int]:
    """Files, added and removed lines between two commits."""
    said = await git.say("diff-tree", "-r", "-z", "--numstat", base, tip)
    rows = [field.split("\t") for field in said.split("\0") if field.count("\t") >= 2]
    return len(rows), sum(_number(row[0]) for row in rows), sum(_number(row[1]) for row in rows)


async def _same_tree(git: Git, one: str, other: str) -> bool:
    said = await git.say("rev-parse", f"{one}^{{tree}}", f"{other}^{{tree}}")
    return len(set(said.split())) == 1


async def _branch(git: Git) -> str:
    code, said = await git.run("symbolic-ref", "--quiet", "--short", "HEAD")
    return said.strip() if code == 0 else ""


def _left(path: str) -> bool:
    """Whether git left something, which is removed then. A link is never followed."""
    if not os.path.lexists(path):
        return False
    shutil.rmtree(path, onerror=_made_writable)
    return True


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _made_writable(function: object, path: str, reason: object) -> None:
    """A folder without the right to write in it (Go's modules are such) cannot be emptied."""
    with contextlib.suppress(OSError):
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        os.chmod(path, stat.S_IRWXU)
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
