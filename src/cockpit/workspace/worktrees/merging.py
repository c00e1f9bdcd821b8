"""Bringing a branch's work into another: tried in a worktree of its own, applied only when that went without
a conflict, and only to a clean tree. A conflict is listed, and nobody's tree or index has changed.

Where the branch began with uncommitted changes that were carried, only what came after them is brought.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from cockpit.errors import CockpitError
from cockpit.workspace.children import whole
from cockpit.workspace.resolver import Resolver
from cockpit.workspace.worktrees import records
from cockpit.workspace.worktrees.ending import commit, done, remove_folder
from cockpit.workspace.worktrees.listing import find, uncommitted, work_trees
from cockpit.workspace.worktrees.names import BRANCHES, SCRATCH, folder_of
from cockpit.workspace.worktrees.running import Git
from cockpit.workspace.worktrees.snapshots import last_id, listed, snapshot
from cockpit.workspace.worktrees.using import InUse
from cockpit.workspace.worktrees.values import FileRow, Merge, Repository, Worktree

MOST_SUBJECTS = 50
LINK, MODULE = "120000", "160000"


@asynccontextmanager
async def tried(
    git: Git, seen: Repository, branch: str, target: str = ""
) -> AsyncIterator[tuple[Merge, str]]:
    """Merge in a scratch worktree: what came of it, and the folder in which it lies until this is left.
    Raises `CockpitError` for branches that cannot be merged."""
    asked, tree = await _asked(git, seen, branch, target)
    scratch = os.path.join(folder_of(seen.origin), f"{SCRATCH}{os.getpid()}-{secrets.token_hex(3)}")
    lock: InUse | None = None
    try:
        await git.say("worktree", "add", "--quiet", "--detach", scratch, asked.old)
        lock = InUse(scratch)
        lock.take()
        merged = await _merged(git.at(scratch), asked, tree)
        yield merged, scratch
    finally:
        if lock is not None:
            lock.release()
        await whole(remove_folder(git.at(seen.origin), scratch))


async def look(git: Git, seen: Repository, branch: str, target: str = "") -> Merge:
    """What merging would do; nothing is left of the trial."""
    async with tried(git, seen, branch, target) as (merged, _):
        return merged


async def apply(git: Git, seen: Repository, merge: Merge, protected: bool = False) -> None:
    """Move `merge.target` to what was tried. Raises `CockpitError`, and then nothing has changed.

    `protected`: a person has said that files which steer programs may be changed too.
    """
    refuse(merge, protected)
    if await git.commit_of(f"refs/heads/{merge.target}") != merge.old:
        raise CockpitError(f"{merge.target} has moved on meanwhile", "try again")
    if merge.tree:
        await must_be_clean(git.at(merge.tree), merge)
        flags = ("--ff-only", "--no-verify", "--no-verify-signatures", "--no-autostash", "--quiet")
        await git.at(merge.tree).say("merge", *flags, merge.new)
    else:
        reason = f"cockpit: merged {merge.branch}"
        await git.say("update-ref", "-m", reason, f"refs/heads/{merge.target}", merge.new, merge.old)
    if merge.branch.startswith(BRANCHES):
        tail = merge.branch.removeprefix(BRANCHES)
        await git.say("update-ref", f"{records.REFS}{tail}/{records.MERGED}", merge.tip)


def refuse(merge: Merge, protected: bool = False) -> None:
    """Raises `CockpitError` for a merge that cannot or must not be applied."""
    if merge.conflicts:
        raise CockpitError(
            f"{merge.branch} conflicts with {merge.target} in {listed(merge.conflicts)}; nothing was changed",
            f"merge {merge.target} into {merge.branch} in its worktree and settle it there, or merge by hand",
        )
    if merge.refused and not protected:
        named = "; ".join(f"{path}: {reason}" for path, reason in merge.refused[:5])
        raise CockpitError(
            f"{merge.branch} changes files that no agent may change ({named}); nothing was changed",
            f"look at them, then a person merges by hand: git merge {merge.branch}",
        )
    if not merge.new:
        raise CockpitError(f"{merge.branch} holds nothing that {merge.target} does not", "")


async def must_be_clean(git: Git, merge: Merge) -> None:
    """Only a clean tree is changed: what lies uncommitted in it is the person's. Raises `CockpitError`."""
    said = await git.say("status", "--porcelain", "-z", "--untracked-files=no")
    paths = tuple(field[3:] for field in said.split("\0") if len(field) > 3)
    if paths:
        raise CockpitError(
            f"{git.top}, where {merge.target} is checked out, holds changes that are not committed "
            f"({listed(paths)}); nothing was changed",
            "commit or stash them, then merge again",
        )


async def committed(git: Git, seen: Repository, branch: str) -> None:
    """What is not committed in the worktree of `branch` goes onto it, if nobody works there."""
    tree = await find(git, seen, branch)
    if tree is None:
        return
    lock = InUse(tree.path)
    if not lock.take():
        raise CockpitError(f"an agent works in {tree.name} now", "wait for its end, or stop it")
    try:
        await commit(git.at(tree.path), tree, f"Work in {tree.name}")
    finally:
        lock.release()


