"""Lines of JSON that a command is fed, one at a time, and text that is safe to show on a terminal."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Row:
    """A line with an id and a text; `fault` says why it has none."""

    number: int
    id: str | int = ""
    text: str = ""
    fault: str = ""


def rows(stream: TextIO, key: str) -> Iterator[Row]:
    """The rows of `stream` whose text is under `key`. Empty lines are passed over."""
    for number, line in enumerate(stream, 1):
        if line.strip():
            yield _row(number, line, key)


def _row(number: int, line: str, key: str) -> Row:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Row(number, fault=f"it is no JSON ({error})")
    if not isinstance(value, dict):
        return Row(number, fault=f'it is no object; write {{"id": "1", "{key}": "..."}}')
    id, text = value.get("id"), value.get(key)
    if not isinstance(id, str | int) or isinstance(id, bool):
        return Row(number, fault='its "id" is no text')
    if not isinstance(text, str):
        return Row(number, fault=f'its "{key}" is no text')
    return Row(number, id, text)


def said(text: str) -> str:
    """`text` with what a terminal would act on, or nobody would see, written as an escape."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
