"""Our columns and a server's offsets agree for any text."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.navigation.lsp.protocol import (
    column_to_offset,
    line_starts,
    offset_to_column,
    parse_encoding,
)

ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])
LINES = st.text(
    alphabet=st.one_of(st.sampled_from("aé漢😀\t\u0301\ufeff"), st.characters(exclude_categories=["Cs"])),
    max_size=30,
).map(lambda text: text.replace("\n", "").replace("\r", ""))


@given(LINES, st.data(), ENCODINGS)
def test_a_column_comes_back_from_every_encoding(line: str, data: st.DataObject, encoding: str) -> None:
    at = data.draw(st.integers(1, len(line) + 1))
    assert offset_to_column(line, column_to_offset(line, at, encoding), encoding) == at


@given(LINES, st.integers(-3, 200), ENCODINGS)
def test_any_offset_gives_a_column_of_the_line(line: str, offset: int, encoding: str) -> None:
    assert 1 <= offset_to_column(line, offset, encoding) <= len(line) + 1


@given(LINES, st.integers(-3, 200))
def test_units_are_those_of_the_encoded_text(line: str, at: int) -> None:
    before = line[: max(at - 1, 0)]
    assert column_to_offset(line, at, "utf-8") == len(before.encode("utf-8"))
    assert column_to_offset(line, at, "utf-16") == len(before.encode("utf-16-le")) // 2


def test_an_offset_within_a_surrogate_pair_is_its_character() -> None:
    assert offset_to_column("a😀b", 2, "utf-16") == 2
    assert offset_to_column("a😀b", 3, "utf-16") == 3


@given(st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n", "\r"])), max_size=8), LINES)
def test_lines_and_their_starts_agree(pairs: list[tuple[str, str]], last: str) -> None:
    text = ""
    for line, end in pairs:
        # A lone \r before an empty line with \n would be one end of two characters.
        text += line + ("\n" if end == "\r" else end)
    text += last
    lines, starts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), line_starts(text)
    assert len(lines) == len(starts) == len(pairs) + 1
    assert all(text.startswith(line, start) for line, start in zip(lines, starts, strict=True))


def test_a_server_that_names_no_encoding_counts_utf_16() -> None:
    assert parse_encoding(None) == parse_encoding("latin-1") == "utf-16"
    assert parse_encoding("utf-8") == "utf-8"
