"""Going back: files, conversation or both to before a turn, what a person did in between kept, and the
way back from there."""

import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest
from tests.support.decks import Driver, call, driving, script

from cockpit.core.options import Options
from cockpit.protocol.events import (
    ApprovalRequested,
    Envelope,
    FileChanged,
    Rewound,
    TurnFinished,
    TurnStarted,
    Warned,
)
from cockpit.protocol.messages import Json
from cockpit.protocol.ops import Rewind
from cockpit.protocol.queries import CheckpointRows, Checkpoints


@pytest.fixture
def scripted(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.txt").write_bytes(b"one\n")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def full() -> Options:
    return Options(model="scripted:script", mode="full")


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


async def go_back(driver: Driver, turn: str = "", **more: Json) -> Rewound:
    """Submit a rewind and wait for its event."""
    start = len(driver.seen)
    await driver.channel.submit(Rewind(uuid.uuid4().hex, "tui", turn, **more))  # type-checked below
    return await driver.next(Rewound, start)


async def rows(driver: Driver, turn: str = "") -> CheckpointRows:
    reply = await driver.channel.ask(Checkpoints(turn))
    assert isinstance(reply, CheckpointRows), reply
    return reply


def turn_ids(driver: Driver) -> list[str]:
    return [one.event.op for one in driver.seen if isinstance(one.event, TurnStarted)]


def shell(command: str) -> dict[str, Json]:
    return {"calls": [call("shell", command=command)]}


async def test_what_a_shell_command_did_is_gone_and_what_the_person_did_stays(scripted: Path) -> None:
    script(scripted.parent, shell("mkdir new && echo x > new/x.txt && rm a.txt && echo b > b.txt"), {"text": "ok"})
    async with driving(scripted, options=full()) as driver:
        await say(driver, "go")
        (scripted / "mine.txt").write_text("the person's\n")
        [turn] = turn_ids(driver)
        listed = await rows(driver, turn)
        assert (listed.rows[0].files, listed.files, listed.persons) == (3, 3, ())
        event = await go_back(driver, turn, what="files")
        assert (event.files, event.kept, event.left) == (3, (), ())
    assert sorted(os.listdir(scripted)) == ["a.txt", "mine.txt"]
    assert (scripted / "a.txt").read_bytes() == b"one\n"
