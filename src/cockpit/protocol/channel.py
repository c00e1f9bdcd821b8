"""The two Protocols of a frontend, `Channel` (one session) and `Deck` (all sessions), and a deck in another
process.

Nothing that crosses either is a live object: every op, envelope, query and reply passes `wire` unchanged, so
a core in another process looks the same (tests/seams). `serve_deck` answers on the side of the core,
`RemoteDeck` asks on the side of a frontend, over two byte streams with one JSON object per line. A request is
`{"id", "do", "session", ...}`; its answer is `{"id", "value"}` or `{"id", "error", "hint", "name"}`.
Envelopes arrive as `{"reader", "envelope"}`, the end of a reader as `{"reader", "end": true}`.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

from cockpit.errors import CockpitError, SessionBusy, SessionUnknown, SettingsInvalid
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope
from cockpit.protocol.ops import Op
from cockpit.protocol.queries import Query, Reply, SessionRow


class Channel(Protocol):
    """One session, as seen by a frontend."""

    @property
    def session(self) -> str:
        """The id of the session."""
        ...

    async def submit(self, op: Op) -> None:
        """Submit `op`. It is on disk when this returns; its effects arrive as events."""
        ...

    def events(self, after: int = 0) -> AsyncIterator[Envelope]:
        """The envelopes of the session with `seq > after`: first the past durable ones, then live ones.

        Ends after `SessionClosed`. Each caller has its own queue, so a slow one delays nobody.
        """
        ...

    async def ask(self, query: Query) -> Reply:
        """Answer a query; cancelling the call abandons it."""
        ...


class Deck(Protocol):
    """The sessions of one process and what they share."""

    async def open(self, root: str, resume: str | None = None) -> Channel:
        """A new session on `root`, or the stored session `resume`. Raises `SessionUnknown`, `SessionBusy`."""
        ...

    async def list(self, root: str | None = None) -> tuple[SessionRow, ...]:
        """Stored sessions, the newest first; only those of `root` if it is given."""
        ...

    async def fork(self, session: str, turn: str) -> Channel:
        """A new session that shares the history of `session` up to the end of `turn`."""
        ...

    async def close(self) -> None:
        """Close every session and stop what they share."""
        ...


MAX_LINE_BYTES = 64 * 1024 * 1024
ERRORS: Mapping[str, type[CockpitError]] = {
    error.__name__: error for error in (CockpitError, SessionBusy, SessionUnknown, SettingsInvalid)
}


class LineReader(Protocol):
    """The part of `asyncio.StreamReader` that is used; its limit should be `MAX_LINE_BYTES`."""

    async def readline(self) -> bytes: ...


class LineWriter(Protocol):
    """The part of `asyncio.StreamWriter` that is used."""

    def write(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...


async def serve_deck(deck: Deck, reader: LineReader, writer: LineWriter) -> None:
    """Answer requests until the stream ends. The caller closes the deck."""
    await _DeckServer(deck, writer).run(reader)


class _DeckServer:
    def __init__(self, deck: Deck, writer: LineWriter) -> None:
        self._deck = deck
        self._writer = writer
        self._channels: dict[str, Channel] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sending = asyncio.Lock()

    async def run(self, reader: LineReader) -> None:
        try:
            while line := await reader.readline():
                request = _parse_request(line)
                if request is None:
                    reason = "not a request: send one JSON object per line with the strings `id` and `do`"
                    await self._send(_error_answer("", CockpitError(reason)))
                elif request["do"] == "cancel":
                    if (task := self._tasks.get(request["id"])) is not None:
                        task.cancel()
                else:
                    self._tasks[request["id"]] = asyncio.create_task(self._answer(request))
        finally:
            for task in tuple(self._tasks.values()):
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _answer(self, request: Mapping[str, Any]) -> None:
        try:
            value = await self._do(request)
        except CockpitError as error:
            await self._send(_error_answer(request["id"], error))
        except KeyError as error:
            missing = CockpitError(f"the request lacks {error}", "see docs/extend/protocol.md")
            await self._send(_error_answer(request["id"], missing))
        else:
            await self._send({"id": request["id"], "value": value})
        finally:
            self._tasks.pop(request["id"], None)

    async def _do(self, request: Mapping[str, Any]) -> Any:
        match request["do"]:
            case "open":
                return self._keep(await self._deck.open(request["root"], request["resume"]))
            case "fork":
                return self._keep(await self._deck.fork(request["of"], request["turn"]))
            case "list":
                return [wire.encode(row) for row in await self._deck.list(request["root"])]
            case "submit":
                return await self._channel(request).submit(wire.decode(request["op"]))
            case "ask":
                return wire.encode(await self._channel(request).ask(wire.decode(request["query"])))
            case "events":
                return await self._pump(self._channel(request), request)
            case other:
                raise CockpitError(f"unknown request {other!r}")

    async def _pump(self, channel: Channel, request: Mapping[str, Any]) -> None:
        """Send envelopes; waiting for the stream here lets the channel coalesce the rest."""
        async for envelope in channel.events(request["after"]):
            await self._send({"reader": request["id"], "envelope": wire.encode(envelope)})
        await self._send({"reader": request["id"], "end": True})

    def _keep(self, channel: Channel) -> str:
        self._channels[channel.session] = channel
        return channel.session

    def _channel(self, request: Mapping[str, Any]) -> Channel:
        channel = self._channels.get(request["session"])
        if channel is None:
            raise SessionUnknown(f"session {request['session']} is not open in this process")
        return channel

    async def _send(self, message: Mapping[str, Any]) -> None:
        async with self._sending:
            self._writer.write(_encode_message(message))
            await self._writer.drain()


def _error_answer(id: str, error: CockpitError) -> Mapping[str, Any]:
    return {"id": id, "error": error.message, "hint": error.hint, "name": type(error).__name__}


def _encode_message(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _parse_request(line: bytes) -> Mapping[str, Any] | None:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_request = isinstance(raw, dict) and all(isinstance(raw.get(key), str) for key in ("id", "do"))
    return raw if is_request else None


class RemoteDeck:
    """A `Deck` whose core is at the other end of two streams. Call `start` on the loop that uses it."""

    def __init__(self, reader: LineReader, writer: LineWriter, close: Callable[[], Awaitable[None]]) -> None:
        self._reader = reader
        self._writer = writer
        self._close = close
        self._ids = itertools.count(1)
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self._readers: dict[str, asyncio.Queue[Envelope | None]] = {}
        self._reading: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._reading = asyncio.create_task(self._read())

    async def open(self, root: str, resume: str | None = None) -> Channel:
        return RemoteChannel(self, str(await self.request("open", "", root=root, resume=resume)))

    async def list(self, root: str | None = None) -> tuple[SessionRow, ...]:
        return tuple(wire.decode(row) for row in await self.request("list", "", root=root))

    async def fork(self, session: str, turn: str) -> Channel:
        return RemoteChannel(self, str(await self.request("fork", "", of=session, turn=turn)))

    async def close(self) -> None:
        await self._close()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def request(self, do: str, session: str, **arguments: Any) -> Any:
        """Send a request and wait for its answer. Raises the `CockpitError` of the other side."""
        id = str(next(self._ids))
        future = self._answers[id] = asyncio.get_running_loop().create_future()
        await self._send({"id": id, "do": do, "session": session, **arguments})
        try:
            return await future
        except asyncio.CancelledError:
            await self._send({"id": id, "do": "cancel"})
            raise
        finally:
            self._answers.pop(id, None)

    async def envelopes(self, session: str, after: int) -> AsyncIterator[Envelope]:
        id = str(next(self._ids))
        queue: asyncio.Queue[Envelope | None] = asyncio.Queue()
        self._readers[id] = queue
        await self._send({"id": id, "do": "events", "session": session, "after": after})
        try:
            while (envelope := await queue.get()) is not None:
                yield envelope
        finally:
            self._readers.pop(id, None)

    async def _send(self, message: Mapping[str, Any]) -> None:
        self._writer.write(_encode_message(message))
        await self._writer.drain()

    async def _read(self) -> None:
        while line := await self._reader.readline():
            message = json.loads(line)
            if "reader" in message:
                self._to_reader(message)
            elif (future := self._answers.get(message["id"])) is not None and not future.done():
                _resolve_future(future, message)
        gone = CockpitError("the core process ended", "start it again; the session is on disk")
        for future in self._answers.values():
            if not future.done():
                future.set_exception(gone)
        for queue in self._readers.values():
            queue.put_nowait(None)

    def _to_reader(self, message: Mapping[str, Any]) -> None:
        queue = self._readers.get(message["reader"])
        if queue is not None:
            queue.put_nowait(None if message.get("end") else wire.decode(message["envelope"]))


class RemoteChannel:
    """A `Channel` of a `RemoteDeck`."""

    def __init__(self, deck: RemoteDeck, session: str) -> None:
        self._deck = deck
        self._session = session

    @property
    def session(self) -> str:
        return self._session

    async def submit(self, op: Op) -> None:
        await self._deck.request("submit", self._session, op=wire.encode(op))

    def events(self, after: int = 0) -> AsyncIterator[Envelope]:
        return self._deck.envelopes(self._session, after)

    async def ask(self, query: Query) -> Reply:
        reply: Reply = wire.decode(await self._deck.request("ask", self._session, query=wire.encode(query)))
        return reply


def _resolve_future(future: "asyncio.Future[Any]", message: Mapping[str, Any]) -> None:
    if "error" in message:
        cls = ERRORS.get(message.get("name", ""), CockpitError)
        future.set_exception(cls(message["error"], message.get("hint", "")))
    else:
        future.set_result(message.get("value"))
