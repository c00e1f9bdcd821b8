"""Which paths within a workspace are held more tightly than the rest: those that steer programs later,
and those that hold secrets. Looks at names; changes nothing.

A workspace is walked once. After that a folder is read again only when its time has changed: a name
cannot come or go without that.

What cannot be mounted over is looked at before and after: links among the protected names, and names
that git itself would stumble over as stubs. What a program put there is taken away, and said.

Places for names that must not come to be while a program runs: an empty folder to mount over, made
before and removed after, also after a kill.

A folder and not a file, because git shows an empty file as new and an empty folder not at all. Several
programs, and several cockpits, may run in one workspace: a lock counts them, and the last one removes
the stubs. A record outside of the workspace says which are ours; what a crash left is removed by the next.
Linux only, as the sandbox that needs it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cockpit.workspace import path_names
from cockpit.workspace.word_set import word_set

# Other people's code: what is called `.env` or `x.pem` in there is part of a package.
PACKAGE_FOLDERS = word_set(
    """
    node_modules .venv venv site-packages target __pycache__ .tox .nox .gradle .yarn .mypy_cache .ruff_cache
    .pytest_cache .hypothesis .import_linter_cache .next .turbo .terraform bower_components
    """
)
# What is read from a project. The other protected names mean something in a home folder only.
PROJECT_FILES = word_set(
    ".envrc .mcp.json .lsp.json .ripgreprc .exrc .gdbinit .lldbinit crush.json opencode.json"
)
MAX_GUARDED_FOLDERS = 20_000
MAX_GUARDED_PATHS = 300
# A time is as fine as the file system's clock: a folder that changed just now is read again.
CLOCK_RESOLUTION_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class GuardedPaths:
    """Absolute paths that are there now. `links` are symbolic links among the protected: what they point
    at is not ours to mount on. `whole` is False when the tree has more folders than are looked at."""

    protected: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    whole: bool = True


def stub_names(is_home: bool) -> tuple[str, ...]:
    """The names that the root of a workspace must not get while a program runs."""
    files = path_names.RUN_LATER_FILES | PROJECT_FILES if is_home else PROJECT_FILES
    return (*sorted(path_names.RUN_LATER_FOLDERS - {".git"}), *sorted(files))


def unwelcome_paths(root: str) -> tuple[str, ...]:
    """Protected names at `root` that get no stub: what appears there is taken away afterwards."""
    return tuple(os.path.join(root, one) for one in sorted(path_names.RUN_LATER_FILES - PROJECT_FILES))


@dataclass(frozen=True, slots=True)
class _ScannedFolder:
    changed: int
    folders: tuple[str, ...]
    protected: tuple[str, ...]
    secret: tuple[str, ...]
    links: tuple[str, ...]


class GuardedPathWatch:
    """What `names` guards below one root, kept between launches. Not safe for two threads at once."""

    def __init__(self, root: str, home: str) -> None:
        self._root, self._in_home = root, root == home
        self._known: dict[str, _ScannedFolder] = {}
        self._stopped = False

    def stop(self) -> None:
        """End a look that is going on, from any thread: nothing is launched any more."""
        self._stopped = True

    def look(self) -> GuardedPaths:
        """What is there now. One `stat` for each folder; ten thousand files take some milliseconds."""
        waiting, seen = [self._root], dict[str, _ScannedFolder]()
        stat, past = os.lstat, self._known.get
        while waiting and len(seen) < MAX_GUARDED_FOLDERS and not self._stopped:
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
        protected = (
            *(one for row in rows for one in row.protected),
            *self._tails(path_names.RUN_LATER_TAILS),
        )
        secret = (*(one for row in rows for one in row.secret), *self._tails(path_names.SECRET_TAILS))
        links = tuple(one for row in rows for one in row.links)
        whole = not waiting and max(len(protected), len(secret)) <= MAX_GUARDED_PATHS
        return GuardedPaths(protected[:MAX_GUARDED_PATHS], secret[:MAX_GUARDED_PATHS], links, whole)

    def _tails(self, tails: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """Names of several parts mean something in a home folder only."""
        if not self._in_home:
            return ()
        return tuple(path for one in tails if os.path.exists(path := os.path.join(self._root, *one)))

    def _read(self, path: str, changed: int) -> _ScannedFolder:
        folders, protected, secret, links = list[str](), list[str](), list[str](), list[str]()
        with os.scandir(path) as entries:
            for entry in entries:
                if path_names.protected_reason((entry.name,)):
                    (links if entry.is_symlink() else protected).append(entry.path)
                elif path_names.secret_reason((entry.name,), self._in_home and path == self._root):
                    if os.path.exists(real := os.path.realpath(entry.path)):
                        secret.append(real)
                elif entry.is_dir(follow_symlinks=False) and entry.name not in PACKAGE_FOLDERS:
                    folders.append(entry.path)
        kept = -1 if time.time_ns() - changed < CLOCK_RESOLUTION_NS else changed
        return _ScannedFolder(kept, tuple(folders), tuple(protected), tuple(secret), tuple(links))


MAX_NAMED_PATHS = 10
LinkStates = tuple[tuple[str, str], ...]


def record_links(links: tuple[str, ...], unwelcome: tuple[str, ...]) -> LinkStates:
    """Each path with where its link leads; "" for one that is not there and must not come."""
    found = []
    for path in links:
        with contextlib.suppress(OSError):
            found.append((path, os.readlink(path)))
    return (*found, *((path, "") for path in unwelcome if not os.path.lexists(path)))


def restore_links(seen: LinkStates, aside: str) -> tuple[str, ...]:
    """Put back what was changed; what stood in its place goes to the folder `aside`. The paths."""
    mended = []
    for path, target in seen:
        if _is_unchanged(path, target):
            continue
        with contextlib.suppress(OSError):
            if os.path.lexists(path):
                Path(aside).mkdir(parents=True, exist_ok=True, mode=0o700)
                _move_aside(path, os.path.join(aside, f"{os.path.basename(path)}-{secrets.token_hex(4)}"))
            if target:
                os.symlink(target, path)
            mended.append(path)
    return tuple(mended)


def format_report(mended: tuple[str, ...], came: tuple[str, ...], root: str) -> str:
    """What the output of a command says of it, or nothing."""
    lines = []
    if mended:
        lines.append(f"put back what the command had changed, and must not: {_format_names(mended, root)}")
    if came:
        lines.append(
            f"came while it ran, and programs obey it, look before you use it: {_format_names(came, root)}"
        )
    return "".join(f"\n[{line}]\n" for line in lines)


def _format_names(paths: tuple[str, ...], root: str) -> str:
    """A few of them; a name with odd letters cannot pass for a line of ours."""
    names = [os.path.relpath(one, root) for one in paths[:MAX_NAMED_PATHS]]
    more = f" and {len(paths) - MAX_NAMED_PATHS} more" if len(paths) > MAX_NAMED_PATHS else ""
    return ", ".join(one if one.isprintable() else ascii(one) for one in names) + more


def _is_unchanged(path: str, target: str) -> bool:
    try:
        return os.readlink(path) == target
    except OSError:
        return not target and not os.path.lexists(path)


def _move_aside(path: str, to: str) -> None:
    try:
        os.rename(path, to)
    except OSError:
        # Another disk: out of the way beside its place, under a name that nothing reads.
        os.rename(path, f"{path}.put-aside-{secrets.token_hex(4)}")


class MountStubs:
    """The stubs of one workspace. Every method may block for a moment: call it in a thread."""

    def __init__(self, root: str, state: str, home: str) -> None:
        self._root, self._is_home = root, root == home
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._folder = Path(state, "sandbox")
        self._record = self._folder / f"{name}.json"
        self._lock = self._folder / f"{name}.lock"
        self._users = self._folder / f"{name}.users"

    def begin(self, extra: tuple[str, ...] = ()) -> tuple[int, tuple[str, ...]]:
        """Make what is missing of the protected names, and of `extra` (absolute paths). A token for `end`,
        and the paths that are stubs now, by this call or by another that still runs."""
        with self._locked():
            token = os.open(self._users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if _is_only_user(token):
                    self._sweep()
                known = set(self._read())
                candidates = (*(os.path.join(self._root, one) for one in stub_names(self._is_home)), *extra)
                missing = [one for one in candidates if one not in known and not os.path.lexists(one)]
                # Recorded first: a kill between the two leaves a name too many, not a stub.
                self._write(sorted(known.union(missing)))
                made = known.union(one for one in missing if _make_stub(one))
                fcntl.flock(token, fcntl.LOCK_SH)
            except BaseException:
                os.close(token)
                raise
            return token, tuple(sorted(one for one in made if os.path.lexists(one)))

    def end(self, token: int) -> None:
        """Remove the stubs if nobody else needs them."""
        with self._locked():
            try:
                if _is_only_user(token):
                    self._sweep()
            finally:
                os.close(token)

    def sweep(self) -> None:
        """Remove what a killed cockpit left here."""
        if not self._record.exists():
            return
        with self._locked():
            token = os.open(self._users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if _is_only_user(token):
                    self._sweep()
            finally:
                os.close(token)

    def _sweep(self) -> None:
        for path in self._read():
            # Only what is still empty: anything else is somebody's.
            with contextlib.suppress(OSError):
                os.rmdir(path)
        self._record.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _read(self) -> list[str]:
        try:
            found = json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return []
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    def _write(self, paths: list[str]) -> None:
        self._record.write_text(json.dumps(paths), encoding="ascii")


def _is_only_user(token: int) -> bool:
    """Whether no other holds the users' lock; if so this one holds it alone."""
    try:
        fcntl.flock(token, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make_stub(path: str) -> bool:
    try:
        os.mkdir(path)
    except OSError:
        return False
    return True
