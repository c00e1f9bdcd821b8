"""Merges the branch of a worktree into another: tried in a scratch worktree, and applied only without
conflicts and only to a clean tree.

A conflict changes no tree and no index. Carried-over uncommitted changes at the start of a branch are not
merged, only later work.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from cockpit.errors import CockpitError
from cockpit.workspace.processes.child_process import run_to_completion
from cockpit.workspace.resolver import Resolver
from cockpit.workspace.worktrees import git_client
from cockpit.workspace.worktrees.git_client import GitClient, format_paths, parse_last_id, take_snapshot
from cockpit.workspace.worktrees.inventory import (
    WorktreeLock,
    count_uncommitted,
    find_worktree,
    list_work_trees,
)
from cockpit.workspace.worktrees.lifecycle import commit_work, remove_worktree_folder, work_commit
from cockpit.workspace.worktrees.values import (
    BRANCH_PREFIX,
    SCRATCH_PREFIX,
    MergedFile,
    MergeTrial,
    Repository,
    Worktree,
    worktrees_folder,
)

MAX_SUBJECTS = 50
LINK = "120000"


@asynccontextmanager
async def try_merge(
    git: GitClient, repo: Repository, branch: str, target: str = ""
) -> AsyncIterator[tuple[MergeTrial, str]]:
    """Merge in a scratch worktree: the result, and the folder in which it exists until the context ends.
    Raises `CockpitError` for branches that cannot be merged."""
    request, tree = await _resolve_request(git, repo, branch, target)
    scratch = os.path.join(
        worktrees_folder(repo.origin), f"{SCRATCH_PREFIX}{os.getpid()}-{secrets.token_hex(3)}"
    )
    lock: WorktreeLock | None = None
    try:
        await git.output("worktree", "add", "--quiet", "--detach", scratch, request.old)
        lock = WorktreeLock(scratch)
        lock.take()
        merged = await _merge_in_scratch(git.at(scratch), request, tree)
        yield merged, scratch
    finally:
        if lock is not None:
            lock.release()
        await run_to_completion(remove_worktree_folder(git.at(repo.origin), scratch))


async def preview_merge(git: GitClient, repo: Repository, branch: str, target: str = "") -> MergeTrial:
    """The result of a trial merge, which leaves nothing behind."""
    async with try_merge(git, repo, branch, target) as (merged, _):
        return merged


async def apply_merge(git: GitClient, repo: Repository, merge: MergeTrial, protected: bool = False) -> None:
    """Move `merge.target` to the result of the trial. Raises `CockpitError`, and then nothing has changed.

    `protected`: the user has agreed that files which control programs may change, too.
    """
    refuse_merge(merge, protected)
    if await git.commit_of(f"refs/heads/{merge.target}") != merge.old:
        raise CockpitError(f"{merge.target} changed in the meantime", "try again")
    if merge.tree:
        await require_clean_tree(git.at(merge.tree), merge)
        flags = ("--ff-only", "--no-verify", "--no-verify-signatures", "--no-autostash", "--quiet")
        await git.at(merge.tree).output("merge", *flags, merge.new)
    else:
        reason = f"cockpit: merged {merge.branch}"
        await git.output("update-ref", "-m", reason, f"refs/heads/{merge.target}", merge.new, merge.old)
    if merge.branch.startswith(BRANCH_PREFIX):
        tail = merge.branch.removeprefix(BRANCH_PREFIX)
        await git.output("update-ref", f"{git_client.REF_PREFIX}{tail}/{git_client.MERGED_REF}", merge.tip)


def refuse_merge(merge: MergeTrial, protected: bool = False) -> None:
    """Raises `CockpitError` for a merge that cannot or must not be applied."""
    if merge.conflicts:
        raise CockpitError(
            f"{merge.branch} conflicts with {merge.target} in {format_paths(merge.conflicts)}; "
            "nothing was changed",
            f"merge {merge.target} into {merge.branch} in its worktree and resolve it there",
        )
    if merge.refused and not protected:
        named = "; ".join(f"{path}: {reason}" for path, reason in merge.refused[:5])
        reason = f"{merge.branch} changes files that no agent may change ({named}); nothing was changed"
        raise CockpitError(reason, f"review them, then merge yourself: git merge {merge.branch}")
    if not merge.new:
        raise CockpitError(f"{merge.branch} has no changes that {merge.target} lacks", "")


async def require_clean_tree(git: GitClient, merge: MergeTrial) -> None:
    """Raises `CockpitError` if the tree has uncommitted changes, which are the user's."""
    rows = await git.fields("status", "--porcelain", "--untracked-files=no")
    if paths := tuple(row[3:] for row in rows if len(row) > 3):
        raise CockpitError(
            f"{git.top}, where {merge.target} is checked out, has uncommitted changes "
            f"({format_paths(paths)}); nothing was changed",
            "commit or stash them, then merge again",
        )


async def commit_pending_work(git: GitClient, repo: Repository, branch: str) -> None:
    """Commit uncommitted changes in the worktree of `branch`, unless an agent works there."""
    tree = await find_worktree(git, repo, branch)
    if tree is None:
        return
    lock = WorktreeLock(tree.path)
    if not lock.take():
        raise CockpitError(f"an agent is working in {tree.name}", "wait until it ends, or stop it")
    try:
        await commit_work(git.at(tree.path), tree, f"Work in {tree.name}")
    finally:
        lock.release()


