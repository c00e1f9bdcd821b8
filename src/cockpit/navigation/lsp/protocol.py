"""What goes wrong with a server. Inside of this room only: callers get `Silent`.

What a server sent, looked at before it is believed. Knows no message, only JSON.

File URIs and paths. Pure functions.

Our columns (from 1, in characters) and a server's (from 0, in units of its encoding). Pure functions.

A line ends at `\n`, `\r\n` or `\r`, as the protocol says (LSP 3.17, Text Documents).
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname


class LspError(Exception):
    """A server did not do what it was asked."""


class LspRequestRefused(LspError):
    """The server answered with an error: its `code` (LSP 3.17, ErrorCodes) and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class LspServerGone(LspError):
    """The server's process has ended, or no longer listens."""


class LspNotSupported(LspError):
    """The server never offered this, or what it offers cannot be used; the message says why."""


METHOD_NOT_FOUND = -32601
CONTENT_MODIFIED = -32801
SERVER_CANCELLED = -32802
RETRY_CODES = (CONTENT_MODIFIED, SERVER_CANCELLED)


JsonObject: TypeAlias = Mapping[str, object]


class MalformedMessage(ValueError):
    """A server's answer has another shape than the protocol says."""


def as_object(value: object) -> JsonObject:
    """`value` as an object. Raises `Misshapen`."""
    if not isinstance(value, dict):
        raise MalformedMessage(f"an object was due, not {_excerpt(value)}")
    return value


def as_list(value: object) -> Sequence[object]:
    """`value` as a list; null is an empty one. Raises `Misshapen`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedMessage(f"a list was due, not {_excerpt(value)}")
    return value


def as_text(value: object) -> str:
    """`value` as a string. Raises `Misshapen`."""
    if not isinstance(value, str):
        raise MalformedMessage(f"a string was due, not {_excerpt(value)}")
    return value


def as_count(value: object) -> int:
    """`value` as a count, 0 or more. Raises `Misshapen`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise MalformedMessage(f"a number was due, not {_excerpt(value)}")
    return value


def get_nested(value: object, *keys: str) -> object:
    """What lies below `keys` in nested objects, None where nothing does."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _excerpt(value: object) -> str:
    return repr(value)[:60]


def path_to_uri(path: str) -> str:
    """The URI of an absolute path."""
    return Path(path).as_uri()


def uri_to_path(uri: str) -> str:
    """The absolute path a `file:` URI names. Raises `Misshapen` for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise MalformedMessage(f"no address: {uri[:80]}") from error
    if parts.scheme != "file":
        raise MalformedMessage(f"no file: {uri[:80]}")
    if os.name == "nt":
        return os.path.normpath(url2pathname(unquote(parts.path)))
    return os.path.normpath(unquote(parts.path))


def display_path(root: str, path: str) -> str:
    """`path` as rows name it: relative to `root` with `/`, absolute where it lies outside."""
    if path == root or not path.startswith(root.rstrip(os.sep) + os.sep):
        return path.replace(os.sep, "/") if os.sep != "/" else path
    below = path[len(root.rstrip(os.sep)) + 1 :]
    return below.replace(os.sep, "/") if os.sep != "/" else below


Encoding = Literal["utf-8", "utf-16", "utf-32"]
LINE_END = re.compile(r"\r\n|\n|\r")


def parse_encoding(value: object) -> Encoding:
    """The encoding a server chose; utf-16 where it says nothing, as the protocol has it."""
    match value:
        case "utf-8" | "utf-32":
            return value
        case _:
            return "utf-16"


def column_to_offset(line: str, column: int, encoding: Encoding) -> int:
    """The server's offset of the character at `column`; a column past the end is the end."""
    before = line[: max(column - 1, 0)]
    if encoding == "utf-32" or before.isascii():
        return len(before)
    if encoding == "utf-8":
        return len(before.encode("utf-8", "replace"))
    return len(before) + sum(one > "\uffff" for one in before)


def offset_to_column(line: str, offset: int, encoding: Encoding) -> int:
    """The column of a server's offset. One past the end is the end, one within a character its start."""
    if encoding == "utf-32" or line.isascii():
        return min(max(offset, 0), len(line)) + 1
    if encoding == "utf-8":
        return len(line.encode("utf-8", "replace")[: max(offset, 0)].decode("utf-8", "ignore")) + 1
    raw = line.encode("utf-16-le", "replace")[: 2 * max(offset, 0)]
    return len(raw.decode("utf-16-le", "ignore")) + 1


def split_lines(text: str) -> list[str]:
    """The lines of a text, without their ends; one more than there are ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def line_starts(text: str) -> list[int]:
    """Where each line starts, in characters."""
    return [0, *(found.end() for found in LINE_END.finditer(text))]
