"""Nothing is committed to the main branch by an agent. Teaches `register_deciders`.

A decider says allow, ask or deny of a call, or nothing. Of several verdicts the strictest wins, so this one
can only tighten: it never says allow.
"""

import asyncio
import re
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.values import Register, Scope

PROTECTED = ("main", "master")
# What makes a commit or sends one: `git commit`, `git -C there merge`, `git push`.
COMMITS = re.compile(r"\bgit\b[^|;&\n]*\b(commit|merge|rebase|cherry-pick|revert|push|am)\b")


def branch_of(root: Path) -> str:
    """The branch that is checked out in `root`, empty where there is none. No process is started."""
    git = root / ".git"
    try:
        if git.is_file():  # a worktree names its folder
            git = root / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else ""


def commits(judged: Judged) -> bool:
    """Whether the call makes a commit: by `git`, or by a command line."""
    arguments = judged.call.arguments
    words = " ".join(str(one) for one in (arguments.get("command"), arguments.get("action")) if one)
    return bool(COMMITS.search(words if judged.tool.name == "shell" else f"git {words}"))


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    configured = scope.settings.get("branches")
    protected = [str(one) for one in configured] if isinstance(configured, list) else list(PROTECTED)

    async def decide(judged: Judged) -> Verdict | None:
        if judged.tool.name not in ("shell", "git") or not commits(judged):
            return None
        # A decider must not block the loop, and a disk may be slow.
        branch = await asyncio.to_thread(branch_of, Path(judged.context.workspace.root))
        if branch not in protected:
            return None
        return Verdict(
            "deny",
            f"{branch} is protected: nothing is committed to it from here",
            rules=("branch:protected",),
            alternative="make a branch first: git switch -c NAME",
        )

    register(Decider("branch", decide))
