"""Tools for other programs: read-only by default, and judged like any other call."""

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, ElicitRequestFormParams, TextContent
from tests.support.decks import distribution
from tests.support.serving import ALLOW, ERAS, REJECT, Answer, Era, Person, says, serving

from cockpit.cli.mcp_serve import build_mcp_options
from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.mcp_serve.session import ORIGIN, SharedSession
from cockpit.protocol.events import ApprovalResolved

EDIT = {"path": "a.py", "old": "one", "new": "eins"}
WAITING = """
import asyncio
from cockpit.plugin import hookimpl
from cockpit.plugin.tools import Done, Tool

RUNNING = asyncio.Event()
ENDED = []

async def wait(arguments, context):
    context.running().progress("begun")
    RUNNING.set()
    try:
        await asyncio.Event().wait()
    finally:
        ENDED.append(context.running().call.id)

async def quick(arguments, context):
    return Done("done")

@hookimpl
def register_tools(register, scope):
    for name, run in (("wait", wait), ("quick", quick)):
        nothing = {"type": "object", "properties": {}}
        register(Tool(name, "read", "waits", nothing, frozenset({"fs.read"}), run, lambda given: "wait"))
"""


def waiting() -> Any:
    """The plugin as it was loaded, with its signals as new."""
    plugin: Any = sys.modules["waiting_plugin"]
    plugin.RUNNING, plugin.ENDED = asyncio.Event(), []
    return plugin


@pytest.fixture
def project(root: Path) -> Path:
    (root / "a.py").write_text("one = 1\n", encoding="utf-8")
    return root


def text(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


async def resolutions(served: SharedSession) -> list[str]:
    """Who answered what was asked."""
    channel = await served.channel()
    assert isinstance(channel, AgentSession)
    return [one.event.by for one in channel.services.log.durable() if isinstance(one.event, ApprovalResolved)]


@pytest.mark.parametrize("era", ERAS)
async def test_writing_tool_is_not_exposed(project: Path, era: Era) -> None:
    async with serving(project, era) as (client, _):
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"read", "search", "symbols", "definition"} <= names
        assert not names & {"edit", "write", "delete", "shell", "apply_patch", "ask_user", "todo"}
        with pytest.raises(MCPError, match="Unknown tool: edit"):
            await client.call_tool("edit", dict(EDIT))
    assert (project / "a.py").read_text() == "one = 1\n"


@pytest.mark.parametrize("era", ERAS)
async def test_hints_of_exposed_tools_are_correct(project: Path, era: Era) -> None:
    async with serving(project, era, ("default", "edit", "shell")) as (client, _):
        tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    assert tools["read"] is not None and tools["read"].read_only_hint and not tools["read"].destructive_hint
    assert tools["edit"] is not None and not tools["edit"].read_only_hint and tools["edit"].destructive_hint
    assert tools["shell"] is not None and tools["shell"].open_world_hint


@pytest.mark.parametrize("era", ERAS)
async def test_call_returns_the_result_of_the_tool(project: Path, era: Era) -> None:
    async with serving(project, era) as (client, _):
        result = await client.call_tool("read", {"path": "a.py"})
        assert text(result) == "1\tone = 1" and not result.is_error
        wrong = await client.call_tool("read", {"path": 3})
        assert wrong.is_error and "path" in text(wrong)


@pytest.mark.parametrize("era", ERAS)
async def test_an_exposed_tool_asks_the_user_at_the_client(project: Path, era: Era) -> None:
    person = Person(says("accept", **ALLOW))
    async with serving(project, era, ("edit",), person) as (client, _):
        result = await client.call_tool("edit", dict(EDIT))
    assert not result.is_error, text(result)
    assert (project / "a.py").read_text() == "eins = 1\n"
    (asked,) = person.asked
    # They see what they agree to, with the change itself.
    assert "a.py" in asked.message and "-one = 1" in asked.message and "+eins = 1" in asked.message
    assert isinstance(asked, ElicitRequestFormParams)
    assert asked.requested_schema["properties"]["decision"]["default"] == "reject"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "answer",
    [says("accept", **REJECT), says("accept"), says("decline"), says("cancel"), says("decline", **ALLOW)],
)
async def test_anything_but_a_plain_yes_rejects(project: Path, era: Era, answer: Answer) -> None:
    async with serving(project, era, ("edit",), Person(answer)) as (client, served):
        result = await client.call_tool("edit", dict(EDIT))
        resolved = await resolutions(served)
    assert result.is_error and "rejected" in text(result)
    assert (project / "a.py").read_text() == "one = 1\n"
    assert resolved == ["person"]


@pytest.mark.parametrize("era", ERAS)
async def test_client_without_elicitation_gets_a_denial_with_reason(project: Path, era: Era) -> None:
    async with serving(project, era, ("edit",)) as (client, served):
        result = await client.call_tool("edit", dict(EDIT))
        resolved = await resolutions(served)
    assert result.is_error and "no user is there to ask" in text(result)
    assert result.meta is not None and result.meta["cockpit/outcome"] == "denied"
    # The record does not claim a person.
    assert resolved == ["nobody"]


async def test_answer_applies_to_this_call_only(project: Path) -> None:
    person = Person(says("accept", **ALLOW))
    async with serving(project, "auto", ("edit",), person) as (client, _):
        await client.call_tool("edit", dict(EDIT))
        await client.call_tool("edit", {**EDIT, "old": "eins", "new": "uno"})
    assert len(person.asked) == 2


