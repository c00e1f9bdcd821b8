"""Plan mode: only the user ends it, and the model is reminded of the plan they approved."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.decks import Driver, call, driving, script

from cockpit import paths
from cockpit.core.session.options import RunOptions
from cockpit.protocol.content import plain_text
from cockpit.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    MessageFinished,
    PlanChanged,
    SessionChanged,
    SessionStarted,
    ToolCallFinished,
    TurnFinished,
    Warned,
)
from cockpit.protocol.messages import Json, Mode, UserMessage
from cockpit.protocol.ops import Decide, DecidePlan, Prompt, SelectMode
from cockpit.settings.files import user_file

PLAN: Mapping[str, Json] = {
    "title": "Greet in German",
    "summary": "The greeting becomes German.",
    "steps": [
        {"kind": "edit", "path": "a.txt", "purpose": "translate it", "read_only": False},
        {"kind": "command", "command": "cat a.txt", "purpose": "look at it", "read_only": True},
    ],
    "verification": ["grep eins a.txt"],
    "rollback": ["git checkout a.txt"],
}
# Proposes a plan, says which session it is, and waits to be killed.
WAITS = """
import asyncio, sys
from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.content import Text
from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.ops import Prompt

async def go():
    channel = await LocalDeck(RunOptions(model="scripted:script", mode="plan")).open(sys.argv[1])
    await channel.submit(Prompt("p", "tui", (Text("go"),)))
    async for envelope in channel.events():
        if isinstance(envelope.event, ApprovalRequested):
            print(channel.session, flush=True)

