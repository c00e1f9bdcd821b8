"""JSON written by hand: comments, commas and marks are no trouble, and every key knows its line."""

import json

from hypothesis import given
from hypothesis import strategies as st

from cockpit.formats.config_files import parse_config

HOOKS = """\ufeff{
  // the team's hooks
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [
        {"type": "command", "command": "echo //no comment /* here */"}, /* two
           lines */
        {"type": "http",
         "url": "http://127.0.0.1:1/x",},
      ]},
    ],
  },
}
"""


def test_comments_trailing_commas_and_a_bom_are_ignored() -> None:
    located = parse_config(HOOKS, "settings.json")
    assert located.faults == ()
    inner = ("hooks", "PreToolUse", 0, "hooks")
    assert located.at(*inner, 0, "command") == "echo //no comment /* here */"
    assert located.at(*inner, 1) == {"type": "http", "url": "http://127.0.0.1:1/x"}


def test_every_key_and_every_place_in_a_list_has_its_line() -> None:
    located = parse_config(HOOKS.replace("\n", "\r\n"), "settings.json")
    inner = ("hooks", "PreToolUse", 0, "hooks")
    assert located.line("hooks") == 3
    assert located.line("hooks", "PreToolUse") == 4
    assert located.line(*inner[:3]) == 5
    assert located.line(*inner, 0, "command") == 6
    assert located.line(*inner, 1) == 8
    assert located.line(*inner, 1, "url") == 9


def test_missing_key_is_reported_at_the_enclosing_line() -> None:
    located = parse_config('{\n\n"hooks": {"Stop": 1}}', "h.json")
    fault = located.fault(("hooks", "Stop", "command"), "no command", "write one")
    assert str(fault) == "h.json:3: no command; write one"
    assert located.line("nothing") == 0
    assert located.at("hooks", "Stop", 0) is None
    assert (located.table("hooks", "Stop"), located.rows("hooks")) == ({}, [])


def test_a_broken_file_is_a_fault_with_its_line() -> None:
    located = parse_config('{\n  "a": 1\n  "b": 2\n}', "h.json")
    assert located.value is None
    assert str(located.faults[0]) == (
        "h.json:3: invalid JSON: expected a comma before this (column 3); fix the line"
    )
    assert "not a JSON number" in parse_config('{"a": NaN}', "h.json").faults[0].reason
    assert "nested too deeply" in parse_config("[" * 200_000 + "]" * 200_000, "h.json").faults[0].reason


def test_an_empty_file_is_an_empty_table() -> None:
    for text in ("", " \n", "\ufeff", "// only a comment"):
        assert parse_config(text, "h.json").value == {}
        assert parse_config(text, "h.json").faults == ()


def test_half_a_surrogate_pair_becomes_a_character_that_can_be_written() -> None:
    value = parse_config(r'{"a": "\ud800", "\udc00": 1}', "h.json").value
    assert value == {"a": "\ufffd", "\ufffd": 1}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4), st.booleans())
def test_written_json_is_read_back_unchanged(value: dict[str, object], plain: bool) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=plain).replace("\r", "\\r")
    located = parse_config(text, "h.json")
    assert located.value == value
    lines = text.split("\n")
    for key in value:
        assert json.dumps(key, ensure_ascii=plain) in lines[located.line(key) - 1]
