"""Opening what a real path names and nothing else: no link is followed on the way, so that one put in the
place of a folder after the check is noticed and refused (G7 of the safety guarantees).

In one call where the kernel has openat2, otherwise folder by folder with O_NOFOLLOW. Where the platform
cannot open relative to a folder (Windows), paths are opened as they are.
"""

import errno
import os
import stat
from collections.abc import Callable

from cockpit.plugin.context import PathRefused
from cockpit.workspace import openat2

RELATIVE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
FOLDER = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
LARGEST = 64 * 1024 * 1024
Opener = Callable[[str, int, int | None], int]


def _open(name: str, flags: int, folder: int | None) -> int:
    return os.open(name, flags, dir_fd=folder)


def open_folder(path: str, opener: Opener = _open) -> int:
    """A descriptor of the folder at real `path`. The caller closes it. Raises `PathRefused` for a link.

    With an `opener` of the caller's each folder is opened by it, one by one.
    """
    if opener is _open and (whole := _at_once(path, FOLDER)) is not None:
        return whole
    here = opener(os.sep, FOLDER, None)
    for name in path.split(os.sep):
        if not name:
            continue
        try:
            below = opener(name, FOLDER, here)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, here):
                raise PathRefused(f"{path} leads over a symbolic link ({name}); use the real path") from error
            raise
        finally:
            os.close(here)
        here = below
    return here


def _at_once(path: str, flags: int) -> int | None:
    """By openat2; None where there is none."""
    try:
        return openat2.opened(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PathRefused(f"{path} leads over a symbolic link; use the real path") from error
        raise


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def open_file(path: str) -> int:
    """A descriptor of the regular file at real `path`, for reading. Raises `PathRefused`, OSError."""
    if not RELATIVE:
        return _regular(os.open(path, FILE), path)
    if (whole := _at_once(path, FILE)) is not None:
        return _regular(whole, path)
    folder = open_folder(os.path.dirname(path))
    try:
        return _regular(os.open(os.path.basename(path), FILE, dir_fd=folder), path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PathRefused(f"{path} is a symbolic link; use the path it leads to") from error
        raise
    finally:
        os.close(folder)


def _regular(file: int, path: str) -> int:
    mode = os.fstat(file).st_mode
    if stat.S_ISREG(mode):
        return file
    os.close(file)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", path)
    raise PathRefused(f"{path} is a {kind_of(mode)}, not a file")


def kind_of(mode: int) -> str:
    """What `mode` says a file is, as a person calls it."""
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
    """All bytes of the regular file at real `path`. Raises `PathRefused` over 64 MiB."""
    with os.fdopen(open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            hint = "read a part of it with shell: sed -n '1,200p' or tail"
            raise PathRefused(f"{path} has {size:,} bytes, more than {LARGEST:,}", hint)
        return file.read(LARGEST + 1)
