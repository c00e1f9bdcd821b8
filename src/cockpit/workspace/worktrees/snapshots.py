"""A work tree as it is, as a commit that no branch knows: what is changed and what is new, without touching
index or files. Secrets, ignored files and what is too large are left out, and said.
"""

import asyncio
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass

from cockpit.errors import CockpitError
from cockpit.workspace import names
from cockpit.workspace.worktrees.running import Git

LARGEST = 32 * 1024 * 1024
ALL = 512 * 1024 * 1024
MOST = 50_000
NAMED = 5


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`commit` is upon HEAD, and HEAD itself where nothing is different. `left_out` are files of the tree
    that are not in it; `files` counts what is different."""

    commit: str
    tree: str
    files: int = 0
    left_out: tuple[str, ...] = ()


async def snapshot(git: Git, parent: str, message: str) -> Snapshot:
    """The tree of `git.top` as a commit upon `parent`. Raises `CockpitError` while files are unmerged."""
    if (await git.say("ls-files", "--unmerged", "-z")).strip("\0"):
        raise CockpitError(
            f"a merge is under way in {git.top}: files are unmerged",
            "finish it (or git merge --abort), then try again",
        )
    index = (await git.say("rev-parse", "--path-format=absolute", "--git-path", "index")).strip()
    folder = tempfile.mkdtemp(prefix="cockpit-index-")
    try:
        copy = os.path.join(folder, "index")
        await asyncio.to_thread(_copied, index, copy)
        return await _taken(git, parent, message, {"GIT_INDEX_FILE": copy})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def changed(git: Git) -> tuple[str, ...]:
    """The paths that differ from HEAD or are new, as status lists them."""
    said = await git.say("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    return tuple(field[3:] for field in said.split("\0") if len(field) > 3)


async def _taken(git: Git, parent: str, message: str, own: dict[str, str]) -> Snapshot:
    changed_secrets = await _changed_secrets(git)
    new, left_out = await _new_files(git)
    modules = [
        row.split("\t", 1)[1] for row in await _fields(git, "ls-files", "--stage") if row.startswith("160000")
    ]
    kept_away = (f":(exclude,literal,top){one}" for one in (*changed_secrets, *modules))
    await git.say("add", "--update", "--", ":/", *kept_away, environment=own)
    if new:
        told = b"\0".join(os.fsencode(path) for path in new) + b"\0"
        await git.say("update-index", "--add", "-z", "--stdin", stdin=told, environment=own)
    tree = last_id(await git.say("write-tree", environment=own))
    files = await _fields(git, "diff-tree", "-r", "--name-only", "--no-commit-id", parent, tree)
    commit = parent
    if files:
        said = await git.say(
            "commit-tree", tree, "-p", parent, "-m", message, environment=await git.identity()
        )
        commit = last_id(said)
    return Snapshot(commit, tree, len(files), (*changed_secrets, *left_out))


async def _changed_secrets(git: Git) -> list[str]:
    """Tracked files that hold secrets by their name and are different: their new lines are not copied."""
    rows = await _fields(git, "diff", "--name-only", "HEAD")
    return [path for path in rows if names.sensitive(tuple(path.split("/")))]


async def _new_files(git: Git) -> tuple[list[str], list[str]]:
    """The untracked files that are taken, and those that are not."""
    found = await _fields(git, "ls-files", "--others", "--exclude-standard")
    return await asyncio.to_thread(_sorted_out, git.top, found)


def _sorted_out(top: str, found: list[str]) -> tuple[list[str], list[str]]:
    taken, left_out, size = list[str](), list[str](), 0
    for path in found:
        if path.endswith("/"):
            # A repository within this one: it is its own.
            continue
        try:
            facts = os.lstat(os.path.join(top, path))
        except OSError:
            left_out.append(path)
            continue
        plain = stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)
        fits = facts.st_size <= LARGEST and size + facts.st_size <= ALL and len(taken) < MOST
        if plain and fits and not names.sensitive(tuple(path.split("/"))):
            taken.append(path)
            size += facts.st_size
        else:
            left_out.append(path)
    return taken, left_out


def _copied(index: str, to: str) -> None:
    """With its time: git trusts what it knows of a file only where that is older than the index. A younger
    copy would hide a change of the last moment."""
    if os.path.isfile(index):
        shutil.copy2(index, to)


async def _fields(git: Git, *arguments: str) -> list[str]:
    said = await git.say(arguments[0], "-z", *arguments[1:])
    return [field for field in said.split("\0") if field]


def last_id(said: str) -> str:
    """The id that git printed last. Raises `CockpitError` where there is none."""
    for word in reversed(said.split()):
        if len(word) in (40, 64) and all(letter in "0123456789abcdef" for letter in word):
            return word
    raise CockpitError(f"git gave no id: {said.strip()[:200]}")


def listed(paths: tuple[str, ...] | list[str]) -> str:
    """Some of `paths` by name, and how many more."""
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
