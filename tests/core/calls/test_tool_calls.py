"""Around a call: redaction, audit, capped outputs, the read cache, guards, compaction, recordings."""

import json
from pathlib import Path

import pytest
from tests.support.decks import call, distribution, driving, script

from cockpit import paths
from cockpit.core.agent.turn_limits import TurnLimits
from cockpit.core.session.options import RunOptions
from cockpit.core.transcript import session_store
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import ContextCompacted, MessageFinished, ToolCallFinished, Warned
from cockpit.protocol.messages import AssistantMessage
from cockpit.protocol.ops import Compact
from cockpit.protocol.queries import ContextRows, ContextTable, Output, OutputPage, Refused

CANARY = "canary-5f3a9c-value"
GUARD = """
from cockpit.plugin import hookimpl
from cockpit.plugin.safety import *
from cockpit.plugin.models import *
"""


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def full(**more: object) -> RunOptions:
    return RunOptions(model="scripted:script", mode="full", **more)


async def test_a_keys_value_reaches_neither_model_nor_screen_nor_disk(
    scripted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", CANARY)
    (scripted / "notes.txt").write_text(f"the key is {CANARY}, keep it\n", encoding="utf-8")
    script(
        scripted.parent,
        {"calls": [call("shell", command="cat notes.txt; echo $SHOP_API_KEY")]},
        {"text": "ok"},
    )
    async with driving(scripted, options=full()) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        assert "[redacted SHOP_API_KEY]" in result.text
        assert not [one for one in driver.seen if CANARY in repr(one)]
    written = [path for path in paths.state().rglob("*") if path.is_file()]
    assert written and not [path for path in written if CANARY.encode() in path.read_bytes()]


async def test_every_decision_is_recorded_before_the_call_runs(scripted: Path) -> None:
    script(
        scripted.parent,
        {"calls": [call("shell", command="true"), call("shell", command="rm -rf /")]},
        {"text": "ok"},
    )
    async with driving(scripted, options=full()) as driver:
        await driver.prompt("go")
    file = paths.state() / "audit.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["what"], one["outcome"]) for one in lines] == [
        ("decided", "allow"),
        ("finished", "ok"),
        ("decided", "deny"),
        ("finished", "denied"),
    ]
    assert file.stat().st_mode & 0o077 == 0


