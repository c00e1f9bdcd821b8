"""Making safe what a server says of itself: a model reads it before anybody looked at it.

Escape sequences and characters that nobody sees are taken out of descriptions, and what is too long is
cut. Where they stand in a place that has a meaning (a name, an enum's value), the tool is refused.
"""

import json
from collections.abc import Mapping

from cockpit.protocol.clean import clean, clean_output
from cockpit.protocol.messages import Json

LONGEST_TEXT = 4_000
LONGEST_NOTE = 1_000
LARGEST_SCHEMA = 60_000
DEEPEST = 40
REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
PROSE = frozenset({"description", "title", "$comment", "examples", "markdownDescription"})


class Unsafe(ValueError):
    """A definition that cannot be made safe; the message says where."""


def prose(text: str, most: int = LONGEST_TEXT) -> str:
    """Text of a definition: no escape sequences, nothing invisible, at most `most` characters."""
    safe = clean_output(text[: most * 2]).replace("\ufffd", "").strip()
    return safe if len(safe) <= most else f"{safe[: most - 1].rstrip()}…"


def schema(raw: Mapping[str, Json]) -> dict[str, Json]:
    """A JSON Schema with its prose cleaned. Raises `Unsafe`."""
    out = _table(raw, 0)
    if len(json.dumps(out)) > LARGEST_SCHEMA:
        raise Unsafe(f"its schema is larger than {LARGEST_SCHEMA:,} characters")
    if out.get("type", "object") != "object":
        raise Unsafe("its schema is not one of an object")
    out["type"] = "object"
    return out


def word(text: str, what: str) -> str:
    """`text`, which has a meaning as it stands. Raises `Unsafe` for one that hides something."""
    if clean(text) != text:
        raise Unsafe(f"{what} holds characters that are not seen: {clean(text)[:80]!r}")
    return text


def _table(raw: Mapping[str, Json], depth: int, properties: bool = False) -> dict[str, Json]:
    if depth > DEEPEST:
        raise Unsafe("its schema is nested too deeply")
    out: dict[str, Json] = {}
    for key, value in raw.items():
        word(key, "a name in its schema")
        if key in PROSE and not properties:
            out[key] = _prose(value)
        elif key in REFERENCES and not properties and not str(value).startswith("#"):
            raise Unsafe(f"its schema points to another place: {clean(str(value))[:80]!r}")
        elif isinstance(value, Mapping):
            out[key] = _table(value, depth + 1, key in ("properties", "$defs", "definitions"))
        elif isinstance(value, list):
            out[key] = [_one(one, depth + 1) for one in value]
        else:
            out[key] = _one(value, depth)
    return out


def _one(value: Json, depth: int) -> Json:
    if isinstance(value, Mapping):
        return _table(value, depth + 1)
    if isinstance(value, list):
        return [_one(one, depth + 1) for one in value] if depth < DEEPEST else []
    return word(value, "a value in its schema") if isinstance(value, str) else value


def _prose(value: Json) -> Json:
    if isinstance(value, str):
        return prose(value, LONGEST_NOTE)
    return (
        prose(json.dumps(value, ensure_ascii=False), LONGEST_NOTE)
        if isinstance(value, list | dict)
        else value
    )
