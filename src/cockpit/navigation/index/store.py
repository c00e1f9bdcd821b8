"""The index on disk: one file per root, checked before it is believed, replaced in one step."""

import marshal
import os
import sys
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

from cockpit.navigation.index.facts import FileFacts
from cockpit.navigation.index.grammars import Readable

FORMAT = 5
DIGEST = 20


def version_of(languages: Sequence[Readable]) -> bytes:
    """What the kept facts depend on: our format, Python's, grammars and queries."""
    told = blake2b(f"{FORMAT} {sys.version_info[:2]} {marshal.version}".encode(), digest_size=DIGEST)
    for one in languages:
        tags = one.queries.get("tags", "")
        told.update(f"\0{one.name}\0{one.grammar}\0{one.globs}\0{tags}\0{_wheel(one.grammar)}".encode())
    return told.digest()


def _wheel(grammar: str) -> str:
    """The version of a grammar's wheel, told by the file that holds it: reading metadata takes 20 ms."""
    module = grammar.partition(":")[0]
    for path in sys.path:
        try:
            return str(int(Path(path, module, "__init__.py").stat().st_mtime))
        except OSError:
            continue
    return ""


def file_of(folder: str, root: str) -> Path:
    name = blake2b(root.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return Path(folder, f"{name}.index")


def load(path: Path, version: bytes) -> tuple[dict[str, FileFacts], int]:
    """The kept facts by path, and when (ns) they were saved; nothing if any of it is not as saved."""
    try:
        raw = path.read_bytes()
    except OSError:
        return {}, 0
    head, check, body = raw[:DIGEST], raw[DIGEST : 2 * DIGEST], raw[2 * DIGEST :]
    # marshal may crash on bytes it did not write: the digest comes first.
    if head != version or blake2b(body, digest_size=DIGEST).digest() != check:
        return {}, 0
    saved, rows = marshal.loads(body)
    return {row[0]: FileFacts(*row) for row in rows}, saved


def save(path: Path, version: bytes, facts: Iterable[FileFacts], now: int) -> None:
    """Raises OSError."""
    body = marshal.dumps((now, [tuple(one) for one in facts]))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        temporary.write_bytes(version + blake2b(body, digest_size=DIGEST).digest() + body)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
