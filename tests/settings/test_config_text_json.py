"""Hand-written JSON: comments, trailing commas, and the line of every part."""

import pytest

from cockpit.settings.config_text import InvalidJson, find_json_lines, parse_json


def test_comments_and_trailing_commas_are_read_with_lines() -> None:
    value, plain = parse_json('\ufeff{ // one\r\n"a": [1,\r\n2,],\r\n"b//": {"c": "/* no */"},}')
    assert value == {"a": [1, 2], "b//": {"c": "/* no */"}}
    assert find_json_lines(plain) == {("a",): 2, ("a", 0): 2, ("a", 1): 3, ("b//",): 4, ("b//", "c"): 4}


def test_an_empty_file_is_an_empty_table() -> None:
    assert parse_json("\n // nothing\n") == ({}, "")


@pytest.mark.parametrize(
    ("text", "line"), [('{\n"a" 1}', 2), ('{"a": 1}\n}', 2), ("NaN", 0), ("[" * 100_000, 0), ('["\n"]', 1)]
)
def test_invalid_json_names_its_line(text: str, line: int) -> None:
    with pytest.raises(InvalidJson) as broken:
        parse_json(text)
    assert broken.value.line == line and "invalid JSON" in broken.value.reason and broken.value.remedy
