"""The paths in a workspace that a sandboxed program must not touch: secrets, and files that control later
programs.

`GuardedPathWatch` finds those that exist; it walks the workspace once and later reads only folders whose
modification time changed. Names that must not appear get a stub: an empty folder to mount over (git ignores
an empty folder, not an empty file), made before the run and removed after it, also after a kill. Links cannot
be mounted over; they are compared before and after.
"""

import contextlib
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

# Installed packages: a `.env` or `x.pem` in there is part of a package.
PACKAGE_FOLDERS = word_set(
    """
    node_modules .venv venv site-packages target __pycache__ .tox .nox .gradle .yarn .mypy_cache .ruff_cache
    .pytest_cache .hypothesis .import_linter_cache .next .turbo .terraform bower_components
    """
)
# Files that are read from a project. The other protected names matter in a home folder only.
PROJECT_FILES = word_set(
    ".envrc .mcp.json .lsp.json .ripgreprc .exrc .gdbinit .lldbinit crush.json opencode.json"
)
MAX_GUARDED_FOLDERS = 20_000
MAX_GUARDED_PATHS = 300
# The resolution of file times: a folder that changed just now is read again.
CLOCK_RESOLUTION_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class GuardedPaths:
    """Absolute paths that exist now. `links` are symbolic links among the protected paths. `whole` is False
    if the tree has more folders than are scanned."""

    protected: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    whole: bool = True


def stub_names(is_home: bool) -> tuple[str, ...]:
    """The names that must not appear at the root of a workspace while a program runs."""
    files = path_names.RUN_LATER_FILES | PROJECT_FILES if is_home else PROJECT_FILES
    return (*sorted(path_names.RUN_LATER_FOLDERS - {".git"}), *sorted(files))


def unwelcome_paths(root: str) -> tuple[str, ...]:
    """Protected names at `root` that get no stub: what appears there is removed afterwards."""
    return tuple(os.path.join(root, name) for name in sorted(path_names.RUN_LATER_FILES - PROJECT_FILES))


@dataclass(frozen=True, slots=True)
class _ScannedFolder:
    changed: int
    folders: tuple[str, ...]
    protected: tuple[str, ...]
    secret: tuple[str, ...]
    links: tuple[str, ...]


class GuardedPathWatch:
    """The guarded paths below one root, kept between launches. Not safe for two threads at once."""

    def __init__(self, root: str, home: str) -> None:
        self._root, self._in_home = root, root == home
        self._known: dict[str, _ScannedFolder] = {}
        self._stopped = False

    def stop(self) -> None:
        """End a running scan, from any thread: no more programs are launched."""
        self._stopped = True

    def look(self) -> GuardedPaths:
        """The guarded paths now. Costs one `stat` per folder: some milliseconds for ten thousand files."""
        pending, scanned = [self._root], dict[str, _ScannedFolder]()
        while pending and len(scanned) < MAX_GUARDED_FOLDERS and not self._stopped:
            path = pending.pop()
            try:
                changed = os.lstat(path).st_mtime_ns
                folder = self._known.get(path)
                if folder is None or folder.changed != changed:
                    folder = self._read(path, changed)
            except OSError:
                continue
            scanned[path] = folder
            pending += folder.folders
        self._known = scanned
        rows = scanned.values()
        protected = [path for row in rows for path in row.protected] + self._tails(path_names.RUN_LATER_TAILS)
        secret = [path for row in rows for path in row.secret] + self._tails(path_names.SECRET_TAILS)
        links = tuple(path for row in rows for path in row.links)
        whole = not pending and max(len(protected), len(secret)) <= MAX_GUARDED_PATHS
        return GuardedPaths(
            tuple(protected[:MAX_GUARDED_PATHS]), tuple(secret[:MAX_GUARDED_PATHS]), links, whole
        )

    def _tails(self, tails: tuple[tuple[str, ...], ...]) -> list[str]:
        """Names with several parts matter in a home folder only."""
        candidates = [os.path.join(self._root, *tail) for tail in tails] if self._in_home else []
        return [path for path in candidates if os.path.exists(path)]

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
        if time.time_ns() - changed < CLOCK_RESOLUTION_NS:
            changed = -1
        return _ScannedFolder(changed, tuple(folders), tuple(protected), tuple(secret), tuple(links))


MAX_NAMED_PATHS = 10
LinkStates = tuple[tuple[str, str], ...]


def record_links(links: tuple[str, ...], unwelcome: tuple[str, ...]) -> LinkStates:
    """Each path with the target of its link; "" for a path that does not exist and must not appear."""
    states = []
    for path in links:
        with contextlib.suppress(OSError):
            states.append((path, os.readlink(path)))
    return (*states, *((path, "") for path in unwelcome if not os.path.lexists(path)))