asyncio.run(go())
"""
EDIT = call("edit", path="a.txt", old="one", new="eins")
PROPOSE = call("propose_plan", **PLAN)


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def options(mode: Mode = "plan", someone: bool = True, **more: object) -> RunOptions:
    return RunOptions(model="scripted:script", mode=mode, someone=someone, **more)


def outcomes(driver: Driver) -> list[str]:
    return [one.result.outcome for one in driver.all(ToolCallFinished)]


def states(driver: Driver) -> list[str]:
    return [one.state for one in driver.all(PlanChanged)]


async def decide(driver: Driver, decision: str = "approve", **more: object) -> None:
    await driver.channel.submit(DecidePlan(f"d{len(driver.seen)}", "tui", "", decision, **more))


async def pending(driver: Driver) -> ApprovalRequested:
    return await driver.next(ApprovalRequested)


async def test_an_approved_plan_ends_plan_mode_and_is_carried_out(scripted: Path) -> None:
    script(scripted.parent, {"calls": [EDIT]}, {"calls": [PROPOSE]}, {"calls": [EDIT]}, {"text": "done"})
    async with driving(scripted, options=options("auto-edit")) as driver:
        await driver.channel.submit(SelectMode("m", "tui", "plan"))
        turn = await driver.begin("translate")
        request = await pending(driver)
        assert request.tool == "propose_plan" and "Greet in German" in request.title
        assert (scripted / "a.txt").read_text() == "one\n"
        await decide(driver)
        await driver.end(turn)
    assert outcomes(driver) == ["denied", "ok", "ok"]
    assert states(driver) == ["planning", "pending", "approved"]
    assert driver.all(SessionChanged)[-1].mode == "auto-edit"
    assert (scripted / "a.txt").read_text() == "eins\n"


async def test_the_model_cannot_approve_its_own_plan(scripted: Path) -> None:
    exits = call("ExitPlanMode", plan="# Do it\n\nNow.", approved=True)
    own = call("propose_plan", **PLAN, approved=True, mode="full")
    script(scripted.parent, {"calls": [own]}, {"calls": [exits]}, {"calls": [EDIT]}, {"text": "done"})
    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("go")
        request = await pending(driver)
        assert "Do it" in request.title
        assert driver.all(PlanChanged)[-1].state == "pending"
        await driver.decide(request.id, "reject_once", "not yet")
        await driver.end(turn)
    results = [one.result for one in driver.all(ToolCallFinished)]
    assert [one.outcome for one in results] == ["error", "denied", "denied"]
    assert "unknown argument `approved`" in results[0].text and "not yet" in results[1].text
    assert (scripted / "a.txt").read_text() == "one\n"


async def test_the_text_edited_by_the_user_is_approved_and_sent(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"text": "done"})
    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("go")
        await pending(driver)
        await decide(
            driver, text="# Only look\n\n1. run `cat a.txt`: look", note="no edits", mode="auto-edit"
        )
        await driver.end(turn)
    plan = driver.all(PlanChanged)[-1]
    assert plan.state == "approved" and plan.mode == "auto-edit"
    assert [one.command for one in plan.steps] == ["cat a.txt"] and not plan.verification
    told = driver.all(ToolCallFinished)[0].result.text
    assert "with changes" in told and "Only look" in told and "no edits" in told and "auto-edit" in told


async def test_the_mode_after_a_plan_is_never_looser_than_the_chosen_one(scripted: Path) -> None:
    script(scripted.parent, {"text": "hi"}, {"calls": [PROPOSE]}, {"text": "done"})
    async with driving(scripted, options=options("ask")) as driver:
        await driver.prompt("hi")
        for number, mode in enumerate(("auto-edit", "plan")):
            await driver.channel.submit(SelectMode(f"m{number}", "tui", mode))
        turn = await driver.begin("go")
        await pending(driver)
        await decide(driver)
        await driver.end(turn)
    assert driver.all(SessionChanged)[-1].mode == "ask"


async def test_a_plan_of_an_interrupted_turn_can_still_be_approved(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"text": "carried out"})
    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("go")
        await pending(driver)
        await driver.interrupt()
        await driver.end(turn)
        assert driver.all(PlanChanged)[-1].state == "pending" and not driver.all(PlanChanged)[-1].request
        await decide(driver)
        changed = await driver.until(
            lambda one: isinstance(one.event, PlanChanged) and one.event.state == "approved"
        )
        assert changed.event.mode == "ask"
        await driver.end(f"d{driver.seen.index(changed)}")
    assert (scripted / "a.txt").read_text() == "one\n"


async def test_leaving_plan_mode_approves_nothing(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"text": "ok"})
    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("go")
        await pending(driver)
        await driver.channel.submit(SelectMode("m", "tui", "ask"))
        await driver.end(turn)
    assert states(driver)[-1] == "idle" and outcomes(driver) == ["denied"]
    assert "without approving" in driver.all(ToolCallFinished)[0].result.text


async def test_without_a_user_an_ask_is_a_denial(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"calls": [call("enter_plan_mode")]}, {"text": "ok"})
    async with driving(scripted, options=options(someone=False)) as driver:
        ended = await driver.prompt("go")
    assert ended.denied == 2 and [one.by for one in driver.all(ApprovalResolved)] == ["nobody"]
    assert states(driver) == ["pending", "rejected"]


async def test_a_schedule_approves_no_plan(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"text": "ok"})
    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("go")
        request = await pending(driver)
        await driver.channel.submit(DecidePlan("d", "schedule:7", "", "approve"))
        await driver.until(lambda one: "schedule cannot approve" in getattr(one.event, "text", ""))
        await driver.channel.submit(Decide("e", "schedule:7", request.id, "allow_once"))
        await driver.until(lambda one: "schedule cannot answer" in getattr(one.event, "text", ""))
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
    assert states(driver)[-1] == "rejected"


async def test_a_plan_that_cannot_be_read_is_repaired_twice_and_then_the_turn_stops(scripted: Path) -> None:
    broken = {"name": "propose_plan", "arguments": '{"title": "x", "steps": ['}
    script(scripted.parent, *({"calls": [broken]} for _ in range(5)), {"text": "never"})
    async with driving(scripted, options=options()) as driver:
        ended = await driver.prompt("go")
    assert ended.limit == "loop" and "invalid 3 times" in ended.message
    assert outcomes(driver) == ["error"] * 3 and not driver.all(ApprovalRequested)


async def test_every_fault_of_a_plan_is_named_at_once(scripted: Path) -> None:
    steps: list[Json] = [{"kind": "command", "purpose": " ", "read_only": True}]
    script(
        scripted.parent, {"calls": [call("propose_plan", title=" ", summary="", steps=steps)]}, {"text": "ok"}
    )
    async with driving(scripted, options=options()) as driver:
        await driver.prompt("go")
    text = driver.all(ToolCallFinished)[0].result.text
    assert all(f"`{name}`" in text for name in ("title", "steps[0].command", "steps[0].purpose"))


async def test_the_plans_checks_are_proposed_once_when_the_work_is_done(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"calls": [EDIT]}, {"text": "done"}, {"text": "checked"})
    async with driving(scripted, options=options("plan")) as driver:
        turn = await driver.begin("go")
        await pending(driver)
        await decide(driver, mode="auto-edit")
        await driver.end(turn)
    said = [
        plain_text(one.message.content)
        for one in driver.all(MessageFinished)
        if isinstance(one.message, UserMessage)
    ]
    assert len(said) == 1 and "grep eins a.txt" in said[0]


async def test_a_failed_step_shows_the_user_the_rollback(scripted: Path) -> None:
    wrong = call("edit", path="a.txt", old="three", new="drei")
    script(scripted.parent, {"calls": [PROPOSE]}, {"calls": [wrong]}, {"text": "it failed"}, {"text": "so"})
    async with driving(scripted, options=options()) as driver:
        turn = await driver.begin("go")
        await pending(driver)
        await decide(driver, mode="auto-edit")
        await driver.end(turn)
    said = [one for one in driver.all(Warned) if "failed" in one.text]
    assert len(said) == 1 and "git checkout a.txt" in said[0].hint


async def test_a_resumed_session_has_the_state_it_had(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"text": "carried out"})
    async with driving(scripted, options=options()) as driver:
        await driver.begin("go")
        await pending(driver)
        id = driver.channel.session
    async with driving(scripted, id, RunOptions(model="scripted:script")) as driver:
        await driver.invoke("plan", text="show")
        shown = await driver.until(
            lambda one: "waits for you" in plain_text(getattr(one.event, "content", ()))
        )
        assert "Greet in German" in plain_text(shown.event.content)
        await decide(driver)
        await driver.until(lambda one: isinstance(one.event, PlanChanged) and one.event.state == "approved")


async def test_approvals_of_unattended_origins_expire_and_typed_ones_do_not(scripted: Path) -> None:
    ask = {"calls": [call("shell", command="touch x")]}
    script(scripted.parent, ask, {"text": "ok"}, ask, {"text": "ok"})
    async with driving(scripted, options=options("ask")) as driver:
        for number, (origin, expires) in enumerate((("schedule:1", 300.0), ("tui", 0.0))):
            start = len(driver.seen)
            await driver.channel.submit(Prompt(f"p{number}", origin, ()))
            request = await driver.next(ApprovalRequested, start)
            assert request.expires == expires
            await driver.decide(request.id, "reject_once")
            await driver.end(f"p{number}")


async def test_an_approval_not_answered_in_time_is_a_recorded_denial(scripted: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("[approvals]\nseconds = 0.05\n", encoding="utf-8")
    touch = {"calls": [call("shell", command="touch x")]}
    script(scripted.parent, touch, {"text": "ok"}, {"calls": [PROPOSE]}, {"text": "ok"})
    async with driving(scripted, options=RunOptions(model="scripted:script")) as driver:
        ended = await driver.prompt("go")
        await driver.channel.submit(SelectMode("m1", "tui", "plan"))
        await driver.prompt("plan it")
    assert [one.by for one in driver.all(ApprovalResolved)] == ["timeout", "timeout"] and ended.denied
    assert all("no answer" in one.result.text for one in driver.all(ToolCallFinished))
    records = (paths.state() / "audit.jsonl").read_text(encoding="utf-8")
    assert records.count('"outcome":"timeout"') + records.count('"outcome": "timeout"') == 2


async def test_a_plan_that_waited_when_cockpit_was_killed_is_asked_again(scripted: Path) -> None:
    script(scripted.parent, {"calls": [PROPOSE]}, {"text": "carried out"})
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WAITS, str(scripted), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    id = (await child.stdout.readline()).decode().strip()
    child.kill()
    await child.wait()
    async with driving(scripted, id, RunOptions(model="scripted:script")) as driver:
        last = await driver.until(lambda one: isinstance(one.event, SessionStarted) and one.event.resumed)
        request = await driver.next(ApprovalRequested, driver.seen.index(last))
        assert request.tool == "propose_plan"
        await decide(driver)
        await driver.until(lambda one: isinstance(one.event, PlanChanged) and one.event.state == "approved")
        await driver.until(lambda one: isinstance(one.event, TurnFinished))
    assert outcomes(driver)[-1] == "ok"
