"""What is remembered of our branches, as refs of the repository: they outlive a crash, and what they name is
not swept away. `refs/cockpit/TAIL/base` for the branch `cockpit/TAIL`.
"""

from typing import Literal

from cockpit.workspace.worktrees.names import BRANCHES
from cockpit.workspace.worktrees.running import Git
from cockpit.workspace.worktrees.values import Worktree

Kind = Literal["head", "base", "merged"]
HEAD: Kind = "head"
BASE: Kind = "base"
MERGED: Kind = "merged"
KINDS: tuple[Kind, ...] = (HEAD, BASE, MERGED)
REFS = "refs/cockpit/"


async def write(git: Git, tree: Worktree, kind: Kind, commit: str) -> None:
    await git.say("update-ref", f"{REFS}{tree.tail}/{kind}", commit)


async def forget(git: Git, tail: str) -> None:
    for kind in KINDS:
        await git.run("update-ref", "-d", f"{REFS}{tail}/{kind}")


async def read(git: Git) -> dict[str, dict[str, str]]:
    """What is on record, by the branch's tail and the kind."""
    found: dict[str, dict[str, str]] = {}
    said = await git.say("for-each-ref", "--format=%(refname) %(objectname)", REFS)
    for line in said.splitlines():
        name, _, commit = line.partition(" ")
        tail, _, kind = name.removeprefix(REFS).rpartition("/")
        if tail and kind in KINDS:
            found.setdefault(tail, {})[kind] = commit
    return found


async def branches(git: Git) -> dict[str, str]:
    """Our branches and their commits."""
    said = await git.say("for-each-ref", "--format=%(refname:short) %(objectname)", f"refs/heads/{BRANCHES}")
    return dict(line.split(" ", 1) for line in said.splitlines() if " " in line)
