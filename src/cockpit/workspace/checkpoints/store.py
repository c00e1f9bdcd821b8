"""The checkpoints of one root: a scan before and after each call that can write, and what each call changed.

Changes between two calls are the user's and belong to no record. Every method blocks: call it in a thread.
Writes nothing into the root.
"""

import contextlib
import os
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.workspace.checkpoints import records
from cockpit.workspace.checkpoints.blob_store import BlobMissing, BlobStore
from cockpit.workspace.checkpoints.records import (
    BeforeFiles,
    CallLog,
    CallMark,
    CallRecord,
    CheckpointCall,
    FileDelta,
    StoredFile,
    TreeDelta,
    is_same_file,
    join_deltas,
    parent_folders,
)
from cockpit.workspace.checkpoints.scanner import (
    CheckpointLimits,
    IndexedFile,
    IndexedFolder,
    RootScan,
    ScanStopped,
    StoredIndex,
    TooManyFiles,
    index_file,
    is_trackable,
)
from cockpit.workspace.files.changes import count_lines, diff_hunks, is_binary

MAX_COUNTED_FILES = 200
MAX_COUNTED_BYTES = 400_000


@dataclass(slots=True)
class LineCounter:
    """Counts added and removed lines of stored changes and remembers the results."""

    objects: BlobStore
    _known: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def lines(self, delta: TreeDelta) -> tuple[int, int]:
        """Added and removed lines of the first 200 files."""
        each = [self._of(file) for file in delta.files[:MAX_COUNTED_FILES]]
        return sum(added for added, _ in each), sum(removed for _, removed in each)

    def _of(self, file: FileDelta) -> tuple[int, int]:
        key = (file.before.id if file.before else "", file.after.id if file.after else "")
        if key not in self._known:
            self._known[key] = self._count(file)
        return self._known[key]

    def _count(self, file: FileDelta) -> tuple[int, int]:
        try:
            before, after = self._bytes(file.before), self._bytes(file.after)
        except BlobMissing:
            return 0, 0
        if is_binary(before) or is_binary(after) or len(before) + len(after) > MAX_COUNTED_BYTES:
            return 0, 0
        return count_lines(diff_hunks(before, after, context=0))

    def _bytes(self, file: StoredFile | None) -> bytes:
        return self.objects.get(file.id) if file is not None and file.id else b""


@dataclass(slots=True)
class PendingCall:
    """A running call. `mark.before` are the paths that it declared; None: it may write any path."""

    mark: CallMark
    missing: tuple[str, ...] = ()
    delta: TreeDelta = field(default_factory=TreeDelta)