async def test_a_huge_output_is_set_aside_and_its_tail_can_be_read(scripted: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(40_000))
    (scripted / "big.log").write_text(lines, encoding="utf-8")
    script(scripted.parent, {"calls": [call("shell", command="cat big.log")]}, {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        assert result.handle and result.handle in result.text
        assert len(result.text) < 40_000 and "line 0\n" in result.text and "line 39999" in result.text
        page = await driver.channel.ask(Output(result.handle, 300_000))
        assert isinstance(page, OutputPage) and page.total > 400_000
        assert isinstance(await driver.channel.ask(Output("nosuch")), Refused)
        await driver.run_tool("read_result", handle=result.handle, find="line 39998")
        found = await driver.until(
            lambda one: isinstance(one.event, ToolCallFinished) and one.event.result.name == "read_result"
        )
        assert "line 39998" in found.event.result.text


async def test_an_equal_read_of_a_changed_file_sees_the_change(scripted: Path) -> None:
    reads = {"calls": [call("read", path="a.txt")]}
    change = {"calls": [call("shell", command="echo changed by hand > a.txt")]}
    script(scripted.parent, reads, reads, change, reads, {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await driver.prompt("go")
    texts = [one.result.text for one in driver.all(ToolCallFinished) if one.result.name == "read"]
    assert texts[0] == texts[1] and "changed by hand" in texts[2]


async def test_a_money_cap_refuses_a_model_without_a_price(scripted: Path, plugins: Path) -> None:
    distribution(
        plugins,
        "unpriced",
        GUARD
        + """
@hookimpl
def register_models(register, scope):
    async def stream(request):
        yield TextPart("dear")
        yield FinishPart("stop")
    async def models():
        return ("x",)
    register(Model("unpriced", stream, models, default="x"))
""",
    )
    options = RunOptions(model="unpriced:x", limits=TurnLimits(money=1.0))
    async with driving(scripted, options=options) as driver:
        ended = await driver.prompt("go")
    assert ended.stop_reason == "error" and "price" in ended.message
    assert not driver.all(MessageFinished)


async def test_guards_refuse_a_prompt_withhold_a_result_and_continue_a_turn(
    scripted: Path, plugins: Path
) -> None:
    distribution(
        plugins,
        "strict",
        GUARD
        + """
@hookimpl
def register_guards(register, scope):
    async def prompt(guarded, context):
        return Refuse("not on Sundays") if "Sunday" in guarded.text else Add("It is Monday.")
    async def result(guarded, context):
        return Rewrite(text=guarded.text.replace("one", "eins"))
    async def stop(guarded, context):
        return Continue("Say more.") if guarded.text == "short" else Pass()
    register(Guard("calendar", "prompt", prompt))
    register(Guard("translator", "tool_result", result))
    register(Guard("editor", "stop", stop))
""",
    )
    script(
        scripted.parent, {"calls": [call("read", path="a.txt")]}, {"text": "short"}, {"text": "a long answer"}
    )
    async with driving(scripted, options=full()) as driver:
        refused = await driver.prompt("work on Sunday")
        assert refused.stop_reason == "refusal" and "Sundays" in refused.message
        assert (await driver.prompt("work")).stop_reason == "end_turn"
    [result] = [one.result for one in driver.all(ToolCallFinished)]
    assert "eins" in result.text
    said = [one.message for one in driver.all(MessageFinished)]
    assert any(not isinstance(one, AssistantMessage) and "Monday" in plain_text(one.content) for one in said)
    assert [one.text for one in said if isinstance(one, AssistantMessage)] == ["", "short", "a long answer"]


async def test_a_plugin_that_exits_is_named_and_nothing_ends(scripted: Path, plugins: Path) -> None:
    """`sys.exit` out of a task would end the whole program."""
    distribution(
        plugins,
        "leaver",
        GUARD
        + """
import sys
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import ContextSource
@hookimpl
def register_themes(register, scope):
    sys.exit("from a hook")
@hookimpl
def register_context(register, scope):
    async def collect(context):
        sys.exit("from a source")
    register(ContextSource("leaving", "reminder", "turn", collect))
@hookimpl
def register_tools(register, scope):
    async def run(arguments, context):
        sys.exit("from a tool")
    none = {"type": "object", "properties": {}}
    caps = frozenset({"none"})
    register(Tool("leave", "read", "Leaves.", none, caps, run, lambda arguments: sys.exit("title")))
@hookimpl
def register_guards(register, scope):
    async def prompt(guarded, context):
        sys.exit("from a guard")
    register(Guard("leaving", "prompt", prompt))
""",
    )
    script(scripted.parent, {"calls": [call("leave")]}, {"text": "still here"})
    async with driving(scripted, options=full()) as driver:
        assert (await driver.prompt("go")).stop_reason == "end_turn"
    [result] = [one.result for one in driver.all(ToolCallFinished)]
    assert "SystemExit: from a tool" in result.text
    warned = "\n".join(one.text for one in driver.all(Warned))
    assert all(f"from a {one}" in warned for one in ("hook", "source", "guard"))


async def test_compaction_keeps_the_tail_and_the_pairs_and_asks_a_model_once(scripted: Path) -> None:
    body = "x" * 3_000
    (scripted / "a.txt").write_text(f"{body}\n", encoding="utf-8")
    steps = [{"calls": [call("read", path="a.txt", start=1, lines=number)]} for number in range(1, 7)]
    script(scripted.parent, *steps, {"text": "read"}, **{"Summarise this": [{"text": "THE SUMMARY"}]})
    async with driving(scripted, options=full()) as driver:
        await driver.prompt("read it often")
        await driver.channel.submit(Compact("c1", "tui", "the file"))
        compacted = await driver.next(ContextCompacted)
        assert compacted.summary == "THE SUMMARY" and compacted.after < compacted.before
        table = await driver.channel.ask(ContextRows())
        assert isinstance(table, ContextTable)
        assert len([row for row in table.rows if row.seq]) >= 4
        assert (await driver.prompt("and now?")).stop_reason == "end_turn"


async def test_a_recording_contains_the_deltas_and_a_transcript_does_not(scripted: Path) -> None:
    script(scripted.parent, {"text": "one two three", "chunks": 3})
    record = scripted.parent / "recordings" / "r.jsonl"
    async with driving(scripted, options=full(record=str(record))) as driver:
        await driver.prompt("go")
        id = driver.channel.session
    assert "text_delta" in record.read_text() and "turn_finished" in record.read_text()
    assert "text_delta" not in session_store.session_file(id).read_text()
