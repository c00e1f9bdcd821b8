"""The facts that the index stores for each file: extracted by workers, held in a catalog, cached on disk."""

import marshal
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from cockpit.navigation.index.definitions import WORD, IndexedDefinition, find_definition_nodes, find_words
from cockpit.navigation.index.grammars import OUTLINE_KINDS, LanguageParsers, ParsableLanguage
from cockpit.settings import file_io

MAX_FILE_BYTES = 1_000_000
MAX_LINE_BYTES = 20_000
FORMAT_VERSION = 5
DIGEST_BYTES = 20


class FileFacts(NamedTuple):
    """`language` is empty for a file that is left out (too large, minified, binary).

    `names` and `words` hold words separated by line feeds; `rows` are the definitions, marshalled.
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
    """A file's content (empty if it is too large) and its state just before. Raises OSError, also for pipes
    and devices."""
    about = Path(path).stat()
    return (file_io.read_bytes(path, MAX_FILE_BYTES) if about.st_size <= MAX_FILE_BYTES else b""), about


def extract_facts(root: str, path: str, readers: LanguageParsers) -> FileFacts | None:
    """The facts that the index stores for a file; None if it does not exist."""
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
    definitions = find_definition_nodes(reader, tree, text)
    rows = [row for row, _ in definitions if row.kind not in OUTLINE_KINDS]
    names = "\n".join(sorted({row.name for row in rows}))
    return left_out._replace(
        digest=digest_of(text),
        language=reader.name,
        names=f"\n{names}\n".encode() if names else b"",
        words=find_words(text),
        rows=marshal.dumps([tuple(row) for row in rows]) if rows else b"",
    )


def is_generated(text: bytes) -> bool:
    """Whether a text is minified or binary: a line over 20,000 bytes, or a NUL near the start."""
    if b"\0" in text[:4096]:
        return True
    return len(text) > MAX_LINE_BYTES and max(map(len, text.split(b"\n"))) > MAX_LINE_BYTES


class FileCatalog:
    """Facts by path. It is growing while `pending` is not empty; `version` counts the changes. Threads may
    put while another one reads."""

    def __init__(self) -> None:
        self.files: dict[str, FileFacts] = {}
        self.pending: set[str] = set()
        self.version = 0
        self.dirty = False
        self.begun = False
        self._lock = threading.Lock()

    def begin(self, same: Iterable[FileFacts], todo: Iterable[str]) -> None:
        with self._lock:
            self.files = {facts.path: facts for facts in same}
            self.pending = set(todo)
            self.begun = True
            self.version += 1

    def put(self, facts: Iterable[FileFacts]) -> None:
        with self._lock:
            for file_facts in facts:
                self.files[file_facts.path] = file_facts
                self.pending.discard(file_facts.path)
            self.version += 1
            self.dirty = True

    def remove(self, paths: Iterable[str]) -> None:
        with self._lock:
            for path in paths:
                self.files.pop(path, None)
                self.pending.discard(path)
            self.version += 1
            self.dirty = True

    def leave_out(self, paths: Iterable[str]) -> None:
        """Files that cannot be parsed: known, but without definitions or words."""
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
        """Number of files by language; those left out under the empty name."""
        return Counter(facts.language for facts in self.all())

    def using(self, word: str) -> list[FileFacts]:
        """The files that contain a word."""
        parts = [b"\n" + part + b"\n" for part in WORD.findall(word.encode())]
        if not parts:
            return []
        return [facts for facts in self.all() if all(part in facts.words for part in parts)]

    def defining(self, name: str) -> Iterator[tuple[str, IndexedDefinition]]:
        """Every definition of exactly this name, with its file."""
        entry = b"\n" + name.encode() + b"\n"
        for facts in self.all():
            if entry in facts.names:
                for row in facts.definitions():
                    if row.name == name:
                        yield facts.path, row


def cache_version(languages: Sequence[ParsableLanguage]) -> bytes:
    """A digest of what the stored facts depend on: our format, Python's, grammars and queries."""
    digest = blake2b(
        f"{FORMAT_VERSION} {sys.version_info[:2]} {marshal.version}".encode(), digest_size=DIGEST_BYTES
    )
    for language in languages:
        tags = language.queries.get("tags", "")
        package = _package_version(language.grammar)
        parts = ("", language.name, language.grammar, str(language.globs), tags, package)
        digest.update("\0".join(parts).encode())
    return digest.digest()


def _package_version(grammar: str) -> str:
    """The version of a grammar's package, by the modification time of its file: reading metadata takes
    20 ms."""
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
    """The stored facts by path, and when (ns) they were saved; empty if the file is damaged or outdated."""
    try:
        raw = path.read_bytes()
    except OSError:
        return {}, 0
    head, check, body = raw[:DIGEST_BYTES], raw[DIGEST_BYTES : 2 * DIGEST_BYTES], raw[2 * DIGEST_BYTES :]
    # marshal may crash on bytes that it did not write: check the digest first.
    if head != version or blake2b(body, digest_size=DIGEST_BYTES).digest() != check:
        return {}, 0
    saved, rows = marshal.loads(body)
    return {row[0]: FileFacts(*row) for row in rows}, saved


def save_facts(path: Path, version: bytes, facts: Iterable[FileFacts], now: int) -> None:
    """Raises OSError."""
    body = marshal.dumps((now, [tuple(row) for row in facts]))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_bytes(version + blake2b(body, digest_size=DIGEST_BYTES).digest() + body)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
