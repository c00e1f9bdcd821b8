"""A plugin's function runs a tool: in the order of a model's call, and outside the conversation."""

from pathlib import Path

import pytest
from tests.support.decks import Driver, call, distribution, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import (
    ApprovalRequested,
    Envelope,
    Noticed,
    QuestionAsked,
    ToolCallFinished,
    ToolCallStarted,
)
from cockpit.protocol.messages import Mode, ToolResult
from cockpit.protocol.ops import Answer
from cockpit.protocol.queries import ContextRows, ContextTable

SOURCE = """
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.tools import Done, Tool
from cockpit.plugin.values import Command, Show
from cockpit.protocol.content import Text

async def twice(arguments, context):
    if arguments.get("deeper"):
        result = await context.session.call_tool("twice", {"deeper": True})
    elif arguments.get("ask"):
        return Done(await context.session.ask_user("which?"))
    else:
        result = await context.session.call_tool("Bash", {"command": arguments["command"]})
    return Done(f"{result.outcome}: {result.text}")

async def run(invoked, context):
    result = await context.session.call_tool("shell", {"command": invoked.text})
    return Show((Text(f"{result.outcome}: {result.text}"),))

@hookimpl
def register_tools(register, scope):
    register(Tool("twice", "think", "Runs a command.", {"type": "object"}, frozenset({"none"}), twice,
                  lambda arguments: "twice"))

@hookimpl
def register_commands(register, scope):
    register(Command("run-it", "Run it", run))
"""


@pytest.fixture
def scripted(root: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    distribution(plugins, "twice", SOURCE)
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def options(mode: Mode = "ask") -> RunOptions:
    return RunOptions(model="scripted:script", trust=True, mode=mode)


async def _results(driver: Driver) -> list[ToolResult]:
    return [one.result for one in driver.all(ToolCallFinished)]


async def _told(driver: Driver) -> list[str]:
    """How each message begins that the model would be sent."""
    table = await driver.channel.ask(ContextRows())
    assert isinstance(table, ContextTable)
    return [row.label.partition(" [")[0] for row in table.rows if row.seq]


async def test_a_nested_call_has_events_but_only_the_outer_result_is_sent(scripted: Path) -> None:
    script(scripted.parent, {"calls": [call("twice", command="cat a.txt")]}, {"text": "one."})
    async with driving(scripted, options=options()) as driver:
        await driver.prompt("run it")
        inner, outer = await _results(driver)
        assert (inner.name, inner.outcome) == ("shell", "ok") and "one" in inner.text
        assert outer.text.startswith("ok: one")
        started = driver.all(ToolCallStarted)
        assert [one.asked_by for one in started] == ["model", "plugin"]
        assert inner.call.startswith(f"{outer.call}>")
        session, live = driver.channel.session, await _told(driver)
    async with driving(scripted, session, options()) as driver:
        resumed = await _told(driver)
    assert live == resumed == ["run it", 'twice({"command": "cat a.txt"})', "ok: one", "one."]


async def test_a_nested_call_asks_the_user_and_a_rejection_is_denied(scripted: Path) -> None:
    script(scripted.parent, {"calls": [call("twice", command="touch b.txt")]}, {"text": "No."})
    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("run it")
        request = await driver.next(ApprovalRequested)
        assert request.tool == "shell"
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
        inner, outer = await _results(driver)
    assert inner.outcome == "denied" and outer.text.startswith("denied: the user rejected")
    assert not (scripted / "b.txt").exists()


async def test_a_command_calls_a_tool_too(scripted: Path) -> None:
    script(scripted.parent, {"text": "x"})
    async with driving(scripted, options=options()) as driver:
        await driver.invoke("run-it", text="cat a.txt")
        shown = await driver.next(Noticed)
    assert "ok: one" in str(shown.content)


async def test_plan_mode_applies_to_nested_calls(scripted: Path) -> None:
    script(scripted.parent, {"calls": [call("twice", command="touch b.txt")]}, {"text": "No."})
    async with driving(scripted, options=options("plan")) as driver:
        await driver.prompt("run it")
        inner, _ = await _results(driver)
    assert inner.outcome == "denied" and "plan mode" in inner.text
    assert not (scripted / "b.txt").exists()


async def test_a_tool_that_calls_itself_for_ever_is_stopped(scripted: Path) -> None:
    script(scripted.parent, {"calls": [call("twice", deeper=True)]}, {"text": "Done."})
    async with driving(scripted, options=options()) as driver:
        ended = await driver.prompt("run it")
        results = await _results(driver)
    assert ended.stop_reason == "end_turn"
    assert len(results) == 5 and "limited to 4 levels" in results[-1].text


async def test_a_question_of_a_tool_carries_its_call(scripted: Path) -> None:
    script(scripted.parent, {"calls": [call("twice", ask=True)]}, {"text": "Done."})

    def is_question(one: Envelope) -> bool:
        return isinstance(one.event, QuestionAsked)

    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("run it")
        asked = await driver.until(is_question)
        assert isinstance(asked.event, QuestionAsked)
        await driver.channel.submit(Answer("a1", "tui", asked.event.id, "this one"))
        await driver.end(turn)
        [result] = await _results(driver)
    assert asked.call == result.call and result.text == "this one"
