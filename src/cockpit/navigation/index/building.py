"""Building the index and bringing it up to date: what is new is parsed by niced workers, in batches."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.navigation.index import store
from cockpit.navigation.index.catalog import Catalog
from cockpit.navigation.index.facts import FileFacts, digest_of, facts_of, read_file
from cockpit.navigation.index.grammars import Readers
from cockpit.navigation.index.sources import walk_sources
from cockpit.navigation.index.workers import Worker, asked, begin_worker, workers_of

BATCH_BYTES = 120_000
BATCH_FILES = 60
FEW_BYTES = 200_000
RESTARTS = 5
# A file as young as its kept facts may have changed within one tick of the clock.
DOUBT_NS = 2_000_000_000


@dataclass(slots=True)
class Work:
    """Batches to parse. A path that ends a worker twice is left out."""

    batches: deque[list[str]]
    restarts: int = 0
    suspects: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> list[str] | None:
        with self.lock:
            return self.batches.popleft() if self.batches else None

    def give_back(self, batch: list[str]) -> list[str]:
        """After a death: each file of a batch alone. One that was alone at its second is returned as lost."""
        with self.lock:
            self.restarts += 1
            if len(batch) == 1 and batch[0] in self.suspects:
                return batch
            self.suspects.update(batch)
            self.batches.extendleft([path] for path in batch)
            return []


class Build:
    """One pass over the root. Its thread ends with the pass, its workers with its thread."""

    def __init__(
        self,
        root: str,
        readers: Readers,
        catalog: Catalog,
        file: Path | None,
        heard: Callable[[], None],
        early: Sequence[Worker] = (),
    ) -> None:
        self.root = root
        self.readers = readers
        self.catalog = catalog
        self.version = store.version_of(readers.languages)
        self.file = file
        self._heard = heard
        self._looked = 0
        self._processes: list[Worker] = list(early)
        self._early = list(early)
        self._lock = threading.Lock()

    def run(self) -> None:
        """Load what is kept, find what differs, parse it, keep it."""
        kept, saved = self._known()
        self._looked = time.time_ns()
        found = list(walk_sources(self.root, self.readers))
        todo: list[tuple[str, int]] = []
        same: list[FileFacts] = []
        for path, modified, size in found:
            fresh = self._unchanged(kept.get(path), modified, size, saved)
            if fresh is None:
                todo.append((path, size))
            else:
                same.append(fresh)
        self.catalog.begin(same, [path for path, _ in todo])
        self._heard()
        self._parse(todo)
        self.catalog.end()
        self._heard()
        if todo or len(kept) != len(found):
            self.save()

    def save(self) -> None:
        """A cache that cannot be written costs the next start its warmth, nothing more."""
        if self.file is None:
            return
        try:
            store.save(self.file, self.version, self.catalog.all(), time.time_ns())
        except OSError:
            return
        self.catalog.dirty = False

    def close(self) -> None:
        with self._lock:
            processes, self._processes = self._processes, []
        for process in processes:
            process.kill()
            process.wait()

    def _known(self) -> tuple[dict[str, FileFacts], int]:
        """What is known before looking, and when (ns) it was true: from memory, else from disk."""
        if self.catalog.begun:
            return dict(self.catalog.files), self._looked
        return store.load(self.file, self.version) if self.file else ({}, 0)

    def _unchanged(self, kept: FileFacts | None, modified: int, size: int, saved: int) -> FileFacts | None:
        if kept is None or kept.size != size:
            return None
        if kept.modified == modified and modified < saved - DOUBT_NS:
            return kept
        try:
            text, _ = read_file(f"{self.root}/{kept.path}")
        except OSError:
            return None
        same = bool(kept.digest) and digest_of(text) == kept.digest
        return kept._replace(modified=modified) if same else None

    def _parse(self, todo: list[tuple[str, int]]) -> None:
        early, self._early = self._early, []
        work = Work(deque(_batches(todo)))
        small = sum(size for _, size in todo) < FEW_BYTES
        if small and not early:
            self._here(work)
            return
        hands: list[Worker | None] = [*early] or [None] * workers_of(os.cpu_count() or 1)
        threads = [threading.Thread(target=self._feed, args=(work, one), daemon=True) for one in hands]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Whatever no worker could be had for.
        self._here(work)
        self.close()

    def _here(self, work: Work) -> None:
        while batch := work.take():
            self._merge(facts_of(self.root, path, self.readers) for path in batch)

    def _merge(self, facts: Iterable[FileFacts | None]) -> None:
        self.catalog.put([one for one in facts if one is not None])
        self._heard()

    def _feed(self, work: Work, process: Worker | None) -> None:
        """Give one worker batch after batch; replace it when it dies."""
        while work.restarts <= RESTARTS and (batch := work.take()):
            process = process or self._worker()
            if process is None:
                work.batches.appendleft(batch)
                return
            rows = asked(process, batch)
            if rows is None:
                self._drop(process)
                process = None
                self.catalog.leave_out(work.give_back(batch))
                continue
            self._merge(rows)
            self.catalog.gone(set(batch) - {one.path for one in rows})
        if process is not None:
            self._drop(process)

    def _drop(self, process: Worker) -> None:
        with self._lock:
            if process in self._processes:
                self._processes.remove(process)
        process.kill()
        process.wait()

    def _worker(self) -> Worker | None:
        """A worker that is ended with us; None when no process can be started."""
        process = begin_worker(self.root, self.readers.languages)
        if process is not None:
            with self._lock:
                self._processes.append(process)
        return process


def _batches(todo: list[tuple[str, int]]) -> list[list[str]]:
    """Of about 120 kB each, the largest files first, so that no worker ends long after the others."""
    batches: list[list[str]] = []
    batch: list[str] = []
    total = 0
    for path, size in sorted(todo, key=lambda one: -one[1]):
        batch.append(path)
        total += size
        if total >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            batches.append(batch)
            batch, total = [], 0
    if batch:
        batches.append(batch)
    return batches
