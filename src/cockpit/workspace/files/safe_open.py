"""Opens files without following symlinks, so that a link put in place of a folder after a check is refused.

Uses one openat2(2) call where the kernel has it (Linux 5.6, unless a seccomp filter forbids it), else opens
folder by folder with O_NOFOLLOW. Where the platform cannot open relative to a folder (Windows), paths are
opened as they are.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from typing import Protocol

from cockpit.plugin.context import PathRefused

# The number is the same on every architecture since Linux 5.6.
OPENAT2_NUMBER = 437
NO_MAGICLINKS, NO_SYMLINKS = 0x02, 0x04
UNSUPPORTED_ERRORS = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG)


class OpenAt2(Protocol):
    def __call__(self, path: bytes, flags: int) -> int:
        """A descriptor, or the negative errno."""
        ...


@cache
def load_openat2() -> OpenAt2 | None:
    """The system call, or None where it is missing."""
    if sys.platform != "linux":
        return None
    import ctypes

    class How(ctypes.Structure):
        _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]

    library = ctypes.CDLL(None, use_errno=True)

    def call(path: bytes, flags: int) -> int:
        how = How(flags | os.O_CLOEXEC, 0, NO_SYMLINKS | NO_MAGICLINKS)
        result = library.syscall(OPENAT2_NUMBER, -100, path, ctypes.byref(how), ctypes.sizeof(how))
        return int(result) if result >= 0 else -ctypes.get_errno()

    root = call(b"/", os.O_PATH | os.O_DIRECTORY)
    if root < 0:
        return None
    os.close(root)
    return call


def open_without_symlinks(path: str, flags: int) -> int | None:
    """A descriptor of absolute `path`, no link followed; None without openat2.

    Raises OSError; ELOOP for a link anywhere in the path.
    """
    call = load_openat2()
    if call is None:
        return None
    result = call(os.fsencode(path), flags)
    if result >= 0:
        return result
    if -result in UNSUPPORTED_ERRORS:
        return None
    raise OSError(-result, os.strerror(-result), path)


HAS_DIR_FD = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
FOLDER_FLAGS = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
FILE_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
MAX_FILE_BYTES = 64 * 1024 * 1024
OpenAt = Callable[[str, int, int | None], int]


def _open_at(name: str, flags: int, folder: int | None) -> int:
    return os.open(name, flags, dir_fd=folder)


def open_folder(path: str, opener: OpenAt = _open_at) -> int:
    """A descriptor of the folder at real `path`, which the caller closes. Raises `PathRefused` for a link.

    With an `opener` of the caller, each folder on the way is opened by it.
    """
    if opener is _open_at and (descriptor := _open_with_openat2(path, FOLDER_FLAGS)) is not None:
        return descriptor
    folder = opener(os.sep, FOLDER_FLAGS, None)
    for name in path.split(os.sep):
        if not name:
            continue
        try:
            child = opener(name, FOLDER_FLAGS, folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, folder):
                reason = f"{path} goes through a symbolic link ({name}); use the real path"
                raise PathRefused(reason) from error
            raise
        finally:
            os.close(folder)
        folder = child
    return folder


def _open_with_openat2(path: str, flags: int) -> int | None:
    """As `open_without_symlinks`, but raises `PathRefused` for a link."""
    try:
        return open_without_symlinks(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PathRefused(f"{path} goes through a symbolic link; use the real path") from error
        raise


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def open_file(path: str) -> int:
    """A descriptor of the regular file at real `path`, for reading. Raises `PathRefused` and OSError."""
    if not HAS_DIR_FD:
        return _require_regular(os.open(path, FILE_FLAGS), path)
    if (descriptor := _open_with_openat2(path, FILE_FLAGS)) is not None:
        return _require_regular(descriptor, path)
    folder = open_folder(os.path.dirname(path))
    try:
        return _require_regular(os.open(os.path.basename(path), FILE_FLAGS, dir_fd=folder), path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PathRefused(f"{path} is a symbolic link; use the path it leads to") from error
        raise
    finally:
        os.close(folder)


def _require_regular(file: int, path: str) -> int:
    mode = os.fstat(file).st_mode
    if stat.S_ISREG(mode):
        return file
    os.close(file)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", path)
    raise PathRefused(f"{path} is a {file_kind(mode)}, not a file")


def file_kind(mode: int) -> str:
    """What the mode of a file says it is, in the user's words."""
    for kind, name in (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, "symbolic link"),
        (stat.S_ISFIFO, "FIFO"),
        (stat.S_ISSOCK, "socket"),
    ):
        if kind(mode):
            return name
    return "device"


def read_file(path: str) -> bytes:
    """The content of the regular file at real `path`. Raises `PathRefused` over 64 MiB."""
    with os.fdopen(open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_FILE_BYTES:
            hint = "read a part of it with shell: sed -n '1,200p' or tail"
            raise PathRefused(f"{path} has {size:,} bytes; at most {MAX_FILE_BYTES:,} are read", hint)
        return file.read(MAX_FILE_BYTES + 1)
