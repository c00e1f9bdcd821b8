"""Our columns (from 1, in characters) and a server's (from 0, in units of its encoding). Pure functions.

A line ends at `\\n`, `\\r\\n` or `\\r`, as the protocol says (LSP 3.17, Text Documents).
"""

import re
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
END = re.compile(r"\r\n|\n|\r")


def encoding_of(value: object) -> Encoding:
    """The encoding a server chose; utf-16 where it says nothing, as the protocol has it."""
    match value:
        case "utf-8" | "utf-32":
            return value
        case _:
            return "utf-16"


def units(line: str, column: int, encoding: Encoding) -> int:
    """The server's offset of the character at `column`; a column past the end is the end."""
    before = line[: max(column - 1, 0)]
    if encoding == "utf-32" or before.isascii():
        return len(before)
    if encoding == "utf-8":
        return len(before.encode("utf-8", "replace"))
    return len(before) + sum(one > "\uffff" for one in before)


def column(line: str, offset: int, encoding: Encoding) -> int:
    """The column of a server's offset. One past the end is the end, one within a character its start."""
    if encoding == "utf-32" or line.isascii():
        return min(max(offset, 0), len(line)) + 1
    if encoding == "utf-8":
        return len(line.encode("utf-8", "replace")[: max(offset, 0)].decode("utf-8", "ignore")) + 1
    raw = line.encode("utf-16-le", "replace")[: 2 * max(offset, 0)]
    return len(raw.decode("utf-16-le", "ignore")) + 1


def lines_of(text: str) -> list[str]:
    """The lines of a text, without their ends; one more than there are ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")


def starts_of(text: str) -> list[int]:
    """Where each line starts, in characters."""
    return [0, *(found.end() for found in END.finditer(text))]
