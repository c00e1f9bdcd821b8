"""Which paths within a workspace are held more tightly than the rest: those that steer programs later,
and those that hold secrets. Looks at names; changes nothing.

A workspace is walked once. After that a folder is read again only when its time has changed: a name
cannot come or go without that.
"""

import os
import time
from dataclasses import dataclass

from cockpit.workspace import names
from cockpit.workspace.words import words

# Other people's code: what is called `.env` or `x.pem` in there is part of a package.
PACKAGES = words(
    """
    node_modules .venv venv site-packages target __pycache__ .tox .nox .gradle .yarn .mypy_cache .ruff_cache
    .pytest_cache .hypothesis .import_linter_cache .next .turbo .terraform bower_components
    """
)
# What is read from a project. The other protected names mean something in a home folder only.
IN_PROJECTS = words(".envrc .mcp.json .lsp.json .ripgreprc .exrc .gdbinit .lldbinit crush.json opencode.json")
MOST_FOLDERS = 20_000
MOST_FOUND = 300
# A time is as fine as the file system's clock: a folder that changed just now is read again.
FINE = 50_000_000


@dataclass(frozen=True, slots=True)
class Guarded:
    """Absolute paths that are there now. `links` are symbolic links among the protected: what they point
    at is not ours to mount on. `whole` is False when the tree has more folders than are looked at."""

    protected: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    whole: bool = True


def stubbed(is_home: bool) -> tuple[str, ...]:
    """The names that the root of a workspace must not get while a program runs."""
    files = names.RUN_LATER_FILES | IN_PROJECTS if is_home else IN_PROJECTS
    return (*sorted(names.RUN_LATER_FOLDERS - {".git"}), *sorted(files))


def unwelcome(root: str) -> tuple[str, ...]:
    """Protected names at `root` that get no stub: what appears there is taken away afterwards."""
    return tuple(os.path.join(root, one) for one in sorted(names.RUN_LATER_FILES - IN_PROJECTS))


@dataclass(frozen=True, slots=True)
class _Folder:
    changed: int
    folders: tuple[str, ...]
    protected: tuple[str, ...]
    secret: tuple[str, ...]
    links: tuple[str, ...]


class Watch:
    """What `names` guards below one root, kept between launches. Not safe for two threads at once."""

    def __init__(self, root: str, home: str) -> None:
        self._root, self._in_home = root, root == home
        self._known: dict[str, _Folder] = {}
        self._stopped = False

    def stop(self) -> None:
        """End a look that is going on, from any thread: nothing is launched any more."""
        self._stopped = True

    def look(self) -> Guarded:
        """What is there now. One `stat` for each folder; ten thousand files take some milliseconds."""
        waiting, seen = [self._root], dict[str, _Folder]()
        stat, past = os.lstat, self._known.get
        while waiting and len(seen) < MOST_FOLDERS and not self._stopped:
            path = waiting.pop()
            try:
                changed = stat(path).st_mtime_ns
                found = past(path)
                if found is None or found.changed != changed:
                    found = self._read(path, changed)
            except OSError:
                continue
            seen[path] = found
            waiting += found.folders
        self._known = seen
        rows = seen.values()
        protected = (*(one for row in rows for one in row.protected), *self._tails(names.RUN_LATER_TAILS))
        secret = (*(one for row in rows for one in row.secret), *self._tails(names.SECRET_TAILS))
        links = tuple(one for row in rows for one in row.links)
        whole = not waiting and max(len(protected), len(secret)) <= MOST_FOUND
        return Guarded(protected[:MOST_FOUND], secret[:MOST_FOUND], links, whole)

    def _tails(self, tails: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """Names of several parts mean something in a home folder only."""
        if not self._in_home:
            return ()
        return tuple(path for one in tails if os.path.exists(path := os.path.join(self._root, *one)))

    def _read(self, path: str, changed: int) -> _Folder:
        folders, protected, secret, links = list[str](), list[str](), list[str](), list[str]()
        with os.scandir(path) as entries:
            for entry in entries:
                if names.protected((entry.name,)):
                    (links if entry.is_symlink() else protected).append(entry.path)
                elif names.sensitive((entry.name,), self._in_home and path == self._root):
                    if os.path.exists(real := os.path.realpath(entry.path)):
                        secret.append(real)
                elif entry.is_dir(follow_symlinks=False) and entry.name not in PACKAGES:
                    folders.append(entry.path)
        kept = -1 if time.time_ns() - changed < FINE else changed
        return _Folder(kept, tuple(folders), tuple(protected), tuple(secret), tuple(links))
