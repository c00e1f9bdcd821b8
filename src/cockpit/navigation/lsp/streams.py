"""Messages over the pipes of a server: read in one thread, written in another, so that neither a server that
does not read nor one that floods holds up the loop. Knows JSON, no message.

Imports python-lsp-jsonrpc: only what starts a server imports this.
"""

import contextlib
import queue
import re
import threading
from collections.abc import Callable
from typing import IO

from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

from cockpit.navigation.lsp.limits import LARGEST_BACKLOG, LARGEST_MESSAGE

# Searched for, not matched: what was printed without a newline stands on the header's line.
LENGTH = re.compile(rb"content-length:\s*(\d+)\s*$", re.IGNORECASE)
LONGEST_LINE = 65_536
CHUNK = 1 << 20


class Reader(JsonRpcStreamReader):
    """The library's reader for servers that print. It takes the length from any of the headers, and what
    stands between messages goes to `strayed`; the library's own would block on either (FACTS.md, 5)."""

    def __init__(self, pipe: IO[bytes], strayed: Callable[[bytes], None]) -> None:
        super().__init__(pipe)
        self._strayed = strayed

    def listen(self, message_consumer: Callable[[object], None]) -> None:
        """Read until the end; a body that is no JSON, or a consumer that raises, costs that message."""
        from ujson import loads

        while True:
            try:
                body = self._read_message()
            except (OSError, ValueError):
                return
            if body is None:
                return
            try:
                message = loads(body)
            except (ValueError, RecursionError, OverflowError):
                self._strayed(body[:200])
                continue
            message_consumer(message)

    def _read_message(self) -> bytes | None:
        length = self._length()
        if length is None:
            return None
        while (line := self._rfile.readline(LONGEST_LINE)).strip():
            if found := LENGTH.search(line):
                length = int(found[1])
        if not line:
            return None
        if length > LARGEST_MESSAGE:
            self._skip(length)
            return b""
        body = self._rfile.read(length)
        return body if len(body) == length else None

    def _length(self) -> int | None:
        while line := self._rfile.readline(LONGEST_LINE):
            if found := LENGTH.search(line):
                if found.start():
                    self._strayed(line[: found.start()])
                return int(found[1])
            if line.strip() and not line.lower().startswith(b"content-type:"):
                self._strayed(line)
        return None

    def _skip(self, length: int) -> None:
        self._strayed(b"a message of %d bytes was dropped" % length)
        while length > 0 and (chunk := self._rfile.read(min(length, CHUNK))):
            length -= len(chunk)


class Writer(JsonRpcStreamWriter):
    """The library's writer, fed by a queue. `stuck`: more waits than a server may leave unread."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(pipe)
        self._queue: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="lsp-write", daemon=True)
        self._thread.start()

    @property
    def stuck(self) -> bool:
        return self._waiting > LARGEST_BACKLOG

    def put(self, message: dict[str, object]) -> None:
        """Write `message` soon. Returns at once."""
        if self._closed or self.stuck:
            return
        with self._lock:
            self._waiting += _weight(message)
        self._queue.put(message)

    def end(self) -> None:
        """Write what waits, then close the pipe. Returns at once."""
        self._closed = True
        self._queue.put(None)

    def _run(self) -> None:
        while isinstance(message := self._queue.get(), dict):
            self.write(message)
            with self._lock:
                self._waiting -= _weight(message)
        with contextlib.suppress(OSError, ValueError):
            self.close()


def _weight(message: dict[str, object]) -> int:
    """About how many bytes a message takes: its one long text, if any, outweighs the rest."""
    params = message.get("params")
    if not isinstance(params, dict):
        return 200
    document = params.get("textDocument")
    size = len(str(document["text"])) if isinstance(document, dict) and "text" in document else 0
    changes = params.get("contentChanges")
    if isinstance(changes, list):
        size += sum(len(str(one["text"])) for one in changes if isinstance(one, dict) and "text" in one)
    return size + 200
