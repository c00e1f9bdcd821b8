"""Unpacking an archive that a stranger made: plain files, below one folder, no more than was said.

An archive that holds anything else is refused whole.
"""

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from cockpit.errors import CockpitError

ARCHIVES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
LARGEST = 100_000_000
MOST = 5_000
PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Entry:
    """A plain file in an archive."""

    name: str
    runs: bool
    content: IO[bytes]


def is_archive(path: Path) -> bool:
    """Whether its name is an archive's."""
    return path.name.lower().endswith(ARCHIVES)


def unpack(archive: Path, into: Path, largest: int = LARGEST, most: int = MOST) -> None:
    """Write the files of `archive` below `into`. Raises `CockpitError` for links, devices, paths that lead
    out, more than `most` files or `largest` bytes, and what is no archive."""
    left = largest
    try:
        for count, entry in enumerate(_entries(archive), 1):
            if count > most:
                raise _refused(archive, f"it holds more than {most:,} files")
            left -= _write(entry, _target(archive, entry.name, into), left, archive)
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise CockpitError(f"{archive} cannot be unpacked: {error}", "download it again") from error
    except (NotImplementedError, RuntimeError) as error:
        raise CockpitError(
            f"{archive} cannot be unpacked: {error}", "unpack it and name its folder"
        ) from error


def _entries(archive: Path) -> Iterator[Entry]:
    if archive.name.lower().endswith((".zip", ".skill")):
        yield from _zipped(archive)
    else:
        yield from _tarred(archive)


def _zipped(archive: Path) -> Iterator[Entry]:
    with zipfile.ZipFile(archive) as opened:
        for one in opened.infolist():
            mode = one.external_attr >> 16
            if one.is_dir():
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise _refused(archive, f"{one.filename} is a link or a device")
            with opened.open(one) as content:
                yield Entry(one.filename, bool(mode & stat.S_IXUSR), content)


def _tarred(archive: Path) -> Iterator[Entry]:
    with tarfile.open(archive) as opened:
        for one in opened:
            if one.isdir():
                continue
            content = opened.extractfile(one) if one.isreg() else None
            if content is None:
                raise _refused(archive, f"{one.name} is a link or a device")
            with content:
                yield Entry(one.name, bool(one.mode & stat.S_IXUSR), content)


def _target(archive: Path, name: str, into: Path) -> Path:
    """Where `name` is written."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    strange = any(part == ".." or ":" in part or "\0" in part for part in parts)
    if not parts or name.startswith(("/", "\\")) or strange:
        raise _refused(archive, f"{name!r} leads out of it")
    return into.joinpath(*parts)


def _write(entry: Entry, target: Path, most: int, archive: Path) -> int:
    """Write one file of at most `most` bytes; its size."""
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with target.open("xb") as out:
        # Counted as it comes: what stands in a header is the word of whoever made it.
        while piece := entry.content.read(PIECE):
            size += len(piece)
            if size > most:
                raise _refused(archive, "it is larger than a skill can be")
            out.write(piece)
    if entry.runs:
        target.chmod(target.stat().st_mode | stat.S_IXUSR)
    return size


def _refused(archive: Path, reason: str) -> CockpitError:
    return CockpitError(f"{archive.name} is not unpacked: {reason}", "ask whoever made it for plain files")
