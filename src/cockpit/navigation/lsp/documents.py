"""Texts of files on disk, and the documents that are open in a server.

A document's text is that on disk, except while an overlay is staged. Every question goes through `refresh`,
so that "edit, then ask" works without a file watcher. Files are read in worker threads.
"""

import asyncio
import hashlib
import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cockpit.navigation.lsp.limits import MAX_FILE_BYTES
from cockpit.navigation.lsp.protocol import Encoding, column_to_offset, line_starts, path_to_uri
from cockpit.settings import file_io

# A file that is written twice within one tick of the file system's clock keeps its time. A file that was
# read so soon after its modification is read again, as git does (Documentation/technical/racy-git).
CLOCK_TICK_NS = 30_000_000
MAX_CACHED_BYTES = 8_000_000
BYTE_ORDER_MARK = "\ufeff"
# With more documents open, a question checks all of them only if this many seconds have passed.
ALWAYS_CHECKED_DOCUMENTS = 100
FULL_CHECK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Detects that a file changed. `sure` is False while it may have changed within the same clock tick."""

    modified: int
    changed: int
    size: int
    inode: int
    sure: bool

    def matches(self, other: "FileStamp") -> bool:
        ours = (self.modified, self.changed, self.size, self.inode)
        return self.sure and ours == (other.modified, other.changed, other.size, other.inode)


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A file's text and the offsets of its lines. `marked`: it began with a byte order mark, which `text`
    leaves out. `exact`: it is valid UTF-8, so that edits of `text` can be written back."""

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
        """Encode `text` like this file."""
        return ((BYTE_ORDER_MARK if self.marked else "") + text).encode("utf-8")


def decode_text(content: bytes, stamp: FileStamp) -> DocumentText:
    """The text of a file's content."""
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
    info = Path(path).stat()
    sure = time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > CLOCK_TICK_NS
    return FileStamp(info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, sure)


def is_unchanged(place: Path, stamp: FileStamp) -> bool:
    """Whether the file is still the one that `stamp` was taken of."""
    if not stamp.sure:
        return False
    try:
        current = place.stat()
    except (OSError, ValueError):
        return False
    return (
        current.st_mtime_ns == stamp.modified
        and current.st_ctime_ns == stamp.changed
        and current.st_size == stamp.size
        and current.st_ino == stamp.inode
    )


NO_STAMP = FileStamp(0, 0, 0, 0, False)


class DocumentTextCache:
    """The texts read last, bounded by their size. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._texts: OrderedDict[str, DocumentText] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str) -> DocumentText | None:
        """The current text of `path`; None if it is not a readable regular file of acceptable size."""
        try:
            stamp = read_stamp(path)
        except (OSError, ValueError):
            self._drop(path)
            return None
        with self._lock:
            cached = self._texts.get(path)
            if cached is not None and cached.stamp.matches(stamp):
                self._texts.move_to_end(path)
                return cached
        if stamp.size > MAX_FILE_BYTES or not Path(path).is_file():
            return None
        try:
            text = decode_text(file_io.read_bytes(path, MAX_FILE_BYTES), stamp)
        except OSError:
            return None
        self._keep(path, text)
        return text

    def line(self, path: str, number: int) -> str:
        """Line `number` (from 1) of a file; empty if there is none."""
        text = self.get(path)
        return text.line(number) if text is not None else ""

    def _keep(self, path: str, text: DocumentText) -> None:
        with self._lock:
            self._forget(path)
            self._texts[path] = text
            self._size += text.stamp.size
            while self._size > self._max_bytes and len(self._texts) > 1:
                self._forget(next(iter(self._texts)))

    def _drop(self, path: str) -> None:
        with self._lock:
            self._forget(path)

    def _forget(self, path: str) -> None:
        text = self._texts.pop(path, None)
        if text is not None:
            self._size -= text.stamp.size


class DiskFreshness:
    """Which files changed on disk without the server being notified. A server is assumed to have read
    files that are older than itself or were reported to it."""

    def __init__(self) -> None:
        self._since = time.time_ns() - CLOCK_TICK_NS
        self._reported: dict[str, tuple[int, int]] = {}

    def stale(self, paths: Iterable[str]) -> list[str]:
        """Those of `paths` that differ from what the server knows. They count as reported from now on."""
        stale_paths = []
        for path in paths:
            try:
                stamp = read_stamp(path)
            except (OSError, ValueError):
                continue
            state = (max(stamp.modified, stamp.changed), stamp.size)
            reported = self._reported.get(path)
            self._reported[path] = state
            if reported != state and (reported is not None or state[0] > self._since):
                stale_paths.append(path)
        return stale_paths


@dataclass(slots=True)
class OpenDocument:
    """An open document. `version` counts its changes, `look` orders the reads it was taken from."""

    path: str
    place: Path
    uri: str
    version: int
    text: DocumentText
    sent: float
    look: int


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How a server is notified of documents: see `sync_kind` and `wants_save`. `extra` is added to the
    parameters of each change."""

    kind: int
    saves: bool
    with_text: bool
    encoding: Encoding
    extra: Mapping[str, object]


