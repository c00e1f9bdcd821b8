"""Servers of both protocol versions on pipes: results the SDK rejects, and the older handshake."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from tests.support.mcp.specs import server, spec, tool

from cockpit.mcp.connection import McpConnection
from cockpit.mcp.pins import PinStore
from cockpit.mcp.protocol_compat import VERSION_KEY, ProtocolCompat
from cockpit.mcp.supervisor import (
    LEGACY_SECONDS,
    ServersContext,
    ServerSupervisor,
    load_greeting_mode,
    store_greeting_mode,
)
from cockpit.mcp.values import ConnectionSettings
from cockpit.plugin.values import McpServer

pytestmark = pytest.mark.slow

NEW, OLD = "2026-07-28", "2025-11-25"


@asynccontextmanager
async def living(one: McpServer, folder: Path, seconds: float = 15.0) -> AsyncIterator[ServerSupervisor]:
    state = folder / "state"
    context, pins = ServersContext(str(folder), state, connect_seconds=seconds), PinStore(str(folder), state)
    life = ServerSupervisor(one, context, pins, lambda offer: None)
    life.begin()
    await life.settle(20.0)
    try:
        yield life
    finally:
        await life.stop()


async def test_a_result_of_the_later_era_without_its_kind_is_a_complete_one(tmp_path: Path) -> None:
    one = server(spec(tmp_path, tool("say", "say:hi"), later=True))
    connection = McpConnection(one, ConnectionSettings(str(tmp_path), tmp_path / "log"), "auto")
    welcome = await connection.open()
    assert (welcome.protocol, welcome.is_later) == (NEW, True)
    assert [named.name for named in (await connection.offer()).tools] == ["say"]
    assert (await connection.call("say", {})).text == "hi"
    await connection.close()


async def test_server_silent_to_the_newer_handshake_gets_the_older_one_at_its_next_start(
    tmp_path: Path,
) -> None:
    one = server(spec(tmp_path, tool("say", "say:hi"), mute=["server/discover"]))
    began = asyncio.get_running_loop().time()
    async with living(one, tmp_path) as life:
        assert life.row().protocol == OLD
        first = asyncio.get_running_loop().time() - began
    assert first < 9.0  # the SDK alone waits for ten seconds
    assert load_greeting_mode(tmp_path / "state", one) == "legacy"
    # A server that would not answer at all were it asked again.
    spec(tmp_path, tool("say", "say:hi"), strict=True, starts=str(tmp_path / "starts"))
    async with living(one, tmp_path) as life:
        assert (await (await life.connected()).call("say", {})).text == "hi"
    assert len((tmp_path / "starts").read_text("utf-8").splitlines()) == 1


async def test_a_server_that_is_newer_now_is_greeted_in_the_new_way_again(tmp_path: Path) -> None:
    one = server(spec(tmp_path, tool("say", "say:hi"), later=True, refuses=["initialize"]))
    store_greeting_mode(tmp_path / "state", one, "legacy")
    async with living(one, tmp_path) as life:
        assert life.row().protocol == NEW
    assert load_greeting_mode(tmp_path / "state", one) == "auto"


async def test_a_server_that_hangs_has_one_time_and_no_second(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    path = spec(tmp_path, tool("say"), mute=["server/discover", "initialize"], starts=str(starts))
    async with living(server(path), tmp_path, 1.0) as life:
        assert life.state == "failed" and "did not answer within 1 s" in life.row().reason
    assert len(starts.read_text("utf-8").splitlines()) == 1


def test_what_is_remembered_is_asked_again_after_a_week(tmp_path: Path) -> None:
    one, other = McpServer("a", ("x",)), McpServer("a", ("x", "y"))
    store_greeting_mode(tmp_path, one, "legacy")
    assert (load_greeting_mode(tmp_path, one), load_greeting_mode(tmp_path, other)) == ("legacy", "auto")
    (file,) = (tmp_path / "mcp" / "legacy").iterdir()
    then = file.stat().st_mtime - LEGACY_SECONDS - 1
    os.utime(file, (then, then))
    assert load_greeting_mode(tmp_path, one) == "auto"
    store_greeting_mode(tmp_path, one, "legacy")
    assert load_greeting_mode(tmp_path, one) == "legacy"


@pytest.mark.parametrize("later", [True, False])
def test_only_results_of_the_later_era_are_mended(later: bool) -> None:
    era = ProtocolCompat()
    meta = {"_meta": {VERSION_KEY: NEW}} if later else {}
    era.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list", params=meta))
    repair = era.repair(JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": []}))
    assert isinstance(repair, JSONRPCResponse) and ("resultType" in repair.result) is later
    kept = JSONRPCResponse(jsonrpc="2.0", id=1, result={"resultType": "input_required"})
    assert era.repair(kept) is kept


def test_a_late_answer_to_a_question_that_was_given_up_goes_nowhere() -> None:
    era = ProtocolCompat()
    era.sent(JSONRPCRequest(jsonrpc="2.0", id=7, method="server/discover", params={}))
    assert isinstance(era.give_up(7), JSONRPCError)
    assert era.repair(JSONRPCResponse(jsonrpc="2.0", id=7, result={})) is None
    assert era.give_up(7) is None
