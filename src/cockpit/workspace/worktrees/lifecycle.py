"""The life of a worktree: created from a commit with the uncommitted changes, and ended with its work on its
branch.

It has its own branch and does not appear in anyone's status. Creating it changes nothing in the tree it is
made from. A worktree without changes is removed at the end.
"""

import asyncio
import contextlib
import os
import shutil
import stat
from dataclasses import replace

from cockpit.errors import CockpitError
from cockpit.workspace.processes.child_process import run_to_completion
from cockpit.workspace.worktrees.git_client import (
    BASE_REF,
    HEAD_REF,
    GitClient,
    delete_refs,
    format_paths,
    take_snapshot,
    write_ref,
)
from cockpit.workspace.worktrees.package_links import (
    editable_sources,
    exclude_from_status,
    find_links,
    make_links,
    relative_link_path,
    remove_links,
)
from cockpit.workspace.worktrees.values import (
    WORKTREES_FOLDER,
    Repository,
    Worktree,
    WorktreeOutcome,
    branch_name,
    folder_name,
    make_slug,
    worktrees_folder,
)


async def settle_worktree(git: GitClient, tree: Worktree, message: str) -> WorktreeOutcome:
    """Commit the changes in `tree` on its branch, or remove it if there are none. Raises `CockpitError`; the
    worktree then stays."""
    own = git.at(tree.path)
    notes = await commit_work(own, tree, message)
    tip = work_commit(tree, await own.commit_of("HEAD"))
    branch = await own.current_branch() or tree.branch
    trees = await own.output("rev-parse", f"{tree.base}^{{tree}}", f"{tip}^{{tree}}")
    if not notes and len(set(trees.split())) == 1:
        await discard_worktree(git.at(tree.origin), tree)
        return WorktreeOutcome(branch, False)
    files, added, removed = await count_changes(own, tree.base, tip)
    return WorktreeOutcome(branch, True, tip, files, added, removed, notes)


async def commit_work(own: GitClient, tree: Worktree, message: str) -> tuple[str, ...]:
    """Commit uncommitted changes on the current branch of `tree`. Returns notes on what was left out."""
    tip = await own.commit_of("HEAD")
    if not tip:
        raise CockpitError(f"the branch of the worktree {tree.name} is gone", f"look at {tree.path}")
    notes: list[str] = []
    snapshot = await take_snapshot(own, work_commit(tree, tip), message)
    if snapshot.left_out:
        notes.append(f"not committed: {format_paths(snapshot.left_out)}")
    if snapshot.files:
        if branch := await own.current_branch():
            reason = "cockpit: work of an agent"
            await own.output("update-ref", "-m", reason, f"refs/heads/{branch}", snapshot.commit, tip)
        else:
            await own.output("update-ref", "--no-deref", "HEAD", snapshot.commit, tip)
            await own.output("branch", "--force", tree.branch, snapshot.commit)
        # The index follows; files stay as they are.
        await own.output("reset", "--quiet")
    return tuple(notes)


async def discard_worktree(git: GitClient, tree: Worktree) -> None:
    """Remove worktree, branch and refs, whatever they contain. `git` is that of the origin."""
    await remove_worktree_folder(git, tree.path)
    await git.run("branch", "-D", "--", tree.branch)
    await delete_refs(git, tree.tail)


async def remove_worktree_folder(git: GitClient, path: str) -> None:
    """Remove the folder of a worktree; its branch stays. Targets of its links are not touched."""
    with contextlib.suppress(CockpitError, OSError):
        remove_links(path, await find_links(git, git.top, path))
    await git.run("worktree", "remove", "--force", "--force", path)
    if _exists(path):
        # What git left behind. Links are never followed.
        await asyncio.to_thread(shutil.rmtree, path, onerror=_make_writable)
        await git.run("worktree", "prune")


def work_commit(tree: Worktree, tip: str) -> str:
    """The commit with the work on a branch at `tip`. A branch without commits of its own is at `head`, which
    lacks the carried changes."""
    return tree.base if tip == tree.head else tip


async def count_changes(git: GitClient, base: str, tip: str) -> tuple[int, int, int]:
    """Files, added and removed lines between two commits."""
    rows = [row.split("\t") for row in await git.fields("diff-tree", "-r", "--numstat", base, tip)]
    # Binary files have `-` instead of numbers.
    added, removed = (sum(int(row[at]) for row in rows if row[at].isdigit()) for at in (0, 1))
    return len(rows), added, removed


