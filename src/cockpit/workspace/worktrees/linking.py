"""Folders of installed packages, which git ignores and every worktree needs: links to those of the origin's.

They are never written through: a link that leads out of its root is refused by the path rules, and a held
program sees such a folder read-only (docs/worktrees.md).
"""

import asyncio
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cockpit.workspace.words import words
from cockpit.workspace.worktrees.excluding import exclude
from cockpit.workspace.worktrees.running import Git

# What an install makes and a build reads. What a build writes (target, dist, build) is each tree's own.
PACKAGES = words(
    """
    node_modules bower_components jspm_packages .pnpm-store .venv venv __pypackages__ vendor Pods Carthage
    .bundle deps elm-stuff
    """
)
MOST = 200


@dataclass(frozen=True, slots=True)
class Link:
    """`at` is to lead to the folder `target`: real, absolute paths. A `junction` is Windows' link of
    folders that needs no rights of an administrator."""

    at: str
    target: str
    kind: Literal["symlink", "junction"]


def planned(origin: str, worktree: str, listed: Iterable[str], platform: str) -> tuple[Link, ...]:
    """The links for the ignored folders that git `listed` (relative, ending in `/`). Pure."""
    sign = "\\" if platform == "win32" else "/"
    kind: Literal["symlink", "junction"] = "junction" if platform == "win32" else "symlink"
    found: list[Link] = []
    for name in listed:
        parts = tuple(part for part in name.split("/") if part)
        outermost = [part in PACKAGES for part in parts]
        if name.endswith("/") and parts and outermost[-1] and not any(outermost[:-1]):
            found.append(Link(sign.join((worktree, *parts)), sign.join((origin, *parts)), kind))
    return tuple(found[:MOST])


async def link(git: Git, origin: str, worktree: str) -> tuple[Link, ...]:
    """Make the links of `worktree`; those that are there now."""
    made = await asyncio.to_thread(_made, await links(git, origin, worktree))
    if made:
        await _ignored(git.at(worktree), [relative(one, worktree) for one in made])
    return made


async def links(git: Git, origin: str, worktree: str) -> tuple[Link, ...]:
    """The links that a worktree may have, there or not. Worked out from the origin alone: what lies in the
    worktree is its agent's word."""
    command = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    listed = (await git.at(origin).say(*command)).split("\0")
    return await asyncio.to_thread(_real, planned(origin, worktree, listed, sys.platform))


def leads_to(one: Link) -> bool:
    """Whether the link is there and leads where it should."""
    return is_link(one.at) and os.path.realpath(one.at) == os.path.realpath(one.target)


def unlink(worktree: str, found: Iterable[Link]) -> None:
    """Take the links away, and never what they lead to."""
    for one in found:
        if is_link(one.at):
            # A junction is removed as the folder it looks like; what is in it stays.
            os.rmdir(one.at) if one.kind == "junction" else os.unlink(one.at)


def relative(one: Link, worktree: str) -> str:
    """Where a link lies in its worktree, with `/`."""
    return os.path.relpath(one.at, worktree).replace(os.sep, "/")


def is_link(path: str) -> bool:
    """Whether `path` is a symbolic link or a junction."""
    if os.path.islink(path):
        return True
    try:
        return bool(getattr(os.lstat(path), "st_reparse_tag", 0))
    except OSError:
        return False


def _real(plan: tuple[Link, ...]) -> tuple[Link, ...]:
    """Those that lead to folders of the origin's own: a link in their place could lead anywhere."""
    return tuple(one for one in plan if os.path.isdir(one.target) and not is_link(one.target))


def _made(plan: tuple[Link, ...]) -> tuple[Link, ...]:
    return tuple(one for one in plan if _is_made(one))


def _is_made(one: Link) -> bool:
    if os.path.lexists(one.at):
        return leads_to(one)
    if not os.path.isdir(os.path.dirname(one.at)):
        return False
    if one.kind == "junction":
        _junction(one)
    else:
        os.symlink(one.target, one.at, target_is_directory=True)
    return True


def _junction(one: Link) -> None:
    if sys.platform == "win32":
        import _winapi

        _winapi.CreateJunction(one.target, one.at)


async def _ignored(git: Git, paths: list[str]) -> None:
    """`node_modules/` names folders alone: a link of that name would be a new file to git."""
    told = b"\0".join(os.fsencode(path) for path in paths) + b"\0"
    _, said = await git.run("check-ignore", "-z", "--stdin", "--no-index", stdin=told)
    known = set(said.split("\0"))
    store = (await git.say("rev-parse", "--path-format=absolute", "--git-common-dir")).strip()
    for path in paths:
        if path not in known:
            exclude(store, f"/{path}")
