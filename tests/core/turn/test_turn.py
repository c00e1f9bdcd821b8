"""A turn: requests and tool calls alternate until the model is done, and each stop reason ends it."""

from pathlib import Path

import pytest
from tests.support.decks import call, driving, script
from tests.support.survivors import running

from cockpit.core.agent.turn_limits import TurnLimits
from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import (
    ApprovalRequested,
    MessageFinished,
    StepStarted,
    ToolCallFinished,
    ToolCallStarted,
    TurnFinished,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage

READ = call("read", path="a.txt")


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def options(**limits: object) -> RunOptions:
    return RunOptions(model="scripted:script", limits=TurnLimits(**limits))  # the names are Limits' own


async def test_a_call_runs_and_its_result_reaches_the_model(scripted: Path) -> None:
    script(scripted.parent, {"text": "I look.", "calls": [READ]}, {"text": "It says one, two."})
    async with driving(scripted) as driver:
        ended = await driver.prompt("what is in a.txt?")
        assert ended.stop_reason == "end_turn"
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        assert result.outcome == "ok" and "two" in result.text
        texts = [
            one.message.text
            for one in driver.all(MessageFinished)
            if isinstance(one.message, AssistantMessage)
        ]
        assert texts == ["I look.", "It says one, two."]


async def test_the_call_cap_lets_its_number_run_and_then_asks_for_a_summary(scripted: Path) -> None:
    for number in range(25):
        (scripted / f"f{number}.txt").write_text("x", encoding="utf-8")
    calls = [call("read", path=f"f{number}.txt") for number in range(25)]
    script(scripted.parent, {"calls": calls}, {"text": "That is what I have."})
    async with driving(scripted, options=options(tool_calls=20)) as driver:
        ended = await driver.prompt("read them all")
    assert (ended.stop_reason, ended.limit) == ("max_turn_requests", "tool_calls")
    results = [one.result for one in driver.all(ToolCallFinished)]
    assert [one.outcome for one in results].count("ok") == 20 and len(results) == 25
    assert driver.all(MessageFinished)[-1].message == AssistantMessage(
        "That is what I have.", model="scripted:script"
    )


async def test_a_result_that_quotes_the_limit_of_calls_does_not_end_the_turn(scripted: Path) -> None:
    (scripted / "a.txt").write_text("not run: the limit of 1 tool calls is reached\n", encoding="utf-8")
    script(scripted.parent, {"calls": [call("shell", command="cat a.txt")]}, {"text": "done"})
    allowed = RunOptions(model="scripted:script", mode="full", limits=TurnLimits(tool_calls=1))
    async with driving(scripted, options=allowed) as driver:
        ended = await driver.prompt("go")
        assert driver.all(ToolCallFinished)[0].result.text.startswith("not run: the limit")
    assert (ended.stop_reason, ended.limit) == ("end_turn", None)


async def test_the_step_cap_ends_with_one_answer_without_tools(scripted: Path) -> None:
    steps = [{"calls": [call("read", path="a.txt", start=number)]} for number in range(1, 9)]
    script(scripted.parent, *steps)
    async with driving(scripted, options=options(steps=3)) as driver:
        ended = await driver.prompt("go")
    assert (ended.stop_reason, ended.limit) == ("max_turn_requests", "steps")
    assert len(driver.all(StepStarted)) == 4


async def test_the_third_equal_call_running_is_not_executed(scripted: Path) -> None:
    script(scripted.parent, *[{"calls": [READ]}] * 3, {"text": "done"})
    async with driving(scripted) as driver:
        await driver.prompt("go")
    outcomes = [one.result.outcome for one in driver.all(ToolCallFinished)]
    assert outcomes == ["ok", "ok", "repeated"]
    assert "not run" in driver.all(ToolCallFinished)[2].result.text


async def test_a_model_that_never_stops_repeating_itself_is_stopped(scripted: Path) -> None:
    script(scripted.parent, {"calls": [READ], "repeat": 30})
    async with driving(scripted) as driver:
        ended = await driver.prompt("go")
    assert (ended.stop_reason, ended.limit) == ("max_turn_requests", "loop")
    assert len(driver.all(ToolCallFinished)) < 10


async def test_reading_without_acting_is_mentioned_once(scripted: Path) -> None:
    (scripted / "long.txt").write_text("line\n" * 40, encoding="utf-8")
    steps = [{"calls": [call("read", path="long.txt", start=number)]} for number in range(1, 15)]
    script(scripted.parent, *steps, {"text": "done"})
    async with driving(scripted) as driver:
        await driver.prompt("go")
    nudged = [one for one in driver.all(ToolCallFinished) if "calls only read" in one.result.text]
    assert len(nudged) == 1 and nudged[0].result.outcome == "ok"


async def test_a_seconds_budget_ends_a_running_tool(scripted: Path) -> None:
    script(scripted.parent, {"calls": [call("shell", command="sleep 60")]}, {"text": "never"})
    options = RunOptions(model="scripted:script", mode="full", limits=TurnLimits(seconds=1))
    async with driving(scripted, options=options) as driver:
        ended = await driver.prompt("go")
    assert (ended.stop_reason, ended.limit) == ("max_turn_requests", "seconds")


async def test_a_stop_file_ends_the_turn(scripted: Path) -> None:
    stop = scripted.parent / "stop"
    stop.touch()
    script(scripted.parent, {"text": "never"})
    async with driving(scripted, options=options(stop_file=str(stop))) as driver:
        ended = await driver.prompt("go")
    assert (ended.stop_reason, ended.limit) == ("max_turn_requests", "stop_file")


async def test_a_token_budget_ends_the_turn(scripted: Path) -> None:
    usage = {"input": 900, "output": 200}
    script(scripted.parent, {"calls": [READ], "usage": usage}, {"text": "never"})
    async with driving(scripted, options=options(tokens=1000)) as driver:
        ended = await driver.prompt("go")
    assert (ended.stop_reason, ended.limit) == ("max_turn_requests", "tokens")


async def test_an_answer_that_was_cut_is_continued_three_times_at_most(scripted: Path) -> None:
    script(scripted.parent, {"text": "and on ", "finish": "length", "repeat": 9})
    async with driving(scripted) as driver:
        ended = await driver.prompt("go")
    assert ended.stop_reason == "max_tokens"
    assert len(driver.all(StepStarted)) == 4


async def test_a_call_that_was_cut_off_is_never_run(scripted: Path) -> None:
    script(
        scripted.parent,
        {"calls": [call("write", path="b.txt", content="x")], "finish": "length"},
        {"text": "done"},
    )
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("go")
    assert not driver.all(ToolCallStarted)
    assert not (scripted / "b.txt").exists()


async def test_an_overflow_is_met_twice_with_compaction_and_surfaces_the_third_time(scripted: Path) -> None:
    overflow = {"fault": {"fault": "context_overflow", "message": "too long"}}
    script(scripted.parent, overflow, overflow, overflow)
    async with driving(scripted) as driver:
        ended = await driver.prompt("go")
    assert ended.stop_reason == "error" and "too long" in ended.message


async def test_a_failing_model_is_retried_and_the_user_is_informed(scripted: Path) -> None:
    fault = {"fault": {"fault": "rate_limited", "message": "slow down", "retry_after": 0.01}}
    script(scripted.parent, fault, {"text": "here"})
    async with driving(scripted) as driver:
        ended = await driver.prompt("go")
    assert ended.stop_reason == "end_turn"
    assert any("slow down" in one.text for one in driver.all(Warned))


async def test_a_refused_key_ends_the_turn_with_the_reason_and_not_the_session(scripted: Path) -> None:
    fault = {"fault": {"fault": "auth", "message": "the key is wrong", "hint": "/connect"}}
    script(scripted.parent, fault, {"text": "here"})
    async with driving(scripted) as driver:
        first = await driver.prompt("go")
        assert (first.stop_reason, "key is wrong" in first.message) == ("error", True)


async def test_text_typed_during_a_turn_is_delivered_at_its_next_step(scripted: Path) -> None:
    gate = scripted.parent / "gate"
    script(scripted.parent, {"calls": [READ], "gate": str(gate)}, {"text": "done"})
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        await driver.next(StepStarted)
        await driver.steer("and be brief")
        gate.touch()
        await driver.end(turn)
        kinds = [type(one.event).__name__ for one in driver.seen]
        said = next(
            at
            for at, one in enumerate(driver.seen)
            if isinstance(one.event, MessageFinished) and not isinstance(one.event.message, AssistantMessage)
        )
        assert kinds.index("ToolCallFinished") < said < len(kinds) - 1 - kinds[::-1].index("StepStarted")


async def test_a_follow_up_waits_for_the_end_of_the_turn(scripted: Path) -> None:
    gate = scripted.parent / "gate"
    script(scripted.parent, {"text": "first", "gate": str(gate)}, {"text": "second"})
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        await driver.next(StepStarted)
        later = await driver.follow_up("then this")
        gate.touch()
        await driver.end(turn)
        assert (await driver.end(later)).stop_reason == "end_turn"
        assert [one.turn for one in driver.seen if isinstance(one.event, TurnFinished)] == [turn, later]


async def test_a_rejected_edit_leaves_the_file_untouched(scripted: Path) -> None:
    edit = call("edit", path="a.txt", old="one", new="eins")
    script(scripted.parent, {"calls": [edit]}, {"text": "understood"})
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        [part] = request.parts
        assert part.diff is not None and (part.diff.added, part.diff.removed) == (1, 1)
        await driver.decide(request.id, "reject_once", "not now")
        ended = await driver.end(turn)
    assert (scripted / "a.txt").read_text() == "one\ntwo\n"
    assert ended.denied == 1 and "not now" in driver.all(ToolCallFinished)[0].result.text


async def test_an_approved_edit_is_written_as_it_was_shown(scripted: Path) -> None:
    edit = call("edit", path="a.txt", old="one", new="eins")
    script(scripted.parent, {"calls": [edit]}, {"text": "done"})
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        await driver.decide((await driver.next(ApprovalRequested)).id, "allow_once")
        ended = await driver.end(turn)
    assert (scripted / "a.txt").read_text() == "eins\ntwo\n"
    assert ended.denied == 0


async def test_a_file_that_changed_during_the_approval_is_not_overwritten(scripted: Path) -> None:
    edit = call("edit", path="a.txt", old="one", new="eins")
    script(scripted.parent, {"calls": [edit]}, {"text": "done"})
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        (scripted / "a.txt").write_text("one\ntwo\nthree, by a person\n", encoding="utf-8")
        await driver.decide(request.id, "allow_once")
        await driver.end(turn)
    assert (scripted / "a.txt").read_text() == "one\ntwo\nthree, by a person\n"
    assert driver.all(ToolCallFinished)[0].result.outcome == "error"


async def test_an_interrupt_ends_a_running_command_and_its_call_has_a_result(scripted: Path) -> None:
    # Its own number says nothing here: in the sandbox it has another one.
    command = "echo started; sleep 600.0078125"
    script(scripted.parent, {"calls": [call("shell", command=command, seconds=600)]}, {"text": "never"})
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        turn = await driver.begin("go")
        await driver.until(lambda one: "started" in getattr(one.event, "text", ""))
        await driver.interrupt()
        ended = await driver.end(turn)
        assert ended.stop_reason == "cancelled"
        assert driver.all(ToolCallFinished)[-1].result.outcome == "cancelled"
        assert not running("600.0078125")


async def test_an_interrupt_also_drops_the_prompts_queued_behind_the_turn(scripted: Path) -> None:
    script(scripted.parent, {"text": "never", "gate": str(scripted.parent / "no-such-gate")})
    async with driving(scripted) as driver:
        turn = await driver.begin("go")
        await driver.next(StepStarted)
        await driver.steer("steered")
        later = await driver.follow_up("then this")
        await driver.interrupt()
        assert (await driver.end(turn)).stop_reason == "cancelled"
        assert (await driver.end(later)).stop_reason == "cancelled"
        assert len(driver.all(StepStarted)) == 1
        turns = [one.turn for one in driver.seen if isinstance(one.event, TurnFinished)]
        assert len(turns) == 3, "the turn, the steer that came too late, and the follow-up"
