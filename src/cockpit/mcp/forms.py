"""From the schema of a question (the flat subset of JSON Schema that the protocol allows) to a form, and
from a person's answer to what the server is told. Pure; knows no SDK."""

from collections.abc import Mapping
from typing import Literal

from cockpit.mcp.cleaning import prose
from cockpit.plugin.context import FormAnswer
from cockpit.protocol.asking import FormField
from cockpit.protocol.clean import clean
from cockpit.protocol.messages import Json

Kind = Literal["text", "number", "integer", "yes_no", "choice", "choices"]
KINDS: Mapping[str, Kind] = {"number": "number", "integer": "integer", "boolean": "yes_no"}
MOST = 40


def fields_of(schema: Mapping[str, Json]) -> tuple[FormField, ...]:
    """The fields that a form asks for, in the schema's order. One whose name hides characters is asked of
    nobody."""
    properties = _table(schema.get("properties"))
    required = schema.get("required")
    names = {one for one in required if isinstance(one, str)} if isinstance(required, list) else set()
    rows = [(name, one) for name, one in properties.items() if clean(name) == name][:MOST]
    return tuple(_field(name, _table(one), name in names) for name, one in rows)


def filled(answer: FormAnswer, fields: tuple[FormField, ...]) -> dict[str, Json]:
    """What the server is told of an accepted form: defaults stand where nothing was entered."""
    values: dict[str, Json] = {}
    for field in fields:
        value = answer.values.get(field.name)
        value = field.default if value is None or value == "" else value
        if value is not None:
            values[field.name] = value
    return values


def _field(name: str, one: Mapping[str, Json], required: bool) -> FormField:
    shown = one.get("items") if one.get("type") == "array" else one
    options, labels = _choices(_table(shown))
    kind: Kind = KINDS.get(str(one.get("type")), "text")
    if one.get("type") == "array":
        kind = "choices"
    elif options:
        kind = "choice"
    return FormField(
        name=name,
        label=prose(str(one.get("title") or name), 200),
        kind=kind,
        required=required,
        options=options,
        labels=labels,
        default=one.get("default"),
        note=_note(one),
    )


def _choices(one: Mapping[str, Json]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The values a field may have, and their words where they differ (`enumNames`, `oneOf`, `anyOf`)."""
    titled = one.get("oneOf") or one.get("anyOf")
    if isinstance(titled, list):
        rows = [row for row in titled if isinstance(row, dict) and isinstance(row.get("const"), str)]
        rows = [row for row in rows if clean(str(row["const"])) == row["const"]]
        values = tuple(str(row["const"]) for row in rows)
        return values, tuple(prose(str(row.get("title") or row["const"]), 200) for row in rows)
    given = one.get("enum")
    values = tuple(str(value) for value in given) if isinstance(given, list) else ()
    if any(clean(value) != value for value in values):
        return tuple(value for value in values if clean(value) == value), ()
    names = one.get("enumNames")
    if not isinstance(names, list) or len(names) != len(values):
        return values, ()
    return values, tuple(prose(str(name), 200) for name in names)


def _note(one: Mapping[str, Json]) -> str:
    """What else a person should know: the description, then the bounds."""
    words = [prose(str(one["description"]), 500)] if one.get("description") else []
    if one.get("format"):
        words.append(prose(str(one["format"]), 40))
    low, high = one.get("minimum", one.get("minLength")), one.get("maximum", one.get("maxLength"))
    unit = " characters" if "minLength" in one or "maxLength" in one else ""
    if low is not None and high is not None:
        words.append(f"{low} to {high}{unit}")
    elif low is not None or high is not None:
        words.append(f"at least {low}{unit}" if low is not None else f"at most {high}{unit}")
    return "; ".join(words)


def _table(value: object) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
