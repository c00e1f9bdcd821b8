"""The log of one server: what it wrote to stderr, what it printed, what it reported. Bounded in size and
in speed; called from any thread."""

import contextlib
import os
import threading
import time
from pathlib import Path

LARGEST = 1_000_000
PER_SECOND = 256_000
TAIL = 40


class Log:
    """A file that is rotated once it is full (`NAME.log.1`)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._size = -1
        self._second = 0
        self._spent = 0
        self._dropped = 0

    def write(self, content: bytes, mark: str = "") -> None:
        """Append, with time and `mark` before it. What comes too fast is left out and counted."""
        with self._lock, contextlib.suppress(OSError):
            now = int(time.time())
            if now != self._second:
                self._second, self._spent = now, 0
                if self._dropped:
                    self._append(f"... {self._dropped} bytes came too fast and were left out\n".encode())
                    self._dropped = 0
            self._spent += len(content)
            if self._spent > PER_SECOND:
                self._dropped += len(content)
                return
            if mark:
                clock = time.strftime("%H:%M:%S", time.localtime(now))
                content = f"{clock} [{mark}] ".encode() + content.rstrip() + b"\n"
            self._append(content)

    def say(self, mark: str, words: str) -> None:
        """Append a line of our own."""
        self.write(words.encode("utf-8", "replace"), mark)

    def tail(self, lines: int = TAIL) -> str:
        """The last lines."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - 200 * lines, 0))
                content = file.read()
        except OSError:
            return ""
        return "\n".join(content.decode("utf-8", "replace").splitlines()[-lines:])

    def _append(self, content: bytes) -> None:
        if self._size < 0:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._size = self.path.stat().st_size if self.path.exists() else 0
        if self._size > LARGEST:
            self.path.replace(self.path.with_name(self.path.name + ".1"))
            self._size = 0
        with self.path.open("ab") as file:
            file.write(content)
        self._size += len(content)
