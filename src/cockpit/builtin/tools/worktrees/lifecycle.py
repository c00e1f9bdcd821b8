"""The tools `enter_worktree`, `leave_worktree` and `prune_worktrees`.

A session enters a worktree of its repository, leaves it again, and removes old ones. Work that exists
nowhere else is never discarded without an explicit argument.
"""

import asyncio
import posixpath
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.workspace import AgentWorktree
from cockpit.protocol.messages import Json
from cockpit.workspace.worktrees.git_client import open_repository
from cockpit.workspace.worktrees.inventory import MAX_AGE_HOURS, find_worktree, prune_worktrees, read_row
from cockpit.workspace.worktrees.lifecycle import commit_work, discard_worktree
from cockpit.workspace.worktrees.values import MergeTrial, PruneOutcome, WorktreeRow

KEYWORDS = ("worktree", "branch", "isolate", "parallel", "git")
MAX_LISTED = 40

# Entering


@dataclass(frozen=True, slots=True)
class EnterWorktree:
    name: Annotated[str, "its purpose in a word or two; an existing worktree of that name is entered again"]
    ref: Annotated[str, "from this commit or branch; empty: what is checked out now"] = ""
    create: Annotated[bool, "false: only enter an existing worktree"] = True
    carry: Annotated[bool, "with what is not committed yet (without a ref)"] = True


async def enter_worktree(arguments: EnterWorktree, context: Context) -> Done:
    worktree = await context.session.worktrees.enter(
        arguments.name, ref=arguments.ref, create=arguments.create, carry=arguments.carry
    )
    data: Json = {"root": worktree.root, "branch": worktree.branch, "name": worktree.name}
    return Done(describe_entry(worktree), data=data)


def describe_entry(worktree: AgentWorktree) -> str:
    """Describe where the session works now, and how to leave."""
    lines = (
        f"You work in the worktree {worktree.name} now: {worktree.root}, on the branch {worktree.branch}.",
        f"Name files relative to it. {worktree.origin} itself is not changed from here.",
        *worktree.notes,
        "leave_worktree (the user: /worktree leave) brings you back: keep, merge or remove.",
    )
    return "\n".join(lines)


async def preview_enter(arguments: Arguments, context: Context) -> Preview:
    entry = parse(EnterWorktree, arguments)
    start = entry.ref or ("HEAD with uncommitted changes" if entry.carry else "HEAD")
    detail = f"a separate folder and branch under .cockpit/worktrees, from {start}; your tree is not changed"
    return Preview(f"work in the worktree {entry.name}", (Part("enter", entry.name, detail),))


def normalize_enter(arguments: Arguments) -> Arguments:
    """Translate other agents' arguments: `path`, `branch`, `new_branch`, `base`."""
    normalized = dict(arguments)
    path, branch, new_branch, base = (
        str(normalized.pop(name, "") or "") for name in ("path", "branch", "new_branch", "base")
    )
    if not normalized.get("name"):
        folder = posixpath.basename(path.replace("\\", "/").rstrip("/"))
        normalized["name"] = folder or new_branch or branch or "work"
    if not normalized.get("ref") and (ref := base or (branch if branch != normalized["name"] else "")):
        normalized["ref"] = ref
    return normalized


def enter_tool() -> Tool:
    return Tool(
        name="enter_worktree",
        kind="edit",
        description="Work in a git worktree of this repository: its own folder and branch, with what is "
        "not committed yet. All tools work there until leave_worktree.",
        parameters=schema(EnterWorktree),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(EnterWorktree, enter_worktree),
        preview=preview_enter,
        title=make_title("enter worktree", "name"),
        deferred=True,
        aliases=tuple(
            Alias(name, reshape=normalize_enter) for name in ("EnterWorktree", "git_worktree_enter")
        ),
        keywords=KEYWORDS,
        seconds=600.0,
    )


# Leaving


@dataclass(frozen=True, slots=True)
class LeaveWorktree:
    keep: Annotated[bool, "leave its work on its branch, for later"] = False
    merge: Annotated[bool, "merge its work into the session's branch (the user is asked)"] = False
    remove: Annotated[bool, "remove the worktree and its branch"] = False
    discard: Annotated[bool, "with remove: even with work that exists nowhere else"] = False


