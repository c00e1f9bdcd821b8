"""A program on a pseudo-terminal, its screen read with `pyte`. POSIX only."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte
from tests.support.command import hears_every_signal

SECONDS = 20.0


class Terminal:
    """A child process on a pty of `columns` x `rows`; `seen` is all it ever wrote."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], columns: int = 100, rows: int = 30
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.seen = b""
        self._fd, child = pty.openpty()
        self._size(child, columns, rows)
        self.before = termios.tcgetattr(child)
        self._child = child
        kept = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            command,
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
            env=kept,
            preexec_fn=hears_every_signal,
        )

    def _size(self, fd: int, columns: int, rows: int) -> None:
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        self._size(self._fd, columns, rows)
        self.screen.resize(rows, columns)
        self.process.send_signal(signal.SIGWINCH)

    def send(self, data: bytes) -> None:
        os.write(self._fd, data)

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    @property
    def modes(self) -> list[object]:
        """The terminal's settings as they are now."""
        return termios.tcgetattr(self._child)

    def until(self, true: Callable[[], bool], what: str) -> float:
        """Read until `true`; the seconds that took. Raises AssertionError with the screen."""
        began = time.monotonic()
        while not true():
            assert time.monotonic() - began < SECONDS, f"no {what} within {SECONDS} s:\n{self.text}"
            self._read(0.05)
        return time.monotonic() - began

    def until_text(self, text: str) -> float:
        return self.until(lambda: text in self.text, repr(text))

    def until_end(self) -> int:
        self.until(lambda: self.process.poll() is not None, "end")
        while self._read(0.05):
            pass
        return self.process.returncode

    def settle(self, quiet: float = 0.05, longest: float = 2.0) -> None:
        """Read until nothing came for `quiet` seconds, or for `longest` seconds where something moves."""
        until = time.monotonic() + longest
        while self._read(quiet) and time.monotonic() < until:
            pass

    def _read(self, wait: float) -> bool:
        if not select.select([self._fd], [], [], wait)[0]:
            return False
        try:
            data = os.read(self._fd, 65_536)
        except OSError:
            return False
        self.seen += data
        self._stream.feed(data)
        return bool(data)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._fd)
        os.close(self._child)
