"""Recordings behave like any other channel."""

import asyncio
from pathlib import Path

import pytest

from cockpit.errors import DecodeFailed, SessionUnknown
from cockpit.protocol import ops, queries, wire
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope, Event, SessionClosed, Unknown, Warned
from cockpit.protocol.recordings import RecordingChannel, RecordingDeck, read_recording


def envelope(seq: int, event: Event | None = None) -> Envelope:
    return Envelope(1, seq, 0.0, "s", "", "main", "", event or Warned(str(seq)))


async def test_past_envelopes_come_before_live_ones() -> None:
    channel = RecordingChannel([envelope(1), envelope(2)])
    events = channel.events(after=1)
    assert (await anext(events)).seq == 2
    waiting = asyncio.ensure_future(anext(events))
    channel.play(envelope(3))
    assert (await waiting).seq == 3


async def test_events_end_with_the_session_or_the_recording() -> None:
    closed = RecordingChannel([envelope(1), envelope(2, SessionClosed("done")), envelope(3)])
    assert [one.seq async for one in closed.events()] == [1, 2]
    ending = RecordingChannel([envelope(1)], ends=True)
    assert [one.seq async for one in ending.events()] == [1]


async def test_each_reader_has_its_own_queue() -> None:
    channel = RecordingChannel([envelope(1)], ends=True)
    assert [[one.seq async for one in channel.events()] for _ in range(2)] == [[1], [1]]


async def test_ops_are_collected_and_queries_refused() -> None:
    channel = RecordingChannel(replies={queries.Commands: queries.CommandRows(())})
    await channel.submit(ops.Prompt("o", "tui", (Text("hi"),)))
    assert len(channel.ops) == 1
    assert await channel.ask(queries.Commands()) == queries.CommandRows(())
    assert isinstance(await channel.ask(queries.Plugins()), queries.Refused)


async def test_a_deck_opens_recordings_by_id() -> None:
    deck = RecordingDeck(RecordingChannel(session="a"), RecordingChannel(session="b"))
    assert (await deck.open("/")).session == "a" and (await deck.open("/", "b")).session == "b"
    with pytest.raises(SessionUnknown):
        await deck.open("/", "c")


def test_a_cut_off_last_line_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [wire.dumps(envelope(1)), wire.dumps(envelope(2, Unknown("new", {"a": 1})))]
    path.write_text("\n".join(lines) + '\n{"type": "envel')
    assert [one.seq for one in read_recording(path)] == [1, 2]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("nonsense\n" + wire.dumps(envelope(1)) + "\n")
    with pytest.raises(DecodeFailed, match=r"t\.jsonl, line 1"):
        read_recording(path)
