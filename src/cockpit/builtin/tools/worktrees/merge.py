"""`merge_worktree`: a branch's work comes into the branch that is worked on, as one change that a person sees
whole. What was seen is what is applied: both are tried, and their trees compared.
"""

import asyncio
import os
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cockpit.builtin.tools.file_changes import announce_changes
from cockpit.builtin.tools.worktrees.summaries import KEYWORDS, describe_merge, make_title
from cockpit.errors import CockpitError
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.changes import ChangeSet, DeleteFile, Edit, WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool, ToolFailed
from cockpit.protocol.content import Block
from cockpit.protocol.events import FileChanged
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
    target: Annotated[str, "the branch it goes into; empty: the one that is checked out"] = ""
    dry_run: Annotated[bool, "only say what it would bring, or where it conflicts"] = False
    remove: Annotated[bool, "take worktree and branch away when all is merged"] = True


async def preview_merge(arguments: Arguments, context: Context) -> Preview:
    """The merge, tried in a scratch worktree. Raises what makes it impossible: nothing has changed then."""
    wanted = parse(MergeWorktree, arguments)
    if wanted.dry_run:
        return Preview(title=f"merge {wanted.branch} (only a look)")
    git, seen = await open_repository(context.workspace.processes, context.workspace.root)
    async with branch_merge.try_merge(git, seen, wanted.branch, wanted.target) as (merge, scratch):
        branch_merge.refuse_merge(merge)
        _require_own_tree(merge, seen)
        if merge.tree:
            # Before anybody is asked: a yes would come to nothing.
            await branch_merge.require_clean_tree(git.at(merge.tree), merge)
        changes = await _plan_changes(merge, scratch, context)
    title = (
        f"merge {merge.branch} into {merge.target}: {len(merge.files)} files +{merge.added} -{merge.removed}"
    )
    top = merge.tree or seen.top
    paths = tuple(posixpath.join(top, file.path) for file in merge.files)
    shown = Part(f"{TREE_PART}{merge.result}", title, describe_merge(merge))
    return Preview(title, (shown,), changes, paths=paths, whole=True)


async def merge_worktree(arguments: MergeWorktree, context: Context) -> Done:
    git, seen = await open_repository(context.workspace.processes, context.workspace.root)
    if arguments.dry_run:
        merge = await branch_merge.preview_merge(git, seen, arguments.branch, arguments.target)
        return Done(describe_merge(merge), is_error=bool(merge.conflicts))
    shown = context.running().preview
    await branch_merge.commit_pending_work(git, seen, arguments.branch)
    async with branch_merge.try_merge(git, seen, arguments.branch, arguments.target) as (merge, _):
        branch_merge.refuse_merge(merge)
        _require_own_tree(merge, seen)
        if shown is None or not any(part.id == f"{TREE_PART}{merge.result}" for part in shown.parts):
            raise ToolFailed("what would be merged is not what was approved; call it again")
        await branch_merge.apply_merge(git, seen, merge)
    blocks = _announce_merge(merge, shown.changes, context)
    said = [describe_merge(merge).replace(", no conflict", ", merged")]
    if arguments.remove and (gone := await _remove_merged(git, seen, merge.branch)):
        said.append(gone)
    return Done(
        "\n".join(said), blocks, {"branch": merge.branch, "target": merge.target, "commit": merge.new}
    )


def _require_own_tree(merge: MergeTrial, seen: Repository) -> None:
    """An agent changes the tree it stands in, and branches that are checked out nowhere."""
    if merge.tree and os.path.realpath(merge.tree) != seen.top:
        raise ToolFailed(
            f"{merge.target} is checked out in {merge.tree}, and you work in {seen.top}: leave_worktree with "
            "`merge`, or report the branch to whoever works there"
        )


async def _plan_changes(merge: MergeTrial, scratch: str, context: Context) -> ChangeSet | None:
    """The merge as a change of the files, hunk by hunk; None where it is more than that (a link, a submodule)
    or goes into a branch that is checked out nowhere."""
    if not merge.tree or any(file.mode not in REGULAR_MODES for file in merge.files):
        return None
    try:
        edits = await asyncio.to_thread(_merge_edits, merge, scratch)
        running = context.call
        return await context.workspace.plan(edits, context.session.agent, running.call.id if running else "")
    except (CockpitError, OSError):
        # Too large to be shown, say: its numbers are.
        return None


def _merge_edits(merge: MergeTrial, scratch: str) -> tuple[Edit, ...]:
    return tuple(_file_edit(file, merge.tree, scratch) for file in merge.files)


def _file_edit(file: MergedFile, tree: str, scratch: str) -> Edit:
    path = str(Path(tree, file.path))
    if file.change == "deleted":
        return DeleteFile(path)
    content = Path(scratch, file.path).read_bytes()
    return WriteFile(path, content, mode=0o755 if file.mode == "100755" else 0o644)


def _announce_merge(merge: MergeTrial, changes: ChangeSet | None, context: Context) -> tuple[Block, ...]:
    """Tell screens and language servers what is different now."""
    if changes is not None:
        announce_changes(changes, context)
        return tuple(map(make_diff, changes.files))
    if merge.tree:
        for file in merge.files:
            context.navigator.changed(file.path, None, ())
            context.session.emit(FileChanged(file.path, file.change, file.added, file.removed))
    return ()


async def _remove_merged(git: GitClient, seen: Repository, branch: str) -> str:
    """Take away what holds nothing more than the target does."""
    for row in await list_rows(git, seen):
        if row.branch == branch and row.is_merged and not row.uncommitted and not row.is_in_use:
            await remove_worktree(git.at(seen.origin), row)
            return f"{branch} is gone, and its worktree"
    return ""


def merge_tool() -> Tool:
    return Tool(
        name="merge_worktree",
        kind="edit",
        description="Bring the work of a worktree's branch (a subagent's, say) into the branch you work "
        "on. It is tried beside: a conflict is listed and changes nothing. The tree must be clean.",
        parameters=schema(MergeWorktree),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(MergeWorktree, merge_worktree),
        title=make_title("merge", "branch"),
        preview=preview_merge,
        deferred=True,
        aliases=(
            Alias("WorktreeMergeBack", (("source_branch", "branch"), ("target_branch", "target"))),
            Alias("worktree_merge_back", (("source_branch", "branch"), ("target_branch", "target"))),
        ),
        keywords=(*KEYWORDS, "merge"),
        seconds=600.0,
    )
