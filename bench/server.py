"""An OpenAI-compatible server on loopback that plays a scene. Standard library only.

The scene is the first part of the path: `oneshot` (a short answer), `steps` (20 reads, then an answer),
`turns` (one read, then an answer, in each turn), `sleep` (one call of `sleep 30`), `stream` (200 chunks a
second without end), `prefix` (as `turns`; reports how much of the previous request a prefix cache finds in
this one). Each request and its end are reported on stdout, one line of JSON each, with the monotonic clock,
which all processes of a machine share.
"""

import asyncio
import json
import sys
import time

STEPS = 20
SEEN: list[bytes] = []  # the previous request of the scene `prefix`


def tell(kind: str, **more: float) -> None:
    sys.stdout.write(json.dumps({"kind": kind, "at": time.monotonic(), **more}) + "\n")
    sys.stdout.flush()


def chunk(delta: object, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def text(words: str) -> bytes:
    return chunk({"role": "assistant", "content": words}) + chunk({}, "stop") + b"data: [DONE]\n\n"


def call(number: int, name: str, **arguments: object) -> bytes:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"index": 0, "id": f"call-{number}", "type": "function", "function": function}]
    whole = chunk({"role": "assistant", "tool_calls": calls}) + chunk({}, "tool_calls")
    return whole + b"data: [DONE]\n\n"


def parts(body: bytes) -> list[bytes]:
    """A request as a provider's cache stores it: the tools, then the messages in order."""
    asked = json.loads(body)
    return [json.dumps(one).encode() for one in (asked.get("tools"), *asked["messages"])]


def tell_prefix(seen: list[bytes], body: bytes) -> None:
    """Report how many bytes at the start of this request equal those of the previous one."""
    last, text = seen[-1] if seen else b"", b"".join(parts(body))
    seen[:] = [text]
    found = next(
        (at for at, pair in enumerate(zip(last, text, strict=False)) if pair[0] != pair[1]), len(last)
    )
    tell("prefix", before=len(last), found=min(found, len(text)))


def answer(scene: str, body: bytes, number: int) -> bytes:
    """The answer to a request. The end of the body shows whether a result was sent last."""
    if scene == "steps":
        done = body.count(b'"tool_call_id"')
        # A different range each time: the loop guard would answer a repeated call.
        return (
            call(number, "read", path="app.py", start=1, lines=100 + done) if done < STEPS else text("done")
        )
    if scene in ("turns", "prefix"):
        # A reminder after the result is a user message, too: only the prompt itself starts a turn.
        is_result = body.rfind(b'"role":"tool"') > body.rfind(b": read the file")
        return text("done") if is_result else call(number, "read", path="app.py", start=1, lines=100 + number)
    if scene == "sleep":
        return call(number, "shell", command="sleep 30") if b'"tool_call_id"' not in body else text("done")
    return text("hello world")


async def stream(writer: asyncio.StreamWriter) -> None:
    """Endless words, 200 a second, until the other side closes."""
    count = 0
    while not writer.is_closing():
        count += 1
        writer.write(chunk({"content": f"word{count} " if count % 60 else "\n\n"}))
        await writer.drain()
        await asyncio.sleep(0.005)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    number = 0
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            body = await reader.readexactly(length)
            number += 1
            tell("request", bytes=length)
            scene = head.split(b" ", 2)[1].decode().strip("/").partition("/")[0]
            if scene == "prefix":
                tell_prefix(SEEN, body)
            if scene == "stream":
                await _until_gone(reader, writer)
                return
            out = answer(scene, body, number)
            kind = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            writer.write(kind + b"Content-Length: %d\r\n\r\n" % len(out) + out)
            await writer.drain()
            tell("answered")
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _until_gone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    sending = asyncio.create_task(stream(writer))
    try:
        await reader.read()
    finally:
        tell("gone")
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def main() -> None:
    listening = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26)
    tell("listening", port=listening.sockets[0].getsockname()[1])
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
