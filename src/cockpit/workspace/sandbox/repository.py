"""Where git keeps what belongs to a workspace, and what of it runs programs later. Runs no git.

What `.git` says of other folders is a repository's own word: it is believed only where the folder it
points at points back (the spoof of a commondir, CVE-2026-40068).
"""

import os
from dataclasses import dataclass

from cockpit.workspace.resolver import is_within

MOST_MODULES = 64


@dataclass(frozen=True, slots=True)
class GitFolders:
    """`stores` are the folders a commit writes to. `fixed` are the paths in them that must not change,
    there or not, `unwelcome` those that must not appear: git itself would stumble over a stub there.
    """

    stores: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    unwelcome: tuple[str, ...] = ()


def git_folders(root: str) -> GitFolders:
    """The git folders of the work tree whose top is `root` (real, absolute)."""
    dot = os.path.join(root, ".git")
    if os.path.islink(dot):
        return GitFolders()
    if os.path.isdir(dot):
        return GitFolders((dot,), _fixed(dot), (f"{dot}/commondir",))
    own = pointed_at(dot, "gitdir:")
    if not own or os.path.realpath(pointed_at(os.path.join(own, "gitdir"))) != os.path.realpath(dot):
        return GitFolders()
    common = pointed_at(os.path.join(own, "commondir"))
    if not common or os.path.dirname(own) != os.path.join(common, "worktrees"):
        return GitFolders()
    if not os.path.isfile(os.path.join(common, "HEAD")):
        return GitFolders()
    return GitFolders((common,), _fixed(common), (f"{common}/commondir",))


def nested(protected: tuple[str, ...], known: GitFolders) -> GitFolders:
    """The same for the repositories within a workspace, among its protected paths: a build may work in
    them, and may not change what git runs."""
    found = [one for one in protected if os.path.basename(one) == ".git" and one not in known.stores]
    stores = tuple(one for one in found if os.path.isdir(one))
    fixed = tuple(one for store in stores for one in _fixed(store) if os.path.lexists(one))
    return GitFolders(stores, fixed)


def top_of(root: str, home: str) -> str:
    """The top of the work tree that `root` lies in: `root` itself where no folder above it is one. A home
    folder that is a repository shows nothing of itself."""
    above = root
    while not os.path.lexists(os.path.join(above, ".git")):
        if above in (os.path.dirname(above), home):
            return root
        above = os.path.dirname(above)
    return root if is_within(home, above) else above


def pointed_at(file: str, word: str = "") -> str:
    """The real path that one of git's pointer files names, or ""."""
    try:
        with open(file, encoding="utf-8", errors="strict") as opened:
            line = opened.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    if not line.startswith(word) or "\n" in line or "\0" in line:
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(file), line.removeprefix(word).strip()))


def _fixed(store: str) -> tuple[str, ...]:
    found = [f"{store}/config", f"{store}/hooks", f"{store}/config.worktree"]
    for kind, names in (("modules", ("config", "hooks")), ("worktrees", ("commondir", "gitdir"))):
        try:
            inner = sorted(os.listdir(f"{store}/{kind}"))[:MOST_MODULES]
        except OSError:
            continue
        found += [f"{store}/{kind}/{one}/{name}" for one in inner for name in names]
    return tuple(one for one in found if os.path.lexists(one) or one == f"{store}/hooks")
