"""Texts of files on disk, and the documents that are open in a server.

An open document has the text that is on disk, except while an overlay is staged. Every question calls
`refresh` first, so that "edit, then ask" works without a file watcher. Files are read in worker threads.
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
from typing import NamedTuple

from cockpit.navigation.lsp.limits import MAX_FILE_BYTES
from cockpit.navigation.lsp.protocol import Encoding, column_to_offset, get_nested, line_starts, path_to_uri
from cockpit.settings import file_io

# A file that is written twice within one tick of the file system's clock keeps its time. A file that was
# read so soon after its modification is read again, as git does (Documentation/technical/racy-git).
CLOCK_TICK_NS = 30_000_000
MAX_CACHED_BYTES = 8_000_000
BYTE_ORDER_MARK = "\ufeff"
# With more documents open, a question checks all of them only if this many seconds have passed.
ALWAYS_CHECKED_DOCUMENTS = 100
FULL_CHECK_SECONDS = 0.25


class FileStamp(NamedTuple):
    """State of a file on disk; times in ns. `sure` is False if the file was modified so recently that another
    change may leave the same times."""

    modified: int
    changed: int
    size: int
    inode: int
    sure: bool

    def matches(self, other: "FileStamp") -> bool:
        """Whether the file is certainly unchanged between the two."""
        return self.sure and self[:4] == other[:4]


NO_STAMP = FileStamp(0, 0, 0, 0, False)


def read_stamp(path: str) -> FileStamp:
    """Raises OSError, and ValueError for a path with a NUL."""
    info = Path(path).stat()
    sure = time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > CLOCK_TICK_NS
    return FileStamp(info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino, sure)


def is_unchanged(path: str, stamp: FileStamp) -> bool:
    """Whether the file at `path` certainly still has the state `stamp`."""
    try:
        return stamp.sure and stamp.matches(read_stamp(path))
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A file's text and the offset at which each line starts.

    `marked`: the file begins with a byte order mark, which `text` leaves out. `exact`: the file is valid
    UTF-8, so that edits of `text` can be written back.
    """

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

    def encode(self, text: str) -> bytes:
        """`text` as bytes, with a byte order mark if this file has one."""
        return ((BYTE_ORDER_MARK if self.marked else "") + text).encode("utf-8")


def decode_text(content: bytes, stamp: FileStamp = NO_STAMP) -> DocumentText:
    """The text of a file's content."""
    try:
        text, exact = content.decode("utf-8"), True
    except UnicodeDecodeError:
        text, exact = content.decode("utf-8", "replace"), False
    marked = text.startswith(BYTE_ORDER_MARK)
    text = text.removeprefix(BYTE_ORDER_MARK)
    digest = hashlib.sha256(content).hexdigest()
    return DocumentText(text, array("L", line_starts(text)), digest, stamp, marked, exact)


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
            with self._lock:
                self._remove(path)
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
        with self._lock:
            self._remove(path)
            self._texts[path] = text
            self._size += stamp.size
            while self._size > self._max_bytes and len(self._texts) > 1:
                self._remove(next(iter(self._texts)))
        return text

    def line(self, path: str, number: int) -> str:
        """Line `number` (from 1) of a file; empty if there is none."""
        text = self.get(path)
        return text.line(number) if text is not None else ""

    def _remove(self, path: str) -> None:
        if (text := self._texts.pop(path, None)) is not None:
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
    """An open document.

    `version` counts its changes, `sent_at` is when the server got the current text (the loop's clock), and
    `read_number` is the number of the `refresh` that read it: a slower, earlier one must not replace it.
    """

    path: str
    uri: str
    version: int
    text: DocumentText
    sent_at: float
    read_number: int


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How a server is notified of changed documents.

    `kind`: 0 nothing, 1 the whole text, 2 a range. `on_save`: a notification of each save, `with_text`
    together with the text. `extra` is added to the parameters of each change.
    """

    kind: int
    on_save: bool
    with_text: bool
    encoding: Encoding
    extra: Mapping[str, object]


def parse_sync_options(capabilities: object, encoding: Encoding, extra: Mapping[str, object]) -> SyncOptions:
    """The synchronisation that a server's capabilities ask for; whole texts if they do not say."""
    sync = get_nested(capabilities, "textDocumentSync")
    kind = get_nested(sync, "change") if isinstance(sync, dict) else sync
    if not isinstance(kind, int) or isinstance(kind, bool) or not 0 <= kind <= 2:
        kind = 1
    save = get_nested(sync, "save")
    on_save = bool(save) or isinstance(save, dict)
    return SyncOptions(kind, on_save, get_nested(save, "includeText") is True, encoding, extra)


