"""What both forms of a patch are parsed into."""

from dataclasses import dataclass
from typing import Literal

from cockpit.errors import CockpitError

LineSign = Literal[" ", "-", "+"]


class PatchRefused(CockpitError):
    """A patch that cannot be parsed or does not fit; the message says where and what to do.

    For programs: the `path` of the file, the `hunk` in it (from 1), its `place` (a line of the patch), and
    `near`, the most similar line of the file; empty or 0 if unknown.
    """

    def __init__(
        self, message: str, hint: str = "", *, path: str = "", hunk: int = 0, place: int = 0, near: int = 0
    ) -> None:
        super().__init__(message, hint)
        self.path = path
        self.hunk = hunk
        self.place = place
        self.near = near


@dataclass(frozen=True, slots=True)
class PatchChunk:
    """One contiguous change. `place` is its line in the patch, from 1.

    `start` is the line (from 1) at which the patch says it begins, None if it does not say. `anchors` are
    lines above it, in order. `at_end`: it ends with the file. `old_open` and `new_open`: the last line of
    that side has no newline.
    """

    place: int
    lines: tuple[tuple[LineSign, str], ...]
    start: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    old_open: bool = False
    new_open: bool = False

    @property
    def old(self) -> tuple[tuple[LineSign, str], ...]:
        """The lines that must be in the file."""
        return tuple(line for line in self.lines if line[0] != "+")


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file. `to` is a new name, `mode` new permission bits. A `copy` leaves `path` alone.
    `counted`: the patch lists every line, as a unified diff does."""

    action: Literal["add", "update", "delete", "copy"]
    path: str
    place: int
    chunks: tuple[PatchChunk, ...] = ()
    to: str = ""
    mode: int | None = None
    counted: bool = False


MatchKind = Literal["exact", "line ends", "trailing space", "space or typographic signs"]


@dataclass(frozen=True, slots=True)
class HunkPlacement:
    """Where one hunk of a patch was applied: `number` (from 1) in its file, `place` its line in the patch,
    `line` (from 1) in the file as it was, `asked` the line that the patch named, None if it named none."""

    number: int
    place: int
    line: int
    asked: int | None
    how: MatchKind


def check_patch_path(path: str, place: int) -> str:
    """The normalized `path`, which must be relative and without `..`. Raises `PatchRefused`."""
    parts = path.replace("\\", "/").split("/")
    if not path or path.startswith(("/", "\\", "~")) or (len(path) > 1 and path[1] == ":"):
        raise PatchRefused(f"patch line {place}: {path!r} is an absolute path; write it relative to the root")
    if ".." in parts:
        raise PatchRefused(f"patch line {place}: {path!r} goes up with ..; write the path from the root")
    return "/".join(part for part in path.split("/") if part not in ("", "."))
