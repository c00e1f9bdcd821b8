"""Links from a worktree to the installed packages of its origin, which git ignores and every worktree needs.

Nothing is written through them: the path rules refuse a link that leaves its root, and a sandboxed program
sees such a folder read-only (docs/use/worktrees.md). Also keeps paths out of git's status with
`.git/info/exclude`, and finds the editable installs of a linked Python environment: these import from the
origin, so tests in the worktree would run the wrong code.
"""

import asyncio
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import escape, glob
from typing import Literal

from cockpit.errors import CockpitError
from cockpit.settings import file_io
from cockpit.workspace.word_set import word_set
from cockpit.workspace.worktrees.git_client import GitClient

SPECIAL_CHARACTERS = re.compile(r"([\\*?\[\]!# ])")


def exclude_from_status(store: str, path: str, folder: bool = False) -> None:
    """Make git ignore `path` (from the top of a work tree, with a leading `/`). Raises `CockpitError`."""
    line = SPECIAL_CHARACTERS.sub(r"\\\1", path) + ("/" if folder else "")
    file = os.path.join(store, "info", "exclude")
    try:
        text = file_io.read_text(file) if os.path.lexists(file) else ""
        if line in text.splitlines():
            return
        if os.path.islink(file) or os.path.islink(os.path.dirname(file)):
            raise OSError(0, "it is a symbolic link", file)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(file, flags, 0o644), "ab") as out:
            gap = "" if not text or text.endswith("\n") else "\n"
            out.write(f"{gap}{line}\n".encode("utf-8", "surrogateescape"))
    except OSError as error:
        reason = f"cannot exclude {path} from git's status: {file}: {error.strerror or error}"
        raise CockpitError(reason, f"add the line {line} to that file") from error


# Folders that an install makes and a build reads. What a build writes (target, dist) is not shared.
PACKAGE_FOLDERS = word_set(
    """
    node_modules bower_components jspm_packages .pnpm-store .venv venv __pypackages__ vendor Pods Carthage
    .bundle deps elm-stuff
    """
)
MAX_LINKS = 200


@dataclass(frozen=True, slots=True)
class PackageLink:
    """A link at `at` to the folder `target`: real, absolute paths. A `junction` is a link to a folder that
    needs no administrator rights on Windows."""

    at: str
    target: str
    kind: Literal["symlink", "junction"]


def plan_links(origin: str, worktree: str, listed: Iterable[str], platform: str) -> tuple[PackageLink, ...]:
    """The links for the ignored folders in `listed` (relative, ending in `/`). Pure."""
    sign = "\\" if platform == "win32" else "/"
    kind: Literal["symlink", "junction"] = "junction" if platform == "win32" else "symlink"
    links: list[PackageLink] = []
    for name in listed:
        parts = tuple(part for part in name.split("/") if part)
        outermost = [part in PACKAGE_FOLDERS for part in parts]
        if name.endswith("/") and parts and outermost[-1] and not any(outermost[:-1]):
            links.append(PackageLink(sign.join((worktree, *parts)), sign.join((origin, *parts)), kind))
    return tuple(links[:MAX_LINKS])


async def make_links(git: GitClient, origin: str, worktree: str) -> tuple[PackageLink, ...]:
    """Create the links of `worktree`; returns those that exist now."""
    planned = await find_links(git, origin, worktree)
    made = await asyncio.to_thread(lambda: tuple(filter(_make_link, planned)))
    if made:
        await _exclude_links(git.at(worktree), [relative_link_path(link, worktree) for link in made])
    return made


async def find_links(git: GitClient, origin: str, worktree: str) -> tuple[PackageLink, ...]:
    """The links that a worktree may have, existing or not. Derived from the origin alone: an agent controls
    the content of the worktree."""
    options = ("--others", "--ignored", "--exclude-standard", "--directory")
    plan = plan_links(origin, worktree, await git.at(origin).fields("ls-files", *options), sys.platform)
    return await asyncio.to_thread(lambda: tuple(filter(_has_real_target, plan)))


