"""For any behaviour of a model each call has one result, and the session continues."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.support.decks import Driver, call

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.core.transcript import session_store
from cockpit.core.transcript.transcript import load_transcript
from cockpit.protocol.events import Envelope, MessageFinished, ToolCallFinished, TurnFinished
from cockpit.protocol.messages import AssistantMessage

pytestmark = pytest.mark.slow

FAULTS = ["rate_limited", "overloaded", "connection", "malformed", "auth", "context_overflow", "bad_request"]
CALLS = st.sampled_from(
    [
        call("read", path="a.txt"),
        call("read", path="missing.txt"),
        call("read", file="a.txt"),
        call("no_such_tool", x=1),
        call("write", path="b.txt", content="b"),
        call("edit", path="a.txt", old="nothing like this", new="x"),
        call("shell", command="echo hi; exit 3"),
        call("shell", command="rm -rf /"),
        call("todo", rows="not a list"),
    ]
)
STEPS = st.one_of(
    st.fixed_dictionaries({"text": st.just("look"), "calls": st.lists(CALLS, min_size=1, max_size=4)}),
    st.fixed_dictionaries(
        {"calls": st.lists(CALLS, max_size=2), "finish": st.sampled_from(["length", "stop"])}
    ),
    st.fixed_dictionaries(
        {"fault": st.fixed_dictionaries({"fault": st.sampled_from(FAULTS), "retry_after": st.just(0)})}
    ),
    st.fixed_dictionaries({"text": st.just("filtered"), "finish": st.just("content_filter")}),
    st.fixed_dictionaries({"text": st.just("done")}),
)


@settings(
    max_examples=40,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(STEPS, max_size=8), interrupts=st.booleans())
def test_every_call_has_one_result_after_any_script(
    root: Path, monkeypatch: pytest.MonkeyPatch, steps: list[Any], interrupts: bool
) -> None:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    script = root.parent / "script.json"
    script.write_text(json.dumps({"steps": steps}), encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script))
    asyncio.run(_play(root, interrupts))


async def _play(root: Path, interrupts: bool) -> None:
    deck = LocalDeck(RunOptions(model="scripted:script", mode="full", someone=False))
    driver = Driver(await deck.open(str(root)))
    await driver.start()
    turn = await driver.begin("go")
    if interrupts:
        await driver.interrupt()
    await driver.end(turn)
    await driver.prompt("and again")
    await deck.close()
    await driver.stop()
    path = session_store.session_file(driver.channel.session)
    events = [record.event for record in load_transcript(path).records if isinstance(record, Envelope)]
    messages = [one.message for one in events if isinstance(one, MessageFinished)]
    asked = [one.id for answer in messages if isinstance(answer, AssistantMessage) for one in answer.calls]
    answered = [one.result.call for one in events if isinstance(one, ToolCallFinished)]
    assert sorted(asked) == sorted(answered)
    assert len([one for one in events if isinstance(one, TurnFinished)]) == 2
    path.unlink()
