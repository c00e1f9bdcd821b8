"""Rows of the Trace: only what is looked at is laid out, and what is seen does not jump."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.tui.render.layout import Moment
from cockpit.tui.state.entries import AnswerEntry, Entry, PromptEntry
from cockpit.tui.trace.document import LinePosition, TraceDocument, find_text

NOW = Moment()


def paragraphs(count: int, words: int = 12) -> str:
    rng = random.Random(1)
    texts = (" ".join(f"w{rng.randint(0, 9999)}" for _ in range(words)) for _ in range(count))
    return "\n\n".join(texts) + "\n\n"


def filled(*texts: str, width: int = 60) -> tuple[TraceDocument, list[Entry]]:
    document, entries = TraceDocument(width), []
    for text in texts:
        entries.append(AnswerEntry([text], True))
    document.sync(entries, list(range(len(entries))))
    return document, entries


def rows(document: TraceDocument, y: int, count: int) -> list[str]:
    return [document.line(row).text for row in range(y, y + count)]


def whole(document: TraceDocument) -> list[str]:
    document.lay_out(0, 10**9, NOW)
    return rows(document, 0, document.height)


def test_the_end_of_a_long_document_is_right_without_laying_out_the_rest() -> None:
    document, _ = filled(paragraphs(5_000))
    document.lay_out_end(30, NOW)
    laid = sum(chunk.exact for chunk in document.sections[0].chunks)
    seen = rows(document, document.height - 30, 30)
    assert laid <= 30
    assert whole(document)[-30:] == seen


def test_visible_rows_stay_when_rows_above_change_their_height() -> None:
    document, _ = filled(paragraphs(300, 40))
    document.lay_out_end(20, NOW)
    y = document.height - 20
    for _ in range(40):
        y = max(0, y - 7)
        below = rows(document, y + 7, 13)
        y += document.lay_out(y, 20, NOW)
        assert rows(document, y + 7, 13) == below


@settings(max_examples=40)
@given(st.lists(st.integers(0, 100), min_size=1, max_size=12))
def test_rows_are_the_same_from_every_scroll_position(percents: list[int]) -> None:
    document, entries = filled(paragraphs(40, 30), "short", paragraphs(20, 9))
    reference = TraceDocument(60)
    reference.sync(entries, [0, 1, 2])
    everything = whole(reference)
    for percent in percents:
        y = document.height * percent // 100
        y += document.lay_out(y, 10, NOW)
        seen = [line for line in rows(document, y, 10) if line]
        assert not seen or any(everything[n : n + 1] == seen[:1] for n in range(len(everything)))
    assert whole(document) == everything


def test_streaming_gives_the_same_rows_as_the_whole_at_once() -> None:
    text = paragraphs(30) + "```python\nx = 1\n```\n\n- a\n- b\n"
    entry = AnswerEntry()
    document = TraceDocument(60)
    for position in range(0, len(text), 17):
        entry.parts.append(text[position : position + 17])
        document.sync([entry], [0])
        document.lay_out_end(20, NOW)
    entry.parts, entry.done = [text], True
    document.sync([entry], [0])
    assert whole(document) == whole(filled(text)[0])


def test_only_rows_from_the_open_paragraph_on_are_drawn_again() -> None:
    entry = AnswerEntry([paragraphs(50)])
    document = TraceDocument(60)
    document.sync([entry], [0])
    document.lay_out_end(40, NOW)
    entry.parts.append("a new word")
    first = document.sync([entry], [0])
    assert first is not None and first >= document.height - 3


def test_a_new_width_lays_out_only_visible_rows() -> None:
    document, _ = filled(paragraphs(3_000))
    document.lay_out_end(30, NOW)
    document.resize(41)
    document.lay_out_end(30, NOW)
    assert sum(chunk.exact for chunk in document.sections[0].chunks) <= 30
    assert all(len(row) <= 41 for row in rows(document, document.height - 30, 30))


def test_a_replaced_answer_is_drawn_from_scratch() -> None:
    entry = AnswerEntry(["one\n\ntwo\n\n"])
    document = TraceDocument(60)
    document.sync([entry], [0])
    entry.parts, entry.replacements, entry.done = ["three"], 1, True
    document.sync([entry], [0])
    assert [row.strip() for row in whole(document)] == ["three"]


def test_a_place_is_found_forwards_and_backwards() -> None:
    document, _ = filled("alpha\n\nneedle one\n\n" + paragraphs(200), "omega needle two")

    def text(place: LinePosition | None) -> str:
        return document.line(document.row_of(place)).text.strip() if place else ""

    last = find_text(document, "needle", None, -1, NOW)
    first = find_text(document, "needle", last, -1, NOW)
    again = find_text(document, "needle", first, 1, NOW)
    assert [text(one) for one in (last, first, again)] == [
        "omega needle two",
        "needle one",
        "omega needle two",
    ]
    assert (
        find_text(document, "needle", again, 1, NOW) is None
        and find_text(document, "needle", first, -1, NOW) is None
    )


def test_entries_of_every_kind_have_rows() -> None:
    document = TraceDocument(60)
    document.sync([PromptEntry("hello")], [0])
    assert any("hello" in row for row in whole(document))


def test_a_long_prompt_is_folded_until_it_is_opened() -> None:
    said = PromptEntry("\n".join(f"line {number}" for number in range(40)))
    document = TraceDocument(60)
    document.sync([said], [0])
    assert document.height < 20 and "more lines" in whole(document)[-1]
    said.expanded = True
    document.sync([said], [0])
    assert sum("line" in row for row in whole(document)) == 40
