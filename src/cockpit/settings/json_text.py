"""JSON that people write by hand, with comments and trailing commas, and the line of everything in it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]

STRING = r'"(?:[^"\\\n]|\\.)*"'
COMMENT = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
COMMA = re.compile(rf"({STRING})|,(?=\s*[}}\]])")
TOKEN = re.compile(rf"{STRING}|[\[\]{{}}:,]|[^\s\[\]{{}}:,\"]+")
LONE = re.compile("[\ud800-\udfff]")
SAID = {
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing here",
    "Expecting value": "a value is missing here",
    "Expecting ',' delimiter": "a comma is missing before this",
    "Expecting ':' delimiter": "a colon is missing here",
    "Extra data": "there is more after the end of the value",
    "Unterminated string starting at": "the string that begins here never ends",
}


class JsonBroken(Exception):
    """A text that is no JSON: `reason`, and `line` from 1, 0 where no line is to blame."""

    def __init__(self, reason: str, line: int, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.line, self.remedy = f"this is no JSON: {reason}", line, remedy


def parse(text: str) -> tuple[object, str]:
    """The value of a file's `text`, and the text as strict JSON with every character in its line and
    column. An empty file is an empty table. Raises `JsonBroken`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    plain = _strict(text)
    if not plain.strip():
        return {}, ""
    try:
        value: object = json.loads(plain, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        said = SAID.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        raise JsonBroken(f"{said} (column {error.colno})", error.lineno, "mend the line") from error
    except RecursionError as error:
        raise JsonBroken("it is nested too deeply", 0, "mend the file") from error
    except ValueError as error:
        raise JsonBroken(str(error), 0, "mend the file") from error
    return (_whole(value) if "\\u" in plain else value), plain


def lines(plain: str) -> Mapping[Path, int]:
    """The line of every key (or, in a list, of the value) of a text that `parse` gave back."""
    return dict(_walk(plain))


def _refuse(word: str) -> float:
    raise ValueError(f"`{word}` is no number of JSON")


def _strict(text: str) -> str:
    if "//" in text or "/*" in text:
        text = COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
    return COMMA.sub(lambda found: found[1] or " ", text)


def _whole(value: object) -> object:
    """Half a surrogate pair, which no file can hold, as U+FFFD."""
    if isinstance(value, str):
        return LONE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {str(_whole(key)): _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


def _walk(text: str) -> Iterator[tuple[Path, int]]:
    line, end = 1, 0
    around: list[list[Step | None]] = []
    for found in TOKEN.finditer(text):
        line += text.count("\n", end, found.start())
        end = found.start()
        token = found[0]
        if token in "]}":
            around.pop()
        elif token == ",":
            last = around[-1]
            last[0] = last[0] + 1 if isinstance(last[0], int) else None
        elif token != ":":
            key = bool(around) and around[-1][0] is None
            if key:
                around[-1][0] = str(_whole(json.loads(token)))
            if key or (around and isinstance(around[-1][0], int)):
                yield tuple(cast("Step", one[0]) for one in around), line
            if token in "[{":
                around.append([0 if token == "[" else None])
