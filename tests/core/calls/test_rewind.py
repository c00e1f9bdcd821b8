"""Rewinding files, conversation or both to before a turn, without the user's changes, and undoing that."""

import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import pytest
from tests.support.decks import Driver, call, driving, script

from cockpit import paths
from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.core.transcript.history import message_text
from cockpit.protocol.events import (
    ApprovalRequested,
    Envelope,
    FileChanged,
    Rewound,
    ToolCallFinished,
    ToolCallProgressed,
    TurnFinished,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import Json
from cockpit.protocol.ops import Rewind
from cockpit.protocol.queries import CheckpointRows, Checkpoints
from cockpit.protocol.rows import RewindScope
from cockpit.workspace.checkpoints import restore
from cockpit.workspace.checkpoints.blob_store import BlobStore
from cockpit.workspace.checkpoints.restore import RewindStep

Persons = Literal["keep", "overwrite"]


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_bytes(b"one\n")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def full() -> RunOptions:
    return RunOptions(model="scripted:script", mode="full")


async def say(driver: Driver, text: str) -> None:
    """A turn in which the person says yes to whatever is asked."""
    turn, answered = await driver.begin(text), set[str]()

    def is_next(one: Envelope) -> bool:
        if isinstance(one.event, ApprovalRequested):
            return one.event.id not in answered
        return isinstance(one.event, TurnFinished) and one.turn == turn and one.agent == "main"

    while isinstance(event := (await driver.until(is_next)).event, ApprovalRequested):
        answered.add(event.id)
        await driver.decide(event.id, "allow_once")


async def go_back(
    driver: Driver, turn: str = "", what: RewindScope = "both", persons: Persons = "keep", undo: bool = False
) -> Rewound:
    """Submit a rewind and wait for its event."""
    start = len(driver.seen)
    await driver.channel.submit(Rewind(uuid.uuid4().hex, "tui", turn, what, persons, undo))
    return await driver.next(Rewound, start)


async def rows(driver: Driver, turn: str = "") -> CheckpointRows:
    reply = await driver.channel.ask(Checkpoints(turn))
    assert isinstance(reply, CheckpointRows), reply
    return reply


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


async def warning(driver: Driver, words: str) -> None:
    await driver.until(lambda one: isinstance(one.event, Warned) and words in one.event.text)


def turn_ids(driver: Driver) -> list[str]:
    return [one.event.op for one in driver.seen if isinstance(one.event, TurnStarted)]


def shell(command: str) -> Mapping[str, Json]:
    return calls("shell", command=command)


def calls(name: str, **arguments: Json) -> Mapping[str, Json]:
    return {"calls": [{**call(name, **arguments)}]}


async def test_rewind_undoes_a_shell_command_and_not_the_users_changes(scripted: Path) -> None:
    script(
        scripted.parent,
        shell("mkdir new && echo x > new/x.txt && rm a.txt && echo b > b.txt"),
        {"text": "ok"},
    )
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        (scripted / "mine.txt").write_text("the person's\n")
        [turn] = turn_ids(driver)
        listed = await rows(driver, turn)
        assert (listed.rows[0].files, listed.files, listed.persons) == (3, 3, ())
        event = await go_back(driver, turn, what="files")
        assert (event.files, event.kept, event.left) == (3, (), ())
    assert names(scripted) == ["a.txt", "mine.txt"]
    assert (scripted / "a.txt").read_bytes() == b"one\n"


async def test_a_file_the_user_changed_since_stays_unless_they_overwrite_it(scripted: Path) -> None:
    (scripted / "b.txt").write_bytes(b"b\n")
    script(scripted.parent, shell("echo two > a.txt; echo bb > b.txt"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        (scripted / "a.txt").write_bytes(b"the person's\n")
        [turn] = turn_ids(driver)
        listed = await rows(driver, turn)
        assert listed.persons == ("a.txt",) and [diff.path for diff in listed.diffs] == ["b.txt"]
        event = await go_back(driver, turn)
        assert event.kept == ("a.txt",) and (scripted / "b.txt").read_bytes() == b"b\n"
        assert (scripted / "a.txt").read_bytes() == b"the person's\n"
        await go_back(driver, undo=True)
        await go_back(driver, turn, persons="overwrite")
        assert (scripted / "a.txt").read_bytes() == b"one\n"


async def test_changes_of_the_user_between_two_calls_are_not_overwritten(scripted: Path) -> None:
    script(
        scripted.parent,
        shell("echo two > a.txt"),
        {"text": "ok"},
        shell("echo four >> a.txt"),
        {"text": "ok"},
    )
    async with driving(scripted, options=full()) as driver:
        await say(driver, "one")
        (scripted / "a.txt").write_bytes(b"three\n")
        await say(driver, "two")
        first, second = turn_ids(driver)
        assert (await rows(driver, first)).persons == ("a.txt",)
        await go_back(driver, second, what="files")
        assert (scripted / "a.txt").read_bytes() == b"three\n"
        assert (await go_back(driver, first, what="files")).kept == ("a.txt",)


async def test_a_rewind_can_be_undone_and_is_listed(scripted: Path) -> None:
    script(scripted.parent, shell("echo two > a.txt; mkdir d; echo x > d/x"), {"text": "done it"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        [turn] = turn_ids(driver)
        event = await go_back(driver, turn)
        assert not (scripted / "d").exists() and event.prompt == "go"
        listed = await rows(driver)
        assert [(row.kind, row.state) for row in listed.rows] == [("rewind", ""), ("turn", "rewound")]
        assert (await rows(driver, event.id)).files == 2
        undone = await go_back(driver, undo=True)
        assert undone.undoes == event.id and (scripted / "d" / "x").read_text() == "x\n"
        assert (scripted / "a.txt").read_bytes() == b"two\n"
        assert [row.state for row in (await rows(driver)).rows] == ["undone", ""]
        await driver.channel.submit(Rewind("again", "tui", "", undo=True))
        warned = await driver.until(
            lambda one: isinstance(one.event, Warned) and "no rewind" in one.event.text
        )
        assert warned


async def test_rewound_messages_are_not_sent_to_the_model_even_after_a_resume(scripted: Path) -> None:
    # The scripted model answers by how many answers it is told of: the third prompt is its second.
    script(scripted.parent, {"text": "first"}, {"text": "second"})
    async with driving(scripted, options=full()) as driver:
        for text in ("one", "two"):
            await say(driver, text)
        _, second = turn_ids(driver)
        await go_back(driver, second, what="conversation")
        assert told(driver) == ["one", "first"]
        await say(driver, "three")
        assert told(driver) == ["one", "first", "three", "second"]
        session = driver.channel.session
    async with driving(scripted, session, full()) as driver:
        assert told(driver) == ["one", "first", "three", "second"]
        await go_back(driver, undo=True)
        assert told(driver) == ["one", "first", "two", "second", "three", "second"]
        await go_back(driver, second, what="conversation")
        assert told(driver) == ["one", "first"]


def told(driver: Driver) -> list[str]:
    """What a request would hold, as texts."""
    assert isinstance(driver.channel, AgentSession)
    return [message_text(message) for message in driver.channel.main.history.messages()]


async def test_files_go_back_after_a_resume_too(scripted: Path) -> None:
    script(scripted.parent, shell("rm a.txt"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        [turn], session = turn_ids(driver), driver.channel.session
    async with driving(scripted, session, full()) as driver:
        event = await go_back(driver, turn)
        assert event.files == 1 and (scripted / "a.txt").read_bytes() == b"one\n"


async def test_edits_and_commands_of_several_turns_are_rewound_in_one_step(scripted: Path) -> None:
    script(
        scripted.parent,
        calls("write", path="new/n.txt", content="1\n"),
        {"text": "ok"},
        shell("chmod 755 a.txt; mv new/n.txt moved.txt; rmdir new; ln -s a.txt link"),
        {"text": "ok"},
        calls("write", path="a.txt", content="last\n"),
        {"text": "ok"},
    )
    (scripted / "a.txt").chmod(0o640)
    async with driving(scripted, options=full()) as driver:
        for text in ("one", "two", "three"):
            await say(driver, text)
        first, second, _ = turn_ids(driver)
        await go_back(driver, second, what="files")
        assert names(scripted) == ["a.txt", "new"]
        assert (scripted / "a.txt").stat().st_mode & 0o777 == 0o640
        assert (scripted / "new" / "n.txt").read_text() == "1\n"
        changed = driver.all(FileChanged)
        assert {(one.path, one.change) for one in changed[-3:]} >= {
            ("moved.txt", "deleted"),
            ("new/n.txt", "created"),
        }
        await go_back(driver, first, what="files")
        assert names(scripted) == ["a.txt"] and (scripted / "a.txt").read_bytes() == b"one\n"
        await go_back(driver, undo=True)
        await go_back(driver, undo=True)
        assert names(scripted) == ["a.txt", "link", "moved.txt"]
        assert str((scripted / "link").readlink()) == "a.txt"
        assert (scripted / "a.txt").read_bytes() == b"last\n"


async def test_a_file_that_became_a_folder_is_a_file_again(scripted: Path) -> None:
    script(scripted.parent, shell("rm a.txt; mkdir a.txt; echo x > a.txt/x; mkdir empty"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        await go_back(driver, turn_ids(driver)[0])
        assert names(scripted) == ["a.txt"] and (scripted / "a.txt").read_bytes() == b"one\n"


async def test_a_command_run_by_the_user_is_not_rewound(scripted: Path) -> None:
    script(scripted.parent, shell("echo two > b.txt"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        await driver.run_tool("shell", command="echo mine > c.txt")
        await driver.until(lambda one: isinstance(one.event, ToolCallFinished) and one.turn == "")
        await go_back(driver, turn_ids(driver)[0])
        assert names(scripted) == ["a.txt", "c.txt"]


async def test_nothing_is_rewound_while_a_turn_runs(scripted: Path) -> None:
    script(scripted.parent, shell("echo two > a.txt; echo begun; sleep 60"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        turn = await driver.begin("go")
        await driver.next(ToolCallProgressed)
        await driver.channel.submit(Rewind("early", "tui", turn))
        warned = await driver.until(
            lambda one: isinstance(one.event, Warned) and "turn is running" in one.event.text
        )
        assert warned and not driver.all(Rewound)
        await driver.interrupt()
        await driver.end(turn)


async def test_a_cancelled_command_can_be_rewound(scripted: Path) -> None:
    script(scripted.parent, shell("echo two > a.txt; echo begun; sleep 60"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        turn = await driver.begin("go")
        await driver.next(ToolCallProgressed)
        await driver.interrupt()
        await driver.end(turn)
        assert (scripted / "a.txt").read_bytes() == b"two\n"
        await go_back(driver, turn)
        assert (scripted / "a.txt").read_bytes() == b"one\n"


async def test_an_unwritable_store_is_reported_once_and_stops_no_call(scripted: Path) -> None:
    paths.state().mkdir(parents=True)
    (paths.state() / "checkpoints").write_text("in the way")
    script(scripted.parent, shell("echo two > a.txt"), shell("echo three > a.txt"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        assert (scripted / "a.txt").read_bytes() == b"three\n"
        assert len([one for one in driver.all(Warned) if one.source == "checkpoints"]) == 1
        await driver.channel.submit(Rewind("r", "tui", turn_ids(driver)[0]))
        await warning(driver, "checkpoints cannot be used")


async def test_a_file_that_changes_while_it_is_restored_is_not_overwritten(
    scripted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(scripted.parent, shell("echo two > a.txt; echo x > b.txt"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        turn = turn_ids(driver)[0]
        plan = restore.changes_for_steps

        def changes_of(steps: Iterable[RewindStep], root: str, objects: BlobStore) -> object:
            made = plan(steps, root, objects)  # a person saves between the plan and the write
            (scripted / "a.txt").write_bytes(b"saved just now\n")
            return made

        monkeypatch.setattr(restore, "changes_for_steps", changes_of)
        await driver.channel.submit(Rewind("r", "tui", turn))
        await warning(driver, "changed since")
        assert (scripted / "a.txt").read_bytes() == b"saved just now\n" and (scripted / "b.txt").exists()
        assert not driver.all(Rewound)
