"""In which line of a TOML file each key stands: nested tables, arrays of tables, dotted keys, inline tables.

The text is known to be TOML (tomllib has read it), so this only has to find its way.

JSON that people write by hand, with comments and trailing commas, and the line of everything in it.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

TomlStep: TypeAlias = str | int
TOML_TOKEN = re.compile(
    r'(?P<text>"""(?:\\.|(?!""").)*"""(?:"{0,2})|\'\'\'(?:(?!\'\'\').)*\'\'\'(?:\'{0,2})'
    r'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<comment>\#[^\n]*)|(?P<sign>[\n\[\]{}=,.])|(?P<bare>[^\s\[\]{}=,.\#\"']+)",
    re.DOTALL,
)
VALUE_ENDS = ("\n", ",", "]", "}", "")


def find_toml_lines(text: str) -> Mapping[tuple[TomlStep, ...], int]:
    """The line, counted from 1, of every path of keys (and of positions in lists)."""
    reading = _TomlWalk(_tokenize_toml(text))
    while reading.peek:
        reading.statement()
    return reading.found


def find_toml_error_line(error: tomllib.TOMLDecodeError, text: str) -> int:
    """The line tomllib complains about: the last one where the text ends too soon."""
    found = re.search(r"at line (\d+)", str(error))
    return int(found[1]) if found else text.rstrip().count("\n") + 1


def _tokenize_toml(text: str) -> list[tuple[str, int]]:
    made: list[tuple[str, int]] = []
    line, end = 1, 0
    for found in TOML_TOKEN.finditer(text.removeprefix("\ufeff").replace("\r\n", "\n")):
        line += found.string.count("\n", end, found.start())
        end = found.start()
        if found["comment"] is None:
            made.append((found[0], line))
    return made


@dataclass
class _TomlWalk:
    """A walk over the tokens: `around` is the table whose header stood last."""

    tokens: list[tuple[str, int]]
    at: int = 0
    around: tuple[TomlStep, ...] = ()
    found: dict[tuple[TomlStep, ...], int] = field(default_factory=dict)
    counts: Counter[tuple[TomlStep, ...]] = field(default_factory=Counter)

    @property
    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def line(self) -> int:
        return self.tokens[min(self.at, len(self.tokens) - 1)][1]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][0]

    def statement(self) -> None:
        if self.peek == "\n":
            self.take()
        elif self.peek == "[":
            self._header()
        else:
            self._pair(self.around)

    def _header(self) -> None:
        line = self.line
        self.take()
        is_list = self.peek == "["
        if is_list:
            self.take()
        keys = self._key("]")
        self.at += 2 if is_list else 1
        self.around = ()
        for place, key in enumerate(keys):
            self.around = (*self.around, key)
            self.found.setdefault(self.around, line)
            if is_list and place == len(keys) - 1:
                self.counts[self.around] += 1
            if self.counts[self.around]:
                self.around = (*self.around, self.counts[self.around] - 1)
        self.found.setdefault(self.around, line)

    def _pair(self, around: tuple[TomlStep, ...]) -> None:
        line = self.line
        path = around
        for key in self._key("="):
            path = (*path, key)
            self.found.setdefault(path, line)
        self.take()
        self._value(path)

    def _key(self, end: str) -> list[str]:
        keys: list[str] = []
        while self.peek != end:
            token = self.take()
            if token != ".":
                keys.append(_parse_toml_key(token))
        return keys

    def _value(self, path: tuple[TomlStep, ...]) -> None:
        if self.peek == "{":
            self._within("}", path)
        elif self.peek == "[":
            self._within("]", path)
        else:
            while self.peek not in VALUE_ENDS:
                self.take()

    def _within(self, end: str, path: tuple[TomlStep, ...]) -> None:
        self.take()
        place = 0
        while self.peek != end:
            if self.peek in ("\n", ","):
                self.take()
            elif end == "}":
                self._pair(path)
            else:
                self.found[(*path, place)] = self.line
                self._value((*path, place))
                place += 1
        self.take()


def _parse_toml_key(token: str) -> str:
    if token[0] == '"':
        return str(tomllib.loads(f"x = {token}")["x"])
    return token[1:-1] if token[0] == "'" else token


PathStep: TypeAlias = str | int
ValuePath: TypeAlias = tuple[PathStep, ...]

JSON_STRING = r'"(?:[^"\\\n]|\\.)*"'
JSON_COMMENT = re.compile(rf"({JSON_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
TRAILING_COMMA = re.compile(rf"({JSON_STRING})|,(?=\s*[}}\]])")
JSON_TOKEN = re.compile(rf"{JSON_STRING}|[\[\]{{}}:,]|[^\s\[\]{{}}:,\"]+")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
JSON_MESSAGES = {
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing here",
    "Expecting value": "a value is missing here",
    "Expecting ',' delimiter": "a comma is missing before this",
    "Expecting ':' delimiter": "a colon is missing here",
    "Extra data": "there is more after the end of the value",
    "Unterminated string starting at": "the string that begins here never ends",
}


class InvalidJson(Exception):
    """A text that is no JSON: `reason`, and `line` from 1, 0 where no line is to blame."""

    def __init__(self, reason: str, line: int, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.line, self.remedy = f"this is no JSON: {reason}", line, remedy


def parse_json(text: str) -> tuple[object, str]:
    """The value of a file's `text`, and the text as strict JSON with every character in its line and
    column. An empty file is an empty table. Raises `JsonBroken`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    plain = _make_strict(text)
    if not plain.strip():
        return {}, ""
    try:
        value: object = json.loads(plain, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        said = JSON_MESSAGES.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        raise InvalidJson(f"{said} (column {error.colno})", error.lineno, "mend the line") from error
    except RecursionError as error:
        raise InvalidJson("it is nested too deeply", 0, "mend the file") from error
    except ValueError as error:
        raise InvalidJson(str(error), 0, "mend the file") from error
    return (_replace_surrogates(value) if "\\u" in plain else value), plain


def find_json_lines(plain: str) -> Mapping[ValuePath, int]:
    """The line of every key (or, in a list, of the value) of a text that `parse` gave back."""
    return dict(_walk_json(plain))


def _refuse_constant(word: str) -> float:
    raise ValueError(f"`{word}` is no number of JSON")


def _make_strict(text: str) -> str:
    if "//" in text or "/*" in text:
        text = JSON_COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
    return TRAILING_COMMA.sub(lambda found: found[1] or " ", text)


def _replace_surrogates(value: object) -> object:
    """Half a surrogate pair, which no file can hold, as U+FFFD."""
    if isinstance(value, str):
        return LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {str(_replace_surrogates(key)): _replace_surrogates(one) for key, one in value.items()}
    return [_replace_surrogates(one) for one in value] if isinstance(value, list) else value


def _walk_json(text: str) -> Iterator[tuple[ValuePath, int]]:
    line, end = 1, 0
    around: list[list[PathStep | None]] = []
    for found in JSON_TOKEN.finditer(text):
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
                around[-1][0] = str(_replace_surrogates(json.loads(token)))
            if key or (around and isinstance(around[-1][0], int)):
                yield tuple(cast("PathStep", one[0]) for one in around), line
            if token in "[{":
                around.append([0 if token == "[" else None])
