"""Texts of files as they are on disk, read again only when the file changed. Called in worker threads.

Which files changed on disk without the server having been told: seen when it answers with them. Files are
looked at in a worker thread.

The files a server has open: their text is that on disk, except while an overlay is staged.

Each asking of a question goes through `refresh`, so that "edit, then ask" holds without any watcher.
"""

import asyncio
import hashlib
import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cockpit.navigation.lsp.limits import MAX_FILE_BYTES
from cockpit.navigation.lsp.protocol import Encoding, column_to_offset, line_starts, path_to_uri
from cockpit.settings import file_io

# A file that is written twice within a tick of the file system's clock keeps its time: one that was read
# so soon after its writing is read again (the same trick as git's, Documentation/technical/racy-git).
CLOCK_TICK_NS = 30_000_000
MAX_CACHED_BYTES = 8_000_000
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells that a file changed. `sure` is False while it may have changed within the same tick."""

    modified: int
    changed: int
    size: int
    inode: int
    sure: bool

    def says_same(self, other: "FileStamp") -> bool:
        ours = (self.modified, self.changed, self.size, self.inode)
        return self.sure and ours == (other.modified, other.changed, other.size, other.inode)


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A file's text, and where its lines start in it. `marked`: it began with a byte order mark, which `text`
    leaves out. `exact`: it is UTF-8, so that edits of `text` can be written back."""

    text: str
    starts: Sequence[int]
    digest: str
    stamp: FileStamp
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
        return ((BYTE_ORDER_MARK if self.marked else "") + text).encode("utf-8")


def decode_text(content: bytes, stamp: FileStamp) -> DocumentText:
    """The text of a file's bytes."""
    try:
        text, exact = content.decode("utf-8"), True
    except UnicodeDecodeError:
        text, exact = content.decode("utf-8", "replace"), False
    marked = text.startswith(BYTE_ORDER_MARK)
    text = text[1:] if marked else text
    return DocumentText(
        text, array("L", line_starts(text)), hashlib.sha256(content).hexdigest(), stamp, marked, exact
    )


def read_stamp(path: str) -> FileStamp:
    """Raises OSError."""
    found = Path(path).stat()
    sure = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > CLOCK_TICK_NS
    return FileStamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, sure)


def is_unchanged(place: Path, stamp: FileStamp) -> bool:
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


NO_STAMP = FileStamp(0, 0, 0, 0, False)


class DocumentTextCache:
    """The texts read last, bounded by their size."""

    def __init__(self, kept: int = MAX_CACHED_BYTES) -> None:
        self._kept = kept
        self._size = 0
        self._texts: OrderedDict[str, DocumentText] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str) -> DocumentText | None:
        """The text of `path` now; None where no regular file of a bearable size can be read."""
        try:
            now = read_stamp(path)
        except (OSError, ValueError):
            self._drop(path)
            return None
        with self._lock:
            known = self._texts.get(path)
            if known is not None and known.stamp.says_same(now):
                self._texts.move_to_end(path)
                return known
        if now.size > MAX_FILE_BYTES or not Path(path).is_file():
            return None
        try:
            found = decode_text(file_io.read_bytes(path, MAX_FILE_BYTES), now)
        except OSError:
            return None
        self._keep(path, found)
        return found

    def line(self, path: str, number: int) -> str:
        """Line `number` (from 1) of a file; empty where there is none."""
        found = self.get(path)
        return found.line(number) if found is not None else ""

    def _keep(self, path: str, text: DocumentText) -> None:
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


class DiskFreshness:
    """What a server may be taken to have read of files that are not open: older than it, or told."""

    def __init__(self) -> None:
        self._since = time.time_ns() - CLOCK_TICK_NS
        self._told: dict[str, tuple[int, int]] = {}

    def stale(self, paths: Iterable[str]) -> list[str]:
        """Those of `paths` that differ from what the server knows. They count as told from now on."""
        found = []
        for path in paths:
            try:
                stamp = read_stamp(path)
            except (OSError, ValueError):
                continue
            now = (max(stamp.modified, stamp.changed), stamp.size)
            known = self._told.get(path)
            self._told[path] = now
            if known != now and (known is not None or now[0] > self._since):
                found.append(path)
        return found


# With more open than this, not every question looks at all of them, but one after this many seconds does.
ALWAYS_CHECKED_DOCUMENTS = 100
FULL_CHECK_SECONDS = 0.25


