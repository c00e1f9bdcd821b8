"""The index in its own process: builds, follows changes and answers one question after another."""

import contextlib
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.navigation.index.builder import IndexBuilder, is_indexed, relative_path, walk_sources
from cockpit.navigation.index.file_facts import FileCatalog, extract_facts
from cockpit.navigation.index.grammars import GrammarSpec, LanguageParsers
from cockpit.navigation.index.parse_workers import WorkerProcess
from cockpit.navigation.index.pipe_messages import receive, send

if TYPE_CHECKING:
    from cockpit.navigation.index.query_engine import QueryEngine

MAX_SINGLE_CHANGES = 200
IDLE_SECONDS = 2.0
LAST_SECONDS = 1.0
IGNORE_FILES = frozenset({".gitignore", ".ignore", ".cockpitignore"})


class IndexHost:
    """The index of one root, behind two pipes."""

    def __init__(
        self, root: str, languages: Sequence[GrammarSpec], file: Path | None, early: Sequence[WorkerProcess]
    ) -> None:
        self.root = root
        self.readers = LanguageParsers(languages)
        self.catalog = FileCatalog()
        self._languages = languages
        self.builder = IndexBuilder(root, self.readers, self.catalog, file, self.report_progress, early)
        self._inbox: queue.Queue[object] = queue.Queue()
        self._building: threading.Thread | None = None
        self._again = False
        self._write = threading.Lock()

    @cached_property
    def engine(self) -> "QueryEngine":
        """Imported at the first question, so that a start from the cache is not delayed."""
        from cockpit.navigation.index.query_engine import QueryEngine

        return QueryEngine(self.root, LanguageParsers(self._languages), self.catalog)

    def run(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            try:
                message = self._inbox.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                if self.catalog.dirty and not self._is_building():
                    self.builder.save()
                continue
            match message:
                case ("build",):
                    self.begin()
                case ("changed", [*paths]):
                    self.changed([path for path in paths if isinstance(path, str)])
                case ("ask", int() as id, str() as name, tuple() as arguments):
                    self._answer(id, name, arguments)
                case _:
                    break
        self._end()

    def _end(self) -> None:
        """Save a complete index: a build that has parsed everything may be about to."""
        if self._building is not None and not self._pending():
            self._building.join(LAST_SECONDS / 2)
        if self.catalog.dirty and not self._is_building():
            self.builder.save()
        self.builder.close()

    def begin(self) -> None:
        """Build, or check all files again. A request during a build starts another build afterwards."""
        if self._is_building():
            self._again = True
            return
        self._building = threading.Thread(target=self._build, daemon=True)
        self._building.start()

    def changed(self, paths: Sequence[str]) -> None:
        """Parse written files again and drop removed ones."""
        relative_paths = sorted(
            {path for path in (relative_path(self.root, changed_path) for changed_path in paths) if path}
        )
        has_ignore_file = any(path.rpartition("/")[2] in IGNORE_FILES for path in relative_paths)
        if len(relative_paths) > MAX_SINGLE_CHANGES or has_ignore_file:
            self.begin()
            return
        if self._is_building():
            # The build may have read them already: build again when it is done.
            self._again = True
        for path in relative_paths:
            self._update_path(path)
        self.report_progress()

    def _update_path(self, path: str) -> None:
        place = Path(self.root, path)
        if place.is_dir() and not place.is_symlink():
            files = [file for file, _, _ in walk_sources(self.root, self.readers, path)]
            self.catalog.remove(set(self.catalog.below(path)) - set(files))
            if len(files) > MAX_SINGLE_CHANGES:
                self.begin()
                return
            self.catalog.put(filter(None, (extract_facts(self.root, file, self.readers) for file in files)))
            return
        if not os.path.lexists(place):
            self.catalog.remove([path, *self.catalog.below(path)])
            return
        if place.is_symlink() or not (self.catalog.get(path) or is_indexed(self.root, path, self.readers)):
            return
        if (fresh := extract_facts(self.root, path, self.readers)) is not None:
            self.catalog.put([fresh])

    def report_progress(self) -> None:
        self._send(("progress", self.catalog.progress(), self.catalog.languages(), not self._pending()))

    def _pending(self) -> bool:
        return not self.catalog.begun or bool(self.catalog.pending)

    def _is_building(self) -> bool:
        return self._building is not None and self._building.is_alive()

    def _build(self) -> None:
        self._again = True
        while self._again:
            self._again = False
            self.builder.run()

    def _answer(self, id: int, name: str, arguments: tuple[object, ...]) -> None:
        try:
            answer = self.engine.answer(name, arguments)
        except Exception as error:  # A failing question must not end the index.
            self._send(("failed", id, "".join(traceback.format_exception(error))))
            return
        self._send(("answer", id, answer))

    def _send(self, value: object) -> None:
        with self._write, contextlib.suppress(OSError):
            send(sys.stdout.buffer, value)

    def _listen(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._inbox.put(receive(sys.stdin.buffer))
        self._inbox.put(None)
        # A long answer that nobody waits for any more does not keep the process alive.
        time.sleep(LAST_SECONDS)
        self.builder.close()
        os._exit(0)
