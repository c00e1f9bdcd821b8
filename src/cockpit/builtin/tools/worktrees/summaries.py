"""Worktrees and merges as text, for models and users."""

import time
from collections.abc import Callable, Iterable

from cockpit.plugin.tools import Arguments
from cockpit.workspace.worktrees.values import MergeTrial, PruneOutcome, WorktreeRow

KEYWORDS = ("worktree", "branch", "isolate", "parallel", "git")
MAX_LISTED = 40


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