class CheckpointStore:
    """The checkpoints of `root`, stored in `folder`. `problem` says why only edits have them, or is empty."""

    def __init__(self, root: str, folder: Path, limits: CheckpointLimits | None = None) -> None:
        self.root = root
        self.objects = BlobStore(folder)
        self.counting = LineCounter(self.objects)
        self.ledger = CallLog(folder)
        self.problem = ""
        self._folder = folder
        self._limits = limits or CheckpointLimits()
        self._index = StoredIndex(folder)
        self._presence = records.StoreLock(folder)
        self._tree: IndexedFolder | None = None
        self._stored_bytes = 0
        self._pending: dict[str, PendingCall] = {}
        self._lock = threading.RLock()
        self._stop: list[bool] = []
        self._prepared = False

    def warm(self) -> None:
        """Make the first scan, so that the first call need not wait for it."""
        with self._lock, contextlib.suppress(ScanStopped):
            self._load_index()

    def begin(self, call: CheckpointCall, paths: tuple[str, ...] | None, jobs: bool = False) -> str:
        """Record the state before `call` writes `paths` (None: any path). `jobs`: programs of earlier calls
        still run, so that new changes may be theirs.

        Returns why no checkpoint is possible, or an empty string.
        """
        with self._lock:
            try:
                self._prepare()
                if paths is not None:
                    self._begin_paths(call, paths)
                    return ""
                self._load_index()
                if not self.problem:
                    self._record_job_changes(call, self._scan(), jobs)
                    self._pending[call.call] = PendingCall(self.ledger.begin(call))
            except ScanStopped:
                return "the session is closing"
            except TooManyFiles:
                self.problem = _too_many_message(self._limits)
            except OSError as error:
                return f"{error.filename or self._folder}: {error.strerror or error}"
            return self.problem

    def finish(self, call: str) -> CallRecord | None:
        """Record what `call` changed; None if it changed nothing. Raises `CockpitError`."""
        with self._lock:
            pending = self._pending.get(call)
            if pending is None:
                return None
            try:
                if pending.mark.before is None:
                    self._scan()
                    delta = pending.delta
                else:
                    delta = self._declared_changes(pending)
                if not delta:
                    return None
                record = CallRecord("call", pending.mark.call, time.time(), delta)
                self.ledger.add(record)
                return record
            except ScanStopped:
                return None
            except (OSError, TooManyFiles) as error:
                text = f"no checkpoint of what {pending.mark.call.title} changed: {error}"
                raise CockpitError(text, "rewind cannot undo it; git may") from error
            finally:
                del self._pending[call]
                pending.mark.end()

    def rewound(self, record: CallRecord) -> None:
        """Record a rewind, which can itself be undone, and index what it wrote."""
        with self._lock:
            self._prepare()
            self.ledger.add(record)
            for file in record.delta.files:
                self._observe(file.path)
            self.objects.settle()

    def records(self, session: str) -> tuple[CallRecord, ...]:
        """What the calls of a session changed, in the order they ended."""
        with self._lock:
            if not self._folder.is_dir():
                return ()
            self._prepare()
            if self.ledger.is_crashed():
                self._load_index()
            return self.ledger.of(session)

    def now(self, path: str) -> StoredFile | None:
        """The file at `path` as it is now; its content is not stored."""
        file = _index_path(self.root, path, None, self._limits)
        return file.stored if file is not None else None

    def left_out(self) -> tuple[tuple[str, StoredFile], ...]:
        """The files whose content is not stored, with the reason."""
        with self._lock:
            if self._tree is None:
                return ()
            return tuple((name, file.stored) for name, file in sorted(self._tree.walk()) if not file.id)

    def tidy(self) -> int:
        """Prune old and excess checkpoints, at most once a day and only if no other process uses the store.

        Returns how many blobs were deleted.
        """
        with self._lock:
            if not self._prepared or self._pending:
                return 0
            tree = self._tree
            named = {file.id for _, file in tree.walk()} if tree is not None else self._index.ids()
            return records.prune_store(self._folder, self.ledger, self.objects, self._presence, named)

    def close(self) -> None:
        """Stop a running scan, write the index and release the locks."""
        self._stop.append(True)
        with self._lock:
            if self._tree is not None:
                # If it cannot be written, the next session reads all files again.
                with contextlib.suppress(OSError):
                    self._index.write(self._tree)
            for pending in self._pending.values():
                pending.mark.end()
            self._pending.clear()
            self._index.close()
            self._presence.close()
            self.objects.close()

    def _prepare(self) -> None:
        if not self._prepared:
            self.objects.prepare()
            self.ledger.prepare()
            self._presence.take()
            self._prepared = True

    def _load_index(self) -> None:
        """Make the first scan, and record what a crash interrupted."""
        self._prepare()
        if self._tree is not None or self.problem:
            return
        mine = self._index.take()
        known = self._index.load() if mine else None
        self._tree = known or IndexedFolder()
        self._stored_bytes = sum(file.size for _, file in self._tree.walk() if file.id)
        try:
            changed = self._scan_root()
        except TooManyFiles:
            self._tree = None
            self.problem = _too_many_message(self._limits)
            return
        except (ScanStopped, OSError):
            self._tree = None
            raise
        for mark in self.ledger.unfinished():
            self._recover(mark, changed if known is not None else TreeDelta())
        self._index.write(self._tree)

    def _recover(self, mark: CallMark, changed: TreeDelta) -> None:
        """Record what an interrupted call changed; others may have written at the same time."""
        delta = changed if mark.before is None else self._declared_changes(PendingCall(mark))
        if delta:
            self.ledger.add(CallRecord("call", mark.call, time.time(), delta, sure=mark.before is not None))
        mark.end()

    def _record_job_changes(self, call: CheckpointCall, delta: TreeDelta, jobs: bool) -> None:
        """Changes before a call are the user's, unless a background job may have made them."""
        if delta and jobs and not any(pending.mark.before is None for pending in self._pending.values()):
            job = replace(call, call=f"{call.call}-jobs", title="background jobs")
            self.ledger.add(CallRecord("call", job, call.started, delta, sure=False))

    def _scan(self) -> TreeDelta:
        """Scan; what changed belongs to every running call that may have written it."""
        delta = self._scan_root()
        # Files that a running call has declared are reported by that call.
        declared = {path for pending in self._pending.values() for path in pending.mark.before or ()}
        delta = replace(delta, files=tuple(file for file in delta.files if file.path not in declared))
        for pending in self._pending.values():
            if pending.mark.before is None:
                pending.delta = join_deltas(pending.delta, delta)
        if self._tree is not None:
            find = self._tree.find
            self._index.add(self._tree, [(file.path, find(file.path)) for file in delta.files])
        return delta

    def _scan_root(self) -> TreeDelta:
        assert self._tree is not None
        scan = RootScan(self.root, self._tree, self.objects, self._limits, self._stop)
        try:
            return scan.run(self._stored_bytes)
        finally:
            self._stored_bytes = scan.total
            self.objects.settle()

    def _begin_paths(self, call: CheckpointCall, paths: tuple[str, ...]) -> None:
        before: BeforeFiles = {}
        for path in paths:
            file = _index_path(self.root, path, self.objects, self._limits)
            before[path] = file.stored if file is not None else None
        self.objects.settle()
        missing = {
            above
            for path in paths
            for above in (() if os.path.isabs(path) else parent_folders(path))
            if not os.path.isdir(os.path.join(self.root, above))
        }
        mark = self.ledger.begin(call, before)
        self._pending[call.call] = PendingCall(mark, tuple(sorted(missing)))

    def _declared_changes(self, pending: PendingCall) -> TreeDelta:
        assert pending.mark.before is not None
        files: list[FileDelta] = []
        for path, before in pending.mark.before.items():
            after = self._observe(path)
            if not is_same_file(before, after):
                files.append(FileDelta(path, before, after))
        self.objects.settle()
        made = tuple(path for path in pending.missing if os.path.isdir(os.path.join(self.root, path)))
        return TreeDelta(tuple(files), made)

    def _observe(self, path: str) -> StoredFile | None:
        """Index the file at `path`, so that the next scan does not report it."""
        file = _index_path(self.root, path, self.objects, self._limits)
        if self._tree is not None and not os.path.isabs(path):
            self._tree.put(path, file)
            self._index.add(self._tree, [(path, file)])
        return file.stored if file is not None else None


def _index_path(
    root: str, path: str, objects: BlobStore | None, limits: CheckpointLimits
) -> IndexedFile | None:
    """The file at `path` as it is now; its content is stored in `objects`, if given."""
    real = os.path.join(root, path)
    try:
        facts = os.lstat(real)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not is_trackable(facts.st_mode):
        return None
    return index_file(real, path, facts, objects, limits, time.time_ns())


def _too_many_message(limits: CheckpointLimits) -> str:
    return f"the folder has more than {limits.files:,} files: checkpoints cover edits, but not shell commands"
