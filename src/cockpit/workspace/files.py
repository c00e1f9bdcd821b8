"""Reading the files of one root on this machine. Every path goes through the resolver first, and what
is opened is what was resolved. Writes nothing."""

import asyncio
import itertools
import os
import stat
from collections.abc import AsyncIterator

from cockpit.plugin.context import FileEntry, PathRefused
from cockpit.workspace import beneath, ignores, walking
from cockpit.workspace.resolver import Resolver

BATCH = 512


class LocalFiles:
    """`Files` on the local disk. Blocking calls run in worker threads."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def read(self, path: str) -> bytes:
        real = self._resolver.resolve(path, "read")
        return await asyncio.to_thread(beneath.read_file, real)

    async def stat(self, path: str) -> FileEntry:
        """What the real file is; `path` in the answer is relative to the root where it lies in it."""
        real = self._resolver.resolve(path, "read")
        facts = await asyncio.to_thread(os.stat, real, follow_symlinks=False)
        name = self._resolver.relative(real)
        if stat.S_ISDIR(facts.st_mode):
            return FileEntry(name, "folder", 0, facts.st_mtime)
        kind = stat.S_ISREG(facts.st_mode)
        return FileEntry(name, "file" if kind else "other", facts.st_size, facts.st_mtime)

    async def entries(self, path: str, hidden: bool = False) -> tuple[FileEntry, ...]:
        return await asyncio.to_thread(self._entries, self._folder(path), hidden)

    def _entries(self, folder: str, hidden: bool) -> tuple[FileEntry, ...]:
        root = self._resolver.root
        found, _ = ignores.children(folder, ignores.levels_above(root, folder), hidden)
        prefix = walking.prefix_of(folder, root)
        rows = [row for entry in found if (row := walking.entry_of(entry, prefix)) is not None]
        return tuple(sorted(rows, key=lambda row: (row.kind != "folder", row.path)))

    async def walk(self, path: str = ".", hidden: bool = False) -> AsyncIterator[FileEntry]:
        found = walking.walk_files(self._resolver.root, self._folder(path), hidden)
        while batch := await asyncio.to_thread(lambda: tuple(itertools.islice(found, BATCH))):
            for entry in batch:
                yield entry

    def _folder(self, path: str) -> str:
        real = self._resolver.resolve(path, "read")
        if os.path.isdir(real):
            return real
        if os.path.lexists(real):
            raise PathRefused(f"{path} is a file, not a folder")
        raise FileNotFoundError(2, "no such folder", path)
