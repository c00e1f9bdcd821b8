"""All files of a root as the index knows them now. Threads may put while another asks."""

import threading
from collections.abc import Iterable, Iterator

from cockpit.navigation.index.definitions import WORD, Definition
from cockpit.navigation.index.facts import FileFacts


class Catalog:
    """Facts by path; growing while `pending` is not empty. `version` counts the changes."""

    def __init__(self) -> None:
        self.files: dict[str, FileFacts] = {}
        self.pending: set[str] = set()
        self.version = 0
        self.dirty = False
        self.begun = False
        self._lock = threading.Lock()

    def begin(self, same: Iterable[FileFacts], todo: Iterable[str]) -> None:
        with self._lock:
            self.files = {one.path: one for one in same}
            self.pending = set(todo)
            self.begun = True
            self.version += 1

    def put(self, facts: Iterable[FileFacts]) -> None:
        with self._lock:
            for one in facts:
                self.files[one.path] = one
                self.pending.discard(one.path)
            self.version += 1
            self.dirty = True

    def gone(self, paths: Iterable[str]) -> None:
        with self._lock:
            for path in paths:
                self.files.pop(path, None)
                self.pending.discard(path)
            self.version += 1
            self.dirty = True

    def leave_out(self, paths: Iterable[str]) -> None:
        """Files nobody could parse: known, without definitions or words."""
        self.put(FileFacts(path, 0, 0, b"", "", b"", b"", b"") for path in paths)

    def end(self) -> None:
        with self._lock:
            self.pending.clear()

    def all(self) -> list[FileFacts]:
        with self._lock:
            return list(self.files.values())

    def get(self, path: str) -> FileFacts | None:
        return self.files.get(path)

    def below(self, folder: str) -> list[str]:
        """The known paths in a folder."""
        return [path for path in list(self.files) if path.startswith(folder + "/")]

    def progress(self) -> tuple[int, int]:
        with self._lock:
            return len(self.files), len(self.files) + len(self.pending)

    def languages(self) -> dict[str, int]:
        """Files by language; those left out under the empty name."""
        counted: dict[str, int] = {}
        for one in self.all():
            counted[one.language] = counted.get(one.language, 0) + 1
        return counted

    def using(self, word: str) -> list[FileFacts]:
        """The files in which a word occurs, anywhere in them."""
        parts = [b"\n" + part + b"\n" for part in WORD.findall(word.encode())]
        if not parts:
            return []
        return [one for one in self.all() if all(part in one.words for part in parts)]

    def defining(self, name: str) -> Iterator[tuple[str, Definition]]:
        """Every definition of exactly this name, with its file."""
        wanted = b"\n" + name.encode() + b"\n"
        for one in self.all():
            if wanted in one.names:
                for row in one.definitions():
                    if row.name == name:
                        yield one.path, row
