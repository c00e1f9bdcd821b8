"""Hooks that are no commands: requests over HTTP, questions to models and subagents, tools of servers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.support.decks import call, distribution, driving
from tests.support.hooks import House, options

from cockpit.protocol.events import ToolCallFinished, Warned
from cockpit.protocol.messages import ToolResult

READ = call("Read", file_path="a.txt")


@dataclass
class Listener:
    """An HTTP server on loopback that answers each POST with the next of its answers."""

    answers: list[tuple[int, str]]
    port: int = 0
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines if one)}
        body = await reader.readexactly(int(headers["content-length"]))
        self.asked.append((first.split()[1], headers, json.loads(body)))
        status, text = self.answers.pop(0)
        extra = f"Location: http://127.0.0.1:{self.port}/other\r\n" if 300 <= status < 400 else ""
        content = text.encode()
        writer.write(
            f"HTTP/1.1 {status} X\r\n{extra}Content-Length: {len(content)}\r\n\r\n".encode() + content
        )
        await writer.drain()
        writer.close()


@asynccontextmanager
async def listening(*answers: tuple[int, str]) -> AsyncIterator[Listener]:
    listener = Listener(list(answers))
    server = await asyncio.start_server(listener.serve, "127.0.0.1", 0)
    listener.port = server.sockets[0].getsockname()[1]
    async with server:
        yield listener


async def play(house: House, mode: Any = "ask", someone: bool = True) -> tuple[ToolResult, list[str]]:
    async with driving(house.root, options=options(mode, someone=someone)) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        return result, [one.text for one in driver.all(Warned)]


def http(port: int, **more: Any) -> dict[str, Any]:
    return {"type": "http", "url": f"http://127.0.0.1:{port}/hook", **more}


async def test_a_request_carries_what_a_command_reads_and_its_body_is_the_answer(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "t-1")
    monkeypatch.setenv("OTHER", "never")
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}
    house.play({"calls": [READ]}, {"text": "Done."})
    async with listening((200, json.dumps({"hookSpecificOutput": specific}))) as listener:
        headers = {"Authorization": "Bearer $HOOK_TOKEN", "X-Other": "${OTHER}"}
        house.own(PreToolUse=("Read", http(listener.port, headers=headers, allowedEnvVars=["HOOK_TOKEN"])))
        result, _ = await play(house)
        [(path, sent, told)] = listener.asked
    assert result.outcome == "denied" and result.text.endswith("no")
    assert path == "/hook" and told["tool_input"] == {"file_path": str(house.root / "a.txt")}
    assert sent["authorization"] == "Bearer t-1" and sent["x-other"] == ""
    assert sent["content-type"] == "application/json"


async def test_a_redirect_or_an_error_is_a_warning_and_no_answer(house: House) -> None:
    house.play({"calls": [READ]}, {"text": "Done."})
    for status in (302, 500):
        async with listening((status, '{"decision": "block"}')) as listener:
            house.own(PreToolUse=("Read", http(listener.port)))
            result, warned = await play(house)
            assert [path for path, _, _ in listener.asked] == ["/hook"]
        assert result.outcome == "ok"
        assert any(f"answered {status}" in text for text in warned)


async def test_an_address_without_a_server_is_said(house: House) -> None:
    async with listening() as listener:
        port = listener.port
    house.own(PreToolUse=("Read", http(port)))
    house.play({"calls": [READ]}, {"text": "Done."})
    result, warned = await play(house)
    assert result.outcome == "ok" and any("cannot be reached" in text for text in warned)


@pytest.mark.parametrize("host", ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "[fe80::1]"])
async def test_the_keys_of_a_cloud_are_never_asked_for(house: House, host: str) -> None:
    house.own(PreToolUse=("Read", {"type": "http", "url": f"http://{host}/latest"}))
    house.play({"calls": [READ]}, {"text": "Done."})
    result, warned = await play(house)
    assert result.outcome == "ok" and any("hooks may not request" in text for text in warned)


async def test_a_model_is_asked_whether_it_may_go_on(house: House) -> None:
    house.own(PreToolUse=("Read", {"type": "prompt", "prompt": "JUDGE this: $ARGUMENTS"}))
    for answer, outcome in (
        ('Well: {"ok": false, "reason": "ask the owner"}', "denied"),
        ('{"ok": true}', "ok"),
        ("I cannot say", "ok"),
    ):
        house.play({"calls": [READ]}, {"text": "Done."}, JUDGE=[{"text": answer}])
        result, warned = await play(house)
        assert result.outcome == outcome
        assert ("ask the owner" in result.text) == (outcome == "denied")
        assert any("the model did not answer" in text for text in warned) == (answer == "I cannot say")


async def test_a_subagent_looks_and_answers(house: House) -> None:
    house.own(Stop={"type": "agent", "prompt": "VERIFY that a.txt says two: $ARGUMENTS"})
    verify = [
        {"calls": [call("read", path="a.txt"), call("write", path="c.txt", content="x")]},
        {"text": '{"ok": false, "reason": "it says one"}'},
    ]
    house.play({"text": "Done."}, {"text": "Really."}, VERIFY=verify)
    async with driving(house.root, options=options("full")) as driver:
        await driver.prompt("go")
        results = [one.result for one in driver.all(ToolCallFinished)]
    assert results[0].outcome == "ok" and results[1].outcome != "ok"
    assert not (house.root / "c.txt").exists()


SERVER = """
from cockpit.plugin import hookimpl
from cockpit.plugin.tools import Done, Tool

async def scan(arguments, context):
    path = arguments["path"]
    return Done('{"decision": "block", "reason": "scanned ' + path.rsplit("/", 1)[-1] + '"}')

@hookimpl
def register_tools(register, scope):
    register(Tool("mcp__scanner__scan", "read", "Scans a file.", {"type": "object"}, frozenset({"none"}),
                  scan, lambda arguments: "scan"))
"""


async def test_a_tool_of_a_server_is_called_as_any_other(house: House, plugins: Any) -> None:
    distribution(plugins, "scanner", SERVER)
    hook = {
        "type": "mcp_tool",
        "server": "scanner",
        "tool": "scan",
        "input": {"path": "${tool_input.file_path}"},
    }
    house.own(PreToolUse=("*", hook))
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options("full")) as driver:
        await driver.prompt("go")
        inner, outer = [one.result for one in driver.all(ToolCallFinished)]
    assert inner.name == "mcp__scanner__scan" and inner.outcome == "ok"
    assert outer.outcome == "denied" and outer.text.endswith("scanned a.txt")


async def test_a_tool_that_may_not_be_called_decides_nothing(house: House) -> None:
    house.own(PreToolUse=("Read", {"type": "mcp_tool", "server": "gone", "tool": "scan"}))
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        outcomes = [one.result.outcome for one in driver.all(ToolCallFinished)]
        warned = [one.text for one in driver.all(Warned)]
    assert outcomes[-1] == "ok" and any("mcp__gone__scan" in text for text in warned)
