"""A workspace in memory for tests: the same plans and refusals over a mapping of bytes. Runs no programs."""

import posixpath
from collections.abc import AsyncIterator, Callable, Mapping
from fnmatch import fnmatchcase
from typing import Literal

from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.plugin.context import Applied, ChangeRefused, FileEntry, JobView, PathRefused, ProcessResult
from cockpit.workspace import path_names
from cockpit.workspace.files.changes import (
    NEW_MODE,
    FileSnapshot,
    SourceTree,
    digest,
    plan_changes,
    undo_changes,
)
from cockpit.workspace.files.ignore_rules import CACHE_FOLDERS, VCS_FOLDERS
from cockpit.workspace.processes.local_processes import ProcessFailed

ROOT = "/memory"
REASON = "a workspace in memory runs no programs; open a folder on disk"


class MemoryWorkspace:
    """`Workspace` over a mapping from `/`-separated paths, relative to the root, to bytes."""

    def __init__(self, files: Mapping[str, bytes] | None = None, root: str = ROOT) -> None:
        self._root = root
        self._held: dict[str, FileSnapshot] = {}
        for path, content in (files or {}).items():
            self._held[posixpath.normpath(posixpath.join(root, path))] = FileSnapshot(content)
        self._files = MemoryFiles(self, self._held)
        self._processes = NoProcesses()

    @property
    def root(self) -> str:
        return self._root

    @property
    def files(self) -> "MemoryFiles":
        return self._files

    @property
    def processes(self) -> "NoProcesses":
        return self._processes

    def resolve(self, path: str, access: Literal["read", "write"]) -> str:
        if reason := path_names.find_path_problem(path):
            raise PathRefused(f"{path!r} is refused: {reason}")
        real = posixpath.normpath(posixpath.join(self._root, path))
        parts = tuple(part for part in self.relative(real).split("/") if part)
        reason = path_names.secret_reason(parts) or (
            path_names.protected_reason(parts) if access == "write" else ""
        )
        if reason:
            raise PathRefused(f"{path!r} is refused: {reason}")
        return real

    def is_inside(self, path: str) -> bool:
        real = posixpath.normpath(posixpath.join(self._root, path))
        return real == self._root or real.startswith(self._root.rstrip("/") + "/")

    def relative(self, real: str) -> str:
        """How a file is called: relative to the root, or absolute when outside."""
        return posixpath.relpath(real, self._root) if self.is_inside(real) else real

    async def plan(self, edits: tuple[Edit, ...], agent: str = "main", call: str = "") -> ChangeSet:
        return plan_changes(edits, SourceTree(self._find, self._look, self.relative), agent, call)

    async def apply(self, changes: ChangeSet) -> Applied:
        after: dict[str, FileSnapshot] = {}
        modes: dict[str, int] = {}
        for change in changes.files:
            source = self._find(change.moved_from or change.path)
            there = self._look(source)
            if digest(there.content) != change.before_hash:
                raise ChangeRefused(f"{change.path} has changed since the edit was planned; read it again")
            modes[change.moved_from or change.path] = there.mode
            after[source] = FileSnapshot(None)
            after[self._find(change.path)] = FileSnapshot(change.after, change.mode)
        self._held.update(after)
        for path in [path for path, seen in self._held.items() if seen.content is None]:
            del self._held[path]
        return Applied(changes, undo_changes(changes, modes))

    async def close(self) -> None:
        """Nothing runs, so nothing ends."""

    def _find(self, path: str) -> str:
        return self.resolve(path, "write")

    def _look(self, real: str) -> FileSnapshot:
        if any(path.startswith(real + "/") for path in self._held):
            raise ChangeRefused(f"{self.relative(real)} is a folder; name a file in it")
        return self._held.get(real, FileSnapshot(None, NEW_MODE))


class MemoryFiles:
    """`Files` over the mapping. Hidden names and well-known caches are left out; there are no rules."""

    def __init__(self, workspace: MemoryWorkspace, held: Mapping[str, FileSnapshot]) -> None:
        self._workspace = workspace
        self._held = held

    async def read(self, path: str) -> bytes:
        seen = self._held.get(self._workspace.resolve(path, "read"))
        if seen is None or seen.content is None:
            raise FileNotFoundError(2, "no such file", path)
        return seen.content

    async def stat(self, path: str) -> FileEntry:
        real = self._workspace.resolve(path, "read")
        name = self._workspace.relative(real)
        seen = self._held.get(real)
        if seen is not None and seen.content is not None:
            return FileEntry(name, "file", len(seen.content), 0.0)
        if real == self._workspace.root or any(one.startswith(real + "/") for one in self._held):
            return FileEntry(name, "folder", 0, 0.0)
        raise FileNotFoundError(2, "no such file", path)

    async def entries(self, path: str, hidden: bool = False) -> tuple[FileEntry, ...]:
        folder = self._workspace.resolve(path, "read").rstrip("/") + "/"
        rows: dict[str, FileEntry] = {}
        async for entry in self.walk(path, hidden):
            real = posixpath.join(self._workspace.root, entry.path)
            first, slash, _ = real[len(folder) :].partition("/")
            name = self._workspace.relative(folder + first)
            rows[name] = FileEntry(name, "folder", 0, 0.0) if slash else entry
        return tuple(sorted(rows.values(), key=lambda row: (row.kind != "folder", row.path)))

    async def walk(self, path: str = ".", hidden: bool = False) -> AsyncIterator[FileEntry]:
        folder = self._workspace.resolve(path, "read").rstrip("/") + "/"
        for real in sorted(self._held, key=lambda one: one.split("/")):
            seen = self._held[real]
            if real.startswith(folder) and seen.content is not None:
                parts = real[len(folder) :].split("/")
                if not any(_is_left_out(part, hidden) for part in parts):
                    yield FileEntry(self._workspace.relative(real), "file", len(seen.content), 0.0)


def _is_left_out(name: str, hidden: bool) -> bool:
    return name in VCS_FOLDERS or name in CACHE_FOLDERS or (fnmatchcase(name, ".*") and not hidden)


class NoProcesses:
    """`Processes` that refuses, and says what to do instead."""

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = "",
        stdin: bytes = b"",
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        separate_errors: bool = False,
    ) -> ProcessResult:
        raise ProcessFailed(REASON)

    def shell(self, command: str) -> tuple[str, ...]:
        return ("/bin/sh", "-c", command)

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        raise ProcessFailed(REASON)

    async def output(self, job: str, cursor: int = 0) -> tuple[str, int]:
        raise ProcessFailed(REASON)

    async def wait(self, job: str, seconds: float) -> JobView:
        raise ProcessFailed(REASON)

    async def write(self, job: str, text: str) -> None:
        raise ProcessFailed(REASON)

    async def cancel(self, job: str) -> JobView:
        raise ProcessFailed(REASON)

    def jobs(self) -> tuple[JobView, ...]:
        return ()
