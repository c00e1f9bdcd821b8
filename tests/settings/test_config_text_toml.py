"""The line of every key, in every form TOML allows."""

import tomllib
from datetime import date

import pytest
import tomlkit
from hypothesis import assume, given
from hypothesis import strategies as st

from cockpit.settings.config_text import PathStep, find_toml_error_line, find_toml_lines

TEXT = """\
# a comment with [brackets] and = signs
title = "x # no comment"

[owner]
name = 'T "quoted"'
"odd key" = 1 # after

[a.b]
c.d = 2
c."e.f" = 3
inline = { x = 1, y.z = [ 4,
  5 ] }

text = \"\"\"
[not.a.table]
k = "v" \\
\"\"\" # end
lit = '''
[[neither]]'''
date = 1979-05-27 07:32:00
n = 1.5

[[list]]
k = 1
[list.sub]
s = 1
[[list]]
k = 2
words = [
  "one", # first
  "two",
]
tables = [{ p = 1 }, { p = 2 }]
  [[list.inner]]
  q = 1
  [[list.inner]]
  q = 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("owner",), 4),
        (("owner", "odd key"), 6),
        (("a",), 8),
        (("a", "b", "c"), 9),
        (("a", "b", "c", "d"), 9),
        (("a", "b", "c", "e.f"), 10),
        (("a", "b", "inline", "x"), 11),
        (("a", "b", "inline", "y", "z", 1), 12),
        (("a", "b", "text"), 14),
        (("a", "b", "lit"), 18),
        (("a", "b", "date"), 20),
        (("list", 0), 23),
        (("list", 0, "k"), 24),
        (("list", 0, "sub", "s"), 26),
        (("list", 1, "k"), 28),
        (("list", 1, "words"), 29),
        (("list", 1, "words", 1), 31),
        (("list", 1, "tables", 1, "p"), 33),
        (("list", 1, "inner", 0, "q"), 35),
        (("list", 1, "inner", 1, "q"), 37),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_each_way_to_write_a_key(path: tuple[PathStep, ...], line: int, ends: str) -> None:
    found = find_toml_lines(TEXT.replace("\n", ends))
    assert found[path] == line
    assert ("not",) not in found and ("neither",) not in found


values = st.recursive(
    st.one_of(st.booleans(), st.integers(-9, 9), st.text(max_size=6), st.dates(date(1980, 1, 1))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4))
def test_every_path_of_any_file_has_a_line_and_no_other_path_has(table: dict[str, object]) -> None:
    text = tomlkit.dumps(table)
    assume(tomllib.loads(text) == table)
    assert set(find_toml_lines(text)) == set(paths(table))


def paths(value: object, above: tuple[PathStep, ...] = ()) -> list[tuple[PathStep, ...]]:
    inner: list[tuple[PathStep, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [one for key, below in inner for one in [(*above, key), *paths(below, (*above, key))]]


@pytest.mark.parametrize(("text", "line"), [("a = 1\nb = [\n\n", 2), ("a = 1\nb = ]\nc = 1\n", 2)])
def test_invalid_toml_names_its_line(text: str, line: int) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as refused:
        tomllib.loads(text)
    assert find_toml_error_line(refused.value, text) == line
