"""docs/extend/protocol.md against the values that cross the door: every kind, every field, every request."""

import dataclasses
import inspect
import re
from typing import Any, get_args

import pytest
from tests.docs.pages import read, rows, section

from cockpit.core.transcript import transcript
from cockpit.protocol import channel, content
from cockpit.protocol.channel import Channel, Deck
from cockpit.protocol.events import TRANSIENT_EVENTS, Envelope, Event
from cockpit.protocol.ops import Op
from cockpit.protocol.queries import Query, Reply
from cockpit.protocol.wire import kind_of

PAGE = read("protocol.md")


def table(heading: str) -> dict[str, list[str]]:
    """The rows of a section's table by their first word: the cells behind it."""
    lines = [line for line in section(PAGE, heading).splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return {first.strip("`"): rest for first, *rest in cells}


def named(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


@pytest.mark.parametrize(
    ("heading", "union", "common"),
    [("## Ops", Op, {"id", "origin"}), ("## Events", Event, set()), ("## Queries", Query, set())],
)
def test_every_kind_is_named_with_its_fields(heading: str, union: Any, common: set[str]) -> None:
    lines = [line for line in section(PAGE, heading).splitlines() if line.startswith("| `")]
    listed = {line.split("`")[1]: line.split("|")[2] for line in lines}
    kinds = {kind_of(cls): cls for cls in get_args(union)}
    assert list(listed) == list(kinds)
    for kind, cls in kinds.items():
        assert named(listed[kind]) == [one.name for one in dataclasses.fields(cls) if one.name not in common]


def test_events_say_whether_they_are_durable() -> None:
    lines = [line for line in section(PAGE, "## Events").splitlines() if line.startswith("| `")]
    said = {line.split("`")[1]: line.split("|")[3].strip() for line in lines}
    kinds = {kind_of(cls): "passing" if cls in TRANSIENT_EVENTS else "durable" for cls in get_args(Event)}
    assert said == kinds


def test_the_envelope_is_named_field_by_field() -> None:
    text = section(PAGE, "## Events").partition("|")[0]
    assert all(f"`{one.name}`" in text for one in dataclasses.fields(Envelope))


def test_every_reply_is_named() -> None:
    text = section(PAGE, "## Queries")
    assert all(f"`{kind_of(cls)}`" in text for cls in get_args(Reply))


def test_every_block_is_named() -> None:
    text = section(PAGE, "## As JSON")
    assert all(f"`{kind_of(cls)}`" in text for cls in get_args(content.Block))


def test_deck_and_channel_are_named_call_by_call() -> None:
    listed = rows(PAGE.partition("## Ops")[0])
    for cls in (Deck, Channel):
        members = [name for name in vars(cls) if not name.startswith("_")]
        own = [row.partition("(")[0] for row in listed if row.startswith(f"{cls.__name__}.")]
        assert sorted(own) == sorted(f"{cls.__name__}.{name}" for name in members)


def test_every_request_of_the_line_protocol_is_named() -> None:
    answered = set(re.findall(r'case "(\w+)"', inspect.getsource(channel._DeckServer._do)))
    listed = rows(section(PAGE, "## `cockpit serve stdio`"))
    assert set(listed) == answered | {"cancel", "do"}


def test_every_record_of_the_transcript_is_named_with_its_fields() -> None:
    written = {
        "session": ["v", *(one.name for one in dataclasses.fields(transcript.TranscriptHeader))],
        "op": ["seq", "op"],
        "audit": [one.name for one in dataclasses.fields(transcript.AuditAnchor)],
        "draft": [one.name for one in dataclasses.fields(transcript.AnswerDraft)],
        "mark": [one.name for one in dataclasses.fields(transcript.StartedMark)],
    }
    found = table("## The transcript")
    assert {name: named(cells[0]) for name, cells in found.items()} == written
