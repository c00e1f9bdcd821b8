"""JSON files that people write by hand: with comments, trailing commas, a byte order mark, and with the
line of every key, so that a message can say where.

located = load(text, ".mcp.json")
located.table("mcpServers")
located.line("mcpServers", "files", "command")
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, cast

from cockpit.plugin.origin import Fault
from cockpit.protocol.messages import Json

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


@dataclass(frozen=True)
class Located:
    """The value of one file, None where it could not be read: then `faults` says why.

    A path is keys and positions in lists: `("hooks", "Stop", 0, "hooks", 1)`.
    """

    file: str
    value: Json = None
    faults: tuple[Fault, ...] = ()
    plain: str = field(default="", repr=False)

    def at(self, *path: Step) -> Json:
        """The value at `path`, None where there is none."""
        value = self.value
        for step in path:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
                value = value[step]
            else:
                return None
        return value

    def table(self, *path: Step) -> Mapping[str, Json]:
        """The table at `path`, empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, dict) else {}

    def rows(self, *path: Step) -> list[Json]:
        """The list at `path`, empty where there is none."""
        value = self.at(*path)
        return value if isinstance(value, list) else []

    def line(self, *path: Step) -> int:
        """The line of the key (or, in a list, of the value) at `path`, counted from 1; of what is around it
        where it is not there; 0 where the file has no such table at all."""
        for end in range(len(path), 0, -1):
            if found := self._lines.get(path[:end]):
                return found
        return 0

    def fault(self, path: Path, reason: str, remedy: str) -> Fault:
        """A fault at the line of `path`."""
        return Fault(self.file, self.line(*path), reason, remedy)

    @cached_property
    def _lines(self) -> Mapping[Path, int]:
        return dict(_walk(self.plain)) if self.value is not None else {}


def load(text: str, file: str) -> Located:
    """Read the text of `file`. Raises nothing: what cannot be read becomes a fault. An empty file is an
    empty table."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    plain = _strict(text)
    if not plain.strip():
        return Located(file, {})
    try:
        value = json.loads(plain, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        said = SAID.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        fault = Fault(file, error.lineno, f"this is no JSON: {said} (column {error.colno})", "mend the line")
        return Located(file, faults=(fault,))
    except (ValueError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Located(file, faults=(Fault(file, 0, f"this is no JSON: {said}", "mend the file"),))
    return Located(file, cast("Json", _whole(value) if "\\u" in plain else value), plain=plain)


def _refuse(word: str) -> float:
    raise ValueError(f"`{word}` is no number of JSON")


def _strict(text: str) -> str:
    """The text without comments and trailing commas, every character left in its line and column."""
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
    """Every path of a text that is known to be JSON, with its line."""
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
