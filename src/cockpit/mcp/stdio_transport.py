"""Transport to a server on stdin and stdout of a child process: one JSON message per line. Imports the SDK.

The SDK's own transport is not used: it stores a line without end in memory, splits a large line again with
every chunk, fails on invalid UTF-8, and sets neither the working folder nor the secrets of the child as
cockpit does.
"""

import asyncio
import contextlib
import os
import queue
import shutil
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter
from mcp.types.jsonrpc import RequestId

from cockpit.mcp.protocol_compat import DISCOVER_TIMEOUT, ProtocolCompat
from cockpit.mcp.values import ConnectionSettings, ServerNotStarted
from cockpit.plugin.values import McpServer
from cockpit.workspace.environment import absolute_search_path
from cockpit.workspace.processes.server_process import ServerLog, ServerProcess, spawn_server

MAX_PER_SECOND = 200


class MessageRateLimit:
    """Limits the notifications and requests of one connection. Answers to our own requests always pass."""

    def __init__(self, log: ServerLog) -> None:
        self._log = log
        self._second = 0
        self._count = 0

    def lets(self, message: JSONRPCMessage) -> bool:
        """Whether `message` may pass."""
        if not isinstance(message, JSONRPCNotification | JSONRPCRequest):
            return True
        now = int(time.monotonic())
        if now != self._second:
            if self._count > MAX_PER_SECOND:
                self._log.say(
                    "cockpit", f"{self._count - MAX_PER_SECOND} messages arrived too fast and were dropped"
                )
            self._second, self._count = now, 0
        self._count += 1
        return self._count <= MAX_PER_SECOND


CHUNK_BYTES = 262_144
GRACE_SECONDS = 0.5
MAX_QUEUED_BYTES = 64_000_000
StdioIncoming = SessionMessage | Exception


@asynccontextmanager
async def open_stdio(
    server: McpServer, terms: ConnectionSettings, gone: asyncio.Event, compat: ProtocolCompat
) -> AsyncIterator[TransportStreams]:
    """Start the child and return its streams. `gone` is set when it closes stdout. Raises
    `ServerNotStarted`."""
    log = ServerLog(terms.log)
    folder = str(Path(terms.root, server.cwd))
    try:
        child = await asyncio.to_thread(
            spawn_server, _resolve_command(server), folder, server.environment, log
        )
    except (OSError, ValueError) as error:
        raise ServerNotStarted(
            f"{server.command[0]} could not be started: {error}", _start_hint(error)
        ) from error
    into, incoming = anyio.create_memory_object_stream[StdioIncoming](0)
    outgoing, out = anyio.create_memory_object_stream[SessionMessage](0)
    reader = _StdoutReader(child.pipes[1], into, gone, log, terms.largest, compat)
    writer = asyncio.create_task(_write_messages(child.pipes[0], out, into, compat))
    threading.Thread(target=reader.run, name=f"mcp-{server.name}", daemon=True).start()
    try:
        yield incoming, outgoing
    finally:
        # The child is ended even if the task that closes it is cancelled.
        await asyncio.shield(
            asyncio.ensure_future(_end_child(child, writer, (incoming, outgoing, into, out)))
        )


def _resolve_command(server: McpServer) -> tuple[str, ...]:
    """The command with the full path of its program, as Windows does not start `npx.cmd` by name."""
    program, *rest = server.command
    path = absolute_search_path(server.environment.get("PATH") or os.environ.get("PATH", ""))
    return (shutil.which(program, path=path) or program, *rest)


