"""In which line of a TOML file each key stands: nested tables, arrays of tables, dotted keys, inline tables.

The text is known to be TOML (tomllib has read it), so this only has to find its way.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Step: TypeAlias = str | int
TOKEN = re.compile(
    r'(?P<text>"""(?:\\.|(?!""").)*"""(?:"{0,2})|\'\'\'(?:(?!\'\'\').)*\'\'\'(?:\'{0,2})'
    r'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<comment>\#[^\n]*)|(?P<sign>[\n\[\]{}=,.])|(?P<bare>[^\s\[\]{}=,.\#\"']+)",
    re.DOTALL,
)
CLOSING = ("\n", ",", "]", "}", "")


def lines(text: str) -> Mapping[tuple[Step, ...], int]:
    """The line, counted from 1, of every path of keys (and of positions in lists)."""
    reading = _Reading(_tokens(text))
    while reading.peek:
        reading.statement()
    return reading.found


def broken_line(error: tomllib.TOMLDecodeError, text: str) -> int:
    """The line tomllib complains about: the last one where the text ends too soon."""
    found = re.search(r"at line (\d+)", str(error))
    return int(found[1]) if found else text.rstrip().count("\n") + 1


def _tokens(text: str) -> list[tuple[str, int]]:
    made: list[tuple[str, int]] = []
    line, end = 1, 0
    for found in TOKEN.finditer(text.removeprefix("\ufeff").replace("\r\n", "\n")):
        line += found.string.count("\n", end, found.start())
        end = found.start()
        if found["comment"] is None:
            made.append((found[0], line))
    return made


@dataclass
class _Reading:
    """A walk over the tokens: `around` is the table whose header stood last."""

    tokens: list[tuple[str, int]]
    at: int = 0
    around: tuple[Step, ...] = ()
    found: dict[tuple[Step, ...], int] = field(default_factory=dict)
    counts: Counter[tuple[Step, ...]] = field(default_factory=Counter)

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

    def _pair(self, around: tuple[Step, ...]) -> None:
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
                keys.append(_plain(token))
        return keys

    def _value(self, path: tuple[Step, ...]) -> None:
        if self.peek == "{":
            self._within("}", path)
        elif self.peek == "[":
            self._within("]", path)
        else:
            while self.peek not in CLOSING:
                self.take()

    def _within(self, end: str, path: tuple[Step, ...]) -> None:
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


def _plain(token: str) -> str:
    if token[0] == '"':
        return str(tomllib.loads(f"x = {token}")["x"])
    return token[1:-1] if token[0] == "'" else token
