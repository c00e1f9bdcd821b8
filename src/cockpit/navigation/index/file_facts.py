"""One file as the index keeps it: compact, comparable, made in a worker.

All files of a root as the index knows them now. Threads may put while another asks.

The index on disk: one file per root, checked before it is believed, replaced in one step.
"""

import marshal
import os
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from cockpit.navigation.index.definitions import WORD, IndexedDefinition, find_definitions, find_words
from cockpit.navigation.index.grammars import OUTLINE_KINDS, LanguageParsers, ParsableLanguage

MAX_FILE_BYTES = 1_000_000
MAX_LINE_BYTES = 20_000


class FileFacts(NamedTuple):
    """`language` is empty for a file that is left out (too large, minified, binary).

    `names` and `words` hold each word between line feeds; `rows` are its definitions, marshalled.
    """

    path: str
    modified: int
    size: int
    digest: bytes
    language: str
    names: bytes
    words: bytes
    rows: bytes

    def definitions(self) -> list[IndexedDefinition]:
        return [IndexedDefinition(*row) for row in marshal.loads(self.rows)] if self.rows else []


def digest_of(text: bytes) -> bytes:
    return blake2b(text, digest_size=12).digest()


def read_file(path: str) -> tuple[bytes, os.stat_result]:
    """A file's bytes and what it was when they were read. Raises OSError, for a pipe and a device too."""
    # Opening a pipe that nobody writes to would wait for ever.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(f"{path} is no plain file")
        return (_read_all(handle, facts.st_size) if facts.st_size <= MAX_FILE_BYTES else b""), facts
    finally:
        os.close(handle)


def _read_all(handle: int, size: int) -> bytes:
    text = os.read(handle, size + 1)
    while more := os.read(handle, size + 1):
        text += more
    return text


def extract_facts(root: str, path: str, readers: LanguageParsers) -> FileFacts | None:
    """What the index keeps of a file; None when it is gone."""
    try:
        text, about = read_file(f"{root}/{path}")
    except OSError:
        return None
    left_out = FileFacts(path, about.st_mtime_ns, about.st_size, b"", "", b"", b"", b"")
    if about.st_size > MAX_FILE_BYTES or is_generated(text):
        return left_out
    parsed = readers.parse(path, text)
    if parsed is None:
        return left_out
    reader, tree = parsed
    rows = [row for row in find_definitions(reader, tree, text) if row.kind not in OUTLINE_KINDS]
    names = "\n".join(sorted({row.name for row in rows}))
    return FileFacts(
        path,
        about.st_mtime_ns,
        about.st_size,
        digest_of(text),
        reader.name,
        f"\n{names}\n".encode() if names else b"",
        find_words(text),
        marshal.dumps([tuple(row) for row in rows]) if rows else b"",
    )


def is_generated(text: bytes) -> bool:
    """Whether a text is minified or binary: a line over 20,000 bytes, or a NUL at its beginning."""
    if b"\0" in text[:4096]:
        return True
    if len(text) <= MAX_LINE_BYTES:
        return False
    at = 0
    while (end := text.find(b"\n", at)) >= 0:
        if end - at > MAX_LINE_BYTES:
            return True
        at = end + 1
    return len(text) - at > MAX_LINE_BYTES


