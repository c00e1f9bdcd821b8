"""Nothing that crosses the frontend API is a live object: a core in another process behaves the same."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.decks import Driver, call, script

from cockpit.errors import SessionUnknown
from cockpit.protocol.channel import MAX_LINE_BYTES, RemoteDeck
from cockpit.protocol.events import (
    ApprovalRequested,
    MessageFinished,
    SessionClosed,
    TextDelta,
    ToolCallFinished,
)
from cockpit.protocol.ops import Close
from cockpit.protocol.queries import ChangeRows, Changes, Complete, Completions, Settings, SettingsTable

CORE = Path(__file__).with_name("core_process.py")


@asynccontextmanager
async def far_deck() -> AsyncIterator[RemoteDeck]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CORE),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=MAX_LINE_BYTES,
    )
    assert process.stdin is not None and process.stdout is not None

    async def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()

    deck = RemoteDeck(process.stdout, process.stdin, end)
    deck.start()
    try:
        yield deck
    finally:
        await deck.close()
        assert process.returncode == 0


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


async def test_a_whole_turn_with_an_approval_runs_through_a_pipe(scripted: Path) -> None:
    edit = call("edit", path="a.txt", old="one", new="eins")
    script(scripted.parent, {"text": "I change it.", "chunks": 4, "calls": [edit]}, {"text": "完成 [ok]"})
    async with far_deck() as deck:
        driver = Driver(await deck.open(str(scripted)))
        await driver.start()
        turn = await driver.begin("change it")
        request = await driver.next(ApprovalRequested)
        assert request.parts[0].diff is not None
        await driver.decide(request.id, "allow_once")
        ended = await driver.end(turn)
        assert ended.stop_reason == "end_turn"
        assert "I change it." in "".join(one.text for one in driver.all(TextDelta))
        assert driver.all(ToolCallFinished)[0].result.outcome == "ok"
        changes = await driver.channel.ask(Changes())
        assert isinstance(changes, ChangeRows) and changes.rows[0].path == "a.txt"
        table = await driver.channel.ask(Settings())
        assert isinstance(table, SettingsTable) and table.counts["tools"] > 10
        assert isinstance(await driver.channel.ask(Complete("/", "/mo", 3)), Completions)
        rows = await deck.list(str(scripted))
        assert [row.id for row in rows] == [driver.channel.session]
        await driver.channel.submit(Close("bye", "tui"))
        await driver.next(SessionClosed)
        await driver.stop()
    assert (scripted / "a.txt").read_text() == "eins\n"


async def test_error_of_the_core_keeps_its_type(scripted: Path) -> None:
    script(scripted.parent, {"text": "hi"})
    async with far_deck() as deck:
        with pytest.raises(SessionUnknown, match="20990101"):
            await deck.open(str(scripted), "20990101-000000-0000")


async def test_a_fork_shares_the_history_up_to_its_turn(scripted: Path) -> None:
    script(scripted.parent, {"text": "first"}, {"text": "second"}, {"text": "third"})
    async with far_deck() as deck:
        driver = Driver(await deck.open(str(scripted)))
        await driver.start()
        turn = await driver.begin("one")
        await driver.end(turn)
        await driver.prompt("two")
        fork = Driver(await deck.fork(driver.channel.session, turn))
        await fork.start()
        await fork.prompt("another two")
        texts = [one.message.text for one in fork.all(MessageFinished)]
        assert texts == ["first", "second"]
        await driver.stop()
        await fork.stop()
