"""The review of a plan: what it shows, and the one op that each key sends."""

from dataclasses import replace

from tests.support.cockpits import Seat, seat
from tests.support.plans import PLAN, planning, proposed

from cockpit.protocol import ops
from cockpit.tui.state.entries import PlanEntry


def decisions(s: Seat) -> list[ops.DecidePlan]:
    return [op for op in s.ops if isinstance(op, ops.DecidePlan)]


async def open_review(s: Seat) -> None:
    """Leave the review that opened by itself, which takes no answer at first, and open it by its key."""
    await s.press("escape")
    await s.press("f9")


async def test_a_plan_that_is_proposed_opens_its_review() -> None:
    async with seat(proposed()) as s:
        shown = s.screen
        assert "the model asks for your approval" in shown and "src/shop/cart.py" in shown
        assert all(
            word in shown for word in ("runs without asking", "asks you", "refused", "your home folder")
        )
        assert "Verify" in shown and "git checkout" in shown
        await s.press("y")
        assert not decisions(s)


async def test_accepting_sends_the_plan_as_it_was_proposed() -> None:
    async with seat(proposed()) as s:
        await open_review(s)
        await s.press("y")
        assert [(op.decision, op.request, op.text, op.mode) for op in decisions(s)] == [
            ("approve", "a1", "", None)
        ]


async def test_accepting_can_switch_to_auto_edit() -> None:
    async with seat(proposed()) as s:
        await open_review(s)
        await s.press("a")
        assert [op.mode for op in decisions(s)] == ["auto-edit"]


async def test_the_edited_plan_is_accepted() -> None:
    async with seat(proposed()) as s:
        await open_review(s)
        await s.press("e")
        assert "Edit the plan" in s.screen
        await s.type("First ask Ada. ")
        await s.press("escape")
        assert "edited by you" in s.screen and "First ask Ada." in s.screen
        await s.press("y")
        assert decisions(s)[0].text.startswith("First ask Ada. # Take")


async def test_an_edit_can_be_undone() -> None:
    async with seat(proposed()) as s:
        await open_review(s)
        await s.press("e", "x", "escape", "u")
        assert "edited by you" not in s.screen
        await s.press("y")
        assert decisions(s)[0].text == ""


async def test_rejecting_takes_a_word_to_the_model() -> None:
    async with seat(proposed()) as s:
        await open_review(s)
        await s.press("n")
        await s.type("too much")
        await s.press("escape")
        assert not decisions(s)
        await s.press("n", "enter")
        assert [(op.decision, op.note) for op in decisions(s)] == [("reject", "too much")]


async def test_a_plan_left_alone_still_waits_and_says_so() -> None:
    idle = replace(PLAN, request="")
    async with seat(planning().says("plan it").add(idle).ends("cancelled")) as s:
        assert "plan waits" in s.screen and "PLAN" in s.screen and "waits for you" in s.screen
        await s.type("/do")
        await s.press("enter")
        assert [(op.decision, op.request) for op in decisions(s)] == [("approve", "")]


async def test_a_draft_is_not_covered_by_a_plan() -> None:
    scene = planning().says("plan it")
    async with seat(scene) as s:
        await s.type("wait")
        await s.play(scene.add(PLAN).add(proposed().envelopes[-1].event, "c1"))
        assert len(s.app.screen_stack) == 1 and "wait" in s.app.editor.text
        await s.press("v")
        assert "the model asks for your approval" in s.screen or "v" in s.app.editor.text


async def test_a_call_refused_by_plan_mode_is_one_quiet_line() -> None:
    text = "denied: plan mode changes nothing; instead: put it into the plan and call propose_plan"
    scene = planning().says("go").calls("c1", "edit", "edit a.py", "edit").gets("c1", text, outcome="denied")
    async with seat(scene) as s:
        assert "not in plan mode" in s.screen and "instead" not in s.screen


async def test_the_state_of_a_plan_changes_where_it_stands() -> None:
    scene = proposed()
    async with seat(scene) as s:
        await s.press("escape")
        scene.decided("a1").add(replace(PLAN, state="approved", request="", note="go on"))
        await s.play(scene)
        plans = [entry for entry in s.state.entries if isinstance(entry, PlanEntry)]
        assert [(one.state, one.note) for one in plans] == [("approved", "go on")]


async def test_an_approval_that_expires_says_when() -> None:
    async with seat(proposed(expires=300.0)) as s:
        assert "rejected without an answer within 5m 00s" in s.screen
