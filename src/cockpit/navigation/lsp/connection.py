"""JSON-RPC with one server: messages over its pipes, and requests and notifications as coroutines.

Messages are read in one thread and written in another, so that neither a server that does not read nor one
that floods can block the event loop.
"""

import asyncio
import contextlib
import itertools
import logging
import queue
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import IO, Protocol

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

from cockpit.navigation.lsp.limits import MAX_BACKLOG_BYTES, MAX_MESSAGE_BYTES
from cockpit.navigation.lsp.protocol import LspRequestRefused, LspServerGone

# Searched, not matched: output printed without a newline precedes the header on its line.
CONTENT_LENGTH = re.compile(rb"content-length:\s*(\d+)\s*$", re.IGNORECASE)
MAX_HEADER_BYTES = 65_536
CHUNK_BYTES = 1 << 20
CANCEL_REQUEST = "$/cancelRequest"


class LspMessageReader(JsonRpcStreamReader):
    """The library's reader, made robust against servers that print to stdout.

    It accepts the length in any header, and passes whatever is between messages to `strayed`; the library's
    reader would block on either.
    """

    def __init__(self, pipe: IO[bytes], strayed: Callable[[bytes], None]) -> None:
        super().__init__(pipe)
        self._strayed = strayed

    def listen(self, message_consumer: Callable[[object], None]) -> None:
        """Read to the end. A body that is not JSON costs only that message."""
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
        while (line := self._rfile.readline(MAX_HEADER_BYTES)).strip():
            if match := CONTENT_LENGTH.search(line):
                length = int(match[1])
        if not line:
            return None
        if length > MAX_MESSAGE_BYTES:
            self._skip(length)
            return b""
        body = self._rfile.read(length)
        return body if len(body) == length else None

    def _length(self) -> int | None:
        while line := self._rfile.readline(MAX_HEADER_BYTES):
            if match := CONTENT_LENGTH.search(line):
                if match.start():
                    self._strayed(line[: match.start()])
                return int(match[1])
            if line.strip() and not line.lower().startswith(b"content-type:"):
                self._strayed(line)
        return None

    def _skip(self, length: int) -> None:
        self._strayed(b"a message of %d bytes was dropped" % length)
        while length > 0 and (chunk := self._rfile.read(min(length, CHUNK_BYTES))):
            length -= len(chunk)


class LspMessageWriter(JsonRpcStreamWriter):
    """The library's writer, fed by a queue."""

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
        """Whether more messages wait than a server may leave unread."""
        return self._waiting > MAX_BACKLOG_BYTES

    def put(self, message: dict[str, object]) -> None:
        """Write `message` soon. Returns at once."""
        if self._closed or self.stuck:
            return
        with self._lock:
            self._waiting += _message_size(message)
        self._queue.put(message)

    def end(self) -> None:
        """Write what is queued, then close the pipe. Returns at once."""
        self._closed = True
        self._queue.put(None)

    def _run(self) -> None:
        while isinstance(message := self._queue.get(), dict):
            self.write(message)
            with self._lock:
                self._waiting -= _message_size(message)
        with contextlib.suppress(OSError, ValueError):
            self.close()


def _message_size(message: dict[str, object]) -> int:
    """Roughly how many bytes a message takes: its one long text, if any, outweighs the rest."""
    params = message.get("params")
    if not isinstance(params, dict):
        return 200
    parts = [params.get("textDocument"), *(params.get("contentChanges") or ())]
    return 200 + sum(len(str(part.get("text", ""))) for part in parts if isinstance(part, dict))


class RequestDispatcher(Protocol):
    """Handlers of the server's own messages, by method; KeyError for an unknown method."""

    def __getitem__(self, method: str, /) -> Callable[[object], object]: ...