def _start_hint(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "install it, or configure its path; cockpit mcp get shows the command line"
    return "check its command line with cockpit mcp get"


async def _end_child(
    child: ServerProcess,
    writer: "asyncio.Task[None]",
    streams: tuple[
        MemoryObjectReceiveStream[StdioIncoming] | MemoryObjectSendStream[SessionMessage] | object, ...
    ],
) -> None:
    """Close stdin, as the protocol says, wait briefly, then end everything that the child started."""
    for stream in streams:
        close = getattr(stream, "close", None)
        if callable(close):
            close()
    with contextlib.suppress(TimeoutError, asyncio.CancelledError):
        await asyncio.wait_for(writer, GRACE_SECONDS)
    await child.end(GRACE_SECONDS)


class _StdoutReader:
    """Reads stdout in a thread and passes messages on one by one; the next is read after the last was
    taken."""

    def __init__(
        self,
        pipe: IO[bytes],
        into: "MemoryObjectSendStream[StdioIncoming]",
        gone: asyncio.Event,
        log: ServerLog,
        largest: int,
        compat: ProtocolCompat,
    ) -> None:
        self._pipe = pipe
        self._into = into
        self._gone = gone
        self._log = log
        self._largest = largest
        self._loop = asyncio.get_running_loop()
        self._sieve = MessageRateLimit(log)
        self._compat = compat

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._pipe:
            for line in self._lines():
                self._take(line)
        # A closed loop accepts no more callbacks.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        self._into.close()
        self._gone.set()

    def _lines(self) -> Iterator[bytes]:
        """Whole lines. A line that is too long ends the connection, as the rest of the stream cannot be
        trusted."""
        pieces: list[bytes] = []
        size = 0
        while chunk := os.read(self._pipe.fileno(), CHUNK_BYTES):
            first, *rest = chunk.split(b"\n")
            pieces.append(first)
            size += len(first)
            for piece in rest:
                yield b"".join(pieces)
                pieces, size = [piece], len(piece)
            if size > self._largest:
                self._log.say(
                    "cockpit", f"a line is longer than {self._largest} bytes: the connection is closed"
                )
                return

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
        except ValueError:
            # Many servers print log text to stdout.
            self._log.say("stdout", line[:2_000].decode("utf-8", "replace"))
            return
        if not self._sieve.lets(message):
            return
        with contextlib.suppress(RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            asyncio.run_coroutine_threadsafe(self._hand(message), self._loop).result()

    async def _hand(self, message: JSONRPCMessage) -> None:
        if (repair := self._compat.repair(message)) is not None:
            await self._into.send(SessionMessage(repair))


async def _write_messages(
    pipe: IO[bytes],
    out: "MemoryObjectReceiveStream[SessionMessage]",
    into: "MemoryObjectSendStream[StdioIncoming]",
    compat: ProtocolCompat,
) -> None:
    """Pass our messages to a thread, as a server that does not read blocks the pipe."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    written = _WriteProgress()
    thread = threading.Thread(
        target=_write_pipe, args=(pipe, waiting, written), name="mcp-write", daemon=True
    )
    thread.start()
    sent = 0
    silence: asyncio.Task[None] | None = None
    try:
        async with out:
            async for message in out:
                compat.sent(message.message)
                if compat.probe is not None and silence is None:
                    silence = asyncio.create_task(_give_up_probe(compat, compat.probe, into))
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                sent += len(line)
                if written.failed or sent - written.size > MAX_QUEUED_BYTES:
                    into.close()
                    return
                waiting.put(line)
    finally:
        waiting.put(b"")
        if silence is not None:
            silence.cancel()


async def _give_up_probe(
    compat: ProtocolCompat, probe: RequestId, into: "MemoryObjectSendStream[StdioIncoming]"
) -> None:
    """Give up the version probe, as an older server may not answer a request that it does not know."""
    await asyncio.sleep(DISCOVER_TIMEOUT)
    if (error := compat.give_up(probe)) is not None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await into.send(SessionMessage(error))


class _WriteProgress:
    """The state of the writing thread."""

    def __init__(self) -> None:
        self.size = 0
        self.failed = False


def _write_pipe(pipe: IO[bytes], waiting: "queue.SimpleQueue[bytes]", written: _WriteProgress) -> None:
    try:
        with pipe:
            while line := waiting.get():
                pipe.write(line)
                pipe.flush()
                written.size += len(line)
    except (OSError, ValueError):
        written.failed = True
