"""Bytes by what they are: a git object store (sha256) of blobs, written and read without git, so that
no configuration, hook, filter or attribute has a say. `git --git-dir=FOLDER cat-file -p ID` reads it.

Only the person may read it. An object that a power cut left torn counts as missing.
"""

import hashlib
import os
import secrets
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from cockpit.errors import CockpitError

CONFIG = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
HEAD = "ref: refs/heads/none\n"
FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
GRACE = 3600.0
"""Seconds in which an object that nobody names yet is left alone: its record may be on the way."""


class ObjectMissing(CockpitError):
    """Bytes that were kept are gone, or torn."""


def id_of(content: bytes) -> str:
    """The id under which `content` is kept."""
    return hashlib.sha256(b"blob %d\0" % len(content) + content).hexdigest()


class Objects:
    """The objects below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects = str(folder / "objects")
        self._made: set[str] = set()

    def prepare(self) -> None:
        """Make the store. Raises OSError where nothing can be written."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.name == "posix":
            self._folder.chmod(0o700)
        for name in ("objects", "refs"):
            (self._folder / name).mkdir(exist_ok=True, mode=0o700)
        for name, text in (("config", CONFIG), ("HEAD", HEAD)):
            if not (self._folder / name).exists():
                (self._folder / name).write_text(text, encoding="ascii")

    def put(self, content: bytes) -> str:
        """Keep `content`; its id. A second time costs a look."""
        head = b"blob %d\0" % len(content)
        name = hashlib.sha256(head + content).hexdigest()
        folder = os.path.join(self._objects, name[:2])
        path = os.path.join(folder, name[2:])
        try:
            if os.stat(path).st_size:
                os.utime(path)
                return name
        except FileNotFoundError:
            pass
        if folder not in self._made:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            self._made.add(folder)
        self._write(
            path, os.path.join(folder, f"tmp_{secrets.token_hex(6)}"), zlib.compress(head + content, 1)
        )
        return name

    def _write(self, path: str, temp: str, packed: bytes) -> None:
        file = os.open(temp, FILE, 0o600)
        try:
            rest = memoryview(packed)
            while rest:
                rest = rest[os.write(file, rest) :]
        except OSError:
            os.close(file)
            os.unlink(temp)
            raise
        os.close(file)
        os.replace(temp, path)

    def get(self, name: str) -> bytes:
        """The bytes of `name`. Raises `ObjectMissing`."""
        try:
            raw = zlib.decompress(Path(self._objects, name[:2], name[2:]).read_bytes())
        except (OSError, zlib.error) as error:
            raise ObjectMissing(f"the bytes kept as {name[:12]} are gone") from error
        if hashlib.sha256(raw).hexdigest() != name:
            raise ObjectMissing(f"the bytes kept as {name[:12]} are not what they were")
        return raw.partition(b"\0")[2]

    def all(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Every object, and what a crash left of one (its id is then empty)."""
        for folder in os.scandir(self._objects):
            if len(folder.name) == 2 and folder.is_dir(follow_symlinks=False):
                for entry in os.scandir(folder.path):
                    torn = entry.name.startswith("tmp_")
                    yield ("" if torn else folder.name + entry.name), entry

    def size_of(self, name: str) -> int:
        """Bytes on disk, 0 where there is none."""
        try:
            return os.stat(os.path.join(self._objects, name[:2], name[2:])).st_size
        except OSError:
            return 0

    def drop(self, named: Collection[str], now: float) -> int:
        """Delete what is not `named` and older than the grace; how many."""
        dropped = 0
        for name, entry in self.all():
            if name not in named and now - entry.stat().st_mtime > GRACE:
                os.unlink(entry.path)
                dropped += 1
        return dropped
