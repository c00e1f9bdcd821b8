"""This process's stdin as the server's own: read by a thread that nobody waits for, so that a signal ends the
server while its client says nothing. The SDK's own reading cannot be ended."""

import asyncio
import io
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import IO

import anyio

AHEAD = 64


class Lines(anyio.AsyncFile[str]):
    """The lines of `pipe`, as the SDK's transport takes them."""

    def __init__(self, pipe: IO[str]) -> None:
        super().__init__(pipe)
        self._lines: asyncio.Queue[str] = asyncio.Queue(AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._lines.get():
            yield line

    def _read(self, pipe: IO[str]) -> None:
        line = " "
        while line:
            line = pipe.readline()
            try:
                asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
            except (RuntimeError, asyncio.CancelledError):
                # The loop is over: nobody reads any more.
                return


@contextmanager
def own_stdin() -> Iterator[IO[str]]:
    """stdin for the protocol alone: whatever this process starts finds it empty."""
    try:
        fd = sys.stdin.fileno()
    except (OSError, ValueError):
        # No file (a test's own): nothing that is started could read it.
        yield sys.stdin
        return
    private, nothing = os.dup(fd), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, fd)
    os.close(nothing)
    whole = io.BufferedReader(io.FileIO(private, closefd=False))
    try:
        yield io.TextIOWrapper(whole, encoding="utf-8", errors="replace")
    finally:
        os.dup2(private, fd)
