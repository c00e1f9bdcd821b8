"""`kill -9` at any point: nothing accepted is lost, no side effect is silently repeated, resume works."""

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.core.transcript import session_store
from cockpit.core.transcript.history import INTERRUPTED_TEXT
from cockpit.core.transcript.transcript import AcceptedOp, load_transcript
from cockpit.protocol.events import (
    ApprovalRequested,
    Envelope,
    MessageFinished,
    ToolCallFinished,
    TurnFinished,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import AssistantMessage
from cockpit.protocol.ops import Prompt

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

POINTS = int(os.environ.get("COCKPIT_KILL_POINTS", "50"))
# Writes of the session below, from its header to its end: the points lie among them.
WRITES = 46

CHILD = """
import asyncio, sys
from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.headless.one_shot import run_prompt
deck = LocalDeck(RunOptions(someone=False, origin="headless", model="scripted:script", mode="full"))
sys.exit(asyncio.run(run_prompt(deck, sys.argv[1], None, "change things")))
"""


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    steps = [
        {"text": "I look. ", "chunks": 3, "calls": [call("read", path="a.txt")]},
        {"text": "I edit. ", "calls": [call("edit", path="a.txt", old="one", new="eins")]},
        {"calls": [call("shell", command="echo ran >> ran.log")]},
        {"calls": [call("write", path="b.txt", content="b\n")]},
        {"text": "Done."},
    ]
    script(root.parent, *steps)
    return root


async def run_until_killed(root: Path, point: str) -> int:
    environment = dict(os.environ, COCKPIT_FAULT=point)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(root), env=environment, stdout=-3, stderr=-3
    )
    return await process.wait()


def points(count: int) -> list[str]:
    """`count` different passages, the same ones in every run."""
    rest = [f"any:{number}" for number in range(1, WRITES)]
    chosen = random.Random(20261121).sample(rest, min(count, len(rest)))
    named = ["accepted:1", "written:1", "written:2", *(f"marked:{number}" for number in range(1, 4))]
    return chosen + named


def test_the_points_are_as_many_as_promised() -> None:
    assert len(points(POINTS)) >= min(POINTS, 50)


async def test_a_session_survives_a_kill_at_every_point(scripted: Path, tmp_path: Path) -> None:
    for point in points(POINTS):
        await _survives(scripted, point)


async def _survives(root: Path, point: str) -> None:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    for name in ("b.txt", "ran.log"):
        (root / name).unlink(missing_ok=True)
    code = await run_until_killed(root, point)
    assert code in (-signal.SIGKILL, 0), point
    id = session_store.latest_session(str(root))
    killed = list(session_store.session_folder(str(root)).glob("*.jsonl"))
    if not killed:
        return
    path = max(killed, key=lambda one: one.stat().st_mtime_ns)
    before = load_transcript(path)
    accepted = [
        one.op for one in before.records if isinstance(one, AcceptedOp) and isinstance(one.op, Prompt)
    ]
    ran_before = _lines(root / "ran.log")
    async with driving(
        root, path.stem, RunOptions(model="scripted:script", mode="full", someone=False)
    ) as driver:
        if accepted and not _is_finished(before.records):
            await driver.until(lambda one: isinstance(one.event, TurnFinished))
        ended = await driver.prompt("go on")
        assert ended.stop_reason in ("end_turn", "error"), (point, ended)
    after = load_transcript(path)
    _check_calls(after.records, point)
    assert len(list(_events(after.records, TurnStarted))) >= len(accepted) + 1, point
    _check_side_effects(root, ran_before, after.records, point)
    assert (root / "a.txt").read_text() in ("one\n", "eins\n"), point
    assert id is not None or not accepted
    path.unlink()


def _check_calls(records: object, point: str) -> None:
    """Every call of every answer has exactly one result on disk."""
    messages = [one.message for one in _events(records, MessageFinished)]
    answers = [one for one in messages if isinstance(one, AssistantMessage)]
    asked = [call.id for answer in answers for call in answer.calls]
    answered = [one.result.call for one in _events(records, ToolCallFinished)]
    assert sorted(asked) == sorted(answered), point


