"""Transport to a server on stdin and stdout of a child process: one JSON message per line. Imports the SDK.

The SDK's own transport is not used: it buffers an endless line in memory, splits a large line again with
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
from dataclasses import dataclass
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
CHUNK_BYTES = 262_144
GRACE_SECONDS = 0.5
MAX_QUEUED_BYTES = 64_000_000
StdioIncoming = SessionMessage | Exception


class MessageRateLimit:
    """Limits the notifications and requests of one connection. Answers to our own requests always pass."""

    def __init__(self, log: ServerLog) -> None:
        self._log = log
        self._second = 0
        self._count = 0

    def allows(self, message: JSONRPCMessage) -> bool:
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


@asynccontextmanager
async def open_stdio(
    server: McpServer, settings: ConnectionSettings, gone: asyncio.Event, compat: ProtocolCompat
) -> AsyncIterator[TransportStreams]:
    """Start the child and return its streams. `gone` is set when it closes stdout. Raises
    `ServerNotStarted`."""
    log = ServerLog(settings.log)
    folder = str(Path(settings.root, server.cwd))
    try:
        child = await asyncio.to_thread(
            spawn_server, _resolve_command(server), folder, server.environment, log
        )
    except (OSError, ValueError) as error:
        hint = "check its command line with cockpit mcp get"
        if isinstance(error, FileNotFoundError):
            hint = "install it, or configure its path; cockpit mcp get shows the command line"
        raise ServerNotStarted(f"{server.command[0]} could not be started: {error}", hint) from error
    into, incoming = anyio.create_memory_object_stream[StdioIncoming](0)
    outgoing, out = anyio.create_memory_object_stream[SessionMessage](0)
    reader = _StdoutReader(child.pipes[1], into, gone, log, settings.max_bytes, compat)
    writer = asyncio.create_task(_write_messages(child.pipes[0], out, into, compat))
    threading.Thread(target=reader.run, name=f"mcp-{server.name}", daemon=True).start()
    try:
        yield incoming, outgoing
    finally:
        for stream in (incoming, outgoing, into, out):
            stream.close()
        # The child is ended even if the task that closes it is cancelled.
        await asyncio.shield(asyncio.ensure_future(_end_child(child, writer)))


def _resolve_command(server: McpServer) -> tuple[str, ...]:
    """The command with the full path of its program, as Windows does not start `npx.cmd` by name."""
    program, *rest = server.command
    path = absolute_search_path(server.environment.get("PATH") or os.environ.get("PATH", ""))
    return (shutil.which(program, path=path) or program, *rest)


async def _end_child(child: ServerProcess, writer: "asyncio.Task[None]") -> None:
    """Close stdin, as the protocol says, wait briefly, then end everything that the child started."""
    with contextlib.suppress(TimeoutError, asyncio.CancelledError):
        await asyncio.wait_for(writer, GRACE_SECONDS)
    await child.end(GRACE_SECONDS)


class _StdoutReader:
    """Reads stdout in a thread and forwards one message at a time, once the last one was received."""

    def __init__(
        self,
        pipe: IO[bytes],
        into: MemoryObjectSendStream[StdioIncoming],
        gone: asyncio.Event,
        log: ServerLog,
        max_bytes: int,
        compat: ProtocolCompat,
    ) -> None:
        self._pipe = pipe
        self._into = into
        self._gone = gone
        self._log = log
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._rate_limit = MessageRateLimit(log)
        self._compat = compat

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._pipe:
            for line in self._lines():
                self._receive(line)
        # A closed loop accepts no more callbacks.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        self._into.close()
        self._gone.set()

    def _lines(self) -> Iterator[bytes]:
        """Whole lines. One that is too long ends the connection, as the rest cannot be trusted."""
        pieces: list[bytes] = []
        size = 0
        while chunk := os.read(self._pipe.fileno(), CHUNK_BYTES):
            first, *rest = chunk.split(b"\n")
            pieces.append(first)
            size += len(first)
            for piece in rest:
                yield b"".join(pieces)
                pieces, size = [piece], len(piece)
            if size > self._max_bytes:
                self._log.say(
                    "cockpit", f"a line is longer than {self._max_bytes} bytes: the connection is closed"
                )
                return

    def _receive(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
        except ValueError:
            # Many servers print log text to stdout.
            self._log.say("stdout", line[:2_000].decode("utf-8", "replace"))
            return
        if not self._rate_limit.allows(message):
            return
        with contextlib.suppress(RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            asyncio.run_coroutine_threadsafe(self._forward(message), self._loop).result()

    async def _forward(self, message: JSONRPCMessage) -> None:
        if (repaired := self._compat.repair(message)) is not None:
            await self._into.send(SessionMessage(repaired))


async def _write_messages(
    pipe: IO[bytes],
    out: MemoryObjectReceiveStream[SessionMessage],
    into: MemoryObjectSendStream[StdioIncoming],
    compat: ProtocolCompat,
) -> None:
    """Write our messages in a thread, because a server that does not read blocks the pipe."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    written = _WriteProgress()
    threading.Thread(target=_write_pipe, args=(pipe, waiting, written), name="mcp-write", daemon=True).start()
    sent = 0
    probe_timeout: asyncio.Task[None] | None = None
    try:
        async with out:
            async for message in out:
                compat.sent(message.message)
                if compat.probe is not None and probe_timeout is None:
                    probe_timeout = asyncio.create_task(_give_up_probe(compat, compat.probe, into))
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                sent += len(line)
                if written.failed or sent - written.size > MAX_QUEUED_BYTES:
                    into.close()
                    return
                waiting.put(line)
    finally:
        waiting.put(b"")
        if probe_timeout is not None:
            probe_timeout.cancel()


async def _give_up_probe(
    compat: ProtocolCompat, probe: RequestId, into: MemoryObjectSendStream[StdioIncoming]
) -> None:
    """Give up the version probe, as an older server may not answer a request that it does not know."""
    await asyncio.sleep(DISCOVER_TIMEOUT)
    if (error := compat.give_up(probe)) is not None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await into.send(SessionMessage(error))


@dataclass(slots=True)
class _WriteProgress:
    """The number of bytes that the writing thread has written."""

    size: int = 0
    failed: bool = False


def _write_pipe(pipe: IO[bytes], waiting: "queue.SimpleQueue[bytes]", written: _WriteProgress) -> None:
    try:
        with pipe:
            while line := waiting.get():
                pipe.write(line)
                pipe.flush()
                written.size += len(line)
    except (OSError, ValueError):
        written.failed = True
