"""A new worktree: from the commit that is worked on, on a branch of its own, with what is not committed yet,
and out of everybody's status. Nothing of the tree it is made from changes.
"""

import asyncio
import os
import stat
from dataclasses import replace

from cockpit.errors import CockpitError
from cockpit.workspace.children import whole
from cockpit.workspace.worktrees.editable import sources
from cockpit.workspace.worktrees.ending import discard
from cockpit.workspace.worktrees.excluding import exclude
from cockpit.workspace.worktrees.linking import link, relative
from cockpit.workspace.worktrees.names import FOLDER, branch_name, folder_name, folder_of, slug
from cockpit.workspace.worktrees.records import BASE, HEAD, write
from cockpit.workspace.worktrees.running import Git
from cockpit.workspace.worktrees.snapshots import listed, snapshot
from cockpit.workspace.worktrees.values import Repository, Worktree

MOST = 1_000
CARRIED = "uncommitted changes of {where}, as {name} was given them"


async def make(git: Git, seen: Repository, name: str, ref: str = "", carry: bool = True) -> Worktree:
    """A worktree called about `name`, from `ref` ("": the commit that is checked out, with what is not
    committed yet if `carry`). Raises `CockpitError`; nothing is left then."""
    folder = _place(seen)
    exclude(seen.store, f"/{'/'.join(FOLDER)}", folder=True)
    head = await git.commit_of(ref) if ref else seen.head
    if not head:
        raise CockpitError(
            f"there is no commit called {ref!r}", "git log shows them; leave `ref` out for HEAD"
        )
    tree = await _added(git, seen, slug(name), folder, head)
    try:
        return await _filled(git, seen, tree, carry and head == seen.head)
    except BaseException:
        await whole(discard(git.at(seen.origin), tree))
        raise


async def _filled(git: Git, seen: Repository, tree: Worktree, carry: bool) -> Worktree:
    notes: list[str] = []
    own = git.at(tree.path)
    if carry:
        message = CARRIED.format(where=seen.branch or seen.head[:12], name=tree.name)
        taken = await snapshot(git, seen.head, message)
        if taken.files:
            # Nothing is staged there: that a change was staged is the person's own note.
            await own.say("restore", f"--source={taken.commit}", "--worktree", "--", ":/")
            notes.append(
                f"it holds the {taken.files} files of {seen.top} that are not committed, as they are now"
            )
            tree = replace(tree, base=taken.commit)
        if taken.left_out:
            notes.append(f"not carried: {listed(taken.left_out)}")
    await write(git, tree, BASE, tree.base)
    linked = await link(git, seen.origin, tree.path)
    if linked:
        named = listed([relative(one, tree.path) for one in linked])
        notes.append(f"links to the packages installed in {seen.origin}, read-only: {named}")
    targets = tuple(one.target for one in linked)
    if edited := await asyncio.to_thread(sources, seen.origin, targets):
        notes.append(
            f"the linked Python environment imports this project from {seen.origin}, not from here: run with "
            f"PYTHONPATH={os.pathsep.join(edited)}"
        )
    if _is_there(os.path.join(tree.path, ".gitmodules")):
        notes.append("submodules are empty in it")
    return replace(tree, linked=targets, notes=tuple(notes))


async def _added(git: Git, seen: Repository, name: str, folder: str, head: str) -> Worktree:
    """The worktree under the first free number, as git makes it."""
    for number in range(1, MOST):
        path = os.path.join(folder, folder_name(name, number))
        branch = branch_name(name, number)
        if _is_there(path) or await git.commit_of(f"refs/heads/{branch}"):
            continue
        try:
            # Whoever makes the folder has the name: agents are made side by side.
            os.mkdir(path)
        except FileExistsError:
            continue
        tree = Worktree(os.path.basename(path), branch, path, seen.origin, head, head)
        try:
            await git.say("worktree", "add", "--quiet", "--no-track", "-b", branch, path, head)
            await write(git, tree, HEAD, head)
        except BaseException:
            await whole(discard(git.at(seen.origin), tree))
            raise
        return tree
    raise CockpitError(
        f"there are {MOST} worktrees called {name}", "cockpit worktrees prune takes old ones away"
    )


def _is_there(path: str) -> bool:
    return os.path.lexists(path)


def _place(seen: Repository) -> str:
    """The folder of worktrees, made. What stands there must be a folder: a link would lead us elsewhere."""
    path = seen.origin
    for part in FOLDER:
        path = os.path.join(path, part)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise CockpitError(f"{path} is no folder, so no worktree can be made in it", "move it away")
        except FileNotFoundError:
            try:
                os.mkdir(path)
            except FileExistsError:
                continue
            except OSError as error:
                raise CockpitError(f"{path} cannot be made: {error.strerror or error}") from error
    assert os.path.realpath(path) == os.path.realpath(folder_of(seen.origin))
    return path
