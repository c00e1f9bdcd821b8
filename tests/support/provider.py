"""A model server on loopback that answers exactly what a test tells it to, byte for byte.

    async with Provider(stream(text("Hel"), text("lo"), finish("stop"))) as provider:
        ... provider.base_url ... provider.requests[0].json

An answer's pieces are sent one by one: bytes, an `asyncio.Event` (sent on when it is set), RESET (the
connection is reset), CUT (it is closed without the end of the body), HANG (held until the client
leaves). Answers are taken in order; the last one is given again and again.
"""

import asyncio
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Literal, Self

RESET: Literal["reset"] = "reset"
CUT: Literal["cut"] = "cut"
HANG: Literal["hang"] = "hang"
Piece = bytes | asyncio.Event | Literal["reset", "cut", "hang"]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: Mapping[str, object] | None = None, finish: str | None = None, **more: object) -> bytes:
    """One chunk of a completion; `more` are fields beside `choices`."""
    choice = {"index": 0, "delta": dict(delta or {}), "finish_reason": finish}
    return event({"id": "c", "object": "chat.completion.chunk", "choices": [choice], **more})


def text(content: str) -> bytes:
    return chunk({"content": content})


def thought(content: str, field_name: str = "reasoning_content") -> bytes:
    return chunk({field_name: content})


def call(
    index: int | None, arguments: object = "", *, id: str | None = None, name: str | None = None
) -> bytes:
    """One fragment of a tool call."""
    function: dict[str, object] = {"arguments": arguments}
    fragment: dict[str, object] = {"function": function}
    if index is not None:
        fragment["index"] = index
    if id is not None:
        fragment |= {"id": id, "type": "function"}
    if name is not None:
        function["name"] = name
    return chunk({"tool_calls": [fragment]})


def finish(reason: str) -> bytes:
    return chunk({}, reason)


def usage(**counts: object) -> bytes:
    return event({"choices": [], "usage": counts})


TLS_HELLO = b"\x16"
DONE = b"data: [DONE]\n\n"


def stream(*pieces: Piece) -> Answer:
    """A whole stream: the pieces and `[DONE]`."""
    return Answer(pieces=(*pieces, DONE))


def open_stream(*pieces: Piece) -> Answer:
    """A stream that ends as its pieces end."""
    return Answer(pieces=pieces)


def reply(status: int, body: object, **headers: str) -> Answer:
    """An answer that is no stream: JSON, or a `str` as it is."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if isinstance(body, str):
        return Answer(status, {"content-type": "text/html", **named}, (body.encode(),))
    return Answer(status, {"content-type": "application/json", **named}, (json.dumps(body).encode(),))


def error(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    """An error as OpenAI shapes it."""
    return reply(status, {"error": {"message": message, "type": "error", "code": code}}, **headers)


def listing(*names: str) -> Answer:
    return reply(200, {"object": "list", "data": [{"id": name} for name in names]})


class Provider:
    """The server. `answers` go to completions, `models` to the list of models."""

    def __init__(
        self,
        *answers: Answer | Callable[[Received], Answer],
        models: Answer | Callable[[Received], Answer] | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self.left = asyncio.Event()
        self._answers = list(answers)
        self._models = models or listing("m-1", "m-2")
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def completions(self) -> list[Received]:
        return [one for one in self.requests if one.path.endswith("/chat/completions")]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while received := await _received(reader, writer):
                self.requests.append(received)
                if not await self._send(self._answer(received), reader, writer):
                    break
        except (ConnectionError, asyncio.CancelledError):
            self.left.set()
        finally:
            self._tasks.discard(task)
            writer.close()

    def _answer(self, received: Received) -> Answer:
        if received.path.endswith("/models"):
            found = self._models
        elif not received.path.endswith("/chat/completions"):
            return reply(404, {"detail": "Not Found"})
        elif not self._answers:
            return error(500, "the test gave no answer")
        else:
            found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return found if isinstance(found, Answer) else found(received)

    async def _send(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may serve another request."""
        head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        line = f"HTTP/1.1 {answer.status} Said\r\n{head}transfer-encoding: chunked\r\n\r\n"
        writer.write(line.encode())
        for piece in answer.pieces:
            if isinstance(piece, asyncio.Event):
                await piece.wait()
            elif isinstance(piece, bytes):
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            elif piece == HANG:
                await reader.read()
                self.left.set()
                return False
            else:
                if piece == RESET:
                    linger = struct.pack("ii", 1, 0)
                    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, linger)
                return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


async def _received(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Received | None:
    try:
        sign = await reader.readexactly(1)
        if sign == TLS_HELLO:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return None
        head = sign + await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)


async def until(is_so: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until `is_so`, giving the loop its turns. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.002)
