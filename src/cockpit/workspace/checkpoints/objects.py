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
from cockpit.workspace.checkpoints.packs import Pack, PackWriter, packs, repacked

CONFIG = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
HEAD = "ref: refs/heads/none\n"
FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
FEW = 64
"""Objects of one look that get a file each; more go into a pack."""
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
        self._packs: list[Pack] = []
        self._writer: PackWriter | None = None
        self._loose = 0

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
        self._pack_folder.mkdir(exist_ok=True, mode=0o700)
        self._packs = list(packs(self._pack_folder))

    @property
    def _pack_folder(self) -> Path:
        return self._folder / "objects" / "pack"

    def put(self, content: bytes) -> str:
        """Keep `content`; its id. A second time costs a look. Call `settle` after the last."""
        head = b"blob %d\0" % len(content)
        name = hashlib.sha256(head + content).hexdigest()
        if any(name in pack.offsets for pack in self._packs):
            return name
        if self._writer is not None and name in self._writer.entries:
            return name
        folder = os.path.join(self._objects, name[:2])
        path = os.path.join(folder, name[2:])
        try:
            if os.stat(path).st_size:
                os.utime(path)
                return name
        except FileNotFoundError:
            pass
        self._loose += 1
        if self._loose > FEW:
            self._writer = self._writer or PackWriter(self._pack_folder)
            self._writer.add(name, content)
            return name
        if folder not in self._made:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            self._made.add(folder)
        self._write(
            path, os.path.join(folder, f"tmp_{secrets.token_hex(6)}"), zlib.compress(head + content, 1)
        )
        return name

    def settle(self) -> None:
        """What was put is to be found from now on: many objects at a time go into one pack."""
        writer, self._writer, self._loose = self._writer, None, 0
        if writer is not None:
            self._packs.append(writer.finish())

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
        pack = next((one for one in self._packs if name in one.offsets), None)
        try:
            if pack is not None:
                content = pack.read(name)
            else:
                raw = zlib.decompress(Path(self._objects, name[:2], name[2:]).read_bytes())
                content = raw.partition(b"\0")[2]
        except (OSError, IndexError, zlib.error) as error:
            raise ObjectMissing(f"the bytes kept as {name[:12]} are gone") from error
        if id_of(content) != name:
            raise ObjectMissing(f"the bytes kept as {name[:12]} are not what they were")
        return content

    def all(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Every object of its own file, and what a crash left of one (its id is then empty)."""
        for folder in os.scandir(self._objects):
            if len(folder.name) in (2, 4) and folder.is_dir(follow_symlinks=False):
                for entry in os.scandir(folder.path):
                    if entry.name.startswith("tmp_"):
                        yield "", entry
                    elif len(folder.name) == 2:
                        yield folder.name + entry.name, entry

    def size_of(self, name: str) -> int:
        """Bytes on disk (of one in a pack: about), 0 where there is none."""
        for pack in self._packs:
            if name in pack.offsets:
                return os.stat(pack.path).st_size // len(pack.offsets)
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
        return dropped + sum(self._thinned(pack, named) for pack in tuple(self._packs))

    def _thinned(self, pack: Pack, named: Collection[str]) -> int:
        """A pack of which most is not wanted any more is written anew."""
        wanted = [name for name in pack.offsets if name in named]
        if len(wanted) * 2 >= len(pack.offsets):
            return 0
        self._packs.remove(pack)
        if wanted:
            self._packs.append(repacked(self._pack_folder, pack, wanted))
        else:
            pack.drop()
        return len(pack.offsets) - len(wanted)
