"""The file-system operations of a transaction. Nothing else in `workspace` writes files of the user.

Each operation is one method of `DiskOperations`, which calls `before` with its name first: tests fail or stop
there. `COCKPIT_FAULT=disk.NAME:N` kills this process before the N-th (from 1) operation NAME, `disk.any:N`
before the N-th of any kind. `OpenFolders` offers the operations by path.
"""

import contextlib
import ctypes
import errno
import os
import signal
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from cockpit.plugin.context import ChangeRefused
from cockpit.workspace.files import safe_open
from cockpit.workspace.files.safe_open import FILE_FLAGS, file_kind

# RENAME_EXCHANGE of Linux's renameat2(2), RENAME_SWAP of macOS' renameatx_np(2).
EXCHANGE_FLAG = 2
EXCHANGE_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
SwapFunction = Callable[[int, bytes, int, bytes, int], int]


@cache
def _load_swap_function() -> SwapFunction | None:
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform, "")
    if not name:
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    swap: SwapFunction = function
    return swap


def exchange_names(name: str, other: str, folder: int) -> bool:
    """Swap two names of one folder in one step, so that a file saved a moment ago is not lost. False if the
    platform or the file system does not support it. Raises OSError."""
    function = _load_swap_function()
    if function is None:
        return False
    if function(folder, os.fsencode(name), folder, os.fsencode(other), EXCHANGE_FLAG) == 0:
        return True
    code = ctypes.get_errno()
    if code in EXCHANGE_UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), name)


_wanted, _, _number = os.environ.get("COCKPIT_FAULT", "").rpartition(":")
_operation_count = 0


