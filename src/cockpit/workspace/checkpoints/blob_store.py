"""Many objects in one file: git's pack format (version 2, sha256) with its index. Making ten thousand
files takes seconds where making one takes none. Knows blobs only, and no deltas between them.

The format is git's Documentation/gitformat-pack; tests let git itself check what is written.

Bytes by what they are: a git object store (sha256) of blobs, written and read without git, so that
no configuration, hook, filter or attribute has a say. `git --git-dir=FOLDER cat-file -p ID` reads it.

Only the person may read it. An object that a power cut left torn counts as missing.
"""

import hashlib
import os
import secrets
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cockpit.errors import CockpitError

PACK_HEADER = struct.Struct(">4sII")
BLOB = 3
PACK_CHUNK = 1 << 20
PACK_FILE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Pack:
    """A finished pack, and where in it each object begins."""

    path: str
    offsets: dict[str, int]

    def read(self, name: str) -> bytes:
        """The content of `name`. Raises KeyError, OSError, zlib.error."""
        with open(self.path, "rb") as file:
            file.seek(self.offsets[name])
            while file.read(1)[0] & 0x80:
                continue
            unpacker, parts = zlib.decompressobj(), list[bytes]()
            while not unpacker.eof and (chunk := file.read(PACK_CHUNK)):
                parts.append(unpacker.decompress(chunk))
        return b"".join(parts)

    def drop(self) -> None:
        for path in (self.path.removesuffix(".pack") + ".idx", self.path):
            os.unlink(path)


class PackWriter:
    """A pack on its way in `folder`; nobody sees it before `finish`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._temp = folder / f"tmp_{secrets.token_hex(6)}"
        self._file = os.fdopen(os.open(self._temp, PACK_FILE_FLAGS, 0o600), "w+b")
        self._file.write(PACK_HEADER.pack(b"PACK", 2, 0))
        self._at = PACK_HEADER.size
        self.entries: dict[str, tuple[int, int]] = {}

    def add(self, name: str, content: bytes) -> None:
        entry = _entry_header(len(content)) + zlib.compress(content, 1)
        self.entries[name] = (self._at, zlib.crc32(entry))
        self._file.write(entry)
        self._at += len(entry)

    def finish(self) -> Pack:
        """Put the pack and its index where they belong."""
        self._file.seek(0)
        self._file.write(PACK_HEADER.pack(b"PACK", 2, len(self.entries)))
        self._file.seek(0)
        digest = hashlib.sha256()
        while chunk := self._file.read(PACK_CHUNK):
            digest.update(chunk)
        self._file.write(digest.digest())
        self._file.close()
        path = self._folder / f"pack-{digest.hexdigest()}.pack"
        os.replace(self._temp, path)
        index = self._folder / f"tmp_{secrets.token_hex(6)}"
        with os.fdopen(os.open(index, PACK_FILE_FLAGS, 0o600), "wb") as file:
            file.write(_pack_index(self.entries, digest.digest()))
        os.replace(index, path.with_suffix(".idx"))
        return Pack(str(path), {name: offset for name, (offset, _) in self.entries.items()})

    def give_up(self) -> None:
        self._file.close()
        self._temp.unlink(missing_ok=True)


def find_packs(folder: Path) -> Iterator[Pack]:
    """The packs that are whole; one without an index is what a crash left, and counts for nothing."""
    for path in sorted(folder.glob("pack-*.idx")):
        try:
            yield Pack(str(path.with_suffix(".pack")), _read_offsets(path.read_bytes()))
        except (OSError, struct.error, ValueError):
            continue


def repack(folder: Path, pack: Pack, names: Iterable[str]) -> Pack:
    """A new pack of these objects of an old one, which goes."""
    writer = PackWriter(folder)
    try:
        for name in names:
            writer.add(name, pack.read(name))
    except BaseException:
        writer.give_up()
        raise
    new = writer.finish()
    pack.drop()
    return new


def _entry_header(size: int) -> bytes:
    out, size, byte = bytearray(), size >> 4, (BLOB << 4) | (size & 15)
    while size:
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    return bytes((*out, byte))


def _pack_index(entries: dict[str, tuple[int, int]], pack: bytes) -> bytes:
    names = sorted(entries)
    fanout = [0] * 256
    for name in names:
        fanout[int(name[:2], 16)] += 1
    for at in range(1, 256):
        fanout[at] += fanout[at - 1]
    body = b"".join(
        (
            b"\xfftOc" + struct.pack(">I", 2) + struct.pack(">256I", *fanout),
            b"".join(map(bytes.fromhex, names)),
            struct.pack(f">{len(names)}I", *(entries[name][1] for name in names)),
            struct.pack(f">{len(names)}I", *(entries[name][0] for name in names)),
            pack,
        )
    )
    return body + hashlib.sha256(body).digest()


def _read_offsets(index: bytes) -> dict[str, int]:
    if index[:8] != b"\xfftOc\0\0\0\2" or hashlib.sha256(index[:-32]).digest() != index[-32:]:
        raise ValueError("no index, or a torn one")
    [count] = struct.unpack_from(">I", index, 8 + 255 * 4)
    names = 8 + 256 * 4
    found = struct.unpack_from(f">{count}I", index, names + count * 36)
    return {index[names + at * 32 : names + at * 32 + 32].hex(): found[at] for at in range(count)}


CONFIG = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
REF_HEAD = "ref: refs/heads/none\n"
OBJECT_FILE_FLAGS = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
MAX_LOOSE = 64
"""Objects of one look that get a file each; more go into a pack."""
GRACE_SECONDS = 3600.0
"""Seconds in which an object that nobody names yet is left alone: its record may be on the way."""


class BlobMissing(CockpitError):
    """Bytes that were kept are gone, or torn."""


def blob_id(content: bytes) -> str:
    """The id under which `content` is kept."""
    return hashlib.sha256(b"blob %d\0" % len(content) + content).hexdigest()


class BlobStore:
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
        for name, text in (("config", CONFIG), ("HEAD", REF_HEAD)):
            if not (self._folder / name).exists():
                (self._folder / name).write_text(text, encoding="ascii")
        self._pack_folder.mkdir(exist_ok=True, mode=0o700)
        self._packs = list(find_packs(self._pack_folder))

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
        if self._loose > MAX_LOOSE:
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
        file = os.open(temp, OBJECT_FILE_FLAGS, 0o600)
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
            raise BlobMissing(f"the bytes kept as {name[:12]} are gone") from error
        if blob_id(content) != name:
            raise BlobMissing(f"the bytes kept as {name[:12]} are not what they were")
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
            if name not in named and now - entry.stat().st_mtime > GRACE_SECONDS:
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
            self._packs.append(repack(self._pack_folder, pack, wanted))
        else:
            pack.drop()
        return len(pack.offsets) - len(wanted)
