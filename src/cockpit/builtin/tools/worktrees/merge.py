"""The tool `merge_worktree`: merges the branch of a worktree, as one change that the user reviews as a whole.

The merge is tried for the preview and again when it runs; it is applied only if both results are the same.
"""

import asyncio
import os
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cockpit.builtin.tools.file_changes import announce_changes
from cockpit.builtin.tools.worktrees.lifecycle import KEYWORDS, describe_merge, make_title
from cockpit.errors import CockpitError
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.changes import ChangeSet, DeleteFile, Edit, WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool, ToolFailed
from cockpit.protocol.content import Block
from cockpit.protocol.events import FileChanged
from cockpit.protocol.messages import Json
from cockpit.workspace.files.changes import make_diff
from cockpit.workspace.worktrees import branch_merge
from cockpit.workspace.worktrees.git_client import GitClient, open_repository
from cockpit.workspace.worktrees.inventory import list_rows, remove_worktree
from cockpit.workspace.worktrees.values import MergedFile, MergeTrial, Repository

TREE_PART = "tree-"
REGULAR_MODES = frozenset({"100644", "100755", ""})


@dataclass(frozen=True, slots=True)
class MergeWorktree:
    branch: Annotated[str, "the worktree, or its branch"]
    target: Annotated[str, "the branch to merge into; empty: the branch that is checked out"] = ""
    dry_run: Annotated[bool, "only list what would change, or the conflicts"] = False
    remove: Annotated[bool, "remove the worktree and its branch when all is merged"] = True


async def preview_merge(arguments: Arguments, context: Context) -> Preview:
    """Try the merge in a scratch worktree, changing nothing. Raises `CockpitError` if it is not possible."""
    request = parse(MergeWorktree, arguments)
    if request.dry_run:
        return Preview(title=f"merge {request.branch} (dry run)")
    git, repository = await open_repository(context.workspace.processes, context.workspace.root)
    async with branch_merge.try_merge(git, repository, request.branch, request.target) as (merge, scratch):
        branch_merge.refuse_merge(merge)
        _require_own_tree(merge, repository)
        if merge.tree:
            # Checked before the user is asked, because an approved merge would fail.
            await branch_merge.require_clean_tree(git.at(merge.tree), merge)
        changes = await _plan_changes(merge, scratch, context)
    size = f"{len(merge.files)} files +{merge.added} -{merge.removed}"
    title = f"merge {merge.branch} into {merge.target}: {size}"
    top = merge.tree or repository.top
    paths = tuple(posixpath.join(top, file.path) for file in merge.files)
    part = Part(f"{TREE_PART}{merge.result}", title, describe_merge(merge))
    return Preview(title, (part,), changes, paths=paths, whole=True)


async def merge_worktree(arguments: MergeWorktree, context: Context) -> Done:
    git, repository = await open_repository(context.workspace.processes, context.workspace.root)
    if arguments.dry_run:
        merge = await branch_merge.preview_merge(git, repository, arguments.branch, arguments.target)
        return Done(describe_merge(merge), is_error=bool(merge.conflicts))
    preview = context.running().preview
    await branch_merge.commit_pending_work(git, repository, arguments.branch)
    async with branch_merge.try_merge(git, repository, arguments.branch, arguments.target) as (merge, _):
        branch_merge.refuse_merge(merge)
        _require_own_tree(merge, repository)
        if preview is None or not any(part.id == f"{TREE_PART}{merge.result}" for part in preview.parts):
            raise ToolFailed("what would be merged is not what was approved; call it again")
        await branch_merge.apply_merge(git, repository, merge)
    blocks = _announce_merge(merge, preview.changes, context)
    text = describe_merge(merge).replace(", no conflict", ", merged")
    if arguments.remove and await _remove_merged(git, repository, merge.branch):
        text += f"\n{merge.branch} was removed, with its worktree"
    data: Json = {"branch": merge.branch, "target": merge.target, "commit": merge.new}
    return Done(text, blocks, data)


def _require_own_tree(merge: MergeTrial, repository: Repository) -> None:
    """Raise `ToolFailed` unless the target is the agent's own tree or a branch that is not checked out."""
    if merge.tree and os.path.realpath(merge.tree) != repository.top:
        raise ToolFailed(
            f"{merge.target} is checked out in {merge.tree}, and you work in {repository.top}: "
            "leave_worktree with `merge`, or report the branch to whoever works there"
        )


async def _plan_changes(merge: MergeTrial, scratch: str, context: Context) -> ChangeSet | None:
    """Plan the merge as a change of files that can be reviewed hunk by hunk. None for a merge with links or
    submodules, or into a branch that is not checked out."""
    if not merge.tree or any(file.mode not in REGULAR_MODES for file in merge.files):
        return None
    call = context.call.call.id if context.call else ""
    try:
        edits = await asyncio.to_thread(
            lambda: tuple(_file_edit(file, merge.tree, scratch) for file in merge.files)
        )
        return await context.workspace.plan(edits, context.session.agent, call)
    except (CockpitError, OSError):
        # For example too large to show; the preview then only has its numbers.
        return None


def _file_edit(file: MergedFile, tree: str, scratch: str) -> Edit:
    path = str(Path(tree, file.path))
    if file.change == "deleted":
        return DeleteFile(path)
    content = Path(scratch, file.path).read_bytes()
    return WriteFile(path, content, mode=0o755 if file.mode == "100755" else 0o644)


def _announce_merge(merge: MergeTrial, changes: ChangeSet | None, context: Context) -> tuple[Block, ...]:
    """Announce the changed files to frontends and language servers, and return their diffs."""
    if changes is not None:
        announce_changes(changes, context)
        return tuple(map(make_diff, changes.files))
    if merge.tree:
        for file in merge.files:
            context.navigator.changed(file.path, None, ())
            context.session.emit(FileChanged(file.path, file.change, file.added, file.removed))
    return ()


async def _remove_merged(git: GitClient, repository: Repository, branch: str) -> bool:
    """Remove the worktree of a fully merged branch. Returns whether it was removed."""
    for row in await list_rows(git, repository):
        if row.branch == branch and row.is_merged and not row.uncommitted and not row.is_in_use:
            await remove_worktree(git.at(repository.origin), row)
            return True
    return False


def merge_tool() -> Tool:
    return Tool(
        name="merge_worktree",
        kind="edit",
        description="Merge the branch of a worktree (for example a subagent's) into the branch you work on. "
        "Conflicts are listed and change nothing. The tree must be clean.",
        parameters=schema(MergeWorktree),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(MergeWorktree, merge_worktree),
        title=make_title("merge", "branch"),
        preview=preview_merge,
        deferred=True,
        aliases=tuple(
            Alias(name, (("source_branch", "branch"), ("target_branch", "target")))
            for name in ("WorktreeMergeBack", "worktree_merge_back")
        ),
        keywords=(*KEYWORDS, "merge"),
        seconds=600.0,
    )
