"""What is known of a root's files: facts that show a change without reading, and the ids of their bytes."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cockpit.workspace.checkpoints.values import Kept, Why
from cockpit.workspace.ignores import Levels


class File(NamedTuple):
    """A file as it was looked at. `mtime` and `ctime` are ns; `young`: it was written so shortly before
    that a later write might not show in them."""

    mode: int
    size: int
    mtime: int
    ctime: int
    ino: int
    id: str
    why: Why = ""
    young: bool = False

    @property
    def kept(self) -> Kept:
        return Kept(self.mode, self.size, self.id, self.why)


@dataclass(slots=True)
class Folder:
    """A folder, its listing as of `mtime` (-1: to be listed again), and the rules in force in it. `above`
    are those that reach into it."""

    mtime: int = -1
    listed: bool = False
    ino: int = 0
    files: dict[str, File] = field(default_factory=dict)
    folders: dict[str, "Folder"] = field(default_factory=dict)
    levels: Levels = ()
    rules: tuple[tuple[str, int, int], ...] = ()
    above: Levels = ()

    def walk(self, path: str = "") -> Iterator[tuple[str, File]]:
        for name, file in self.files.items():
            yield path + name, file
        for name, folder in self.folders.items():
            yield from folder.walk(f"{path}{name}/")

    def walk_folders(self, path: str = "") -> Iterator[str]:
        for name, folder in self.folders.items():
            yield path + name
            yield from folder.walk_folders(f"{path}{name}/")

    def at(self, parts: list[str]) -> "Folder":
        """The folder below, made where it is not known."""
        here = self
        for name in parts:
            here = here.folders.setdefault(name, Folder())
        return here

    def find(self, path: str) -> File | None:
        """What is known of the file at `path`."""
        *above, name = path.split("/")
        here = self
        for one in above:
            if one not in here.folders:
                return None
            here = here.folders[one]
        return here.files.get(name)

    def put(self, path: str, file: File | None) -> None:
        """Take a file (or its absence) as known."""
        *above, name = path.split("/")
        if file is not None:
            self.at(above).files[name] = file
            return
        here = self
        for one in above:
            if one not in here.folders:
                return
            here = here.folders[one]
        here.files.pop(name, None)


def is_kind(mode: int) -> bool:
    """Whether it is something a checkpoint knows: a regular file or a link."""
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
