"""Which era of the protocol is spoken on a connection, and what the SDK takes too strictly there. Imports the
SDK.

A result of the later era that names no `resultType` is a complete one: the protocol says so, the SDK refuses
it. On pipes a server that never answers `server/discover` is taken for one of the old days after `PATIENCE`
(the SDK would wait ten seconds); what it still answers to that goes nowhere.
"""

from types import TracebackType
from typing import Self

from anyio import EndOfStream
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse
from mcp.types.jsonrpc import METHOD_NOT_FOUND, ErrorData, RequestId

from cockpit.mcp.mending import MENDED, mended

# One of the later era that starts slowly says so when it is greeted in the old way: the SDK asks again.
PATIENCE = 3.0
DISCOVER = "server/discover"
SAID = 20
VERSION = "io.modelcontextprotocol/protocolVersion"
Incoming = SessionMessage | Exception


class Era:
    """One connection's: `sent` sees each message to the server, `mended` each from it."""

    def __init__(self) -> None:
        self._is_later = False
        self._given_up: RequestId | None = None
        self._asked: dict[RequestId, str] = {}
        self._left_out: list[str] = []
        self.probe: RequestId | None = None

    def sent(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._is_later = VERSION in ((message.params or {}).get("_meta") or {})
            if message.method in MENDED:
                self._asked[message.id] = message.method
            if message.method == DISCOVER:
                self.probe = message.id

    def mended(self, message: JSONRPCMessage) -> JSONRPCMessage | None:
        """`message` as the SDK takes it, None for one that nobody waits for any more."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return message
        if message.id is not None and message.id == self._given_up:
            return None
        if message.id == self.probe:
            self.probe = None
        method = self._asked.pop(message.id, "") if message.id is not None else ""
        if not isinstance(message, JSONRPCResponse):
            return message
        result = message.result
        if self._is_later and "resultType" not in result:
            result = {**result, "resultType": "complete"}
        if method:
            result = mended(method, result, self._left_out)
        return message if result is message.result else message.model_copy(update={"result": result})

    def left_out(self) -> list[str]:
        """What of the lists since the last time was no tool, prompt or resource, and why."""
        left, self._left_out = self._left_out[:SAID], []
        return left

    def give_up(self, probe: RequestId) -> JSONRPCError | None:
        """What the SDK is told in the place of a server that was silent; None where it answered."""
        if self.probe != probe:
            return None
        self.probe, self._given_up = None, probe
        error = ErrorData(code=METHOD_NOT_FOUND, message=f"it did not answer {DISCOVER}")
        return JSONRPCError(jsonrpc="2.0", id=probe, error=error)


def watched(streams: TransportStreams, era: Era) -> TransportStreams:
    """The streams of one of the SDK's own transports, with `era` between."""
    return _Read(streams[0], era), _Write(streams[1], era)


class _Read:
    """What a server says, as the SDK takes it."""

    def __init__(self, inner: ReadStream[Incoming], era: Era) -> None:
        self._inner = inner
        self._era = era

    @property
    def last_context(self) -> object:
        """In what context the last message was sent: the SDK asks for it by this name."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Incoming:
        while True:
            got = await self._inner.receive()
            if isinstance(got, Exception):
                return got
            if (message := self._era.mended(got.message)) is not None:
                return got if message is got.message else SessionMessage(message, got.metadata)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _Write:
    """What is said to a server."""

    def __init__(self, inner: WriteStream[SessionMessage], era: Era) -> None:
        self._inner = inner
        self._era = era

    async def send(self, message: SessionMessage, /) -> None:
        self._era.sent(message.message)
        await self._inner.send(message)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