def _check_side_effects(root: Path, ran_before: int, records: object, point: str) -> None:
    """What ran before the kill is not run again unless the model was told that nobody knows."""
    shells = [one.result for one in _events(records, ToolCallFinished) if one.result.name == "shell"]
    told = any(one.text == INTERRUPTED_TEXT for one in shells)
    if ran_before and not told:
        assert _lines(root / "ran.log") == ran_before, point
    assert _lines(root / "ran.log") <= ran_before + 1, point


def _lines(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


def _is_finished(records: object) -> bool:
    return bool(_events(records, TurnFinished))


def _events(records: object, kind: type) -> list:
    return [one.event for one in records if isinstance(one, Envelope) and isinstance(one.event, kind)]


async def test_an_approval_open_at_a_kill_is_asked_again_on_resume(scripted: Path) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script")) as driver:
        await driver.begin("change things")
        first = await driver.next(ApprovalRequested)
        id = driver.channel.session
        # What a kill leaves: the file as it is now, taken before the session is closed properly.
        content = session_store.session_file(id).read_bytes()
    session_store.session_file(id).write_bytes(content)
    async with driving(scripted, id, RunOptions(model="scripted:script")) as driver:
        again = await driver.until(
            lambda one: isinstance(one.event, ApprovalRequested) and one.event.id != first.id
        )
        await driver.decide(again.event.id, "allow_once")
        await driver.until(
            lambda one: isinstance(one.event, ToolCallFinished) and one.event.result.name == "edit"
        )
    assert (scripted / "a.txt").read_text() == "eins\n"


async def test_a_transcript_cut_at_any_byte_loads_up_to_there_and_reports_it(scripted: Path) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("change things")
        id = driver.channel.session
    path = session_store.session_file(id)
    whole = path.read_bytes()
    records = load_transcript(path).records
    first = whole.index(b"\n") + 1
    ends = {at + 1 for at in range(first, len(whole)) if whole[at : at + 1] == b"\n"}
    for cut in sorted({*range(first, len(whole), 37), *ends, *(end - 1 for end in ends)}):
        path.write_bytes(whole[:cut])
        loaded = load_transcript(path)
        assert loaded.records == records[: len(loaded.records)], cut
        assert len(loaded.records) == whole[first:cut].count(b"\n"), cut
        assert bool(loaded.reports) == (cut not in ends and cut != first), cut


async def test_a_call_that_was_running_at_a_kill_is_not_run_again(scripted: Path) -> None:
    # The marks before the edit and the shell command; the third is the write's.
    assert await run_until_killed(scripted, "marked:2") == -signal.SIGKILL
    path = max(
        session_store.session_folder(str(scripted)).glob("*.jsonl"), key=lambda one: one.stat().st_mtime_ns
    )
    given = RunOptions(model="scripted:script", mode="full", someone=False)
    async with driving(scripted, path.stem, given) as driver:
        await driver.until(lambda one: isinstance(one.event, Warned) and "was running when" in one.event.text)
        shells = [one.result for one in driver.all(ToolCallFinished) if one.result.name == "shell"]
        assert [(one.outcome, one.text) for one in shells] == [("interrupted", INTERRUPTED_TEXT)]
    assert _lines(scripted / "ran.log") == 0


async def test_a_torn_last_line_is_cut_and_reported(scripted: Path) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("change things")
        id = driver.channel.session
    path = session_store.session_file(id)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"envelope","v":1,"se')
    async with driving(scripted, id) as driver:
        await driver.until(lambda one: isinstance(one.event, Warned) and "torn" in one.event.text)
    assert path.read_bytes().startswith(whole)
    assert not load_transcript(path).reports


async def test_an_unreadable_line_stays_in_the_file_is_skipped_and_reported(scripted: Path) -> None:
    async with driving(scripted, options=RunOptions(model="scripted:script", mode="full")) as driver:
        await driver.prompt("change things")
        id = driver.channel.session
    path = session_store.session_file(id)
    lines = path.read_bytes().split(b"\n")
    lines.insert(3, b"\x00\x00 garbage \xff")
    path.write_bytes(b"\n".join(lines))
    async with driving(scripted, id) as driver:
        await driver.until(lambda one: isinstance(one.event, Warned) and "line 4" in one.event.text)
    assert b"garbage" in path.read_bytes()
