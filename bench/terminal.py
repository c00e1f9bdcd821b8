"""A program in a real terminal of 120 x 40: sends keys, and reads the output as it arrives.

Escape sequences are removed and the rest is searched for words: a screen is drawn line by line, so a visible
word is contiguous in the output. (A `pyte` screen would compete with the measured program for the processor;
`screen()` makes one when an image is needed.)
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Mapping, Sequence
from pathlib import Path

COLUMNS, ROWS = 120, 40
ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)"
    rb"|[PX^_][^\x1b]*\x1b\\|[()][A-Z0-9]|[=>78a-zA-Z])"
)
PATIENCE = 60.0


class Terminal:
    """A running program. `began` is when it was started (monotonic seconds)."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self.master, slave = pty.openpty()
        # Raw mode from the start: typed text must be echoed by the program, not by the terminal driver.
        tty.setraw(slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.raw = bytearray()
        self._searched = 0
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=dict(environment),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def write(self, keys: str) -> float:
        """Type; returns when it was done."""
        at = time.monotonic()
        os.write(self.master, keys.encode())
        return at

    def read(self, seconds: float) -> bool:
        """Read what is available, waiting at most `seconds`; False if nothing arrived."""
        if not select.select([self.master], [], [], max(0.0, seconds))[0]:
            return False
        try:
            piece = os.read(self.master, 1 << 18)
        except OSError:
            # Linux reports EIO when the last process at the other end has closed it.
            piece = b""
        if not piece:
            raise EOFError(f"the program ended: {self.text()[-1500:]}")
        self.raw += piece
        return True

    def mark(self) -> None:
        """Search only in what arrives from here on."""
        self._searched = len(self.raw)

    def wait_for(self, words: str, seconds: float = PATIENCE) -> float:
        """When `words` appeared after `mark()`. Raises TimeoutError."""
        until = time.monotonic() + seconds
        wanted = words.encode()
        while True:
            if wanted in ESCAPES.sub(b"", bytes(self.raw[self._searched :])):
                return time.monotonic()
            # Search only new text and the end of the old, where the words may be partly drawn.
            self._searched = max(self._searched, len(self.raw) - 20_000)
            if time.monotonic() > until:
                raise TimeoutError(f"{words!r} was not shown within {seconds:g} s:\n{self.screen()}")
            self.read(0.05)

    def quiet(self, seconds: float, most: float = PATIENCE) -> float:
        """Wait until nothing arrives for `seconds`; returns the time of the last byte."""
        last, until = time.monotonic(), time.monotonic() + most
        while time.monotonic() < until:
            if not self.read(seconds):
                return last
            last = time.monotonic()
        return last

    def follow(self, seconds: float) -> None:
        """Keep reading for this long, so that the program never waits for us."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.read(left)

    def resize(self, columns: int, rows: int) -> float:
        at = time.monotonic()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return at

    def processor_seconds(self) -> float:
        """Processor time of all threads of the program, in seconds."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks.iterdir()) / 1e9

    def pss(self) -> float:
        """The program's proportional share of memory, in MiB."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(re.findall(r"^Pss:\s+(\d+) kB", rollup, re.M)[0]) / 1024

    def text_since(self, start: int) -> str:
        """The output from byte `start` of `raw` on, without escape sequences."""
        return ESCAPES.sub(b"", bytes(self.raw[start:])).decode("utf-8", "replace")

    def text(self) -> str:
        return self.text_since(0)

    def screen(self) -> str:
        """The screen as a user would see it, for messages."""
        try:
            import pyte
        except ImportError:
            return self.text()[-2000:]
        screen = pyte.Screen(COLUMNS, ROWS)
        pyte.ByteStream(screen).feed(bytes(self.raw))
        return "\n".join(line.rstrip() for line in screen.display)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
