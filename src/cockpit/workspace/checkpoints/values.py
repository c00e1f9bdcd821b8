"""What a checkpoint says: files as they were and as they are, call by call. Touches no disk."""

from dataclasses import dataclass, replace
from typing import Literal

Why = Literal["", "large", "total", "secret", "unreadable"]
WHY: dict[Why, str] = {
    "": "",
    "large": "it is too large to keep",
    "total": "the folder holds more than is kept in all",
    "secret": "it holds secrets, which are not copied",
    "unreadable": "it could not be read",
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A file or a symbolic link at one moment: its whole st_mode, its size, and the id of its bytes (of
    a link: where it leads). `id` is empty when the bytes were not kept; `why` says the reason."""

    mode: int
    size: int
    id: str
    why: Why = ""


@dataclass(frozen=True, slots=True)
class FileDelta:
    """One path (relative, with `/`) before and after; None for nothing there."""

    path: str
    before: Kept | None
    after: Kept | None


@dataclass(frozen=True, slots=True)
class Delta:
    """What is different between two looks; `made` and `gone` are folders."""

    files: tuple[FileDelta, ...] = ()
    made: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.made or self.gone)


@dataclass(frozen=True, slots=True)
class Call:
    """Whose work a record is. `turn` is the id of the prompt's op; `started` epoch seconds."""

    session: str
    turn: str
    agent: str
    call: str
    title: str
    started: float


@dataclass(frozen=True, slots=True)
class Record:
    """One finished call, or a rewind (then `call.call` is the rewind's id and `undoes` may name another).

    `sure` is False where others may have written in the same time: after a crash in the middle.
    """

    kind: Literal["call", "rewind"]
    call: Call
    ended: float
    delta: Delta
    sure: bool = True
    turns: tuple[str, ...] = ()
    undoes: str = ""


def joined(one: Delta, other: Delta) -> Delta:
    """`one`, then `other`, as a single step. What ended as it began is left out."""
    files = {file.path: file for file in one.files}
    for file in other.files:
        known = files.get(file.path)
        files[file.path] = replace(file, before=known.before) if known else file
    made = (set(one.made) - set(other.gone)) | (set(other.made) - set(one.gone))
    gone = (set(one.gone) - set(other.made)) | (set(other.gone) - set(one.made))
    kept = tuple(file for _, file in sorted(files.items()) if not same(file.before, file.after))
    return Delta(kept, tuple(sorted(made)), tuple(sorted(gone)))


def same(one: Kept | None, other: Kept | None) -> bool:
    """Whether nothing a person could see is different. Bytes that were not kept are never the same
    as others, for nobody can tell."""
    if one is None or other is None:
        return one is other
    if not one.id or not other.id:
        return one == other
    return (one.mode, one.id) == (other.mode, other.id)


def without(delta: Delta, paths: frozenset[str]) -> Delta:
    """`delta` without what another call has reported as its own."""
    return replace(delta, files=tuple(file for file in delta.files if file.path not in paths))