class OpenDocuments:
    """The documents open in one server: those used last, at most `limit()`. For one event loop."""

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
        self._read_count = 0
        self._checked_all_at = 0.0

    def get(self, path: str) -> OpenDocument | None:
        return self._open.get(path)

    def version_of(self, path: str) -> int | None:
        """The version of an open document. May be called from any thread."""
        document = self._open.get(path)
        return document.version if document is not None else None

    def all(self) -> tuple[OpenDocument, ...]:
        return tuple(self._open.values())

    async def refresh(self, *paths: str) -> tuple[OpenDocument | None, ...]:
        """Bring open documents up to date with the disk, and open those of `paths` (absolute).

        Returns the documents of `paths`; None for a path that is not a readable file. Without `paths` all
        open documents are checked, however many they are.
        """
        self._read_count += 1
        read_number = self._read_count
        checks_all = (
            not paths
            or len(self._open) <= ALWAYS_CHECKED_DOCUMENTS
            or _now() - self._checked_all_at > FULL_CHECK_SECONDS
        )
        if checks_all:
            self._checked_all_at = _now()
        stamps = {
            path: document.text.stamp for path, document in self._open.items() if checks_all or path in paths
        }
        changed = await asyncio.to_thread(_read_changed, self._texts, paths, stamps)
        for path, text in changed.items():
            self._apply_read(path, text, read_number, path in paths)
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
        if all(
            document is None or is_unchanged(document.path, document.text.stamp) for document in documents
        ):
            return False
        self._checked_all_at = 0.0
        return True

    def stage(self, path: str, content: bytes) -> OpenDocument:
        """Show the server `content` instead of what is on disk."""
        text = decode_text(content)
        document = self._open.get(path)
        if document is None:
            return self._send_open(path, text, self._read_count)
        self._send_change(document, text)
        return document

    def restore(self, path: str, text: DocumentText | None) -> None:
        """Withdraw what was staged: `text` is what was open before, None if the document was not open."""
        document = self._open.get(path)
        if document is not None and text is not None:
            self._send_change(document, text)
        elif document is not None:
            self.close(path)

    def close(self, path: str) -> None:
        document = self._open.pop(path, None)
        if document is not None:
            self._notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})

    def _apply_read(self, path: str, text: DocumentText | None, read_number: int, is_wanted: bool) -> None:
        document = self._open.get(path)
        if document is None:
            if text is not None and is_wanted:
                self._send_open(path, text, read_number)
        elif document.read_number > read_number:
            return
        elif text is None:
            self.close(path)
        else:
            document.read_number = read_number
            if self._send_change(document, text):
                self._send_save(document)
            else:
                document.text = text

    def _send_open(self, path: str, text: DocumentText, read_number: int) -> OpenDocument:
        document = self._open[path] = OpenDocument(path, path_to_uri(path), 1, text, _now(), read_number)
        item = {"uri": document.uri, "languageId": self._id_of(path), "version": 1, "text": text.text}
        self._notify("textDocument/didOpen", {"textDocument": item})
        return document

    def _send_change(self, document: OpenDocument, text: DocumentText) -> bool:
        """Replace a document's text; returns whether it differs."""
        old_text = document.text
        if old_text.digest == text.digest:
            return False
        document.text, document.sent_at = text, _now()
        document.version += 1
        change: dict[str, object] = {"text": text.text}
        if self._sync.kind == 2:
            last = old_text.line(old_text.last)
            last_offset = column_to_offset(last, len(last) + 1, self._sync.encoding)
            end = {"line": old_text.last - 1, "character": last_offset}
            change["range"] = {"start": {"line": 0, "character": 0}, "end": end}
        if self._sync.kind:
            identifier = {"uri": document.uri, "version": document.version}
            params = {"textDocument": identifier, "contentChanges": [change], **self._sync.extra}
            self._notify("textDocument/didChange", params)
        return True

    def _send_save(self, document: OpenDocument) -> None:
        if self._sync.on_save:
            params: dict[str, object] = {"textDocument": {"uri": document.uri}}
            if self._sync.with_text:
                params["text"] = document.text.text
            self._notify("textDocument/didSave", params)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _read_changed(
    texts: DocumentTextCache, paths: tuple[str, ...], stamps: Mapping[str, FileStamp]
) -> dict[str, DocumentText | None]:
    """The current texts of the open documents that differ on disk, and of those of `paths` that are not
    open. `stamps` are the states of the open ones."""
    outdated = [path for path, stamp in stamps.items() if not is_unchanged(path, stamp)]
    return {path: texts.get(path) for path in (*outdated, *(path for path in paths if path not in stamps))}
