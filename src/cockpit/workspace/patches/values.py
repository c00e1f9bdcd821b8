"""What both forms of a patch are parsed into."""

from dataclasses import dataclass
from typing import Literal

from cockpit.errors import CockpitError

Sign = Literal[" ", "-", "+"]


class PatchRefused(CockpitError):
    """A patch that cannot be read or does not fit; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One contiguous change. `place` is its line in the patch, from 1.

    `start` is the line (from 1) the patch says it begins at, None when it does not say. `anchors`
    are lines that stand above it, in order. `at_end` says that it ends with the file.
    `old_open` and `new_open` say that the last line of that side has no newline.
    """

    place: int
    lines: tuple[tuple[Sign, str], ...]
    start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    old_open: bool = False
    new_open: bool = False

    @property
    def old(self) -> tuple[tuple[Sign, str], ...]:
        """The lines that must be there."""
        return tuple(line for line in self.lines if line[0] != "+")


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file. `to` is a new name, `mode` new permission bits."""

    action: Literal["add", "update", "delete"]
    path: str
    place: int
    chunks: tuple[Chunk, ...] = ()
    to: str = ""
    mode: int | None = None


def checked_path(path: str, place: int) -> str:
    """`path` as a patch may name it: relative, downwards. Raises `PatchRefused`."""
    parts = path.replace("\\", "/").split("/")
    if not path or path.startswith(("/", "\\", "~")) or (len(path) > 1 and path[1] == ":"):
        raise PatchRefused(f"patch line {place}: {path!r} must be a path relative to the root")
    if ".." in parts:
        raise PatchRefused(f"patch line {place}: {path!r} goes upwards with ..; name the file from the root")
    return "/".join(part for part in path.split("/") if part not in ("", "."))
