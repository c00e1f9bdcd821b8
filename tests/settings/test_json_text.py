"""JSON as people write it: read with comments and closing commas, every part with its line."""

import pytest

from cockpit.settings.json_text import JsonBroken, lines, parse


def test_what_people_write_is_read_with_the_lines_it_stands_in() -> None:
    value, plain = parse('\ufeff{ // one\r\n"a": [1,\r\n2,],\r\n"b//": {"c": "/* no */"},}')
    assert value == {"a": [1, 2], "b//": {"c": "/* no */"}}
    assert lines(plain) == {("a",): 2, ("a", 0): 2, ("a", 1): 3, ("b//",): 4, ("b//", "c"): 4}


def test_an_empty_file_is_an_empty_table() -> None:
    assert parse("\n // nothing\n") == ({}, "")


@pytest.mark.parametrize(
    ("text", "line"), [('{\n"a" 1}', 2), ('{"a": 1}\n}', 2), ("NaN", 0), ("[" * 100_000, 0), ('["\n"]', 1)]
)
def test_what_is_none_says_its_line(text: str, line: int) -> None:
    with pytest.raises(JsonBroken) as broken:
        parse(text)
    assert broken.value.line == line and "no JSON" in broken.value.reason and broken.value.remedy
