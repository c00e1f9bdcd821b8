"""One file as the index keeps it: compact, comparable, made in a worker."""

import marshal
import os
import stat
from hashlib import blake2b
from typing import NamedTuple

from cockpit.navigation.index.definitions import Definition, definitions, words
from cockpit.navigation.index.grammars import OUTLINE_ONLY, Readers

LARGEST = 1_000_000
LONGEST_LINE = 20_000


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

    def definitions(self) -> list[Definition]:
        return [Definition(*row) for row in marshal.loads(self.rows)] if self.rows else []


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
        return (_all(handle, facts.st_size) if facts.st_size <= LARGEST else b""), facts
    finally:
        os.close(handle)


def _all(handle: int, size: int) -> bytes:
    text = os.read(handle, size + 1)
    while more := os.read(handle, size + 1):
        text += more
    return text


def facts_of(root: str, path: str, readers: Readers) -> FileFacts | None:
    """What the index keeps of a file; None when it is gone."""
    try:
        text, about = read_file(f"{root}/{path}")
    except OSError:
        return None
    left_out = FileFacts(path, about.st_mtime_ns, about.st_size, b"", "", b"", b"", b"")
    if about.st_size > LARGEST or is_generated(text):
        return left_out
    parsed = readers.parse(path, text)
    if parsed is None:
        return left_out
    reader, tree = parsed
    rows = [row for row in definitions(reader, tree, text) if row.kind not in OUTLINE_ONLY]
    names = "\n".join(sorted({row.name for row in rows}))
    return FileFacts(
        path,
        about.st_mtime_ns,
        about.st_size,
        digest_of(text),
        reader.name,
        f"\n{names}\n".encode() if names else b"",
        words(text),
        marshal.dumps([tuple(row) for row in rows]) if rows else b"",
    )


def is_generated(text: bytes) -> bool:
    """Whether a text is minified or binary: a line over 20,000 bytes, or a NUL at its beginning."""
    if b"\0" in text[:4096]:
        return True
    if len(text) <= LONGEST_LINE:
        return False
    at = 0
    while (end := text.find(b"\n", at)) >= 0:
        if end - at > LONGEST_LINE:
            return True
        at = end + 1
    return len(text) - at > LONGEST_LINE
