"""The file calls of the operating system that a transaction makes, each one method. Nothing else of
this room writes. `before` is called with the call's name ahead of each: tests fail or stop there.

`COCKPIT_FAULT=disk.NAME:N` kills this process ahead of the N-th (from 1) call NAME, `disk.any:N` ahead of
the N-th of any, as `core/fault` does at its points.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from cockpit.workspace import beneath
from cockpit.workspace.exchanging import exchange

_wanted, _, _number = os.environ.get("COCKPIT_FAULT", "").rpartition(":")
_passed = 0


def _fault(name: str) -> None:
    """Lets every call through, but for the one that a test has named."""
    if _wanted.startswith("disk."):
        _count(name)


def _count(name: str) -> None:
    global _passed
    if _wanted not in ("disk.any", f"disk.{name}"):
        return
    _passed += 1
    if _passed == int(_number):
        os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Calls:
    """`relative` opens folders link by link and works relative to them; without it (Windows) paths are
    used as they are. A `folder` argument is an open folder or None."""

    before: Callable[[str], None] = _fault
    relative: bool = beneath.RELATIVE

    def folder(self, path: str) -> int | None:
        if not self.relative:
            return None
        self.before("open")
        return beneath.open_folder(path)

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
        return folder is not None and exchange(name, other, folder)

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