@dataclass(slots=True)
class OpenDocument:
    """An open document. `version` counts its changes, `look` orders the readings it was taken from."""

    path: str
    place: Path
    uri: str
    version: int
    text: DocumentText
    sent: float
    look: int


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How a server takes documents: see `offers.sync_kind` and `offers.wants_save`."""

    kind: int
    saves: bool
    with_text: bool
    encoding: Encoding


class OpenDocuments:
    """The open documents of one server, the ones asked for last. For one loop; files are read in a thread."""

    def __init__(
        self,
        notify: Callable[[str, object], None],
        texts: DocumentTextCache,
        sync: SyncOptions,
        id_of: Callable[[str], str],
        limit: Callable[[], int],
    ) -> None:
        self._notify = notify
        self._texts = texts
        self._sync = sync
        self._id_of = id_of
        self._limit = limit
        self._open: OrderedDict[str, OpenDocument] = OrderedDict()
        self._look = 0
        self._looked = 0.0

    def get(self, path: str) -> OpenDocument | None:
        return self._open.get(path)

    def version_of(self, path: str) -> int | None:
        """The version of an open document. Called from any thread."""
        known = self._open.get(path)
        return known.version if known is not None else None

    def paths(self) -> tuple[str, ...]:
        return tuple(self._open)

    async def refresh(self, *paths: str) -> tuple[OpenDocument | None, ...]:
        """The documents of `paths` (absolute), opened, and all that are open as they are on disk now; None
        for a path that is no readable file. Without `paths` all are looked at, however many they are."""
        self._look += 1
        look = self._look
        all_of_them = (
            not paths
            or len(self._open) <= ALWAYS_CHECKED_DOCUMENTS
            or _now() - self._looked > FULL_CHECK_SECONDS
        )
        if all_of_them:
            self._looked = _now()
        looked_at = [one for one in self._open.values() if all_of_them or one.path in paths]
        opened = [(one.path, one.place, one.text.stamp) for one in looked_at]
        found = await asyncio.to_thread(_read_changed, self._texts, paths, opened)
        for path, text in found.items():
            self._settle(path, text, look, path in paths)
        for path in paths:
            if path in self._open:
                self._open.move_to_end(path)
        while len(self._open) > max(self._limit(), len(paths)):
            self.close(next(iter(self._open)))
        return tuple(self._open.get(path) for path in paths)

    def differ(self, paths: Iterable[str]) -> bool:
        """Whether one of `paths` is open and not as it is on disk: the next question looks at all then.
        Called from any thread."""
        known = (self._open.get(path) for path in paths)
        found = any(one is not None and not is_unchanged(one.place, one.text.stamp) for one in known)
        if found:
            self._looked = 0.0
        return found

    def _settle(self, path: str, text: DocumentText | None, look: int, wanted: bool) -> None:
        known = self._open.get(path)
        if known is None:
            if text is not None and wanted:
                self._begin(path, text, look)
        elif known.look > look:
            return  # A later reading came first.
        elif text is None:
            self.close(path)
        else:
            known.look = look
            if known.text.digest != text.digest:
                self._change(known, text)
                self._saved(known)
            else:
                known.text = text

    def stage(self, path: str, content: bytes) -> OpenDocument:
        """Show the server `content` in place of what is on disk."""
        text = decode_text(content, NO_STAMP)
        known = self._open.get(path)
        if known is None:
            return self._begin(path, text, self._look)
        if known.text.digest != text.digest:
            self._change(known, text)
        return known

    def restore(self, path: str, text: DocumentText | None) -> None:
        """Withdraw what was staged: `text` is the document's before, None for one that was not open."""
        known = self._open.get(path)
        if known is None:
            return
        if text is None:
            self.close(path)
        elif known.text.digest != text.digest:
            self._change(known, text)

    def close(self, path: str) -> None:
        known = self._open.pop(path, None)
        if known is not None:
            self._notify("textDocument/didClose", {"textDocument": {"uri": known.uri}})

    def _begin(self, path: str, text: DocumentText, look: int) -> OpenDocument:
        document = OpenDocument(path, Path(path), path_to_uri(path), 1, text, _now(), look)
        self._open[path] = document
        opened = {"uri": document.uri, "languageId": self._id_of(path), "version": 1, "text": text.text}
        self._notify("textDocument/didOpen", {"textDocument": opened})
        return document

    def _change(self, known: OpenDocument, text: DocumentText) -> None:
        before, known.text, known.sent = known.text, text, _now()
        known.version += 1
        change: dict[str, object] = {"text": text.text}
        if self._sync.kind == 2:
            last = before.line(before.last)
            end = {
                "line": before.last - 1,
                "character": column_to_offset(last, len(last) + 1, self._sync.encoding),
            }
            change["range"] = {"start": {"line": 0, "character": 0}, "end": end}
        if self._sync.kind:
            named = {"uri": known.uri, "version": known.version}
            self._notify("textDocument/didChange", {"textDocument": named, "contentChanges": [change]})

    def _saved(self, known: OpenDocument) -> None:
        if self._sync.saves:
            said: dict[str, object] = {"textDocument": {"uri": known.uri}}
            if self._sync.with_text:
                said["text"] = known.text.text
            self._notify("textDocument/didSave", said)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _read_changed(
    texts: DocumentTextCache, paths: tuple[str, ...], opened: list[tuple[str, Path, FileStamp]]
) -> dict[str, DocumentText | None]:
    """The texts of those that differ on disk from what is open, and of `paths` that are not open. Every
    question looks at all that is open: hence as little as can be for one that is the same."""
    found: dict[str, DocumentText | None] = {}
    for path, place, stamp in opened:
        if not is_unchanged(place, stamp):
            found[path] = texts.get(path)
    known = {path for path, _, _ in opened}
    for path in paths:
        if path not in known:
            found[path] = texts.get(path)
    return found