async def leave_worktree(arguments: LeaveWorktree, context: Context) -> Done:
    worktrees = context.session.worktrees
    worktree = worktrees.now
    if worktree is None:
        raise ToolFailed("you are not in a worktree; enter_worktree enters one")
    outcome = ""

    async def settle() -> None:
        nonlocal outcome
        outcome = await _settle_work(arguments, context, worktree)

    await worktrees.leave(settle)
    text = f"You work in the session's folder again: {context.session.root}.\n{outcome}"
    if not arguments.merge or outcome.startswith("Nothing"):
        return Done(text)
    result = await context.session.call_tool("merge_worktree", {"branch": worktree.branch, "remove": True})
    return Done(f"{text}\n{result.text}", result.blocks, is_error=result.outcome != "ok")


async def _settle_work(arguments: LeaveWorktree, context: Context, worktree: AgentWorktree) -> str:
    """Commit or discard the work in a worktree. Raises `ToolFailed` if the arguments do not decide which."""
    name = worktree.name
    if not await asyncio.to_thread(Path(worktree.top).is_dir):
        return f"The folder of {name} is gone; its branch is {worktree.branch}."
    git, repository = await open_repository(context.workspace.processes, worktree.top)
    tree = await find_worktree(git, repository, worktree.branch)
    if tree is None:
        return f"{name} is no longer a worktree of the repository."
    row = await read_row(git, tree)
    if row.is_empty:
        await discard_worktree(git.at(tree.origin), tree)
        return f"Nothing was done in {name}, so it was removed."
    work = f"{row.files} files +{row.added} -{row.removed}"
    work += f", {row.uncommitted} files not committed" if row.uncommitted else ""
    unmerged = bool(row.uncommitted) or not row.is_merged
    if unmerged and not (arguments.keep or arguments.merge or (arguments.remove and arguments.discard)):
        choices = "set `keep`, `merge`, or `remove` with `discard`"
        raise ToolFailed(f"{name} has work that exists nowhere else ({work}); {choices}")
    if arguments.remove and not arguments.merge:
        await discard_worktree(git.at(tree.origin), tree)
        return f"{name} was removed, with its branch."
    notes = await commit_work(git.at(tree.path), tree, f"Work in {name}")
    return "\n".join((f"The work of {name} is on the branch {worktree.branch} ({work}).", *notes))


def normalize_leave(arguments: Arguments) -> Arguments:
    """Translate other agents' arguments: `cleanup`, `action`, `discard_changes`."""
    normalized = dict(arguments)
    action, cleanup = str(normalized.pop("action", "") or ""), normalized.pop("cleanup", None)
    if (discard := normalized.pop("discard_changes", None)) is not None:
        normalized["discard"] = discard
    if action in ("keep", "remove", "merge"):
        normalized[action] = True
    elif cleanup is not None and "remove" not in normalized:
        normalized["remove"] = cleanup
    return normalized


def leave_tool() -> Tool:
    return Tool(
        name="leave_worktree",
        kind="other",
        description="Work in the session's own folder again. For work that exists nowhere else, say keep, "
        "merge, or remove with discard.",
        parameters=schema(LeaveWorktree),
        capabilities=frozenset({"vcs.local", "fs.write"}),
        run=typed(LeaveWorktree, leave_worktree),
        title=make_title("leave worktree"),
        deferred=True,
        aliases=(Alias("ExitWorktree", reshape=normalize_leave),),
        keywords=KEYWORDS,
        seconds=3600.0,
    )


# Pruning


@dataclass(frozen=True, slots=True)
class PruneWorktrees:
    max_age_hours: Annotated[float, "only those unused for this long"] = MAX_AGE_HOURS
    dry_run: Annotated[bool, "only list what would be removed"] = False
    unmerged: Annotated[bool, "also work that exists nowhere else: it is lost"] = False
    name: Annotated[str, "only this worktree or branch"] = ""


