"""An independent server: `fakellm` from the package index, with streamed tool calls."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.builtin.models.openai_chat.model_calls import ask, openai, request

from cockpit.protocol.content import Text
from cockpit.protocol.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

RULES = """
rules:
  - name: asks for the file
    when: {turn: 1, messages_contain: "look"}
    respond:
      tool_calls:
        - name: read
          arguments: {path: "src/app.py", note: "é 中"}
        - name: read
          arguments: {path: "b.py"}
  - name: answers
    when: {turn: 2}
    respond:
      content: "It prints two lines."
"""


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from fakellm.cli import main; main()",
        "serve", "--config", str(rules), "--port", str(port),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, cwd=tmp_path,
    )  # fmt: skip
    try:
        async with asyncio.timeout(60):
            while not await _answers(port):
                assert server.returncode is None
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        await asyncio.sleep(0.02)
        return False
    writer.close()
    return True


async def test_a_turn_with_two_streamed_calls_and_an_answer(url: str) -> None:
    model = openai(url)
    asked = UserMessage((Text("look at it"),))
    first = await ask(model, request(asked))
    assert first.finish == "tool_calls"
    assert [(name, json.loads(arguments)) for name, arguments in first.named] == [
        ("read", {"path": "src/app.py", "note": "é 中"}),
        ("read", {"path": "b.py"}),
    ]
    assert len(first.deltas) > 4
    calls = tuple(ToolCall(id, name, json.loads(written)) for id, name, written in first.calls.values())
    results = [ToolMessage(one.id, one.name, "print(1); print(2)") for one in calls]
    second = await ask(model, request(asked, AssistantMessage("", calls, finish="tool_calls"), *results))
    assert (second.text, second.finish) == ("It prints two lines.", "stop")
