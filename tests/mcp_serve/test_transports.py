"""`cockpit mcp-serve` as a process that other programs start or reach on a port."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.support.command import command
from tests.support.in_process import cockpit
from tests.support.serving import ERAS, Era

from cockpit.cli.mcp_serve import build_mcp_options
from cockpit.core.session.deck import LocalDeck
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.transports import ListenAddress, serve_http

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def listening_here(root: Path, token: str = "") -> AsyncIterator[str]:
    """The address of a server in this process."""
    urls: asyncio.Queue[str] = asyncio.Queue()
    deck = LocalDeck(build_mcp_options("", (), ()))
    address = ListenAddress(token=token)
    server = asyncio.create_task(serve_http(deck, str(root), ExposedTools(), address, urls.put_nowait))
    try:
        async with asyncio.timeout(60):
            yield await urls.get()
    finally:
        server.cancel()
        await asyncio.wait((server,))
        await deck.close()


@asynccontextmanager
async def listening(root: Path, *more: str) -> AsyncIterator[tuple[str, str]]:
    """The address of a server in its own process, and what it printed on stderr before."""
    pipe = asyncio.subprocess.PIPE
    line = command("mcp-serve", "--root", str(root), "--http", "0", *more)
    process = await asyncio.create_subprocess_exec(*line, stderr=pipe, stdout=pipe)
    assert process.stderr is not None and process.stdout is not None
    said = ""
    async with asyncio.timeout(60):
        while not (found := re.search(r"listening on (\S+)\n", said)):
            said += (await process.stderr.readline()).decode()
    try:
        yield found[1], said
    finally:
        process.terminate()
        async with asyncio.timeout(20):
            assert await process.stdout.read() == b""
            assert await process.wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_on_pipes_a_client_finds_the_tools(root: Path, era: Era, tmp_path: Path) -> None:
    (root / "a.py").write_text("one = 1\n", encoding="utf-8")
    program, *arguments = command("mcp-serve", "--root", str(root))
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    with (tmp_path / "err").open("w") as err:
        async with Client(stdio_client(server, errlog=err), mode=era) as client:
            assert client.server_info is not None and client.server_info.name == "cockpit"
            result = await client.call_tool("read", {"path": "a.py"})
            assert "one = 1" in result.model_dump_json()


@pytest.mark.slow
async def test_stdout_carries_the_protocol_alone_and_the_end_of_stdin_ends_it(root: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    sent = "".join(json.dumps(one) + "\n" for one in (HELLO, told, call)) + "this is no message\n"
    pipe = asyncio.subprocess.PIPE
    line = command("mcp-serve", "--root", str(root))
    process = await asyncio.create_subprocess_exec(*line, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(sent.encode())
    await process.stdin.drain()
    answers: list[Any] = []
    async with asyncio.timeout(60):
        while not any(one.get("id") == 2 for one in answers):
            answers.append(json.loads(await process.stdout.readline()))
        process.stdin.close()
        assert all(json.loads(one) for one in (await process.stdout.read()).splitlines())
        assert await process.wait() == 0


async def test_port_requires_the_printed_token(root: Path) -> None:
    async with listening(root) as (url, said):
        token = re.search(r"Bearer (\S+)`", said)
        assert token is not None and url.startswith("http://127.0.0.1:")
        async with httpx2.AsyncClient(headers=ACCEPT) as client:
            for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": token[1]}):
                refused = await client.post(url, json=HELLO, headers=given)
                assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
            right = {"authorization": f"Bearer {token[1]}"}
            assert (await client.post(url, json=HELLO, headers=right)).status_code == 200


async def test_token_of_the_environment_is_used_and_not_printed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COCKPIT_MCP_TOKEN", "a-token-of-the-environment")
    headers = ACCEPT | {"authorization": "Bearer a-token-of-the-environment"}
    async with listening(root) as (url, said), httpx2.AsyncClient(headers=headers) as client:
        assert "a-token-of-the-environment" not in said
        assert (await client.post(url, json=HELLO)).status_code == 200


async def test_web_page_cannot_reach_the_server(root: Path) -> None:
    async with listening_here(root) as url, httpx2.AsyncClient(headers=ACCEPT) as client:
        port = url.split(":")[2].split("/")[0]
        for headers, status in (
            ({"host": "evil.example"}, 421),
            ({"host": f"evil.example:{port}"}, 421),
            ({"host": f"127.0.0.1.evil.example:{port}"}, 421),
            ({"origin": "https://evil.example"}, 403),
            ({"origin": "null"}, 403),
            ({"origin": f"http://localhost:{port}"}, 200),
            ({}, 200),
        ):
            answer = await client.post(url, json=HELLO, headers=headers)
            assert answer.status_code == status, headers


@pytest.mark.parametrize("era", ERAS)
async def test_on_a_port_a_client_finds_the_tools(root: Path, era: Era) -> None:
    headers = {"authorization": "Bearer a-token"}
    async with (
        listening_here(root, "a-token") as url,
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        assert "read" in {tool.name for tool in (await client.list_tools()).tools}


def test_without_a_token_only_the_loopback_is_listened_on(root: Path) -> None:
    ended = cockpit("mcp-serve", "--http", "0", "--host", "0.0.0.0", "--no-token", cwd=root)
    assert ended.code == 1 and "would let other machines call tools" in ended.err


def test_port_in_use_is_reported(root: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = cockpit("mcp-serve", "--http", port, "--no-token", cwd=root)
    assert ended.code == 1 and f"cannot listen on 127.0.0.1:{port}" in ended.err


def test_list_option_prints_exposed_tools(root: Path) -> None:
    ended = cockpit("mcp-serve", "--list", "--expose", "default,edit,nonesuch", cwd=root)
    rows = [line.split("\t") for line in ended.out.splitlines()]
    assert ["edit", "may change things", "edit"] in rows and ["read", "reads", "read"] in rows
    assert "there is no tool nonesuch" in ended.err


def test_user_settings_expose_tools_but_a_project_cannot(root: Path, home: Path) -> None:
    from cockpit.settings import trust

    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "settings.toml").write_text('[mcp]\nexpose_tools = ["read"]\n')
    trust.save_trust(str(root), True)
    (root / ".cockpit").mkdir()
    (root / ".cockpit" / "settings.toml").write_text('[mcp]\nexpose_tools = ["edit", "shell"]\n')
    assert [line.split("\t")[0] for line in cockpit("mcp-serve", "--list", cwd=root).out.splitlines()] == [
        "read"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("signed", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_cleanly(root: Path, signed: signal.Signals) -> None:
    pipe = asyncio.subprocess.PIPE
    line = [sys.executable, "-c", _HEARING, *command("mcp-serve", "--root", str(root))[3:]]
    process = await asyncio.create_subprocess_exec(*line, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(HELLO).encode() + b"\n")
    async with asyncio.timeout(60):
        await process.stdout.readline()
        process.send_signal(signed)
        assert await process.wait() == 0


# Whoever runs the tests may ignore signals; the child must not.
_HEARING = """
import signal, sys
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL)
from cockpit.cli.main import script
sys.argv[0] = "cockpit"
script()
"""
