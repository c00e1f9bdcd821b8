"""A full disk is reported, tears no record, and the session continues when there is space again."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.core.transcript import session_store
from cockpit.core.transcript.transcript import load_transcript
from cockpit.errors import CockpitError
from cockpit.protocol.events import TurnFinished, Warned


@contextmanager
def no_file_over(size: int) -> Iterator[None]:
    """Writes past `size` fail with EFBIG, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    quiet = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, quiet)


@pytest.mark.parametrize("room", [700, 1000, 1300, 1600])
async def test_a_full_disk_ends_the_turn_and_tears_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, {"text": "x" * 900}, {"text": "after"})))
    async with driving(root, options=RunOptions(model="scripted:script")) as driver:
        path = session_store.session_file(driver.channel.session)
        with no_file_over(path.stat().st_size + room):
            id = await driver.begin("hello")
            await driver.until(
                lambda one: isinstance(one.event, Warned) and "cannot be written" in one.event.text
            )
            await driver.until(lambda one: isinstance(one.event, TurnFinished))
        assert id
        ended = await driver.prompt("again")
        assert ended.stop_reason == "end_turn"
    assert not load_transcript(path).reports


async def test_a_prompt_that_cannot_be_written_is_not_accepted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, {"text": "after"})))
    async with driving(root, options=RunOptions(model="scripted:script")) as driver:
        path = session_store.session_file(driver.channel.session)
        with no_file_over(path.stat().st_size + 20), pytest.raises(CockpitError, match="cannot be written"):
            await driver.begin("hello")
        assert (await driver.prompt("again")).stop_reason == "end_turn"
    assert not load_transcript(path).reports


async def test_a_disk_that_is_full_at_a_result_ends_the_turn_as_an_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "long.txt").write_text("a line of a long file\n" * 400, encoding="utf-8")
    asked = {"calls": [call("read", path="long.txt")]}
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, asked, {"text": "after"})))
    async with driving(root, options=RunOptions(model="scripted:script")) as driver:
        path = session_store.session_file(driver.channel.session)
        with no_file_over(path.stat().st_size + 6_000):
            await driver.begin("read it")
            ended = await driver.until(lambda one: isinstance(one.event, TurnFinished))
        assert isinstance(ended.event, TurnFinished) and ended.event.stop_reason == "error"
    assert not load_transcript(path).reports
