"""The value behind every write: the file changes that a call plans, and those that were made.

`workspace/files/changes` plans a `ChangeSet` from edits on a virtual tree, and the workspace applies it all
or nothing. Approvals, the Changes in Work, checkpoints, rewind, rename and patches share it.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cockpit.protocol.content import Hunk


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Make `path` contain exactly `content`.

    `before` is the sha256 (hex) of the bytes that the writer saw; "" means the file must not exist yet, None
    that anything may be there. `mode` are its permission bits, None to keep them (or 0644).
    """

    path: str
    content: bytes
    before: str | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Delete the regular file at `path`."""

    path: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class MoveFile:
    """Rename `path` to `to`, which must not exist unless `replace`; `content` also rewrites it."""

    path: str
    to: str
    content: bytes | None = None
    replace: bool = False
    mode: int | None = None


Edit: TypeAlias = WriteFile | DeleteFile | MoveFile


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file, in `/`-separated paths relative to the root.

    `before` and `after` are the whole contents, None where there is no file. `before_hash` is the sha256 of
    `before` ("" for none): if the file changed in between, the whole set is refused. `mode` are the
    permission bits that the file will have.
    """

    path: str
    before: bytes | None
    after: bytes | None
    before_hash: str
    hunks: tuple[Hunk, ...]
    mode: int
    moved_from: str = ""
    binary: bool = False

    @property
    def change(self) -> Literal["created", "modified", "deleted", "moved"]:
        if self.moved_from:
            return "moved"
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "modified"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Every file of one transaction; each path occurs once."""

    files: tuple[FileChange, ...]
    agent: str = "main"
    call: str = ""
