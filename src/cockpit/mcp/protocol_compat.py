"""Repairs results that the SDK would reject, and detects older protocol versions. Imports the SDK.

One invalid row in a list, or content of an unknown kind, must not lose all the others. A result of the
2026-07-28 protocol without a `resultType` is complete, though the SDK refuses it. A server on pipes that does
not answer `server/discover` counts as an older one after `DISCOVER_TIMEOUT` (the SDK would wait ten seconds);
its late answer is dropped.
"""

import json
from types import TracebackType
from typing import Any, Self

from anyio import EndOfStream
from mcp import types
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse
from mcp.types.jsonrpc import METHOD_NOT_FOUND, ErrorData, RequestId
from pydantic import BaseModel, ValidationError

from cockpit.protocol.safe_text import single_line

LIST_METHODS: dict[str, tuple[str, str, type[BaseModel]]] = {
    "tools/list": ("tools", "tool", types.Tool),
    "prompts/list": ("prompts", "prompt", types.Prompt),
    "resources/list": ("resources", "resource", types.Resource),
    "resources/templates/list": ("resourceTemplates", "template", types.ResourceTemplate),
}
CALL_METHOD = "tools/call"
DISCOVER_METHOD = "server/discover"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
# A newer server that starts slowly rejects the older handshake, and the SDK tries the newer one again.
DISCOVER_TIMEOUT = 3.0
CONTENT_KINDS = frozenset({"text", "image", "audio", "resource_link", "resource"})
# The SDK validates results against a tool's own schema, and these keywords can make that endless.
UNBOUNDED_KEYWORDS = frozenset({"pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"})
MAX_ROW_DEPTH = 60
MAX_REPORTED = 20
IncomingMessage = SessionMessage | Exception


def repair_result(method: str, result: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    """The result of `method`, unchanged if it is valid. Rows left out of a list are added to `left_out`."""
    if method == CALL_METHOD:
        return _repair_call(result)
    key, kind, model = LIST_METHODS[method]
    rows = result.get(key)
    if not isinstance(rows, list):
        return result
    valid = []
    for row in rows:
        if problem := _explain_row(row, model):
            name = row.get("name") if isinstance(row, dict) else None
            left_out.append(f"{kind} {single_line(str(name or '?'), 80)} is left out: {problem}")
        elif kind == "tool" and _has_unbounded_keyword(row.get("outputSchema")):
            valid.append({name: value for name, value in row.items() if name != "outputSchema"})
        else:
            valid.append(row)
    return {**result, key: valid}


def _explain_row(row: Any, model: type[BaseModel]) -> str:
    if _is_too_deep(row, 0):
        return "it is nested too deeply"
    try:
        model.model_validate(row, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return single_line(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}", 200)
    return ""


def _is_too_deep(value: Any, depth: int) -> bool:
    if depth > MAX_ROW_DEPTH:
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_is_too_deep(child, depth + 1) for child in inner)


def _has_unbounded_keyword(value: Any) -> bool:
    if isinstance(value, dict):
        return not UNBOUNDED_KEYWORDS.isdisjoint(value) or any(
            _has_unbounded_keyword(item) for item in value.values()
        )
    return isinstance(value, list) and any(_has_unbounded_keyword(item) for item in value)


def _repair_call(result: dict[str, Any]) -> dict[str, Any]:
    """A call's result with content of unknown kinds as JSON text. Absent content becomes an empty list."""
    if result.get("resultType", "complete") != "complete":
        return result
    content = result.get("content")
    items = [_text_content(content)] if isinstance(content, str) else content
    out = {**result, "content": [_repair_item(item) for item in items] if isinstance(items, list) else []}
    structured = result.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        out["content"] = [*out["content"], _text_content(json.dumps(structured))]
        del out["structuredContent"]
    return out


def _repair_item(item: Any) -> dict[str, Any]:
    known = isinstance(item, dict) and item.get("type") in CONTENT_KINDS
    return item if known else _text_content(json.dumps(item))


def _text_content(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


class ProtocolCompat:
    """Filters the messages of one connection: `sent` those to the server, `repair` those from it."""

    def __init__(self) -> None:
        self._is_later = False
        self._given_up: RequestId | None = None
        self._pending: dict[RequestId, str] = {}
        self._left_out: list[str] = []
        self.probe: RequestId | None = None

    def sent(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._is_later = VERSION_KEY in ((message.params or {}).get("_meta") or {})
            if message.method in (*LIST_METHODS, CALL_METHOD):
                self._pending[message.id] = message.method
            if message.method == DISCOVER_METHOD:
                self.probe = message.id

    def repair(self, message: JSONRPCMessage) -> JSONRPCMessage | None:
        """`message` in a form that the SDK accepts, None for a late answer."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return message
        if message.id is not None and message.id == self._given_up:
            return None
        if message.id == self.probe:
            self.probe = None
        method = self._pending.pop(message.id, "") if message.id is not None else ""
        if not isinstance(message, JSONRPCResponse):
            return message
        result = message.result
        if self._is_later and "resultType" not in result:
            result = {**result, "resultType": "complete"}
        if method:
            result = repair_result(method, result, self._left_out)
        return message if result is message.result else message.model_copy(update={"result": result})

    def left_out(self) -> list[str]:
        """What was left out of lists since the last call, with the reasons."""
        rows, self._left_out = self._left_out[:MAX_REPORTED], []
        return rows

    def give_up(self, probe: RequestId) -> JSONRPCError | None:
        """The error that the SDK receives in place of a missing answer, None if the server answered."""
        if self.probe != probe:
            return None
        self.probe, self._given_up = None, probe
        error = ErrorData(code=METHOD_NOT_FOUND, message=f"it did not answer {DISCOVER_METHOD}")
        return JSONRPCError(jsonrpc="2.0", id=probe, error=error)


def wrap_streams(streams: TransportStreams, compat: ProtocolCompat) -> TransportStreams:
    """The streams of one of the SDK's own transports, filtered by `compat`."""
    return _CompatReadStream(streams[0], compat), _CompatWriteStream(streams[1], compat)


class _CompatReadStream:
    """Messages from a server, repaired for the SDK."""

    def __init__(self, inner: ReadStream[IncomingMessage], compat: ProtocolCompat) -> None:
        self._inner = inner
        self._compat = compat

    @property
    def last_context(self) -> object:
        """The context of the last message. The SDK asks for it by this name."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> IncomingMessage:
        while True:
            received = await self._inner.receive()
            if isinstance(received, Exception):
                return received
            if (message := self._compat.repair(received.message)) is not None:
                return SessionMessage(message, received.metadata)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> IncomingMessage:
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


class _CompatWriteStream:
    """Messages to a server."""

    def __init__(self, inner: WriteStream[SessionMessage], compat: ProtocolCompat) -> None:
        self._inner = inner
        self._compat = compat

    async def send(self, message: SessionMessage, /) -> None:
        self._compat.sent(message.message)
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