def _make_writable(function: object, path: str, reason: object) -> None:
    """A folder without write permission (such as Go's modules) cannot be emptied."""
    with contextlib.suppress(OSError):
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        os.chmod(path, stat.S_IRWXU)
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


MAX_WORKTREES = 1_000
CARRIED_MESSAGE = "uncommitted changes of {where} at the start of {name}"


async def make_worktree(
    git: GitClient, repo: Repository, name: str, ref: str = "", carry: bool = True
) -> Worktree:
    """Create a worktree named after `name`, from `ref` ("": the commit that is checked out, with uncommitted
    changes if `carry`). Raises `CockpitError`; nothing is left behind then."""
    folder = _make_worktrees_folder(repo)
    exclude_from_status(repo.store, f"/{'/'.join(WORKTREES_FOLDER)}", folder=True)
    head = await git.commit_of(ref) if ref else repo.head
    if not head:
        raise CockpitError(f"unknown commit {ref!r}", "see git log; leave `ref` out for HEAD")
    tree = await _add_worktree(git, repo, make_slug(name), folder, head)
    try:
        return await _fill_worktree(git, repo, tree, carry and head == repo.head)
    except BaseException:
        await run_to_completion(discard_worktree(git.at(repo.origin), tree))
        raise


async def _fill_worktree(git: GitClient, repo: Repository, tree: Worktree, carry: bool) -> Worktree:
    notes: list[str] = []
    own = git.at(tree.path)
    if carry:
        message = CARRIED_MESSAGE.format(where=repo.branch or repo.head[:12], name=tree.name)
        snapshot = await take_snapshot(git, repo.head, message)
        if snapshot.files:
            # Nothing is staged there: the staging area belongs to the user.
            await own.output("restore", f"--source={snapshot.commit}", "--worktree", "--", ":/")
            notes.append(f"it contains {snapshot.files} uncommitted files of {repo.top} as they are now")
            tree = replace(tree, base=snapshot.commit)
        if snapshot.left_out:
            notes.append(f"not carried over: {format_paths(snapshot.left_out)}")
    await write_ref(git, tree, BASE_REF, tree.base)
    linked = await make_links(git, repo.origin, tree.path)
    if linked:
        named = format_paths([relative_link_path(link, tree.path) for link in linked])
        notes.append(f"links to the packages installed in {repo.origin}, read-only: {named}")
    targets = tuple(link.target for link in linked)
    if edited := await asyncio.to_thread(editable_sources, repo.origin, targets):
        notes.append(
            f"the linked Python environment imports this project from {repo.origin}, not from here: run with "
            f"PYTHONPATH={os.pathsep.join(edited)}"
        )
    if _exists(os.path.join(tree.path, ".gitmodules")):
        notes.append("submodules are empty in it")
    return replace(tree, linked=targets, notes=tuple(notes))


async def _add_worktree(git: GitClient, repo: Repository, name: str, folder: str, head: str) -> Worktree:
    for number in range(1, MAX_WORKTREES):
        path = os.path.join(folder, folder_name(name, number))
        branch = branch_name(name, number)
        if _exists(path) or await git.commit_of(f"refs/heads/{branch}"):
            continue
        try:
            # Creating the folder reserves the name: several agents may start at once.
            os.mkdir(path)
        except FileExistsError:
            continue
        tree = Worktree(os.path.basename(path), branch, path, repo.origin, head, head)
        try:
            await git.output("worktree", "add", "--quiet", "--no-track", "-b", branch, path, head)
            await write_ref(git, tree, HEAD_REF, head)
        except BaseException:
            await run_to_completion(discard_worktree(git.at(repo.origin), tree))
            raise
        return tree
    reason = f"there are already {MAX_WORKTREES} worktrees called {name}"
    raise CockpitError(reason, "cockpit worktrees prune removes old ones")


def _exists(path: str) -> bool:
    return os.path.lexists(path)


def _make_worktrees_folder(repo: Repository) -> str:
    """Create the folder of worktrees. A link in its place is refused: it could lead elsewhere."""
    path = repo.origin
    for part in WORKTREES_FOLDER:
        path = os.path.join(path, part)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                reason = f"{path} is not a folder, so no worktree can be created in it"
                raise CockpitError(reason, "move it away")
        except FileNotFoundError:
            try:
                os.mkdir(path)
            except FileExistsError:
                continue
            except OSError as error:
                raise CockpitError(f"{path} cannot be created: {error.strerror or error}") from error
    assert os.path.realpath(path) == os.path.realpath(worktrees_folder(repo.origin))
    return path
