"""The vocabulary of the Language Server Protocol: errors, checked JSON shapes, file URIs, and positions.

Our columns count characters from 1; a server's count units of its encoding from 0. A line ends at `\\n`,
`\\r\\n` or `\\r` (LSP 3.17, Text Documents). Pure functions.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

METHOD_NOT_FOUND = -32601
CONTENT_MODIFIED = -32801
SERVER_CANCELLED = -32802
RETRY_CODES = (CONTENT_MODIFIED, SERVER_CANCELLED)
LINE_END = re.compile(r"\r\n|\n|\r")


class LspError(Exception):
    """A request failed. Internal to this package: callers get `NoAnswer`."""


class LspRequestRefused(LspError):
    """The server answered with an error: `code` (LSP 3.17, ErrorCodes) and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class LspServerGone(LspError):
    """The server's process has ended or no longer listens."""


class LspNotSupported(LspError):
    """The server does not offer this, or its offer cannot be used; the message says why."""


JsonObject: TypeAlias = Mapping[str, object]


class MalformedMessage(ValueError):
    """A server's message does not have the shape that the protocol defines."""


def as_object(value: object) -> JsonObject:
    """`value` as an object. Raises `MalformedMessage`."""
    if not isinstance(value, dict):
        raise MalformedMessage(f"expected an object, not {_excerpt(value)}")
    return value


def as_list(value: object) -> Sequence[object]:
    """`value` as a list; null is an empty list. Raises `MalformedMessage`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedMessage(f"expected a list, not {_excerpt(value)}")
    return value


def as_text(value: object) -> str:
    """`value` as a string. Raises `MalformedMessage`."""
    if not isinstance(value, str):
        raise MalformedMessage(f"expected a string, not {_excerpt(value)}")
    return value


def as_count(value: object) -> int:
    """`value` as a number, 0 or more. Raises `MalformedMessage`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise MalformedMessage(f"expected a number, not {_excerpt(value)}")
    return value


def get_nested(value: object, *keys: str) -> object:
    """The value below `keys` in nested objects; None if there is none."""
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
    """The absolute path of a `file:` URI. Raises `MalformedMessage` for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise MalformedMessage(f"invalid URI: {uri[:80]}") from error
    if parts.scheme != "file":
        raise MalformedMessage(f"not a file URI: {uri[:80]}")
    if os.name == "nt":
        return os.path.normpath(url2pathname(unquote(parts.path)))
    return os.path.normpath(unquote(parts.path))


def display_path(root: str, path: str) -> str:
    """`path` as it appears in rows: relative to `root` with `/`, absolute if it is outside."""
    if path == root or not path.startswith(root.rstrip(os.sep) + os.sep):
        return path.replace(os.sep, "/") if os.sep != "/" else path
    below = path[len(root.rstrip(os.sep)) + 1 :]
    return below.replace(os.sep, "/") if os.sep != "/" else below


Encoding = Literal["utf-8", "utf-16", "utf-32"]


def parse_encoding(value: object) -> Encoding:
    """The encoding a server chose; utf-16 if it does not say, as the protocol defines."""
    match value:
        case "utf-8" | "utf-32":
            return value
        case _:
            return "utf-16"


def column_to_offset(line: str, column: int, encoding: Encoding) -> int:
    """The server's offset of the character at `column`; a column past the end means the end."""
    before = line[: max(column - 1, 0)]
    if encoding == "utf-32" or before.isascii():
        return len(before)
    if encoding == "utf-8":
        return len(before.encode("utf-8", "replace"))
    return len(before) + sum(character > "\uffff" for character in before)


def offset_to_column(line: str, offset: int, encoding: Encoding) -> int:
    """The column of a server's offset. Past the end it is the end, within a character its start."""
    if encoding == "utf-32" or line.isascii():
        return min(max(offset, 0), len(line)) + 1
    if encoding == "utf-8":
        return len(line.encode("utf-8", "replace")[: max(offset, 0)].decode("utf-8", "ignore")) + 1
    raw = line.encode("utf-16-le", "replace")[: 2 * max(offset, 0)]
    return len(raw.decode("utf-16-le", "ignore")) + 1


def line_starts(text: str) -> list[int]:
    """The offset at which each line starts, in characters."""
    return [0, *(match.end() for match in LINE_END.finditer(text))]