def _stop_at_fault_point(name: str) -> None:
    """Kill this process before the operation that a test has named."""
    global _operation_count
    if not _wanted or _wanted not in ("disk.any", f"disk.{name}"):
        return
    _operation_count += 1
    if _operation_count == int(_number):
        os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class DiskOperations:
    """With `relative`, folders are opened without following links and names are relative to them; without it
    (Windows) paths are used as they are. A `folder` argument is an open folder or None."""

    before: Callable[[str], None] = _stop_at_fault_point
    relative: bool = safe_open.HAS_DIR_FD

    def folder(self, path: str) -> int | None:
        if not self.relative:
            return None
        self.before("open")
        return safe_open.open_folder(path)

    def open(self, name: str, flags: int, folder: int | None, mode: int = 0o600) -> int:
        self.before("open")
        return os.open(name, flags | getattr(os, "O_CLOEXEC", 0), mode, dir_fd=folder)

    def close(self, file: int) -> None:
        os.close(file)

    def read(self, file: int, size: int) -> bytes:
        self.before("read")
        return os.read(file, size)

    def write(self, file: int, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            self.before("write")
            rest = rest[os.write(file, rest) :]

    def fsync(self, file: int) -> None:
        self.before("fsync")
        os.fsync(file)

    def chmod(self, file: int, name: str, mode: int) -> None:
        self.before("chmod")
        if hasattr(os, "fchmod"):
            os.fchmod(file, mode)
        else:
            os.chmod(name, mode)

    def chown(self, file: int, user: int, group: int) -> None:
        self.before("chown")
        if hasattr(os, "fchown"):
            os.fchown(file, user, group)

    def lstat(self, name: str, folder: int | None) -> os.stat_result:
        self.before("lstat")
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def rename(self, name: str, to: str, folder: int | None) -> None:
        self.before("rename")
        if self.relative:
            os.rename(name, to, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.replace(name, to)

    def exchange(self, name: str, other: str, folder: int | None) -> bool:
        """Swap two names; False where that cannot be done in one step."""
        self.before("exchange")
        return folder is not None and exchange_names(name, other, folder)

    def link(self, name: str, to: str, folder: int | None) -> None:
        self.before("link")
        if self.relative:
            os.link(name, to, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        else:
            os.link(name, to)

    def unlink(self, name: str, folder: int | None) -> None:
        self.before("unlink")
        os.unlink(name, dir_fd=folder)

    def mkdir(self, name: str, folder: int | None) -> None:
        self.before("mkdir")
        os.mkdir(name, dir_fd=folder)

    def rmdir(self, name: str, folder: int | None) -> None:
        self.before("rmdir")
        os.rmdir(name, dir_fd=folder)


READ_CHUNK = 1 << 20
CREATE_FLAGS = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


def stale_file_error(path: str) -> ChangeRefused:
    return ChangeRefused(f"{path} has changed since the edit was planned; nothing was written, read it again")


def _read_regular_file(
    name: str, folder: int | None, calls: DiskOperations, path: str
) -> tuple[bytes | None, os.stat_result | None]:
    try:
        file = calls.open(name, FILE_FLAGS, folder)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            mode = calls.lstat(name, folder).st_mode
            raise ChangeRefused(f"{path} is a {file_kind(mode)}, not a file; nothing was written") from error
        raise
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise ChangeRefused(f"{path} is a {file_kind(facts.st_mode)}, not a file; nothing was written")
        chunks: list[bytes] = []
        while chunk := calls.read(file, READ_CHUNK):
            chunks.append(chunk)
        return b"".join(chunks), facts
    finally:
        calls.close(file)


def _copy_owner(file: int, owner: os.stat_result, calls: DiskOperations) -> None:
    """When root edits a file of another user, the owner stays."""
    facts = os.fstat(file)
    if (facts.st_uid, facts.st_gid) != (owner.st_uid, owner.st_gid):
        with contextlib.suppress(PermissionError):
            calls.chown(file, owner.st_uid, owner.st_gid)


def _sync_folder(folder: int | None, calls: DiskOperations) -> None:
    """Make renames in an open folder survive a power cut, where the platform can."""
    if folder is None:
        return
    try:
        file = calls.open(".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0), folder)
    except PermissionError:
        return
    try:
        calls.fsync(file)
    finally:
        calls.close(file)


def retry_once(act: Callable[[], None]) -> bool:
    """Run a step of a rollback, twice if it fails; False if both failed. What is left is in the journal, and
    the next start tries again."""
    for _ in range(2):
        try:
            act()
            return True
        except FileNotFoundError:
            return True
        except OSError:
            continue
    return False


class OpenFolders:
    """The operations of a transaction by real path. Each folder is opened once, without following links, and
    kept open; every method raises `PathRefused` if a link is on the way. Two paths are in the same folder."""

    def __init__(self, calls: DiskOperations | None = None) -> None:
        self._calls = calls or DiskOperations()
        self._open: dict[str, int | None] = {}

    def spot(self, path: str) -> tuple[int | None, str]:
        """The open folder of `path`, and the name of the file relative to it."""
        above = os.path.dirname(path)
        if above not in self._open:
            self._open[above] = self._calls.folder(above)
        folder = self._open[above]
        return folder, path if folder is None else os.path.basename(path)

    def read(self, path: str) -> tuple[bytes | None, os.stat_result | None]:
        """Content and metadata of a regular file, (None, None) for none. Raises `ChangeRefused` otherwise."""
        folder, name = self.spot(path)
        return _read_regular_file(name, folder, self._calls, path)

    def create(self, path: str, content: bytes, mode: int, owner: os.stat_result | None) -> None:
        """Create a file and sync it. Raises FileExistsError; after a failure the file is removed again."""
        folder, name = self.spot(path)
        calls = self._calls
        file = calls.open(name, CREATE_FLAGS, folder)
        try:
            calls.write(file, content)
            if owner is not None:
                _copy_owner(file, owner, calls)
            calls.chmod(file, name, mode)
            calls.fsync(file)
        except OSError:
            retry_once(partial(calls.unlink, name, folder))
            raise
        finally:
            calls.close(file)

    def lstat(self, path: str) -> os.stat_result:
        folder, name = self.spot(path)
        return self._calls.lstat(name, folder)

    def rename(self, path: str, to: str) -> None:
        folder, name = self.spot(path)
        self._calls.rename(name, self.spot(to)[1], folder)

    def exchange(self, path: str, other: str) -> bool:
        folder, name = self.spot(path)
        return self._calls.exchange(name, self.spot(other)[1], folder)

    def link(self, path: str, to: str) -> None:
        folder, name = self.spot(path)
        self._calls.link(name, self.spot(to)[1], folder)

    def unlink(self, path: str) -> None:
        folder, name = self.spot(path)
        self._calls.unlink(name, folder)

    def make(self, path: str) -> bool:
        """Make one folder; False if it exists already."""
        folder, name = self.spot(path)
        try:
            self._calls.mkdir(name, folder)
        except FileExistsError:
            return False
        return True

    def unmake(self, path: str) -> None:
        folder, name = self.spot(path)
        self._calls.rmdir(name, folder)

    def sync(self) -> None:
        for folder in self._open.values():
            _sync_folder(folder, self._calls)

    def close(self) -> None:
        for folder in self._open.values():
            if folder is not None:
                self._calls.close(folder)
        self._open.clear()
