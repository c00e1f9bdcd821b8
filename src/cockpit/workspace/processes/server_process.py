"""A server process on pipes (a language server, an MCP server) and its log. Speaks no protocol."""

import asyncio
import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cockpit.workspace import environment
from cockpit.workspace.processes import process_tree

MAX_LOG_BYTES = 1_000_000
MAX_BYTES_PER_SECOND = 256_000
TAIL_LINES = 40


class ServerLog:
    """The log file of a server: its stderr, its other output, and lines of cockpit.

    Limited in size and rate, rotated to `NAME.log.1` when full. Methods may be called from any thread.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._size = -1
        self._second = 0
        self._spent = 0
        self._dropped = 0

    def write(self, content: bytes, mark: str = "") -> None:
        """Append `content`, after the time and `mark` if there is one. Output above the rate is dropped."""
        with self._lock, contextlib.suppress(OSError):
            now = int(time.time())
            if now != self._second:
                self._second, self._spent = now, 0
                if self._dropped:
                    self._append(f"... {self._dropped} bytes dropped: the server writes too fast\n".encode())
                    self._dropped = 0
            self._spent += len(content)
            if self._spent > MAX_BYTES_PER_SECOND:
                self._dropped += len(content)
                return
            if mark:
                clock = time.strftime("%H:%M:%S", time.localtime(now))
                content = f"{clock} [{mark}] ".encode() + content.rstrip() + b"\n"
            self._append(content)

    def say(self, mark: str, text: str) -> None:
        """Append a line of cockpit."""
        self.write(text.encode("utf-8", "replace"), mark)

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of the log."""
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
        if self._size > MAX_LOG_BYTES:
            self.path.replace(self.path.with_name(self.path.name + ".1"))
            self._size = 0
        with self.path.open("ab") as file:
            file.write(content)
        self._size += len(content)


PIPE_CHUNK = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class ServerProcess:
    """A running server. `pipes` are its stdin and stdout."""

    process: subprocess.Popen[bytes]
    tree: process_tree.ProcessTree
    pipes: tuple[IO[bytes], IO[bytes]]

    @property
    def pid(self) -> int:
        return self.process.pid

    async def end(self, seconds: float) -> None:
        """Wait up to `seconds` for it to exit by itself, then end its process tree within one more second."""
        if seconds > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self.process.wait, seconds)
        await process_tree.end_tree(self.tree)
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self.process.wait, 1.0)


def spawn_server(
    argv: tuple[str, ...], folder: str, variables: Mapping[str, str], log: ServerLog
) -> ServerProcess:
    """Start `argv` in its own group with a scrubbed environment. Blocks: call it in a worker thread. Raises
    OSError."""
    mark = process_tree.make_mark()
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment.scrub_environment(os.environ, variables) | dict([mark]),
        **process_tree.spawn_options(),
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise OSError(f"{argv[0]} was started without pipes")
    threading.Thread(target=_copy_to_log, args=(stderr, log), name="server-log", daemon=True).start()
    return ServerProcess(process, process_tree.ProcessTree(process.pid, mark[1]), (stdin, stdout))


def _copy_to_log(pipe: IO[bytes], log: ServerLog) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while chunk := os.read(pipe.fileno(), PIPE_CHUNK):
            log.write(chunk)
