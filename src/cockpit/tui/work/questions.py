"""The rows of a question that waits for a person: its options, or the way to its form. Pure."""

from cockpit.protocol.events import QuestionAsked
from cockpit.tui.clean import clean_output, one_line
from cockpit.tui.trace.layout import Piece, paragraph
from cockpit.tui.work.lines import Row, blank, row, title


def question_rows(question: QuestionAsked, width: int) -> list[Row]:
    """What is asked, by whom, and what answers it."""
    bar: list[Piece] = [(" ▌ ", "function/surface")]
    is_form = bool(question.fields or question.url)
    found = [Row(title("FORM" if is_form else "QUESTION", one_line(question.source, 30), "function"))]
    text = clean_output(question.question)
    lines = paragraph(text, width - 1, key="body/surface+b", first=bar, rest=bar, fill="body/surface")
    found += [Row(line) for line in lines]
    if is_form:
        return [*found, blank(), Row(row((" Enter here, or F9, opens it", "person")), "form:")]
    if question.options:
        found.append(blank())
    for number, option in enumerate(question.options, 1):
        first: list[Piece] = [(f"  {number}  ", "person/surface+b")]
        rest: list[Piece] = [("     ", "body/surface")]
        lines = paragraph(
            one_line(option), width - 1, key="body/surface", first=first, rest=rest, fill="body/surface"
        )
        found += [Row(line, f"option:{number - 1}") for line in lines]
    words = "press its number, or write" if question.options else "write the answer, Enter sends it"
    if not question.takes_words:
        words = "press its number; words make a prompt"
    return [*found, blank(), Row(row((f" {words}", "muted")))]
