"""The process of one server: started with a scrubbed environment in a group of its own, and ended with all
that it started. Speaks no protocol."""

import asyncio
import contextlib
import os
import secrets
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from cockpit.workspace import environment, groups
from cockpit.workspace.logs import Log

CHUNK = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Child:
    """A running server. `pipes` are its stdin and stdout."""

    process: subprocess.Popen[bytes]
    family: groups.Family
    pipes: tuple[IO[bytes], IO[bytes]]

    @property
    def pid(self) -> int:
        return self.process.pid

    async def end(self, seconds: float) -> None:
        """Let it go by itself for `seconds`, then end it and what it started, within a second more."""
        if seconds > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self.process.wait, seconds)
        await groups.end(self.family)
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self.process.wait, 1.0)


def spawn(argv: tuple[str, ...], folder: str, given: Mapping[str, str], log: Log) -> Child:
    """Start it. Called in a worker thread. Raises OSError."""
    mark, born = secrets.token_hex(8), max(groups.ticks() - 1, 0)
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment.scrubbed(os.environ, given) | {groups.MARK: mark},
        **groups.spawn_options(),
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:
        raise OSError("the process has no pipes")
    threading.Thread(target=_drain, args=(stderr, log), name="server-log", daemon=True).start()
    return Child(process, groups.Family(process.pid, mark, born), (stdin, stdout))


def _drain(pipe: IO[bytes], log: Log) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while chunk := os.read(pipe.fileno(), CHUNK):
            log.write(chunk)
