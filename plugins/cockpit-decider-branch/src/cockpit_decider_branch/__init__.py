"""Keeps agents from committing to the main branch. An example of `register_deciders`.

A decider returns the verdict allow, ask or deny for a call, or None. The strictest verdict wins. This decider
never returns allow, so it can only tighten.
"""

import asyncio
import re
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.values import Register, Scope

PROTECTED = ("main", "master")
# Commands that create or push commits: `git commit`, `git -C folder merge`, `git push`.
COMMIT_COMMAND = re.compile(r"\bgit\b[^|;&\n]*\b(commit|merge|rebase|cherry-pick|revert|push|am)\b")


def read_branch(root: Path) -> str:
    """The branch checked out in `root`, or an empty string. Starts no process."""
    git = root / ".git"
    try:
        if git.is_file():  # In a worktree, `.git` is a file that names the folder.
            git = root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""


def creates_commit(judged: Judged) -> bool:
    """Whether the call creates or pushes a commit, with the `git` tool or with a command line."""
    arguments = judged.call.arguments
    words = " ".join(str(word) for word in (arguments.get("command"), arguments.get("action")) if word)
    return bool(COMMIT_COMMAND.search(words if judged.tool.name == "shell" else f"git {words}"))


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    configured = scope.settings.get("branches")
    protected = [str(name) for name in configured] if isinstance(configured, list) else list(PROTECTED)

    async def decide(judged: Judged) -> Verdict | None:
        if judged.tool.name not in ("shell", "git") or not creates_commit(judged):
            return None
        # A decider must not block the event loop, and a disk may be slow.
        branch = await asyncio.to_thread(read_branch, Path(judged.context.workspace.root))
        if branch not in protected:
            return None
        return Verdict(
            "deny",
            f"{branch} is protected: agents may not commit to it",
            rules=("branch:protected",),
            alternative="create a branch first: git switch -c NAME",
        )

    register(Decider("branch", decide))
