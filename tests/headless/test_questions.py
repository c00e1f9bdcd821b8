"""A form as lines: every field is shown, and one line answers it."""

import pytest

from cockpit.headless.questions import format_form, format_question, parse_answer
from cockpit.protocol.events import FormField, QuestionAsked
from cockpit.protocol.forms import FormValueInvalid

FIELDS = (FormField("title", "Title", required=True), FormField("draft", "Draft?", "yes_no"))
ASKED = QuestionAsked("q1", "Which issue?", fields=FIELDS, source="MCP server github")
ONE = QuestionAsked("q2", "Name?", fields=FIELDS[:1])
PAGE = QuestionAsked("q3", "Sign in", url="https://login.example/x")


def test_the_fields_are_shown_with_what_they_take() -> None:
    assert format_form(ASKED) == [
        "MCP server github asks:",
        "  title: Title [text], required",
        "  draft: Draft? [yes/no]",
        "  (answer: title=... for each, or one JSON object; `decline`, or `cancel`)",
    ]
    assert "https://login.example/x" in format_form(PAGE)[1]


@pytest.mark.parametrize("line", ['title="a bug" draft=yes', '{"title": "a bug", "draft": true}'])
def test_a_line_or_json_gives_the_values(line: str) -> None:
    answer = parse_answer(ASKED, line, "op", "lines")
    assert (answer.action, answer.values) == ("accept", {"title": "a bug", "draft": True})


def test_one_field_needs_no_name() -> None:
    assert parse_answer(ONE, "Ada Lovelace", "op", "lines").values == {"title": "Ada Lovelace"}


@pytest.mark.parametrize("word", ["decline", "cancel"])
def test_a_form_can_be_declined_and_cancelled(word: str) -> None:
    assert parse_answer(ASKED, word, "op", "lines").action == word
    assert parse_answer(PAGE, word, "op", "lines").action == word


@pytest.mark.parametrize("line", ["a bug", 'title="a', "{title}", "title= draft=yes"])
def test_invalid_answer_says_what_to_write(line: str) -> None:
    with pytest.raises(FormValueInvalid):
        parse_answer(ASKED, line, "op", "lines")


def test_page_question_needs_a_yes() -> None:
    assert parse_answer(PAGE, "yes", "op", "lines").action == "accept"
    with pytest.raises(FormValueInvalid, match="yes once the page is open"):
        parse_answer(PAGE, "what?", "op", "lines")


def test_plugin_question_is_answered_by_number_or_option_only() -> None:
    hooks = QuestionAsked("q4", "May 2 hooks run?", ("Run them", "Leave them out"), source="hooks")
    assert format_question(hooks) == ["? May 2 hooks run?", "  1 Run them", "  2 Leave them out"]
    assert [parse_answer(hooks, line, "op", "lines").text for line in ("2", "run them")] == [
        "Leave them out",
        "Run them",
    ]
    for line in ("explain this project", "3", "", "0"):
        with pytest.raises(FormValueInvalid, match="with a number"):
            parse_answer(hooks, line, "op", "lines")
    model = QuestionAsked("q5", "Which?", ("a", "b"))
    assert parse_answer(model, "neither", "op", "lines").text == "neither"
