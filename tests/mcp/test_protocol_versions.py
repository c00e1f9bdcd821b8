"""Servers of both protocol versions, on pipes and at addresses, made with the official SDK."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.mcp.specs import modern, server, serving, spec, tool, until

from cockpit.mcp.connection import McpConnection
from cockpit.mcp.pins import PinStore
from cockpit.mcp.supervisor import ServersContext, ServerSupervisor
from cockpit.mcp.values import ConnectionSettings, McpFailed, SamplingReply, SamplingRequest, ServerGone
from cockpit.plugin.context import FormAnswer
from cockpit.plugin.values import McpServer
from cockpit.protocol.events import FormField

NEW, OLD = "2026-07-28", "2025-11-25"


class Ada:
    """Says who she is, whatever she is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        self.asked.append(question)
        return FormAnswer("accept", {"name": "ada"})

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        return SamplingReply(refused="never")


@asynccontextmanager
async def talking(one: McpServer, folder: Path, mode: str, heard: list[str]) -> AsyncIterator[McpConnection]:
    connection = McpConnection(
        one, ConnectionSettings(str(folder), folder / "log", on_change=heard.append), mode
    )
    await connection.open()
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "protocol", "asks"), [("auto", NEW, "greet"), ("legacy", OLD, "ask")])
@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_server_is_called_and_asks_back(
    tmp_path: Path, transport: str, mode: str, protocol: str, asks: str
) -> None:
    heard: list[str] = []
    if transport == "stdio":
        await _use(modern(), tmp_path, mode, protocol, asks, heard)
        return
    async with serving("streamable-http", tmp_path) as one:
        await _use(one, tmp_path, mode, protocol, asks, heard)


async def _use(one: McpServer, folder: Path, mode: str, protocol: str, asks: str, heard: list[str]) -> None:
    async with talking(one, folder, mode, heard) as connection:
        assert connection.welcome is not None
        assert (connection.welcome.protocol, connection.welcome.instructions) == (protocol, "Ask me.")
        offer = await connection.offer()
        assert {"add", "greet", "ask"} <= {one.name for one in offer.tools}
        assert (await connection.call("add", {"a": 1, "b": 2})).text == "3"
        assert "the notes" in (await connection.read("modern://notes")).text
        ada = Ada()
        assert "ada" in (await connection.call(asks, {}, ada)).text
        assert ada.asked == ["Who are you?"]
        await connection.call("more", {})
        await until(lambda: "tools" in heard)
        assert "added" in {one.name for one in (await connection.offer()).tools}


@pytest.mark.slow
async def test_the_old_transport_of_events_works_still(tmp_path: Path) -> None:
    async with serving("sse", tmp_path) as one, talking(one, tmp_path, "auto", []) as connection:
        assert (await connection.call("add", {"a": 1, "b": 2})).text == "3"


async def test_an_address_where_no_one_answers_says_so(tmp_path: Path) -> None:
    one = McpServer("gone", url="http://127.0.0.1:9/mcp", transport="http")
    with pytest.raises(McpFailed, match="ConnectError"):
        async with talking(one, tmp_path, "auto", []):
            pass


async def test_a_server_that_goes_away_is_noticed_by_the_next_call(tmp_path: Path) -> None:
    async with serving("streamable-http", tmp_path) as one:
        connection = McpConnection(one, ConnectionSettings(str(tmp_path), tmp_path / "log"))
        await connection.open()
    with pytest.raises(McpFailed):
        await connection.call("add", {"a": 1, "b": 2})
    assert isinstance(await connection.ended(), McpFailed | ServerGone)
    await connection.close()


async def test_a_server_that_ends_at_the_new_protocol_is_greeted_in_the_old_one(tmp_path: Path) -> None:
    one = server(spec(tmp_path, tool("say", "say:hi"), strict=True))
    context, pins = ServersContext(str(tmp_path), tmp_path), PinStore(str(tmp_path), tmp_path)
    life = ServerSupervisor(one, context, pins, lambda offer: None)
    try:
        connection = await life.connected()
        assert (await connection.call("say", {})).text == "hi"
        assert life.row().protocol == OLD
    finally:
        await life.stop()
