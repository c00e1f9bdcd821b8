"""Content-addressed store of file contents: one SQLite table, each content compressed under its hash.

Several processes may use a store at once. A content becomes visible to all of them with `settle`, in one
short transaction, and from then on survives the death of the process. Only the user may read the file. An
entry whose bytes no longer match their hash counts as missing.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import threading
import time
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.errors import CockpitError

if TYPE_CHECKING:
    import sqlite3

FILE_NAME = "blobs.sqlite3"
BATCH_BYTES = 8 * 1024 * 1024
"""Compressed bytes that are collected in memory before they are written in one transaction."""
BUSY_SECONDS = 30.0
GRACE_SECONDS = 3600.0
"""A blob that no record names is left alone for this long: its record may still be on the way."""
LEGACY_NAMES = ("objects", "refs", "config", "HEAD", "known.jsonl", "known.lock")
"""Files of versions before the SQLite store in the same folder."""
LEGACY_SECONDS = 30 * 86_400.0
SCHEMA = """
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, used REAL NOT NULL, content BLOB NOT NULL);
"""


class BlobMissing(CockpitError):
    """A stored content is gone or damaged."""


def blob_id(content: bytes) -> str:
    """The id of `content`: git's sha256 of a blob, so that ids in older records stay valid."""
    return hashlib.sha256(b"blob %d\0" % len(content) + content).hexdigest()


class BlobStore:
    """The blobs in `folder`. Any thread may call any method; database failures are raised as OSError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE_NAME
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._unsaved: dict[str, bytes] = {}
        self._unsaved_bytes = 0

    def prepare(self) -> None:
        """Make the folder and open the database. Raises OSError where nothing can be written."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.name == "posix":
            self._folder.chmod(0o700)
        with self._database():
            return

    def put(self, content: bytes) -> str:
        """Store `content` and return its id. Call `settle` after the last one."""
        name = blob_id(content)
        with self._database() as database:
            if name in self._unsaved:
                return name
            now = time.time()
            row = database.execute("SELECT used FROM blobs WHERE id = ?", (name,)).fetchone()
            if row is not None:
                if now - row[0] > GRACE_SECONDS / 2:
                    with database:
                        database.execute("UPDATE blobs SET used = ? WHERE id = ?", (now, name))
                return name
            self._unsaved[name] = packed = zlib.compress(content, 1)
            self._unsaved_bytes += len(packed)
            if self._unsaved_bytes > BATCH_BYTES:
                self._save(database)
        return name

    def settle(self) -> None:
        """Write the blobs that were put: every process can then read them."""
        if self._unsaved:
            with self._database() as database:
                self._save(database)

    def get(self, name: str) -> bytes:
        """The content with the id `name`. Raises `BlobMissing`."""
        try:
            with self._database() as database:
                row = database.execute("SELECT content FROM blobs WHERE id = ?", (name,)).fetchone()
                packed = row[0] if row is not None else self._unsaved.get(name)
            content = zlib.decompress(packed) if packed is not None else None
        except (OSError, TypeError, zlib.error) as error:
            raise BlobMissing(f"the stored content {name[:12]} cannot be read: {error}") from error
        if content is None:
            raise BlobMissing(f"the stored content {name[:12]} is missing", self._legacy_hint(name))
        if blob_id(content) != name:
            raise BlobMissing(f"the stored content {name[:12]} is damaged")
        return content

    def size_of(self, name: str) -> int:
        """Bytes that the blob takes on disk, 0 if there is none."""
        with self._database() as database:
            row = database.execute("SELECT length(content) FROM blobs WHERE id = ?", (name,)).fetchone()
        return int(row[0]) if row is not None else 0

    def drop(self, named: Collection[str], now: float) -> int:
        """Delete blobs not in `named` that were last put before the grace period. Returns the count."""
        with self._database() as database:
            database.execute("CREATE TEMP TABLE IF NOT EXISTS named (id TEXT PRIMARY KEY)")
            database.execute("DELETE FROM named")
            database.executemany("INSERT OR IGNORE INTO named VALUES (?)", ((name,) for name in named))
            deleted = database.execute(
                "DELETE FROM blobs WHERE used < ? AND id NOT IN (SELECT id FROM named)",
                (now - GRACE_SECONDS,),
            )
            database.commit()
            database.execute("PRAGMA incremental_vacuum").fetchall()
        self._drop_legacy(now)
        return deleted.rowcount

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _save(self, database: "sqlite3.Connection") -> None:
        rows = ((name, time.time(), packed) for name, packed in self._unsaved.items())
        with database:
            database.executemany("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", rows)
        self._unsaved.clear()
        self._unsaved_bytes = 0

    @contextlib.contextmanager
    def _database(self) -> Iterator["sqlite3.Connection"]:
        """The open connection, for this thread alone."""
        # Imported with the first checkpoint: it takes 10 ms, which a start does not have.
        import sqlite3

        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                yield self._connection
            except sqlite3.Error as error:
                if self._connection is not None:
                    self._connection.rollback()
                text = f"{error}; delete this file to begin with new checkpoints"
                raise OSError(errno.EIO, text, str(self._path)) from error

    def _open(self) -> "sqlite3.Connection":
        import sqlite3

        # SQLite gives its side files the permissions of the database.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, check_same_thread=False)
        connection.executescript(SCHEMA)
        # With a write-ahead log this survives a crash of the process, and no commit waits for the disk.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _legacy_hint(self, name: str) -> str:
        if not (self._folder / "objects").is_dir():
            return ""
        return f"it may be from an older version: git --git-dir={self._folder} cat-file -p {name} shows it"

    def _drop_legacy(self, now: float) -> None:
        """Remove the files of an older version once no rewind can need them."""
        legacy = self._folder / "objects"
        if not legacy.is_dir() or now - legacy.stat().st_mtime < LEGACY_SECONDS:
            return
        for name in LEGACY_NAMES:
            path = self._folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