async def _asked(git: Git, seen: Repository, branch: str, target: str) -> tuple[Merge, Worktree]:
    """Branches and commits by name, with what is not committed in the branch's worktree taken in."""
    tree = await find(git, seen, branch)
    branch = tree.branch if tree is not None else branch
    tip = await git.commit_of(f"refs/heads/{branch}")
    if not tip and not branch.startswith(BRANCHES):
        branch, tip = f"{BRANCHES}{branch}", await git.commit_of(f"refs/heads/{BRANCHES}{branch}")
    target = target or seen.branch
    if not target:
        raise CockpitError(
            "HEAD is detached: there is no branch to merge into", "git switch BRANCH, or name a target"
        )
    old = await git.commit_of(f"refs/heads/{target}")
    for name, commit_id in ((branch, tip), (target, old)):
        if not commit_id:
            raise CockpitError(f"there is no branch {name}", "/worktree list shows those of worktrees")
    if branch == target:
        raise CockpitError(f"{branch} cannot be merged into itself", "name another target")
    if tree is None:
        kept = (await records.read(git)).get(branch.removeprefix(BRANCHES), {})
        head = kept.get(records.HEAD, tip)
        tree = Worktree("", branch, "", seen.origin, head, kept.get(records.BASE, head))
    waiting = await uncommitted(git.at(tree.path), tree, tip) if tree.path else 0
    end = done(tree, tip)
    if waiting:
        end = (await snapshot(git.at(tree.path), end, f"Work in {tree.name}")).commit
    checked = next((one.path for one in await work_trees(git) if one.branch == target and not one.gone), "")
    return Merge(branch, target, old, end, tree=checked, uncommitted=waiting), tree


async def _merged(scratch: Git, asked: Merge, tree: Worktree) -> Merge:
    """Merge in the scratch worktree, whose HEAD is the target."""
    who = await scratch.identity()
    said = await scratch.say("log", "-z", f"-{MOST_SUBJECTS}", "--format=%s", f"{tree.base}..{asked.tip}")
    asked = replace(asked, subjects=tuple(line for line in said.split("\0") if line.strip()))
    message = f"Merge {asked.branch}"
    if tree.is_carrying:
        # One commit upon what was carried: picked, it brings what came after, whatever the target has.
        body = "\n".join(f"- {one}" for one in asked.subjects)
        message = f"{message}\n\n{body}" if body else message
        one = await scratch.say(
            "commit-tree", f"{asked.tip}^{{tree}}", "-p", tree.base, "-m", message, environment=who
        )
        command: tuple[str, ...] = ("cherry-pick", "--allow-empty", "--keep-redundant-commits", last_id(one))
    else:
        quiet = ("--no-verify", "--no-verify-signatures", "--no-autostash", "--quiet")
        command = ("merge", "--ff", *quiet, "-m", message, asked.tip)
    code, words = await scratch.run(*command, environment=who)
    if code != 0:
        said = await scratch.say("diff", "--name-only", "--diff-filter=U", "-z")
        conflicts = tuple(sorted({path for path in said.split("\0") if path}))
        if not conflicts:
            raise CockpitError(f"{asked.branch} cannot be merged into {asked.target}: {words.strip()[:300]}")
        return replace(asked, conflicts=conflicts)
    new = await scratch.commit_of("HEAD")
    files = await _files(scratch, asked.old, new)
    if not files:
        return asked
    refused = await asyncio.to_thread(_refused, asked.tree or scratch.top, scratch.top, files)
    result = last_id(await scratch.say("rev-parse", f"{new}^{{tree}}"))
    return replace(asked, new=new, result=result, files=files, refused=refused)


async def _files(git: Git, old: str, new: str) -> tuple[FileRow, ...]:
    said = await git.say("diff-tree", "-r", "-z", "--numstat", old, new)
    counted = {
        path: (added, removed)
        for row in said.split("\0")
        if row
        for added, removed, path in [row.split("\t", 2)]
    }
    fields = (await git.say("diff-tree", "-r", "-z", "--raw", "--no-abbrev", old, new)).split("\0")
    found: list[FileRow] = []
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        letter, mode = facts.split()[-1], facts.split()[1]
        added, removed = (int(one) if one.isdigit() else 0 for one in counted.get(path, ("0", "0")))
        if letter == "D":
            found.append(FileRow(path, "deleted", "", added, removed))
        else:
            found.append(FileRow(path, "created" if letter == "A" else "modified", mode, added, removed))
    return tuple(found)


def _refused(tree: str, scratch: str, files: tuple[FileRow, ...]) -> tuple[tuple[str, str], ...]:
    """The files that the path rules refuse, in the tree they would go to; and links that lead out of it."""
    resolver = Resolver(os.path.realpath(tree), tree)
    found: list[tuple[str, str]] = []
    for file in files:
        judged = resolver.judge(os.path.join(resolver.root, file.path), "write")
        if judged.level == "deny" and judged.sort != "link":
            found.append((file.path, judged.reason))
        elif file.mode == LINK:
            with suppress(OSError):
                where = os.readlink(os.path.join(scratch, file.path))
                real = os.path.realpath(os.path.join(scratch, os.path.dirname(file.path), where))
                if os.path.isabs(where) or not Resolver(os.path.realpath(scratch)).is_inside(real):
                    found.append((file.path, f"it is a link to {where}, out of the tree"))
    return tuple(found)
