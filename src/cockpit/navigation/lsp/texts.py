"""Texts of files as they are on disk, read again only when the file changed. Called in worker threads."""

import hashlib
import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cockpit.navigation.lsp.limits import LARGEST_FILE
from cockpit.navigation.lsp.positions import starts_of
from cockpit.settings import plain

# A file that is written twice within a tick of the file system's clock keeps its time: one that was read
# so soon after its writing is read again (the same trick as git's, Documentation/technical/racy-git).
TICK = 30_000_000
KEPT_BYTES = 8_000_000
MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells that a file changed. `sure` is False while it may have changed within the same tick."""

    modified: int
    changed: int
    size: int
    inode: int
    sure: bool

    def says_same(self, other: "Stamp") -> bool:
        ours = (self.modified, self.changed, self.size, self.inode)
        return self.sure and ours == (other.modified, other.changed, other.size, other.inode)


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text, and where its lines start in it. `marked`: it began with a byte order mark, which `text`
    leaves out. `exact`: it is UTF-8, so that edits of `text` can be written back."""

    text: str
    starts: Sequence[int]
    digest: str
    stamp: Stamp
    marked: bool
    exact: bool

    def line(self, number: int) -> str:
        """Line `number`, from 1; empty past the end."""
        if not 0 < number <= len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n")

    @property
    def last(self) -> int:
        """The number of the last line."""
        return len(self.starts)

    def bytes_of(self, text: str) -> bytes:
        """`text` as bytes of this file."""
        return ((MARK if self.marked else "") + text).encode("utf-8")


def text_of(content: bytes, stamp: Stamp) -> Text:
    """The text of a file's bytes."""
    try:
        text, exact = content.decode("utf-8"), True
    except UnicodeDecodeError:
        text, exact = content.decode("utf-8", "replace"), False
    marked = text.startswith(MARK)
    text = text[1:] if marked else text
    return Text(text, array("L", starts_of(text)), hashlib.sha256(content).hexdigest(), stamp, marked, exact)


def stamp_of(path: str) -> Stamp:
    """Raises OSError."""
    found = Path(path).stat()
    sure = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > TICK
    return Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, sure)


def is_same(place: Path, stamp: Stamp) -> bool:
    """Whether the file is still the one that `stamp` was taken of."""
    if not stamp.sure:
        return False
    try:
        now = place.stat()
    except (OSError, ValueError):
        return False
    return (
        now.st_mtime_ns == stamp.modified
        and now.st_ctime_ns == stamp.changed
        and now.st_size == stamp.size
        and now.st_ino == stamp.inode
    )


NEVER = Stamp(0, 0, 0, 0, False)


class Texts:
    """The texts read last, bounded by their size."""

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self._kept = kept
        self._size = 0
        self._texts: OrderedDict[str, Text] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str) -> Text | None:
        """The text of `path` now; None where no regular file of a bearable size can be read."""
        try:
            now = stamp_of(path)
        except (OSError, ValueError):
            self._drop(path)
            return None
        with self._lock:
            known = self._texts.get(path)
            if known is not None and known.stamp.says_same(now):
                self._texts.move_to_end(path)
                return known
        if now.size > LARGEST_FILE or not Path(path).is_file():
            return None
        try:
            found = text_of(plain.read_bytes(path, LARGEST_FILE), now)
        except OSError:
            return None
        self._keep(path, found)
        return found

    def line(self, path: str, number: int) -> str:
        """Line `number` (from 1) of a file; empty where there is none."""
        found = self.get(path)
        return found.line(number) if found is not None else ""

    def _keep(self, path: str, text: Text) -> None:
        with self._lock:
            self._forget(path)
            self._texts[path] = text
            self._size += text.stamp.size
            while self._size > self._kept and len(self._texts) > 1:
                self._forget(next(iter(self._texts)))

    def _drop(self, path: str) -> None:
        with self._lock:
            self._forget(path)

    def _forget(self, path: str) -> None:
        known = self._texts.pop(path, None)
        if known is not None:
            self._size -= known.stamp.size
