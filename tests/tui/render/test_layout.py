"""Wrapping text: words, wide characters, what is never torn."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.tui.render.layout import (
    Span,
    cell_width,
    layout_paragraph,
    shorten,
    shorten_path,
    slice_pieces,
    wrap,
)


def lines(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end in wrap(text, width)]


def test_words_are_kept_whole() -> None:
    assert lines("the quick brown fox", 10) == ["the quick", "brown fox"]


def test_a_word_that_is_too_long_is_cut() -> None:
    assert lines("abcdefghij kl", 4) == ["abcd", "efgh", "ij", "kl"]


def test_newlines_end_lines_and_empty_lines_stay() -> None:
    assert lines("a\n\nb", 10) == ["a", "", "b"]


def test_chinese_breaks_between_any_two_characters() -> None:
    assert lines("中文字符宽度", 4) == ["中文", "字符", "宽度"]


def test_no_line_starts_with_a_closing_mark() -> None:
    assert lines("这是一个测试，需要换行。", 12) == ["这是一个测", "试，需要换", "行。"]


def test_no_line_ends_with_an_opening_mark() -> None:
    assert lines("他说的是（重要）", 10) == ["他说的是", "（重要）"]


def test_mixed_text_breaks_at_spaces_and_between_wide_characters() -> None:
    assert lines("use 中文 words", 8) == ["use 中文", "words"]


@given(st.text(alphabet="ab 中，（\n", max_size=80), st.integers(2, 20))
def test_no_line_is_too_wide_and_no_letter_is_lost(text: str, width: int) -> None:
    found = lines(text, width)
    assert all(cell_width(line.rstrip()) <= width for line in found)
    assert "".join(found).replace(" ", "") == text.replace(" ", "").replace("\n", "")


def test_spans_are_cut_at_line_ends() -> None:
    text = "one two three"
    spans = [Span(4, 13, "x")]
    assert slice_pieces(text, spans, 0, 7, "b") == [("one ", "b"), ("two", "x")]
    assert slice_pieces(text, spans, 8, 13, "b") == [("three", "x")]


def test_a_wrapped_line_knows_what_joins_it_to_the_line_before() -> None:
    glue = [line.glue for line in layout_paragraph("ab cd\nefghijkl", 5)]
    assert glue == [None, None, ""]
    assert [line.glue for line in layout_paragraph("ab cd", 3)] == [None, " "]


def test_a_text_is_shortened_by_cells() -> None:
    assert shorten("中文字符", 5) == "中文…"
    assert shorten("short", 9) == "short"


def test_a_path_loses_its_beginning() -> None:
    assert shorten_path("src/very/long/path.py", 10) == "…g/path.py"
