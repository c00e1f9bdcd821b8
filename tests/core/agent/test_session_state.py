"""The state of a session after a resume, and that stored events contain all of it."""

from pathlib import Path

import pytest
from tests.support.decks import Driver, call, driving, script

from cockpit.core.agent.session_state import SessionState
from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.protocol.events import ApprovalRequested, PlanChanged, SessionChanged, ToolCallFinished
from cockpit.protocol.ops import SelectMode

FETCH = call("shell", command="curl -s http://127.0.0.1:9/x")
ADD = call("shell", command="git add a.txt")


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def session_of(driver: Driver) -> AgentSession:
    assert isinstance(driver.channel, AgentSession)
    return driver.channel


def outcomes(driver: Driver) -> list[str]:
    return [event.result.outcome for event in driver.all(ToolCallFinished)]


async def request_of(driver: Driver, turn: str, but: str = "") -> ApprovalRequested:
    """The first request of a turn that is not `but`: a resumed session hands out its old ones too."""
    found = await driver.until(
        lambda one: isinstance(one.event, ApprovalRequested) and one.turn == turn and one.event.id != but
    )
    assert isinstance(found.event, ApprovalRequested)
    return found.event


async def test_text_read_from_outside_is_known_after_a_resume(scripted: Path) -> None:
    """A remembered allow must not send anything once text from the network was read, also in a resumed
    session."""
    options = RunOptions(model="scripted:script", trust=True, allow=("Bash(curl *)",))
    script(scripted.parent, {"calls": [FETCH]}, {"text": "done"}, {"calls": [FETCH]}, {"text": "done"})
    async with driving(scripted, options=options) as driver:
        await driver.prompt("fetch it")
        id = session_of(driver).session
        assert session_of(driver).state.has_read_outside
        assert outcomes(driver) in (["ok"], ["error"])
    async with driving(scripted, id, options) as driver:
        assert session_of(driver).state.has_read_outside
        before = len(driver.seen)
        turn = await driver.begin("fetch it again")
        request = await driver.next(ApprovalRequested, before)
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
        assert outcomes(driver)[-1] == "denied"


async def test_a_resumed_session_that_read_nothing_outside_uses_its_rules(scripted: Path) -> None:
    options = RunOptions(model="scripted:script", trust=True, allow=("Bash(curl *)",))
    script(scripted.parent, {"text": "nothing to do"}, {"calls": [FETCH]}, {"text": "done"})
    async with driving(scripted, options=options) as driver:
        await driver.prompt("wait")
        id = session_of(driver).session
    async with driving(scripted, id, options) as driver:
        await driver.prompt("fetch it")
        assert not driver.all(ApprovalRequested) and session_of(driver).state.has_read_outside


async def test_a_session_rule_sends_nothing_after_a_resume_once_outside_text_was_read(scripted: Path) -> None:
    """The rule of an `allow_session` answer is restored, and so is that text from the network was read: what
    sends is asked about, what only changes files is not."""
    options = RunOptions(model="scripted:script", trust=True)
    calls = {"calls": [ADD]}, {"calls": [FETCH]}, {"text": "done"}
    script(scripted.parent, *calls, *calls)
    async with driving(scripted, options=options) as driver:
        turn = await driver.begin("add and fetch it")
        added = await request_of(driver, turn)
        await driver.decide(added.id, "allow_session")
        fetched = await request_of(driver, turn, but=added.id)
        assert fetched.remembers
        await driver.decide(fetched.id, "allow_session")
        await driver.end(turn)
        id = session_of(driver).session
        rules = [str(rule) for rule in session_of(driver).state.rules]
        assert len(rules) == 2 and session_of(driver).state.has_read_outside
    async with driving(scripted, id, options) as driver:
        assert [str(rule) for rule in session_of(driver).state.rules] == rules
        turn = await driver.begin("again")
        request = await request_of(driver, turn)
        assert request.title == fetched.title
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
        assert outcomes(driver)[-1] == "denied" and outcomes(driver)[-2] != "denied"


async def test_stored_events_contain_the_whole_state_of_a_session(scripted: Path) -> None:
    script(scripted.parent, {"calls": [ADD]}, {"calls": [FETCH]}, {"text": "done"})
    options = RunOptions(model="scripted:script", trust=True, allow=("Bash(curl *)",))
    async with driving(scripted, options=options) as driver:
        turn = await driver.begin("go")
        await driver.decide((await driver.next(ApprovalRequested)).id, "allow_session")
        await driver.end(turn)
        await driver.channel.submit(SelectMode("select", "tui", "plan"))
        await driver.next(PlanChanged)
        session = session_of(driver)
        session.state.announce()
        folded = SessionState()
        for envelope in session.services.log.durable():
            folded.fold(envelope)
        live = session.state
    assert driver.all(SessionChanged)
    for name in (
        "model",
        "mode",
        "title",
        "worktree",
        "branch",
        "has_read_outside",
        "usage",
        "plan",
        "settled_mode",
    ):
        assert getattr(folded, name) == getattr(live, name), name
    assert [str(rule) for rule in folded.rules] == [str(rule) for rule in live.rules] != []
    assert live.mode == "plan" and live.has_read_outside