async def preview_prune(arguments: Arguments, context: Context) -> Preview:
    request = parse(PruneWorktrees, arguments)
    if request.dry_run:
        return Preview(title="prune worktrees (dry run)")
    dry_run = await run_prune(replace(request, dry_run=True), context)
    return Preview("prune worktrees", (Part("prune", "prune worktrees", dry_run.text),))


async def run_prune(request: PruneWorktrees, context: Context) -> Done:
    git, repository = await open_repository(context.workspace.processes, context.workspace.root)
    outcomes = await prune_worktrees(
        git, repository, request.max_age_hours, request.dry_run, request.unmerged, request.name
    )
    return Done(describe_pruned(outcomes, request.dry_run), data=[asdict(outcome) for outcome in outcomes])


def prune_tool() -> Tool:
    return Tool(
        name="prune_worktrees",
        kind="delete",
        description="Remove old worktrees whose work is merged, or that have none.",
        parameters=schema(PruneWorktrees),
        capabilities=frozenset({"vcs.local", "fs.delete"}),
        run=typed(PruneWorktrees, run_prune),
        title=make_title("prune worktrees", "name"),
        preview=preview_prune,
        deferred=True,
        aliases=(Alias("worktree_prune"), Alias("WorktreePrune")),
        keywords=(*KEYWORDS, "clean"),
        seconds=600.0,
    )


# Worktrees and merges as text


def describe_worktree(row: WorktreeRow) -> str:
    """Describe a worktree: `fix  cockpit/fix-1  2 commits, 3 files +10 -2, not merged, in use`."""
    parts: list[str] = []
    if row.files:
        parts.append(f"{row.commits} commits, {row.files} files +{row.added} -{row.removed}")
        parts.append("merged" if row.is_merged else "not merged")
    if row.uncommitted:
        parts.append(f"{row.uncommitted} files not committed")
    parts = parts or ["no changes"]
    if row.is_in_use:
        parts.append("in use")
    hours = max(0.0, (time.time() - row.used) / 3600)
    parts.append(f"{hours:.0f} h old" if hours < 48 else f"{hours / 24:.0f} days old")
    return f"{row.name or '(no folder)'}  {row.branch}  {', '.join(parts)}"


def describe_worktrees(rows: Iterable[WorktreeRow]) -> str:
    return "\n".join(map(describe_worktree, rows)) or "there are no worktrees"


def describe_merge(merge: MergeTrial) -> str:
    """Describe what a merge would change, or why it is not possible."""
    heading = f"{merge.branch} into {merge.target}"
    if merge.conflicts:
        listed = "\n".join(f"  {path}" for path in merge.conflicts)
        return f"{heading}: conflicts in {len(merge.conflicts)} files, nothing was changed:\n{listed}"
    if not merge.new:
        return f"{heading}: there is nothing to merge"
    lines = [f"{heading}: {len(merge.files)} files +{merge.added} -{merge.removed}, no conflict"]
    files = merge.files[:MAX_LISTED]
    lines += [f"  {file.change} {file.path} (+{file.added} -{file.removed})" for file in files]
    if len(merge.files) > MAX_LISTED:
        lines.append(f"  and {len(merge.files) - MAX_LISTED} more files")
    lines += [f"commits: {len(merge.subjects)}"] if merge.subjects else []
    lines += [f"  {subject}" for subject in merge.subjects[:MAX_LISTED]]
    if merge.uncommitted:
        lines.append(f"{merge.uncommitted} files of its worktree are not committed yet; they will be, first")
    lines += [f"no agent may change {path}: {reason}" for path, reason in merge.refused]
    return "\n".join(lines)


def describe_pruned(outcomes: Iterable[PruneOutcome], dry_run: bool) -> str:
    removed = "would be removed" if dry_run else "removed"
    lines = [
        f"{removed if row.gone else 'kept'}: {row.name or row.branch} ({row.reason})" for row in outcomes
    ]
    return "\n".join(lines) or "there are no worktrees"


def make_title(verb: str, *names: str) -> Callable[[Arguments], str]:
    """Make a tool's title of a verb and the arguments called `names`."""

    return lambda arguments: " ".join(
        (verb, *(str(arguments[name]) for name in names if arguments.get(name)))
    )
