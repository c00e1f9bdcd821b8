"""Lines from a stream, one when it is asked for, read so that nothing ever waits for the reader."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import TextIO


async def typed(source: TextIO) -> AsyncIterator[str]:
    """The lines of `source`, with their newlines, to its end.

    A thread that sits in `readline` cannot be stopped. In an executor the loop would wait for it until
    somebody presses Enter; a daemon is left behind.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()
    wanted = threading.Semaphore(0)

    def read() -> None:
        line = "begin"
        while line:
            wanted.acquire()
            try:
                line = source.readline()
            except (OSError, ValueError):
                # The terminal is gone, or the stream was closed: the input is over.
                line = ""
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:
                # The loop ended meanwhile: nobody wants the line.
                return

    threading.Thread(target=read, name="cockpit-lines", daemon=True).start()
    while True:
        wanted.release()
        line = await lines.get()
        if not line:
            return
        yield line