def is_intact(link: PackageLink) -> bool:
    """Whether the link exists and leads where it should."""
    return is_link(link.at) and os.path.realpath(link.at) == os.path.realpath(link.target)


def remove_links(worktree: str, links: Iterable[PackageLink]) -> None:
    """Remove the links, never their targets."""
    for link in links:
        if is_link(link.at):
            # A junction is removed like a folder; its content stays.
            os.rmdir(link.at) if link.kind == "junction" else os.unlink(link.at)


def relative_link_path(link: PackageLink, worktree: str) -> str:
    """The path of a link in its worktree, with `/`."""
    return os.path.relpath(link.at, worktree).replace(os.sep, "/")


def is_link(path: str) -> bool:
    """Whether `path` is a symbolic link or a junction."""
    if os.path.islink(path):
        return True
    try:
        return bool(getattr(os.lstat(path), "st_reparse_tag", 0))
    except OSError:
        return False


def _has_real_target(link: PackageLink) -> bool:
    """Whether the target is a real folder of the origin: a link in its place could lead anywhere."""
    return os.path.isdir(link.target) and not is_link(link.target)


def _make_link(link: PackageLink) -> bool:
    if os.path.lexists(link.at):
        return is_intact(link)
    if not os.path.isdir(os.path.dirname(link.at)):
        return False
    if sys.platform == "win32" and link.kind == "junction":
        import _winapi

        _winapi.CreateJunction(link.target, link.at)
    else:
        os.symlink(link.target, link.at, target_is_directory=True)
    return True


async def _exclude_links(git: GitClient, paths: list[str]) -> None:
    """A pattern like `node_modules/` matches folders only, so git would list a link as a new file."""
    stdin = b"\0".join(map(os.fsencode, paths)) + b"\0"
    _, output = await git.run("check-ignore", "-z", "--stdin", "--no-index", stdin=stdin)
    ignored = set(output.split("\0"))
    store = (await git.output("rev-parse", "--path-format=absolute", "--git-common-dir")).strip()
    for path in paths:
        if path not in ignored:
            exclude_from_status(store, f"/{path}")


ENVIRONMENT_FOLDERS = frozenset({".venv", "venv"})
SITE_PACKAGES = ("lib/python*/site-packages", "Lib/site-packages")
QUOTED_PATH = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
MAX_PATH_FILES = 200
MAX_PATH_FILE_BYTES = 200_000


def editable_sources(origin: str, linked: Iterable[str]) -> tuple[str, ...]:
    """The folders of `origin` (relative, with `/`) from which the environments in `linked` import."""
    sources: dict[str, None] = {}
    for environment in linked:
        if os.path.basename(environment) in ENVIRONMENT_FOLDERS:
            for path in _named_paths(environment):
                inside = os.path.relpath(path, origin).replace(os.sep, "/")
                if os.path.isabs(path) and not inside.startswith("../") and inside != "..":
                    sources.setdefault(inside)
    # A package inside the environment itself is installed, not editable.
    return tuple(path for path in sources if not ENVIRONMENT_FOLDERS & set(path.split("/")))


def _named_paths(environment: str) -> Iterator[str]:
    for place in SITE_PACKAGES:
        folder = os.path.join(escape(environment), *place.split("/"))
        for file in sorted(glob(os.path.join(folder, "*.pth")))[:MAX_PATH_FILES]:
            yield from (
                line.strip() for line in _read_text(file).splitlines() if not line.startswith("import")
            )
        for file in sorted(glob(os.path.join(folder, "__editable___*_finder.py")))[:MAX_PATH_FILES]:
            for single, double in QUOTED_PATH.findall(_read_text(file)):
                # The finder maps a package to its folder; imports come from the folder above.
                if os.path.isabs(path := single or double):
                    yield os.path.dirname(path)


def _read_text(path: str) -> str:
    try:
        return file_io.read_text(path, MAX_PATH_FILE_BYTES)
    except OSError:
        return ""
