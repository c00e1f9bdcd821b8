"""Small steps on disk that a transaction and its recovery share."""

import errno
import os
import stat
from collections.abc import Callable
from functools import partial

from cockpit.plugin.context import ChangeRefused
from cockpit.workspace.beneath import FILE, kind_of
from cockpit.workspace.calls import Calls

CHUNK = 1 << 20
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def changed(path: str) -> ChangeRefused:
    return ChangeRefused(f"{path} has changed since the edit was planned; read it again, nothing was written")


def read_regular(
    name: str, folder: int | None, calls: Calls, path: str
) -> tuple[bytes | None, os.stat_result | None]:
    """Bytes and facts of a regular file, (None, None) where there is nothing.

    Raises `ChangeRefused` for anything else that stands there.
    """
    try:
        file = calls.open(name, FILE, folder)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            mode = calls.lstat(name, folder).st_mode
            raise ChangeRefused(f"{path} is a {kind_of(mode)}, not a file; nothing was written") from error
        raise
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise ChangeRefused(f"{path} is a {kind_of(facts.st_mode)}, not a file; nothing was written")
        chunks: list[bytes] = []
        while chunk := calls.read(file, CHUNK):
            chunks.append(chunk)
        return b"".join(chunks), facts
    finally:
        calls.close(file)


def create(
    name: str, folder: int | None, calls: Calls, content: bytes, mode: int, owner: os.stat_result | None
) -> None:
    """A new file with its bytes on disk. Raises FileExistsError; what it made it takes away on failure."""
    file = calls.open(name, CREATE, folder)
    try:
        calls.write(file, content)
        if owner is not None:
            _keep_owner(file, owner, calls)
        calls.chmod(file, name, mode)
        calls.fsync(file)
    except OSError:
        insist(partial(calls.unlink, name, folder))
        raise
    finally:
        calls.close(file)


def _keep_owner(file: int, owner: os.stat_result, calls: Calls) -> None:
    """Root editing somebody's file must not take it away from them."""
    ours = os.fstat(file)
    if (ours.st_uid, ours.st_gid) == (owner.st_uid, owner.st_gid):
        return
    try:
        calls.chown(file, owner.st_uid, owner.st_gid)
    except PermissionError:
        return


def sync_folder(folder: int | None, calls: Calls) -> None:
    """Make renames in an open folder last through a power cut, where the platform can."""
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


def insist(act: Callable[[], None]) -> bool:
    """Do what must be done on the way back: twice if need be. False when it could not be done.

    Whatever is left lies in the journal, and the next start tries again.
    """
    for _ in range(2):
        try:
            act()
            return True
        except FileNotFoundError:
            return True
        except OSError:
            continue
    return False


class Folders:
    """Folders held open by path while a transaction lasts, so that each is walked to once."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._open: dict[str, int | None] = {}

    def at(self, path: str) -> int | None:
        """Raises `PathRefused` where a link is on the way."""
        if path not in self._open:
            self._open[path] = self._calls.folder(path)
        return self._open[path]

    def spot(self, path: str) -> tuple[int | None, str]:
        """The open folder of `path`, and the file's name as seen from it."""
        folder = self.at(os.path.dirname(path))
        return folder, path if folder is None else os.path.basename(path)

    def make(self, path: str) -> bool:
        """Make one folder; False when it is there already."""
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
            sync_folder(folder, self._calls)

    def close(self) -> None:
        for folder in self._open.values():
            if folder is not None:
                self._calls.close(folder)
        self._open.clear()
