"""Turns what the user entered into a form field into a value: one rule for every frontend."""

import math
from collections.abc import Mapping

from cockpit.protocol.events import FormField
from cockpit.protocol.messages import Json

TRUE = frozenset({"yes", "y", "true", "on", "1"})
FALSE = frozenset({"no", "n", "false", "off", "0"})


class FormValueInvalid(ValueError):
    """The text entered is not valid; the message says what would be."""


def parse_value(field: FormField, text: str) -> Json:
    """The value of `text` for `field`, None if it may stay empty. Raises `FormValueInvalid`."""
    text = text.strip()
    if not text:
        return _empty_value(field)
    match field.kind:
        case "text":
            return text
        case "number" | "integer":
            return _number(text, field.kind == "integer")
        case "yes_no":
            if text.lower() not in TRUE | FALSE:
                raise FormValueInvalid("answer yes or no")
            return text.lower() in TRUE
        case "choice":
            return _option(field, text)
        case "choices":
            return [_option(field, word.strip()) for word in text.split(",") if word.strip()]


def parse_values(fields: tuple[FormField, ...], texts: Mapping[str, str]) -> dict[str, Json]:
    """The values by name without those left empty. Raises `FormValueInvalid`, naming the field."""
    values: dict[str, Json] = {}
    for field in fields:
        try:
            value = parse_value(field, texts.get(field.name, ""))
        except FormValueInvalid as error:
            raise FormValueInvalid(f"{field.name}: {error}") from None
        if value is not None:
            values[field.name] = value
    return values


def _empty_value(field: FormField) -> Json:
    if field.required and field.default is None:
        raise FormValueInvalid("a value is required")
    return field.default


def _number(text: str, whole: bool) -> Json:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FormValueInvalid("enter a number")
    if not whole:
        return number
    if not number.is_integer():
        raise FormValueInvalid("enter a whole number")
    return int(number)


def _option(field: FormField, text: str) -> str:
    """An option by its name, its label or its position in the list (from 1)."""
    for names in (field.options, field.labels):
        if text in names:
            return field.options[names.index(text)]
    if text.isdigit() and 0 < int(text) <= len(field.options):
        return field.options[int(text) - 1]
    raise FormValueInvalid(f"choose from {', '.join(field.options)}")
