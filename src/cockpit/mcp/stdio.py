"""A server on stdin and stdout of a child process: one JSON message a line. Imports the SDK.

Not the SDK's own transport: that one keeps a line without end in memory, splits a large one again at every
piece, dies of a byte that is no UTF-8, and hands our secrets to nobody but our folder to the child.
"""

import asyncio
import contextlib
import os
import queue
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage, jsonrpc_message_adapter
from mcp.types.jsonrpc import RequestId

from cockpit.mcp.era import PATIENCE, Era
from cockpit.mcp.sieve import Sieve
from cockpit.mcp.values import NotStarted, Terms
from cockpit.plugin.values import McpServer
from cockpit.workspace.environment import search_path
from cockpit.workspace.logs import Log
from cockpit.workspace.piped import Child, spawn

CHUNK = 262_144
GRACE = 0.5
WAITING = 64_000_000
Incoming = SessionMessage | Exception


@asynccontextmanager
async def stdio(
    server: McpServer, terms: Terms, gone: asyncio.Event, era: Era
) -> AsyncIterator[TransportStreams]:
    """The streams of a started child; `gone` is set when it closes its stdout. Raises `NotStarted` when it
    cannot be started."""
    log = Log(terms.log)
    folder = str(Path(terms.root, server.cwd))
    try:
        child = await asyncio.to_thread(spawn, _found(server), folder, server.environment, log)
    except (OSError, ValueError) as error:
        raise NotStarted(f"{server.command[0]} could not be started: {error}", _remedy(error)) from error
    into, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, out = anyio.create_memory_object_stream[SessionMessage](0)
    reader = _Reader(child.pipes[1], into, gone, log, terms.largest, era)
    writer = asyncio.create_task(_write(child.pipes[0], out, into, era))
    threading.Thread(target=reader.run, name=f"mcp-{server.name}", daemon=True).start()
    try:
        yield incoming, outgoing
    finally:
        # Whoever closes may be cancelled meanwhile: the child is ended all the same.
        await asyncio.shield(asyncio.ensure_future(_end(child, writer, (incoming, outgoing, into, out))))


def _found(server: McpServer) -> tuple[str, ...]:
    """The command with its program's whole path: Windows starts `npx.cmd` by no shorter name."""
    program, *rest = server.command
    path = search_path(server.environment.get("PATH") or os.environ.get("PATH", ""))
    return (shutil.which(program, path=path) or program, *rest)


def _remedy(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "install it, or write where it is: cockpit mcp get shows the command line"
    return "look at its command line with cockpit mcp get"


async def _end(
    child: Child,
    writer: "asyncio.Task[None]",
    streams: tuple[
        MemoryObjectReceiveStream[Incoming] | MemoryObjectSendStream[SessionMessage] | object, ...
    ],
) -> None:
    """Close stdin, as the protocol says, wait a moment, then end all that it started."""
    for stream in streams:
        close = getattr(stream, "close", None)
        if callable(close):
            close()
    with contextlib.suppress(TimeoutError, asyncio.CancelledError):
        await asyncio.wait_for(writer, GRACE)
    await child.end(GRACE)


class _Reader:
    """Reads stdout in a thread of its own and hands on one message after the other: the next is read when the
    last was taken."""

    def __init__(
        self,
        pipe: IO[bytes],
        into: "MemoryObjectSendStream[Incoming]",
        gone: asyncio.Event,
        log: Log,
        largest: int,
        era: Era,
    ) -> None:
        self._pipe = pipe
        self._into = into
        self._gone = gone
        self._log = log
        self._largest = largest
        self._loop = asyncio.get_running_loop()
        self._sieve = Sieve(log)
        self._era = era

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._pipe:
            for line in self._lines():
                self._take(line)
        # A loop that is closed takes nothing more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        self._into.close()
        self._gone.set()

    def _lines(self) -> Iterator[bytes]:
        """Whole lines. One that is too long ends the connection: what comes after it cannot be trusted."""
        pieces: list[bytes] = []
        size = 0
        while chunk := os.read(self._pipe.fileno(), CHUNK):
            first, *rest = chunk.split(b"\n")
            pieces.append(first)
            size += len(first)
            for piece in rest:
                yield b"".join(pieces)
                pieces, size = [piece], len(piece)
            if size > self._largest:
                self._log.say("cockpit", f"a line of more than {self._largest} bytes: the connection ends")
                return

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
        except ValueError:
            # Many servers print to stdout what belongs to stderr.
            self._log.say("stdout", line[:2_000].decode("utf-8", "replace"))
            return
        if not self._sieve.lets(message):
            return
        with contextlib.suppress(RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            asyncio.run_coroutine_threadsafe(self._hand(message), self._loop).result()

    async def _hand(self, message: JSONRPCMessage) -> None:
        if (mended := self._era.mended(message)) is not None:
            await self._into.send(SessionMessage(mended))


async def _write(
    pipe: IO[bytes],
    out: "MemoryObjectReceiveStream[SessionMessage]",
    into: "MemoryObjectSendStream[Incoming]",
    era: Era,
) -> None:
    """Hand what we say to a thread: a server that does not read fills the pipe, and nothing else."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    written = _Written()
    thread = threading.Thread(target=_pump, args=(pipe, waiting, written), name="mcp-write", daemon=True)
    thread.start()
    sent = 0
    silence: asyncio.Task[None] | None = None
    try:
        async with out:
            async for message in out:
                era.sent(message.message)
                if era.probe is not None and silence is None:
                    silence = asyncio.create_task(_silent(era, era.probe, into))
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                sent += len(line)
                if written.failed or sent - written.size > WAITING:
                    into.close()
                    return
                waiting.put(line)
    finally:
        waiting.put(b"")
        if silence is not None:
            silence.cancel()


async def _silent(era: Era, probe: RequestId, into: "MemoryObjectSendStream[Incoming]") -> None:
    """A server of the old days may say nothing at all to a question that it does not know."""
    await asyncio.sleep(PATIENCE)
    if (error := era.give_up(probe)) is not None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await into.send(SessionMessage(error))


class _Written:
    """How far the writing thread is."""

    def __init__(self) -> None:
        self.size = 0
        self.failed = False


def _pump(pipe: IO[bytes], waiting: "queue.SimpleQueue[bytes]", written: _Written) -> None:
    try:
        with pipe:
            while line := waiting.get():
                pipe.write(line)
                pipe.flush()
                written.size += len(line)
    except (OSError, ValueError):
        written.failed = True