async def _resolve_request(
    git: GitClient, repo: Repository, branch: str, target: str
) -> tuple[MergeTrial, Worktree]:
    """Branches and commits by name, including uncommitted changes in the worktree of the branch."""
    tree = await find_worktree(git, repo, branch)
    branch = tree.branch if tree is not None else branch
    tip = await git.commit_of(f"refs/heads/{branch}")
    if not tip and not branch.startswith(BRANCH_PREFIX):
        branch, tip = f"{BRANCH_PREFIX}{branch}", await git.commit_of(f"refs/heads/{BRANCH_PREFIX}{branch}")
    target = target or repo.branch
    if not target:
        reason = "HEAD is detached, so there is no branch to merge into"
        raise CockpitError(reason, "git switch BRANCH, or name a target")
    old = await git.commit_of(f"refs/heads/{target}")
    for name, commit_id in ((branch, tip), (target, old)):
        if not commit_id:
            raise CockpitError(f"unknown branch {name}", "/worktree list shows the branches of worktrees")
    if branch == target:
        raise CockpitError(f"{branch} cannot be merged into itself", "name another target")
    if tree is None:
        tree = git_client.recorded_worktree(await git_client.read_refs(git), branch, repo.origin, tip)
    uncommitted = await count_uncommitted(git.at(tree.path), tree, tip) if tree.path else 0
    end = work_commit(tree, tip)
    if uncommitted:
        end = (await take_snapshot(git.at(tree.path), end, f"Work in {tree.name}")).commit
    checkouts = (item.path for item in await list_work_trees(git) if item.branch == target and not item.gone)
    return MergeTrial(branch, target, old, end, tree=next(checkouts, ""), uncommitted=uncommitted), tree


async def _merge_in_scratch(scratch: GitClient, request: MergeTrial, tree: Worktree) -> MergeTrial:
    who = await scratch.identity()
    subjects = await scratch.fields("log", f"-{MAX_SUBJECTS}", "--format=%s", f"{tree.base}..{request.tip}")
    request = replace(request, subjects=tuple(subject for subject in subjects if subject.strip()))
    message = f"Merge {request.branch}"
    if tree.is_carrying:
        # A single commit on top of the carried changes: cherry-picked, it contains only later work.
        body = "\n".join(f"- {subject}" for subject in request.subjects)
        message = f"{message}\n\n{body}" if body else message
        arguments = (f"{request.tip}^{{tree}}", "-p", tree.base, "-m", message)
        commit = parse_last_id(await scratch.output("commit-tree", *arguments, environment=who))
        command: tuple[str, ...] = ("cherry-pick", "--allow-empty", "--keep-redundant-commits", commit)
    else:
        quiet = ("--no-verify", "--no-verify-signatures", "--no-autostash", "--quiet")
        command = ("merge", "--ff", *quiet, "-m", message, request.tip)
    code, output = await scratch.run(*command, environment=who)
    if code != 0:
        conflicts = tuple(sorted(set(await scratch.fields("diff", "--name-only", "--diff-filter=U"))))
        if not conflicts:
            reason = output.strip()[:300]
            raise CockpitError(f"{request.branch} cannot be merged into {request.target}: {reason}")
        return replace(request, conflicts=conflicts)
    new = await scratch.commit_of("HEAD")
    files = await _changed_files(scratch, request.old, new)
    if not files:
        return request
    refused = await asyncio.to_thread(_refused_files, request.tree or scratch.top, scratch.top, files)
    result = parse_last_id(await scratch.output("rev-parse", f"{new}^{{tree}}"))
    return replace(request, new=new, result=result, files=files, refused=refused)


async def _changed_files(git: GitClient, old: str, new: str) -> tuple[MergedFile, ...]:
    counts: dict[str, list[str]] = {}
    for row in await git.fields("diff-tree", "-r", "--numstat", old, new):
        *numbers, path = row.split("\t", 2)
        counts[path] = numbers
    fields = await git.fields("diff-tree", "-r", "--raw", "--no-abbrev", old, new)
    files: list[MergedFile] = []
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, *_, letter = facts.split()
        added, removed = (int(number) if number.isdigit() else 0 for number in counts.get(path, ("0", "0")))
        if letter == "D":
            files.append(MergedFile(path, "deleted", "", added, removed))
        else:
            files.append(MergedFile(path, "created" if letter == "A" else "modified", mode, added, removed))
    return tuple(files)


def _refused_files(tree: str, scratch: str, files: tuple[MergedFile, ...]) -> tuple[tuple[str, str], ...]:
    """The files that the path rules refuse in the target tree, and links that lead out of it."""
    resolver = Resolver(os.path.realpath(tree), tree)
    refused: list[tuple[str, str]] = []
    for file in files:
        verdict = resolver.judge(os.path.join(resolver.root, file.path), "write")
        if verdict.level == "deny" and verdict.sort != "link":
            refused.append((file.path, verdict.reason))
        elif file.mode == LINK:
            with suppress(OSError):
                target = os.readlink(os.path.join(scratch, file.path))
                real = os.path.realpath(os.path.join(scratch, os.path.dirname(file.path), target))
                if os.path.isabs(target) or not Resolver(os.path.realpath(scratch)).is_inside(real):
                    refused.append((file.path, f"it is a link to {target}, outside the tree"))
    return tuple(refused)
