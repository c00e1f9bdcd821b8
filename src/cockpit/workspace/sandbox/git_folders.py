"""The git folders of a workspace, and which paths in them run programs later. Runs no git.

Pointers in `.git` to other folders are the claims of a repository: they are believed only if the folder they
point to points back (CVE-2026-40068, a spoofed commondir).
"""

import contextlib
import os
from dataclasses import dataclass

from cockpit.settings import file_io
from cockpit.workspace.resolver import is_within

MAX_SUBMODULES = 64
MAX_FOLDERS = 512
MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class GitFolders:
    """`stores` are the folders that a commit writes. `fixed` are paths in them that must not change or
    appear, `unwelcome` those that must not appear where a stub would break git."""

    stores: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    unwelcome: tuple[str, ...] = ()


def git_folders(root: str) -> GitFolders:
    """The git folders of the work tree whose top is `root` (real, absolute)."""
    dot = os.path.join(root, ".git")
    if os.path.islink(dot):
        return GitFolders()
    if os.path.isdir(dot):
        return GitFolders((dot,), _fixed_paths(dot), _unwelcome_paths(dot))
    store = read_pointer(dot, "gitdir:")
    if not store or os.path.realpath(read_pointer(os.path.join(store, "gitdir"))) != os.path.realpath(dot):
        return GitFolders()
    common = read_pointer(os.path.join(store, "commondir"))
    if not common or os.path.dirname(store) != os.path.join(common, "worktrees"):
        return GitFolders()
    if not os.path.isfile(os.path.join(common, "HEAD")):
        return GitFolders()
    return GitFolders((common,), _fixed_paths(common), _unwelcome_paths(common))


def nested_git_folders(protected: tuple[str, ...], known: GitFolders) -> GitFolders:
    """The git folders of repositories inside a workspace, from its protected paths: a build may commit in
    them, but not change what git runs."""
    dots = (path for path in protected if os.path.basename(path) == ".git" and path not in known.stores)
    stores = tuple(path for path in dots if os.path.isdir(path))
    fixed = tuple(path for store in stores for path in _fixed_paths(store) if os.path.lexists(path))
    return GitFolders(stores, fixed)


def work_tree_top(root: str, home: str) -> str:
    """The top of the work tree that contains `root`, or `root` itself outside of a repository. A home folder
    that is a repository does not count."""
    above = root
    while not os.path.lexists(os.path.join(above, ".git")):
        if above in (os.path.dirname(above), home):
            return root
        above = os.path.dirname(above)
    return root if is_within(home, above) else above


def read_pointer(file: str, word: str = "") -> str:
    """The real path that one of git's pointer files names, or ""."""
    try:
        line = file_io.read_bytes(file, 4096).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    if not line.startswith(word) or "\n" in line or "\0" in line:
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(file), line.removeprefix(word).strip()))


def _fixed_paths(store: str) -> tuple[str, ...]:
    paths: list[str] = []
    for folder in (store, *_submodule_stores(f"{store}/modules")):
        paths += [f"{folder}/config", f"{folder}/hooks", f"{folder}/config.worktree"]
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(f"{store}/worktrees"))[:MAX_SUBMODULES]:
            folder = f"{store}/worktrees/{name}"
            paths += [f"{folder}/commondir", f"{folder}/gitdir", f"{folder}/config.worktree"]
    return tuple(path for path in paths if os.path.lexists(path) or path == f"{store}/hooks")


def _unwelcome_paths(store: str) -> tuple[str, ...]:
    """Where a stub would stop git. Work tree settings count only if the repository enables them."""
    return (f"{store}/commondir", f"{store}/config.worktree")


def _submodule_stores(folder: str) -> list[str]:
    """The git folders of submodules below `folder`: a submodule's name may be a path (`libs/foo`), and a
    submodule may contain others."""
    pending, stores, visited = [(folder, 0)], list[str](), 0
    while pending and visited < MAX_FOLDERS and len(stores) < MAX_SUBMODULES:
        folder, depth = pending.pop()
        visited += 1
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
            if os.path.isfile(f"{folder}/HEAD"):
                stores.append(folder)
                below = [f"{folder}/modules"] if f"{folder}/modules" in below else []
            pending += [(path, depth + 1) for path in below if depth < MAX_DEPTH]
    return stores
