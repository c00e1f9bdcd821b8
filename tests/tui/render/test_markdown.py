"""Markdown as it streams, and how it is drawn."""

from hypothesis import given
from hypothesis import strategies as st
from tests.support.scenes import ANSWER

from cockpit.tui.render.blocks import draw_markdown
from cockpit.tui.render.layout import cell_width
from cockpit.tui.render.markdown import MarkdownPart, MarkdownSplitter, parse_inline

SOURCE = """# Title
Hello *world* and **bold**
more.

- one
- two
  - nested
    goes on
1. first

   para in list
   ```python
   def f():
       return 1
   ```

| a | b |
|---|--:|
| 1 | 2 |

> quote

Setext
======
---
    indented
end
"""


def split(source: str, *sizes: int) -> list[MarkdownPart]:
    splitter, position = MarkdownSplitter(), 0
    for size in sizes:
        splitter.feed(source[position : position + size])
        splitter.peek()
        position += size
    splitter.feed(source[position:])
    splitter.close()
    return splitter.done


def drawn(source: str, width: int = 60) -> list[str]:
    return [line.text.rstrip() for line in draw_markdown(source, width, 3)]


def test_every_kind_of_block_is_recognised() -> None:
    kinds = [part.kind for part in split(SOURCE)]
    assert kinds == [
        "heading", "paragraph", "bullet", "bullet", "bullet", "bullet", "paragraph", "code", "table", "quote",
        "heading", "rule", "code", "paragraph",
    ]  # fmt: skip


@given(st.lists(st.integers(1, 30), max_size=60))
def test_the_parts_do_not_depend_on_how_the_source_arrives(sizes: list[int]) -> None:
    assert split(SOURCE, *sizes) == split(SOURCE)


@given(st.text(alphabet="#*-`|>_ \n1.ab", max_size=200), st.lists(st.integers(1, 9), max_size=20))
def test_no_source_breaks_the_splitter(source: str, sizes: list[int]) -> None:
    assert split(source, *sizes) == split(source)
    for width in (1, 20, 80):
        draw_markdown(source, width, 3)


def test_a_peek_changes_nothing() -> None:
    splitter = MarkdownSplitter()
    splitter.feed("para\n- item")
    assert [part.kind for part in splitter.peek()] == ["paragraph", "bullet"]
    assert not splitter.done
    splitter.feed(" more")
    splitter.close()
    assert [part.lines for part in splitter.done] == [["para"], ["item more"]]


def test_a_finished_part_is_never_touched_again() -> None:
    splitter = MarkdownSplitter()
    splitter.feed("one\n\ntwo\n\n")
    first = splitter.done[0]
    splitter.feed("three\n\n")
    assert splitter.done[0] is first and first.lines == ["one"]


def test_half_a_fence_is_not_drawn() -> None:
    splitter = MarkdownSplitter()
    splitter.feed("text\n\n``")
    assert splitter.peek() == []


def test_a_long_code_block_is_cut_where_a_line_is_blank() -> None:
    body = "\n\n".join(f"def f{n}():\n    return {n}" for n in range(100))
    parts = split(f"```python\n{body}\n```\nend")
    assert len(parts) > 3 and all(part.kind == "code" for part in parts[:-1])
    assert "\n".join(part.text for part in parts[:-1]) == body


def test_a_number_does_not_begin_a_list_inside_a_paragraph() -> None:
    assert [part.kind for part in split("It was the year\n1984. Nobody knew.")] == ["paragraph"]


def test_emphasis_code_and_links() -> None:
    text, spans = parse_inline("a *b* **c** `d*e` [f](http://g) ~~h~~")
    assert text == "a b c d*e f (http://g) h"
    assert [text[s.start : s.end] for s in spans] == ["b", "c", "d*e", "f", " (http://g)", "h"]
    assert [s.key for s in spans] == ["body+i", "body+b", "code", "link", "faint", "body+s"]


def test_words_with_underscores_and_stars_stay_as_they_are() -> None:
    for source in ("snake_case_name", "2*3*4", "**unclosed", "a * b * c", "_", "f(*args, **kwargs)"):
        assert parse_inline(source)[0] == source


def test_a_place_in_a_file_is_marked() -> None:
    text, spans = parse_inline("see src/app.py:12 and (lib/x.ts:3:4), not 12:30")
    assert [text[s.start : s.end] for s in spans] == ["src/app.py:12", "lib/x.ts:3:4"]


def test_an_address_ends_before_punctuation() -> None:
    text, spans = parse_inline("see https://example.org/a(b)。 Then")
    assert [text[s.start : s.end] for s in spans] == ["https://example.org/a(b"]


def test_lists_hang_and_nest() -> None:
    lines = drawn("- one two three four five six\n  - inner\n1. first", 22)
    assert lines == ["   • one two three", "     four five six", "     ◦ inner", "   1. first"]


def test_a_task_list_has_boxes() -> None:
    assert drawn("- [ ] open\n- [x] done") == ["   ☐ open", "   ☑ done"]


def test_a_table_has_even_columns() -> None:
    lines = drawn("| a | bb |\n|:--|--:|\n| long cell | 1 |\n| x | 中文 |")
    assert len({cell_width(line) for line in lines[:1] + lines[2:]}) <= 2
    assert lines[0].strip() == "a         │   bb" and "─┼─" in lines[1]


def test_a_table_too_wide_wraps_its_cells() -> None:
    lines = drawn("| a | b |\n|---|---|\n| " + "word " * 20 + "| x |", 40)
    assert len(lines) > 4 and all(cell_width(line) <= 40 for line in lines)


def test_hard_breaks_and_soft_breaks() -> None:
    assert drawn("one\ntwo  \nthree") == ["   one two", "   three"]


def test_nothing_is_wider_than_the_screen() -> None:
    for width in (20, 33, 60, 100):
        lines = draw_markdown(ANSWER, width, 3)
        assert all(cell_width(line.text) <= width for line in lines)
