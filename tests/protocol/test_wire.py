"""Every value of the frontend API survives encoding and decoding by `wire`."""

import dataclasses
import functools
import typing
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import DecodeFailed
from cockpit.protocol import events, ops, queries, wire
from cockpit.protocol.content import Text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@functools.cache
def _values(cls: type) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{f.name: _of(hints[f.name]) for f in dataclasses.fields(cls)})


@functools.cache
def _of(hint: Any) -> st.SearchStrategy[Any]:
    origin = typing.get_origin(hint)
    arguments = get_args(hint)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(st.text(), JSON, max_size=3)
    if hint == typing.get_type_hints(events.FormField)["default"]:
        return JSON
    if hint is float:
        return st.floats(allow_nan=False)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(st.deferred(lambda: _of(arguments[0])), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(_of(argument) for argument in arguments))
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if arguments:
        return st.one_of([_of(argument) for argument in arguments])
    if hint is events.Envelope:
        return ENVELOPES
    if dataclasses.is_dataclass(hint):
        return st.just(Text("leaf")) if hint.__name__ == "Tree" else _values(hint)
    return st.from_type(hint)


ENVELOPES = st.builds(
    events.Envelope,
    *(st.just(value) for value in (1, 2, 3.5, "s", "t", "main", "")),
    event=st.deferred(lambda: _values(events.TurnStarted)),
)
CLASSES = [
    cls
    for union in (ops.Op, events.Event, queries.Query, queries.Reply)
    for cls in get_args(union)
    if cls is not events.Unknown
]


@pytest.mark.parametrize("cls", [*CLASSES, events.Envelope], ids=lambda cls: cls.__name__)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_values_survive_a_round_trip(cls: type, data: st.DataObject) -> None:
    value = data.draw(_of(cls))
    assert wire.loads(wire.dumps(value)) == value


def test_an_unknown_kind_is_written_back_unchanged() -> None:
    line = '{"type":"holo_projected","beam":[1,2],"kind":"x"}'
    value = wire.loads(line)
    assert isinstance(value, events.Unknown)
    assert wire.dumps(value) == line


def test_an_unknown_field_is_ignored() -> None:
    value = wire.loads('{"type":"text_delta","message":"m","text":"t","colour":"red"}')
    assert value == events.TextDelta("m", "t")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "{",
        '{"type":3}',
        '{"type":"text_delta","message":"m"}',
        '{"type":"text_delta","message":"m","text":7}',
        '{"type":"select_mode","id":"1","origin":"tui","mode":"yolo"}',
        '{"type":"todo_changed","rows":[{"type":"todo_row","text":"x","status":"maybe"}]}',
        "[" * 100_000,
    ],
)
def test_an_invalid_line_is_refused(line: str) -> None:
    with pytest.raises(DecodeFailed):
        wire.loads(line)
