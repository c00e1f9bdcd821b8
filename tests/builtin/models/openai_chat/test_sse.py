"""The decoder against the cases of the standard."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.builtin.models.openai_chat.client import SseDecoder


def decoded(*chunks: bytes) -> list[tuple[str, str]]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.end()


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_each_kind_of_line_end_closes_an_event(line_end: bytes) -> None:
    stream = line_end.join([b"data: one", b"", b"event: error", b"data: two", b"", b""])
    assert decoded(stream) == [("", "one"), ("error", "two")]


def test_lines_of_data_are_joined_and_comments_and_other_fields_left_out() -> None:
    stream = b": keep-alive\n\nid: 7\nretry: 10\ndata: a\ndata:b\ndata\n\n: ping\n"
    assert decoded(stream) == [("", "a\nb\n")]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert decoded(b"\xef", b"\xbb\xbfdata: x\n\n") == [("", "x")]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert decoded(b"data: a\xff\xfeb\n\n") == [("", "a��b")]


def test_a_line_separator_inside_of_data_does_not_split_it() -> None:
    assert decoded("data: a\u2028b\x85c\n\n".encode()) == [("", "a\u2028b\x85c")]


def test_the_last_event_counts_without_a_blank_line() -> None:
    assert decoded(b"data: [DONE]") == [("", "[DONE]")]


def test_two_megabytes_in_one_line_pass() -> None:
    huge = b"x" * 2_000_000
    pieces = [b"data: ", *(huge[at : at + 4096] for at in range(0, len(huge), 4096)), b"\n\n"]
    assert decoded(*pieces) == [("", huge.decode())]


STREAM = '\ufeffdata: {"a": "é中🙂"}\r\n\r\n: c\rdata: b\n\nevent: error\r\ndata: c\r\n\r\n'.encode()


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_where_the_network_cuts_the_stream_makes_no_difference(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(edges)]
    assert decoded(*pieces) == decoded(STREAM)


def test_one_byte_at_a_time_gives_the_same_events() -> None:
    assert decoded(*(bytes([one]) for one in STREAM)) == [("", '{"a": "é中🙂"}'), ("", "b"), ("error", "c")]