class OpenDocuments:
    """The documents open in one server, those used last. For one event loop."""

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
        """The version of an open document. May be called from any thread."""
        known = self._open.get(path)
        return known.version if known is not None else None

    def paths(self) -> tuple[str, ...]:
        return tuple(self._open)

    async def refresh(self, *paths: str) -> tuple[OpenDocument | None, ...]:
        """Bring open documents up to date with the disk, and open those of `paths` (absolute).

        Returns the documents of `paths`; None for a path that is not a readable file. Without `paths` all
        open documents are checked, however many they are.
        """
        self._look += 1
        look = self._look
        checks_all = (
            not paths
            or len(self._open) <= ALWAYS_CHECKED_DOCUMENTS
            or _now() - self._looked > FULL_CHECK_SECONDS
        )
        if checks_all:
            self._looked = _now()
        checked = [document for document in self._open.values() if checks_all or document.path in paths]
        opened = [(document.path, document.place, document.text.stamp) for document in checked]
        changed = await asyncio.to_thread(_read_changed, self._texts, paths, opened)
        for path, text in changed.items():
            self._settle(path, text, look, path in paths)
        for path in paths:
            if path in self._open:
                self._open.move_to_end(path)
        while len(self._open) > max(self._limit(), len(paths)):
            self.close(next(iter(self._open)))
        return tuple(self._open.get(path) for path in paths)

    def differ(self, paths: Iterable[str]) -> bool:
        """Whether one of `paths` is open and differs from the disk: the next question then checks all. May
        be called from any thread."""
        documents = (self._open.get(path) for path in paths)
        is_different = any(
            document is not None and not is_unchanged(document.place, document.text.stamp)
            for document in documents
        )
        if is_different:
            self._looked = 0.0
        return is_different

    def _settle(self, path: str, text: DocumentText | None, look: int, is_wanted: bool) -> None:
        known = self._open.get(path)
        if known is None:
            if text is not None and is_wanted:
                self._begin(path, text, look)
        elif known.look > look:
            return  # A newer read was applied already.
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
        """Show the server `content` instead of what is on disk."""
        text = decode_text(content, NO_STAMP)
        known = self._open.get(path)
        if known is None:
            return self._begin(path, text, self._look)
        if known.text.digest != text.digest:
            self._change(known, text)
        return known

    def restore(self, path: str, text: DocumentText | None) -> None:
        """Withdraw what was staged: `text` is what was open before, None if the document was not open."""
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
        item = {"uri": document.uri, "languageId": self._id_of(path), "version": 1, "text": text.text}
        self._notify("textDocument/didOpen", {"textDocument": item})
        return document

    def _change(self, known: OpenDocument, text: DocumentText) -> None:
        old_text, known.text, known.sent = known.text, text, _now()
        known.version += 1
        change: dict[str, object] = {"text": text.text}
        if self._sync.kind == 2:
            last = old_text.line(old_text.last)
            end = {
                "line": old_text.last - 1,
                "character": column_to_offset(last, len(last) + 1, self._sync.encoding),
            }
            change["range"] = {"start": {"line": 0, "character": 0}, "end": end}
        if self._sync.kind:
            identifier = {"uri": known.uri, "version": known.version}
            params = {"textDocument": identifier, "contentChanges": [change], **self._sync.extra}
            self._notify("textDocument/didChange", params)

    def _saved(self, known: OpenDocument) -> None:
        if self._sync.saves:
            params: dict[str, object] = {"textDocument": {"uri": known.uri}}
            if self._sync.with_text:
                params["text"] = known.text.text
            self._notify("textDocument/didSave", params)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _read_changed(
    texts: DocumentTextCache, paths: tuple[str, ...], open_files: list[tuple[str, Path, FileStamp]]
) -> dict[str, DocumentText | None]:
    """The texts of open files that differ on disk, and of those of `paths` that are not open. Every
    question checks all open files, so an unchanged file must cost as little as possible."""
    texts_by_path: dict[str, DocumentText | None] = {}
    for path, place, stamp in open_files:
        if not is_unchanged(place, stamp):
            texts_by_path[path] = texts.get(path)
    open_paths = {path for path, _, _ in open_files}
    for path in paths:
        if path not in open_paths:
            texts_by_path[path] = texts.get(path)
    return texts_by_path
