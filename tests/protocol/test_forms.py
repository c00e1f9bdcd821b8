"""Text entered into a form becomes a value of the field's kind, or an error that names valid input."""

import pytest

from cockpit.protocol.events import FormField
from cockpit.protocol.forms import FormValueInvalid, parse_value, parse_values
from cockpit.protocol.messages import Json

SIZES = FormField("size", "Size", "choice", options=("s", "m"), labels=("small", "medium"))
TAGS = FormField("tags", "Tags", "choices", options=("red", "blue"))


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (FormField("a", ""), "  words  ", "words"),
        (FormField("a", ""), "", None),
        (FormField("a", "", default="x"), " ", "x"),
        (FormField("a", "", "integer"), "42", 42),
        (FormField("a", "", "number"), "1.5", 1.5),
        (FormField("a", "", "yes_no"), "No", False),
        (FormField("a", "", "yes_no"), "yes", True),
        (SIZES, "m", "m"),
        (SIZES, "small", "s"),
        (SIZES, "2", "m"),
        (TAGS, "red, 2", ["red", "blue"]),
    ],
)
def test_valid_text_becomes_a_value(field: FormField, text: str, value: Json) -> None:
    assert parse_value(field, text) == value


@pytest.mark.parametrize(
    ("field", "text", "says"),
    [
        (FormField("a", "", required=True), "", "a value is required"),
        (FormField("a", "", "integer"), "1.5", "whole number"),
        (FormField("a", "", "integer"), "nan", "number"),
        (FormField("a", "", "number"), "much", "number"),
        (FormField("a", "", "yes_no"), "perhaps", "yes or no"),
        (SIZES, "large", "s, m"),
        (TAGS, "red, green", "red, blue"),
    ],
)
def test_invalid_text_names_valid_input(field: FormField, text: str, says: str) -> None:
    with pytest.raises(FormValueInvalid, match=says):
        parse_value(field, text)


def test_an_error_names_the_field_and_empty_fields_are_left_out() -> None:
    fields = (FormField("name", "Name", required=True), FormField("age", "Age", "integer"))
    assert parse_values(fields, {"name": "Ada"}) == {"name": "Ada"}
    with pytest.raises(FormValueInvalid, match="age: enter a whole number"):
        parse_values(fields, {"name": "Ada", "age": "1.5"})