def restore_links(before: LinkStates, aside: str) -> tuple[str, ...]:
    """Restore changed links and move what replaced them to the folder `aside`. Returns their paths."""
    restored = []
    for path, target in before:
        if _is_unchanged(path, target):
            continue
        with contextlib.suppress(OSError):
            if os.path.lexists(path):
                Path(aside).mkdir(parents=True, exist_ok=True, mode=0o700)
                _move_aside(path, os.path.join(aside, f"{os.path.basename(path)}-{secrets.token_hex(4)}"))
            if target:
                os.symlink(target, path)
            restored.append(path)
    return tuple(restored)


def format_report(restored: tuple[str, ...], appeared: tuple[str, ...], root: str) -> str:
    """The lines that are added to the output of a command."""
    messages = (
        ("restored protected paths that the command had changed", restored),
        ("new files that control other programs, check them before use", appeared),
    )
    return "".join(f"\n[{text}: {_format_names(paths, root)}]\n" for text, paths in messages if paths)


def _format_names(paths: tuple[str, ...], root: str) -> str:
    """A few of the paths. A name with unusual characters cannot imitate a line of cockpit."""
    names = [os.path.relpath(path, root) for path in paths[:MAX_NAMED_PATHS]]
    more = f" and {len(paths) - MAX_NAMED_PATHS} more" if len(paths) > MAX_NAMED_PATHS else ""
    return ", ".join(name if name.isprintable() else ascii(name) for name in names) + more


def _is_unchanged(path: str, target: str) -> bool:
    try:
        return os.readlink(path) == target
    except OSError:
        return not target and not os.path.lexists(path)


def _move_aside(path: str, to: str) -> None:
    try:
        os.rename(path, to)
    except OSError:
        # Another disk: moved out of the way in the same folder, under a name that nothing reads.
        os.rename(path, f"{path}.put-aside-{secrets.token_hex(4)}")


class MountStubs:
    """The stubs of one workspace. Linux only.

    Several programs, and several cockpit processes, may run in one workspace: a lock counts them, and the
    last one removes the stubs. A record outside of the workspace lists our stubs; what a crash left is
    removed by the next launch. Every method may block for a moment: call it in a thread.
    """

    def __init__(self, root: str, state: str, home: str) -> None:
        self._root, self._is_home = root, root == home
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._folder = Path(state, "sandbox")
        self._record = self._folder / f"{name}.json"
        self._lock = self._folder / f"{name}.lock"
        self._users = self._folder / f"{name}.users"

    def begin(self, extra: tuple[str, ...] = ()) -> tuple[int, tuple[str, ...]]:
        """Create stubs for the missing protected names and for `extra` (absolute paths).

        Returns a token for `end`, and the paths that are stubs now, made by this call or by another that
        still runs.
        """
        with self._locked():
            token = os.open(self._users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._sweep_if_only_user(token)
                stubs = set(self._read())
                candidates = (*(os.path.join(self._root, name) for name in stub_names(self._is_home)), *extra)
                missing = [path for path in candidates if path not in stubs and not os.path.lexists(path)]
                # Recorded first: a kill in between leaves an extra name in the record, not a stub.
                self._record.write_text(json.dumps(sorted(stubs.union(missing))), encoding="ascii")
                for path in missing:
                    with contextlib.suppress(OSError):
                        os.mkdir(path)
                        stubs.add(path)
                _flock(token, "LOCK_SH")
            except BaseException:
                os.close(token)
                raise
            return token, tuple(sorted(path for path in stubs if os.path.lexists(path)))

    def end(self, token: int) -> None:
        """Remove the stubs if no other program needs them."""
        with self._locked():
            try:
                self._sweep_if_only_user(token)
            finally:
                os.close(token)

    def sweep(self) -> None:
        """Remove the stubs that a killed cockpit left here."""
        if self._record.exists():
            self.end(os.open(self._users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def _sweep_if_only_user(self, token: int) -> None:
        """Remove all stubs if no other process holds the users' lock, which is then held exclusively."""
        try:
            _flock(token, "LOCK_EX", "LOCK_NB")
        except BlockingIOError:
            return
        for path in self._read():
            # Only empty folders: anything else belongs to the user.
            with contextlib.suppress(OSError):
                os.rmdir(path)
        self._record.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _flock(lock, "LOCK_EX")
            yield
        finally:
            os.close(lock)

    def _read(self) -> list[str]:
        try:
            paths = json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return []
        return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def _flock(file: int, *flags: str) -> None:
    # Windows has no such module, and imports this one.
    import fcntl

    fcntl.flock(file, sum(getattr(fcntl, flag) for flag in flags))
