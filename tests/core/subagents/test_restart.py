"""Subagents after a restart: a background agent that was killed with `kill -9` continues exactly once."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.core.transcript import session_store
from cockpit.core.transcript.transcript import load_transcript
from cockpit.protocol.events import Envelope, MessageFinished, ToolCallFinished, TurnStarted, Warned
from cockpit.protocol.messages import AssistantMessage, UserMessage
from cockpit.protocol.queries import AgentEventRows, AgentEvents
from cockpit.protocol.rows import AgentChanged

CHILD = """
import asyncio, sys
from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.content import Text
from cockpit.protocol.events import ToolCallProgressed
from cockpit.protocol.ops import Prompt

async def main():
    deck = LocalDeck(RunOptions(model="scripted:script", mode="full"))
    channel = await deck.open(sys.argv[1])
    await channel.submit(Prompt("p1", "tui", (Text("go"),)))
    async for one in channel.events():
        if isinstance(one.event, ToolCallProgressed) and "begun" in one.event.text:
            print("begun", flush=True)

asyncio.run(main())
"""


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.py").write_text("one = 1\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


async def killed(root: Path) -> None:
    """A session in a process of its own, killed while its subagent is in its second call."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CHILD,
        str(root),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    await process.wait()


def stored(root: Path) -> list[Envelope]:
    [path] = session_store.session_folder(str(root)).glob("*.jsonl")
    return [one for one in load_transcript(path).records if isinstance(one, Envelope)]


async def test_after_a_kill_a_background_agent_continues_exactly_once(scripted: Path) -> None:
    write = call("shell", command="echo once >> ran.log")
    hang = call("shell", command="echo begun; sleep 27341", seconds=100)
    script(
        scripted.parent,
        {"calls": [call("delegate", role="implement", task="zebra", background=True)]},
        {"text": "meanwhile"},
        {"text": "I know of it"},
        zebra=[{"calls": [write]}, {"calls": [hang]}, {"text": "SUMMARY: went on"}],
    )
    await killed(scripted)
    [session] = [path.stem for path in session_store.session_folder(str(scripted)).glob("*.jsonl")]
    options = RunOptions(model="scripted:script", mode="full")
    async with driving(scripted, session, options) as driver:
        ended = await driver.until(
            lambda one: isinstance(one.event, AgentChanged) and one.event.agent.phase == "completed"
        )
        assert isinstance(ended.event, AgentChanged)
        row = ended.event.agent
        assert row.recovered and row.role == "implement" and row.report == "SUMMARY: went on"
        await driver.prompt("and?")
        told = [
            one.message
            for one in driver.all(MessageFinished)
            if isinstance(one.message, UserMessage) and "SUMMARY: went on" in str(one.message)
        ]
        assert len(told) == 1
        live = driver.channel
        assert isinstance(live, AgentSession)
        events, cursor = live.main.agents.find("implement-1").transcript()
    assert (scripted / "ran.log").read_text() == "once\n"
    mine = [one for one in stored(scripted) if one.agent == "main/implement-1"]
    starts = [one for one in mine if isinstance(one.event, TurnStarted)]
    assert len(starts) == 1 and [one.event for one in mine] == list(events) and cursor == mine[-1].seq
    outcomes = [one.event.result.outcome for one in mine if isinstance(one.event, ToolCallFinished)]
    assert outcomes == ["ok", "interrupted"]
    again = [one.event.agent for one in mine if isinstance(one.event, AgentChanged)]
    assert [one.phase for one in again] == ["queued", "running", "queued", "running", "completed"]
    async with driving(scripted, session, options) as driver:
        await driver.next(Warned)
        live = driver.channel
        assert isinstance(live, AgentSession)
        assert [one.phase for one in live.main.agents.all()] == ["completed"]
        assert (await live.main.agents.find("implement-1").wait()).text == "SUMMARY: went on"
        reply = await driver.channel.ask(AgentEvents("implement-1", cursor - 2))
        assert isinstance(reply, AgentEventRows) and 0 < len(reply.rows) <= 2
    assert len([one for one in stored(scripted) if one.agent == "main/implement-1"]) == len(mine)


async def test_an_awaited_agent_does_not_continue_and_reports_why(scripted: Path) -> None:
    hang = call("shell", command="echo begun; sleep 27342", seconds=100)
    script(
        scripted.parent,
        {"calls": [call("delegate", task="zebra")]},
        {"text": "over"},
        zebra=[{"calls": [hang]}, {"text": "never"}],
    )
    await killed(scripted)
    [session] = [path.stem for path in session_store.session_folder(str(scripted)).glob("*.jsonl")]
    async with driving(scripted, session, RunOptions(model="scripted:script", mode="full")) as driver:
        live = driver.channel
        assert isinstance(live, AgentSession)
        [state] = live.main.agents.all()
        assert state.phase == "cancelled" and "the agent that waited for it has ended too" in state.report
        await driver.prompt("go on")
    texts = [
        one.message.text for one in driver.all(MessageFinished) if isinstance(one.message, AssistantMessage)
    ]
    assert "never" not in texts


async def test_closing_ends_all_and_nothing_of_it_begins_again(scripted: Path) -> None:
    script(
        scripted.parent,
        {"calls": [call("delegate", task="zebra", background=True)]},
        {"text": "over"},
        zebra=[{"text": "x", "gate": "never"}],
    )
    async with driving(scripted) as driver:
        await driver.prompt("go")
        session = driver.channel.session
    last = [one.event.agent for one in stored(scripted) if isinstance(one.event, AgentChanged)][-1]
    assert last.phase == "cancelled"
    async with driving(scripted, session) as driver:
        live = driver.channel
        assert isinstance(live, AgentSession)
        assert [one.phase for one in live.main.agents.all()] == ["cancelled"]
        await live.main.agents.find("general-1").send("go on after all")
        (scripted.parent / "never").touch()
        report = await live.main.agents.find("general-1").wait()
        assert report.text == "x" and report.stop_reason == "end_turn"
