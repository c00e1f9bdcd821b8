"""Builds and updates the index: walks the root, and parses new or changed files in worker processes, in
batches."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.navigation.index import file_facts
from cockpit.navigation.index.file_facts import FileCatalog, FileFacts, digest_of, extract_facts, read_file
from cockpit.navigation.index.grammars import LanguageParsers
from cockpit.navigation.index.parse_workers import WorkerProcess, count_workers, parse_batch, start_worker
from cockpit.workspace.files.ignore_rules import RuleStack, is_ignored, list_folder, rules_above

MAX_FILES = 100_000
BATCH_BYTES = 120_000
BATCH_FILES = 60
SMALL_BUILD_BYTES = 200_000
MAX_RESTARTS = 5
# A file modified this shortly before its facts were saved may have changed again within the same clock tick,
# so its content is compared.
MTIME_MARGIN_NS = 2_000_000_000


def walk_sources(root: str, readers: LanguageParsers, start: str = "") -> Iterator[tuple[str, int, int]]:
    """Path (relative, with `/`), mtime in ns and size of every file that has a language and is not ignored;
    at most 100,000. Follows no links."""
    folder = f"{root}/{start}" if start else root
    prefix = f"{start}/" if start else ""
    for count, file in enumerate(_walk_folder(folder, prefix, rules_above(root, folder), readers)):
        if count >= MAX_FILES:
            return
        yield file


def _walk_folder(
    folder: str, prefix: str, above: RuleStack, readers: LanguageParsers
) -> Iterator[tuple[str, int, int]]:
    entries, levels = list_folder(folder, above, False)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(entry.path, f"{prefix}{entry.name}/", levels, readers)
        elif readers.candidates(entry.name) and entry.is_file(follow_symlinks=False):
            try:
                stat = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield prefix + entry.name, stat.st_mtime_ns, stat.st_size


def relative_path(root: str, path: str) -> str:
    """`path` relative to the root with `/`; empty for the root itself and for paths outside."""
    absolute = os.path.normpath(Path(root, path))
    if not absolute.startswith(root.rstrip(os.sep) + os.sep):
        return ""
    return absolute[len(root.rstrip(os.sep)) + 1 :].replace(os.sep, "/")


def is_indexed(root: str, path: str, readers: LanguageParsers) -> bool:
    """Whether a file at this path belongs in the index."""
    is_hidden = any(step.startswith(".") for step in path.split("/"))
    return not is_hidden and bool(readers.candidates(path)) and not is_ignored(root, path)


@dataclass(slots=True)
class ParseQueue:
    """Batches to parse. A file that kills a worker twice is left out."""

    batches: deque[list[str]]
    restarts: int = 0
    suspects: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> list[str] | None:
        with self.lock:
            return self.batches.popleft() if self.batches else None

    def give_back(self, batch: list[str]) -> list[str]:
        """After a worker's death, queue each file of its batch alone. A file that was already alone is
        returned: it is left out."""
        with self.lock:
            self.restarts += 1
            if len(batch) == 1 and batch[0] in self.suspects:
                return batch
            self.suspects.update(batch)
            self.batches.extendleft([path] for path in batch)
            return []


class IndexBuilder:
    """Indexes the root in one pass. The caller may pass `prestarted_workers`; `close` stops all workers."""

    def __init__(
        self,
        root: str,
        readers: LanguageParsers,
        catalog: FileCatalog,
        cache_file: Path | None,
        report: Callable[[], None],
        prestarted_workers: Sequence[WorkerProcess] = (),
    ) -> None:
        self.root = root
        self.readers = readers
        self.catalog = catalog
        self.version = file_facts.cache_version(readers.languages)
        self.cache_file = cache_file
        self._report = report
        self._walked_at = 0
        self._processes: list[WorkerProcess] = list(prestarted_workers)
        self._prestarted = list(prestarted_workers)
        self._lock = threading.Lock()

    def run(self) -> None:
        """Load the cache, find what differs, parse it and save it."""
        stored, saved = self._load_known_facts()
        self._walked_at = time.time_ns()
        files = list(walk_sources(self.root, self.readers))
        todo: list[tuple[str, int]] = []
        unchanged: list[FileFacts] = []
        for path, modified, size in files:
            facts = self._reusable_facts(stored.get(path), modified, size, saved)
            if facts is None:
                todo.append((path, size))
            else:
                unchanged.append(facts)
        self.catalog.begin(unchanged, [path for path, _ in todo])
        self._report()
        self._parse(todo)
        self.catalog.end()
        self._report()
        if todo or len(stored) != len(files):
            self.save()

    def save(self) -> None:
        """Save the cache. A failure is ignored: it only makes the next start slower."""
        if self.cache_file is None:
            return
        try:
            file_facts.save_facts(self.cache_file, self.version, self.catalog.all(), time.time_ns())
        except OSError:
            return
        self.catalog.dirty = False

    def close(self) -> None:
        with self._lock:
            processes, self._processes = self._processes, []
        for process in processes:
            process.kill()
            process.wait()

    def _load_known_facts(self) -> tuple[dict[str, FileFacts], int]:
        """The facts known before the walk and when (ns) they were true: from memory, else from disk."""
        if self.catalog.begun:
            return dict(self.catalog.files), self._walked_at
        return file_facts.load_facts(self.cache_file, self.version) if self.cache_file else ({}, 0)

    def _reusable_facts(
        self, stored: FileFacts | None, modified: int, size: int, saved: int
    ) -> FileFacts | None:
        if stored is None or stored.size != size:
            return None
        if stored.modified == modified and modified < saved - MTIME_MARGIN_NS:
            return stored
        try:
            text, _ = read_file(f"{self.root}/{stored.path}")
        except OSError:
            return None
        is_same = bool(stored.digest) and digest_of(text) == stored.digest
        return stored._replace(modified=modified) if is_same else None

    def _parse(self, todo: list[tuple[str, int]]) -> None:
        prestarted, self._prestarted = self._prestarted, []
        work = ParseQueue(deque(_make_batches(todo)))
        is_small = sum(size for _, size in todo) < SMALL_BUILD_BYTES
        if is_small and not prestarted:
            self._parse_here(work)
            return
        workers: list[WorkerProcess | None] = [*prestarted] or [None] * count_workers(os.cpu_count() or 1)
        threads = [
            threading.Thread(target=self._run_worker, args=(work, worker), daemon=True) for worker in workers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Batches are left if no worker could be started, or if too many died.
        self._parse_here(work)
        self.close()

    def _parse_here(self, work: ParseQueue) -> None:
        while batch := work.take():
            self._merge(extract_facts(self.root, path, self.readers) for path in batch)

    def _merge(self, facts: Iterable[FileFacts | None]) -> None:
        self.catalog.put([item for item in facts if item is not None])
        self._report()

    def _run_worker(self, work: ParseQueue, process: WorkerProcess | None) -> None:
        """Give one worker batch after batch; replace it when it dies."""
        while work.restarts <= MAX_RESTARTS and (batch := work.take()):
            process = process or self._start_worker()
            if process is None:
                work.batches.appendleft(batch)
                return
            rows = parse_batch(process, batch)
            if rows is None:
                self._stop_worker(process)
                process = None
                self.catalog.leave_out(work.give_back(batch))
                continue
            self._merge(rows)
            self.catalog.remove(set(batch) - {facts.path for facts in rows})
        if process is not None:
            self._stop_worker(process)

    def _stop_worker(self, process: WorkerProcess) -> None:
        with self._lock:
            if process in self._processes:
                self._processes.remove(process)
        process.kill()
        process.wait()

    def _start_worker(self) -> WorkerProcess | None:
        """A worker that is stopped with this builder; None if no process can be started."""
        process = start_worker(self.root, self.readers.languages)
        if process is not None:
            with self._lock:
                self._processes.append(process)
        return process


def _make_batches(todo: list[tuple[str, int]]) -> list[list[str]]:
    """Batches of about 120 kB, the largest files first, so that no worker finishes long after the others."""
    batches: list[list[str]] = []
    batch: list[str] = []
    total = 0
    for path, size in sorted(todo, key=lambda item: -item[1]):
        batch.append(path)
        total += size
        if total >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            batches.append(batch)
            batch, total = [], 0
    if batch:
        batches.append(batch)
    return batches