class FileCatalog:
    """Facts by path; growing while `pending` is not empty. `version` counts the changes."""

    def __init__(self) -> None:
        self.files: dict[str, FileFacts] = {}
        self.pending: set[str] = set()
        self.version = 0
        self.dirty = False
        self.begun = False
        self._lock = threading.Lock()

    def begin(self, same: Iterable[FileFacts], todo: Iterable[str]) -> None:
        with self._lock:
            self.files = {one.path: one for one in same}
            self.pending = set(todo)
            self.begun = True
            self.version += 1

    def put(self, facts: Iterable[FileFacts]) -> None:
        with self._lock:
            for one in facts:
                self.files[one.path] = one
                self.pending.discard(one.path)
            self.version += 1
            self.dirty = True

    def gone(self, paths: Iterable[str]) -> None:
        with self._lock:
            for path in paths:
                self.files.pop(path, None)
                self.pending.discard(path)
            self.version += 1
            self.dirty = True

    def leave_out(self, paths: Iterable[str]) -> None:
        """Files nobody could parse: known, without definitions or words."""
        self.put(FileFacts(path, 0, 0, b"", "", b"", b"", b"") for path in paths)

    def end(self) -> None:
        with self._lock:
            self.pending.clear()

    def all(self) -> list[FileFacts]:
        with self._lock:
            return list(self.files.values())

    def get(self, path: str) -> FileFacts | None:
        return self.files.get(path)

    def below(self, folder: str) -> list[str]:
        """The known paths in a folder."""
        return [path for path in list(self.files) if path.startswith(folder + "/")]

    def progress(self) -> tuple[int, int]:
        with self._lock:
            return len(self.files), len(self.files) + len(self.pending)

    def languages(self) -> dict[str, int]:
        """Files by language; those left out under the empty name."""
        counted: dict[str, int] = {}
        for one in self.all():
            counted[one.language] = counted.get(one.language, 0) + 1
        return counted

    def using(self, word: str) -> list[FileFacts]:
        """The files in which a word occurs, anywhere in them."""
        parts = [b"\n" + part + b"\n" for part in WORD.findall(word.encode())]
        if not parts:
            return []
        return [one for one in self.all() if all(part in one.words for part in parts)]

    def defining(self, name: str) -> Iterator[tuple[str, IndexedDefinition]]:
        """Every definition of exactly this name, with its file."""
        wanted = b"\n" + name.encode() + b"\n"
        for one in self.all():
            if wanted in one.names:
                for row in one.definitions():
                    if row.name == name:
                        yield one.path, row


FORMAT_VERSION = 5
DIGEST_BYTES = 20


def cache_version(languages: Sequence[ParsableLanguage]) -> bytes:
    """What the kept facts depend on: our format, Python's, grammars and queries."""
    told = blake2b(
        f"{FORMAT_VERSION} {sys.version_info[:2]} {marshal.version}".encode(), digest_size=DIGEST_BYTES
    )
    for one in languages:
        tags = one.queries.get("tags", "")
        told.update(
            f"\0{one.name}\0{one.grammar}\0{one.globs}\0{tags}\0{_wheel_version(one.grammar)}".encode()
        )
    return told.digest()


def _wheel_version(grammar: str) -> str:
    """The version of a grammar's wheel, told by the file that holds it: reading metadata takes 20 ms."""
    module = grammar.partition(":")[0]
    for path in sys.path:
        try:
            return str(int(Path(path, module, "__init__.py").stat().st_mtime))
        except OSError:
            continue
    return ""


def cache_file(folder: str, root: str) -> Path:
    name = blake2b(root.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return Path(folder, f"{name}.index")


def load_facts(path: Path, version: bytes) -> tuple[dict[str, FileFacts], int]:
    """The kept facts by path, and when (ns) they were saved; nothing if any of it is not as saved."""
    try:
        raw = path.read_bytes()
    except OSError:
        return {}, 0
    head, check, body = raw[:DIGEST_BYTES], raw[DIGEST_BYTES : 2 * DIGEST_BYTES], raw[2 * DIGEST_BYTES :]
    # marshal may crash on bytes it did not write: the digest comes first.
    if head != version or blake2b(body, digest_size=DIGEST_BYTES).digest() != check:
        return {}, 0
    saved, rows = marshal.loads(body)
    return {row[0]: FileFacts(*row) for row in rows}, saved


def save_facts(path: Path, version: bytes, facts: Iterable[FileFacts], now: int) -> None:
    """Raises OSError."""
    body = marshal.dumps((now, [tuple(one) for one in facts]))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_bytes(version + blake2b(body, digest_size=DIGEST_BYTES).digest() + body)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