class JsonRpcClient(Endpoint):
    """The library's endpoint without two of its faults: its future of a request must not be cancelled, or the
    answer kills the reader thread; and nothing fails the futures when a server ends.

    `last_message_at` is when the server last sent anything, `last_answer_at` when it last answered a request,
    in time or late (monotonic seconds).
    """

    def __init__(self, dispatcher: RequestDispatcher, consumer: Callable[[dict[str, object]], None]) -> None:
        super().__init__(dispatcher, consumer, itertools.count(1).__next__, max_workers=1)
        self._count = itertools.count(1)
        self.last_message_at = self.last_answer_at = time.monotonic()

    def ask(self, method: str, params: object) -> tuple[int, Future[object]]:
        """Send a request; returns its id and the future of its answer, which cannot be cancelled."""
        number = next(self._count)
        future: Future[object] = Future()
        future.set_running_or_notify_cancel()
        self._server_request_futures[number] = future
        message: dict[str, object] = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            message["params"] = params
        self._consumer(message)
        return number, future

    def drop(self, number: int) -> None:
        """Forget a request: a later answer counts as one to an unknown id."""
        self._server_request_futures.pop(number, None)

    def fail(self, fault: Exception) -> None:
        """Fail every pending request."""
        for number in tuple(self._server_request_futures):
            future = self._server_request_futures.pop(number, None)
            if future is not None:
                future.set_exception(fault)

    def handle(self, message: object) -> None:
        """Handle one message in the reader's thread. Whatever it is, the thread goes on."""
        self.last_message_at = time.monotonic()
        if not isinstance(message, dict):
            return
        try:
            self.consume(message)
        except Exception:
            # Third-party code on untrusted data: a malformed message must not end the reader thread.
            logging.getLogger("pylsp_jsonrpc").debug("a message was not JSON-RPC", exc_info=True)

    def _handle_response(self, msg_id: object, result: object = None, error: object = None) -> None:
        self.last_answer_at = time.monotonic()
        future = self._server_request_futures.pop(msg_id, None) if isinstance(msg_id, int) else None
        if future is None:
            return
        if error is None:
            future.set_result(result)
            return
        details = error if isinstance(error, dict) else {}
        code, message = details.get("code"), details.get("message")
        message = message if isinstance(message, str) else "an error without a message"
        future.set_exception(LspRequestRefused(code if isinstance(code, int) else 0, message))


class LspConnection:
    """Both directions to one server. `lost` is called once, on the loop, when the server ends; `is_over`
    tells whether it has ended or was closed."""

    def __init__(
        self,
        pipes: tuple[IO[bytes], IO[bytes]],
        dispatcher: RequestDispatcher,
        strayed: Callable[[bytes], None],
        lost: Callable[[], None],
    ) -> None:
        _silence_library_log()
        stdin, stdout = pipes
        self._loop = asyncio.get_running_loop()
        self.writer = LspMessageWriter(stdin)
        self.client = JsonRpcClient(dispatcher, self.writer.put)
        self._reader = LspMessageReader(stdout, strayed)
        self._lost = lost
        self.is_over = False
        self._thread = threading.Thread(target=self._read, name="lsp-read", daemon=True)
        self._thread.start()

    def probe(self) -> None:
        """Send a request that no server knows: the error shows that it listens. Returns at once."""
        number, _ = self.client.ask("$/cockpit/probe", None)
        self.client.drop(number)

    async def request(self, method: str, params: object = None) -> object:
        """The result of a request. Raises `LspRequestRefused` and `LspServerGone`. Cancelling tells the
        server and drops its answer."""
        if self.is_over:
            raise LspServerGone("the server has ended")
        number, future = self.client.ask(method, params)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self.client.drop(number)
            self.notify(CANCEL_REQUEST, {"id": number})
            raise

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification soon. Returns at once; it is dropped if the server has ended."""
        if not self.is_over:
            self.client.notify(method, params)

    def close(self) -> None:
        """Fail what is pending and release the pipes. Returns at once."""
        self.is_over = True
        self.client.fail(LspServerGone("the server was ended"))
        self.writer.end()
        self.client.shutdown()

    def _read(self) -> None:
        self._reader.listen(self.client.handle)
        self.is_over = True
        self._reader.close()
        self.client.fail(LspServerGone("the server has ended"))
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._lost)
            except RuntimeError:
                return  # The loop was closed in between: nobody is left to notify.


def _silence_library_log() -> None:
    """The library logs what it drops; without a handler that would go to the terminal."""
    log = logging.getLogger("pylsp_jsonrpc")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
        log.propagate = False
