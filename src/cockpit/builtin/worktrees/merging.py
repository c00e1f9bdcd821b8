"""`merge_worktree`: a branch's work comes into the branch that is worked on, as one change that a person sees
whole. What was seen is what is applied: both are tried, and their trees compared.
"""

import asyncio
import os
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cockpit.builtin.changing import announce
from cockpit.builtin.worktrees.words import WORDS, merge_words, titled
from cockpit.errors import CockpitError
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.changes import ChangeSet, DeleteFile, Edit, WriteFile
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool, ToolFailed
from cockpit.protocol.content import Block
from cockpit.protocol.events import FileChanged
from cockpit.workspace.changes import diff_of
from cockpit.workspace.worktrees import merging
from cockpit.workspace.worktrees.listing import rows
from cockpit.workspace.worktrees.pruning import take_away
from cockpit.workspace.worktrees.running import Git, opened
from cockpit.workspace.worktrees.values import FileRow, Merge, Repository

TREE = "tree-"
PLAIN = frozenset({"100644", "100755", ""})


@dataclass(frozen=True, slots=True)
class MergeBack:
    branch: Annotated[str, "the worktree, or its branch"]
    target: Annotated[str, "the branch it goes into; empty: the one that is checked out"] = ""
    dry_run: Annotated[bool, "only say what it would bring, or where it conflicts"] = False
    remove: Annotated[bool, "take worktree and branch away when all is merged"] = True


async def preview(arguments: Arguments, context: Context) -> Preview:
    """The merge, tried in a scratch worktree. Raises what makes it impossible: nothing has changed then."""
    wanted = parse(MergeBack, arguments)
    if wanted.dry_run:
        return Preview(title=f"merge {wanted.branch} (only a look)")
    git, seen = await opened(context.workspace.processes, context.workspace.root)
    async with merging.tried(git, seen, wanted.branch, wanted.target) as (merge, scratch):
        merging.refuse(merge)
        _may_change(merge, seen)
        if merge.tree:
            # Before anybody is asked: a yes would come to nothing.
            await merging.must_be_clean(git.at(merge.tree), merge)
        changes = await _changes(merge, scratch, context)
    title = (
        f"merge {merge.branch} into {merge.target}: {len(merge.files)} files +{merge.added} -{merge.removed}"
    )
    top = merge.tree or seen.top
    paths = tuple(posixpath.join(top, file.path) for file in merge.files)
    shown = Part(f"{TREE}{merge.result}", title, merge_words(merge))
    return Preview(title, (shown,), changes, paths=paths, whole=True)


async def run(arguments: MergeBack, context: Context) -> Done:
    git, seen = await opened(context.workspace.processes, context.workspace.root)
    if arguments.dry_run:
        merge = await merging.look(git, seen, arguments.branch, arguments.target)
        return Done(merge_words(merge), is_error=bool(merge.conflicts))
    shown = context.running().preview
    await merging.committed(git, seen, arguments.branch)
    async with merging.tried(git, seen, arguments.branch, arguments.target) as (merge, _):
        merging.refuse(merge)
        _may_change(merge, seen)
        if shown is None or not any(part.id == f"{TREE}{merge.result}" for part in shown.parts):
            raise ToolFailed("what would be merged is not what was approved; call it again")
        await merging.apply(git, seen, merge)
    blocks = _announced(merge, shown.changes, context)
    said = [merge_words(merge).replace(", no conflict", ", merged")]
    if arguments.remove and (gone := await _removed(git, seen, merge.branch)):
        said.append(gone)
    return Done(
        "\n".join(said), blocks, {"branch": merge.branch, "target": merge.target, "commit": merge.new}
    )


def _may_change(merge: Merge, seen: Repository) -> None:
    """An agent changes the tree it stands in, and branches that are checked out nowhere."""
    if merge.tree and os.path.realpath(merge.tree) != seen.top:
        raise ToolFailed(
            f"{merge.target} is checked out in {merge.tree}, and you work in {seen.top}: leave_worktree with "
            "`merge`, or report the branch to whoever works there"
        )


async def _changes(merge: Merge, scratch: str, context: Context) -> ChangeSet | None:
    """The merge as a change of the files, hunk by hunk; None where it is more than that (a link, a submodule)
    or goes into a branch that is checked out nowhere."""
    if not merge.tree or any(file.mode not in PLAIN for file in merge.files):
        return None
    try:
        edits = await asyncio.to_thread(_edits, merge, scratch)
        running = context.call
        return await context.workspace.plan(edits, context.session.agent, running.call.id if running else "")
    except (CockpitError, OSError):
        # Too large to be shown, say: its numbers are.
        return None


def _edits(merge: Merge, scratch: str) -> tuple[Edit, ...]:
    return tuple(_edit(file, merge.tree, scratch) for file in merge.files)


def _edit(file: FileRow, tree: str, scratch: str) -> Edit:
    path = str(Path(tree, file.path))
    if file.change == "deleted":
        return DeleteFile(path)
    content = Path(scratch, file.path).read_bytes()
    return WriteFile(path, content, mode=0o755 if file.mode == "100755" else 0o644)


def _announced(merge: Merge, changes: ChangeSet | None, context: Context) -> tuple[Block, ...]:
    """Tell screens and language servers what is different now."""
    if changes is not None:
        announce(changes, context)
        return tuple(map(diff_of, changes.files))
    if merge.tree:
        for file in merge.files:
            context.navigator.changed(file.path, None, ())
            context.session.emit(FileChanged(file.path, file.change, file.added, file.removed))
    return ()


async def _removed(git: Git, seen: Repository, branch: str) -> str:
    """Take away what holds nothing more than the target does."""
    for row in await rows(git, seen):
        if row.branch == branch and row.is_merged and not row.uncommitted and not row.is_in_use:
            await take_away(git.at(seen.origin), row)
            return f"{branch} is gone, and its worktree"
    return ""


def tool() -> Tool:
    return Tool(
        name="merge_worktree",
        kind="edit",
        description="Bring the work of a worktree's branch (a subagent's, say) into the branch you work "
        "on. It is tried beside: a conflict is listed and changes nothing. The tree must be clean.",
        parameters=schema(MergeBack),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(MergeBack, run),
        title=titled("merge", "branch"),
        preview=preview,
        deferred=True,
        aliases=(
            Alias("WorktreeMergeBack", (("source_branch", "branch"), ("target_branch", "target"))),
            Alias("worktree_merge_back", (("source_branch", "branch"), ("target_branch", "target"))),
        ),
        keywords=(*WORDS, "merge"),
        seconds=600.0,
    )
