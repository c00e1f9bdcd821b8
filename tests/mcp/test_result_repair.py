"""A broken row or a newer kind of content loses nothing else."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.mcp.specs import server, spec, tool

from cockpit.mcp.connection import McpConnection
from cockpit.mcp.protocol_compat import repair_result
from cockpit.mcp.values import ConnectionSettings, McpResult, ServerOffer

OBJECT = {"type": "object"}


def nested(depth: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": nested(depth - 1)}} if depth else dict(OBJECT)


async def offered(folder: Path, *tools: Any, **more: Any) -> tuple[ServerOffer, tuple[str, ...]]:
    terms = ConnectionSettings(str(folder), folder / "log", call_seconds=0.5)
    connection = McpConnection(server(spec(folder, *tools, **more)), terms, "legacy")
    await connection.open()
    try:
        return await connection.offer(), connection.refused
    finally:
        await connection.close()


async def test_a_tool_that_is_none_is_left_out_and_the_others_are_there(tmp_path: Path) -> None:
    broken = [
        {"name": "array", "inputSchema": []},
        {"description": "nameless"},
        {"name": "hints", "annotations": "yes"},
        {"name": "deep", "inputSchema": nested(40)},
    ]
    offer, refused = await offered(tmp_path, tool("say"), *broken)
    assert [one.name for one in offer.tools] == ["say"]
    assert [one.partition(" is left out: ")[0] for one in refused] == [
        "tool array",
        "tool ?",
        "tool hints",
        "tool deep",
    ]


async def test_a_name_that_comes_twice_is_the_first_ones(tmp_path: Path) -> None:
    offer, refused = await offered(tmp_path, tool("say", description="one"), tool("say", description="two"))
    assert [one.description for one in offer.tools] == ["one"]
    assert refused == ("tool say is left out: it is listed twice",)


@pytest.mark.parametrize("broken", [{"refuses": ["prompts/list"]}, {"mute": ["prompts/list"]}])
async def test_tools_are_not_lost_to_prompts_that_cannot_be_read(tmp_path: Path, broken: Any) -> None:
    resource = {"uri": "plain://a", "name": "a", "text": "x"}
    offer, refused = await offered(tmp_path, tool("say"), resources=[resource], **broken)
    assert [one.name for one in offer.tools] == ["say"] and len(offer.resources) == 1
    assert len(refused) == 1 and refused[0].startswith("its prompts are left out: ")


async def called(folder: Path, result: Any, **more: Any) -> McpResult:
    path = spec(folder, tool("give", "give", result=result, **more))
    connection = McpConnection(server(path), ConnectionSettings(str(folder), folder / "log"), "legacy")
    await connection.open()
    try:
        await connection.offer()
        return await connection.call("give", {})
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"content": [{"type": "hologram"}, {"type": "text", "text": "x"}]}, '{"type": "hologram"}\n\nx'),
        ({"structuredContent": {"a": 1}}, '{\n "a": 1\n}'),
        ({"content": None}, "(empty result)"),
        ({"content": "words"}, "words"),
        ({"content": [], "structuredContent": [1, 2]}, "[1, 2]"),
    ],
)
async def test_a_result_that_does_not_fit_is_still_told(tmp_path: Path, result: Any, text: str) -> None:
    assert (await called(tmp_path, result)).text == text


@pytest.mark.parametrize("endless", [{"pattern": "(a+)+$"}, {"allOf": [{"$ref": "#/$defs/b"}]}])
def test_no_schema_of_a_tools_results_is_kept_that_can_take_for_ever_to_match(endless: Any) -> None:
    schema = {"type": "object", "properties": {"a": endless}}
    row = {"name": "a", "inputSchema": OBJECT}
    kept = repair_result("tools/list", {"tools": [{**row, "outputSchema": schema}]}, [])
    assert kept == {"tools": [row]}


def test_what_fits_is_left_alone() -> None:
    result = {"tools": [{"name": "a", "inputSchema": OBJECT, "outputSchema": OBJECT}], "nextCursor": "x"}
    left: list[str] = []
    assert repair_result("tools/list", result, left) == result and left == []
    asks = {"resultType": "input_required", "inputRequests": {}}
    assert repair_result("tools/call", asks, left) is asks