async def test_approval_cannot_be_used_for_another_call(project: Path) -> None:
    async with serving(project, "auto", ("edit",), Person(says("accept", **ALLOW))) as (client, _):
        first = await client.session.call_tool("edit", dict(EDIT), allow_input_required=True)
        token = getattr(first, "request_state", None)
        assert isinstance(token, str)
        for name, arguments, state in (
            ("edit", {**EDIT, "new": "zwei"}, token),
            ("read", dict(EDIT), token),
            ("edit", dict(EDIT), token[:-2] + "xx"),
        ):
            with pytest.raises(MCPError):
                await client.session.call_tool(name, arguments, request_state=state)
    assert (project / "a.py").read_text() == "one = 1\n"


async def test_outside_paths_are_judged_and_secrets_redacted(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "cn-4f7Qm2Zx9Lw8Kt3Vb6")
    (project / "log.txt").write_text("the key is cn-4f7Qm2Zx9Lw8Kt3Vb6\n", encoding="utf-8")
    async with serving(project) as (client, _):
        outside = await client.call_tool("read", {"path": str(Path(os.sep, "etc", "passwd"))})
        assert outside.is_error and "outside" in text(outside)
        assert text(await client.call_tool("read", {"path": "log.txt"})).endswith("[redacted SHOP_API_KEY]")
        told = await client.read_resource("cockpit://file/log.txt")
        assert "[redacted SHOP_API_KEY]" in told.model_dump_json()


async def test_files_of_an_untrusted_folder_are_not_loaded(project: Path) -> None:
    (project / ".cockpit").mkdir()
    (project / ".cockpit" / "settings.toml").write_text('[permissions]\nallow = ["Edit(*)"]\n')
    async with serving(project, "auto", ("default", "edit"), trusted=False) as (client, _):
        assert (await client.call_tool("edit", dict(EDIT))).is_error
    assert (project / "a.py").read_text() == "one = 1\n"


def test_the_mode_is_never_looser_than_ask() -> None:
    modes = ("full", "auto-edit", "ask", "plan", "deny", "")
    opened = [build_mcp_options(mode, (), ()).mode for mode in modes]
    assert opened == ["ask", "ask", "ask", "plan", "deny", "ask"]


@pytest.mark.parametrize("connects", [True, False])
async def test_the_servers_of_the_user_are_not_started(project: Path, home: Path, connects: bool) -> None:
    """They may hold `cockpit mcp-serve` itself, which would start itself without end."""
    (home / "config").mkdir(exist_ok=True)
    servers = {"cockpit": {"command": sys.executable, "args": ["-c", "pass"]}}
    (home / "config" / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    options = build_mcp_options("ask", (), ())
    assert not options.connects
    async with serving(project, options=replace(options, connects=connects)) as (_, served):
        channel = await served.channel()
        assert isinstance(channel, AgentSession)
        assert [row.name for row in channel.services.connections.rows()] == (["cockpit"] if connects else [])


async def test_a_rule_of_the_user_allows_without_asking(project: Path) -> None:
    options = RunOptions(origin=ORIGIN, mode="ask", allow=("Edit(a.py)",))
    async with serving(project, "auto", ("edit",), options=options) as (client, _):
        assert not (await client.call_tool("edit", dict(EDIT))).is_error
    assert (project / "a.py").read_text() == "eins = 1\n"


@pytest.mark.parametrize("era", ERAS)
async def test_cancelled_request_ends_only_its_own_call(project: Path, plugins: Path, era: Era) -> None:
    distribution(plugins, "waiting", WAITING)
    async with serving(project, era, ("wait", "quick")) as (client, _):
        await client.list_tools()
        plugin = waiting()
        first = asyncio.create_task(client.call_tool("wait"))
        await plugin.RUNNING.wait()
        plugin.RUNNING.clear()
        second = asyncio.create_task(client.call_tool("wait"))
        await plugin.RUNNING.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        async with asyncio.timeout(20):
            while not plugin.ENDED:
                assert text(await client.call_tool("quick")) == "done"
        assert len(plugin.ENDED) == 1 and not second.done()
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)


@pytest.mark.parametrize("era", ERAS)
async def test_progress_reaches_the_client(project: Path, plugins: Path, era: Era) -> None:
    distribution(plugins, "waiting", WAITING)
    heard: asyncio.Queue[str | None] = asyncio.Queue()

    async def told(progress: float, total: float | None, message: str | None) -> None:
        heard.put_nowait(message)

    async with serving(project, era, ("wait",)) as (client, _):
        await client.list_tools()
        waiting()
        call = asyncio.create_task(client.call_tool("wait", progress_callback=told))
        async with asyncio.timeout(20):
            assert await heard.get() == "begun"
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


async def test_every_call_is_in_the_audit_log(project: Path, home: Path) -> None:
    async with serving(project) as (client, _):
        await client.call_tool("read", {"path": "a.py"})
    rows = [json.loads(line) for line in (home / "state" / "audit.jsonl").read_text().splitlines()]
    assert [row["what"] for row in rows if row.get("tool") == "read" or row.get("call")][:1] == ["decided"], (
        rows
    )
