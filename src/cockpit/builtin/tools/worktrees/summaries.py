"""Worktrees and merges in words, for models and people alike."""

import time
from collections.abc import Callable, Iterable

from cockpit.plugin.tools import Arguments
from cockpit.workspace.worktrees.values import MergeTrial, PruneOutcome, WorktreeRow

KEYWORDS = ("worktree", "branch", "isolate", "parallel", "git")
MAX_LISTED = 40
DRY_RUN_WORDS = {True: "would go", False: "stays"}


def describe_worktree(row: WorktreeRow) -> str:
    """One line: `fix-login  cockpit/fix-login-1  2 commits, 3 files +10 -2, not merged, in use`."""
    parts: list[str] = []
    if row.files:
        parts.append(f"{row.commits} commits, {row.files} files +{row.added} -{row.removed}")
        parts.append("merged" if row.is_merged else "not merged")
    if row.uncommitted:
        parts.append(f"{row.uncommitted} files not committed")
    parts = parts or ["nothing done in it"]
    if row.is_in_use:
        parts.append("in use")
    hours = max(0.0, (time.time() - row.used) / 3600)
    parts.append(f"{hours:.0f} h old" if hours < 48 else f"{hours / 24:.0f} days old")
    return f"{row.name or '(no folder)'}  {row.branch}  {', '.join(parts)}"


def describe_worktrees(rows: Iterable[WorktreeRow]) -> str:
    return "\n".join(describe_worktree(row) for row in rows) or "there are no worktrees"


def describe_merge(merge: MergeTrial) -> str:
    """What a merge would bring, or why it cannot be."""
    head = f"{merge.branch} into {merge.target}"
    if merge.conflicts:
        listed = "\n".join(f"  {path}" for path in merge.conflicts)
        return f"{head}: conflicts in {len(merge.conflicts)} files, nothing was changed:\n{listed}"
    if not merge.new:
        return f"{head}: there is nothing to bring"
    lines = [f"{head}: {len(merge.files)} files +{merge.added} -{merge.removed}, no conflict"]
    lines += [
        f"  {file.change} {file.path} (+{file.added} -{file.removed})" for file in merge.files[:MAX_LISTED]
    ]
    if len(merge.files) > MAX_LISTED:
        lines.append(f"  and {len(merge.files) - MAX_LISTED} more files")
    lines += [f"commits: {len(merge.subjects)}"] if merge.subjects else []
    lines += [f"  {subject}" for subject in merge.subjects[:MAX_LISTED]]
    if merge.uncommitted:
        lines.append(f"{merge.uncommitted} files of its worktree are not committed yet; they are, first")
    lines += [f"no agent may change {path}: {reason}" for path, reason in merge.refused]
    return "\n".join(lines)


def describe_pruned(found: Iterable[PruneOutcome], dry_run: bool) -> str:
    words = DRY_RUN_WORDS if dry_run else {True: "gone", False: "stays"}
    lines = [f"{words[one.gone]}: {one.name or one.branch} ({one.reason})" for one in found]
    return "\n".join(lines) or "there are no worktrees"


def make_title(verb: str, *names: str) -> Callable[[Arguments], str]:
    """A tool's title: the verb and what of its arguments says the most."""

    def title(arguments: Arguments) -> str:
        return " ".join((verb, *(str(arguments[name]) for name in names if arguments.get(name))))

    return title
