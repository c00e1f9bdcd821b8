"""Hand-written TOML and JSON: parsing, and the line of every key and list item for messages.

The lines come from the tree-sitter grammars, which are imported at the first look-up. Texts given to the line
finders have been parsed before, so they are valid.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node

PathStep: TypeAlias = str | int
ValuePath: TypeAlias = tuple[PathStep, ...]

JSON_STRING = r'"(?:[^"\\\n]|\\.)*"'
JSON_COMMENT = re.compile(rf"({JSON_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
TRAILING_COMMA = re.compile(rf"({JSON_STRING})|,(?=\s*[}}\]])")
# The grammar does not know the plus sign of `1e+5`.
EXPONENT_PLUS = re.compile(rf"({JSON_STRING})|(?<=\d[eE])\+")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
JSON_MESSAGES = {
    "Expecting property name enclosed in double quotes": "expected a key in double quotes here",
    "Expecting value": "expected a value here",
    "Expecting ',' delimiter": "expected a comma before this",
    "Expecting ':' delimiter": "expected a colon here",
    "Extra data": "unexpected text after the end of the value",
    "Unterminated string starting at": "the string that begins here has no end",
}


class InvalidJson(Exception):
    """The text is not JSON. `line` counts from 1; 0 means that no single line is at fault."""

    def __init__(self, reason: str, line: int, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.line, self.remedy = f"invalid JSON: {reason}", line, remedy


def parse_json(text: str) -> tuple[object, str]:
    """Parse JSON that may hold comments and trailing commas.

    Returns the value and the text as strict JSON, with every character in its old line and column. An empty
    text is an empty table. Raises `InvalidJson`.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "//" in text or "/*" in text:
        text = JSON_COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)
    plain = TRAILING_COMMA.sub(lambda match: match[1] or " ", text)
    if not plain.strip():
        return {}, ""
    try:
        value: object = json.loads(plain, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        reason = JSON_MESSAGES.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        raise InvalidJson(f"{reason} (column {error.colno})", error.lineno, "fix the line") from error
    except RecursionError as error:
        raise InvalidJson("it is nested too deeply", 0, "fix the file") from error
    except ValueError as error:
        raise InvalidJson(str(error), 0, "fix the file") from error
    return (_replace_surrogates(value) if "\\u" in plain else value), plain


def _refuse_constant(word: str) -> float:
    raise ValueError(f"`{word}` is not a JSON number")


def _replace_surrogates(value: object) -> object:
    """Replace half surrogate pairs, which no file can hold, by U+FFFD."""
    if isinstance(value, str):
        return LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {str(_replace_surrogates(key)): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=8)
def find_json_lines(plain: str) -> Mapping[ValuePath, int]:
    """Map the path of every key and list item to its line, in a text that `parse_json` returned."""
    if "+" in plain:
        plain = EXPONENT_PLUS.sub(lambda match: match[1] or "0", plain)
    lines: dict[ValuePath, int] = {}
    for value in _content(_parse_tree(plain, "tree_sitter_json")):
        for path, line in _walk_lines(value, (), _json_keys):
            # Of a key that is written twice the last value counts.
            lines[path] = line
    return lines


@lru_cache(maxsize=8)
def find_toml_lines(text: str) -> Mapping[ValuePath, int]:
    """Map the path of every key and list item of a valid TOML text to its line, counted from 1."""
    lines: dict[ValuePath, int] = {}
    table_counts: Counter[ValuePath] = Counter()
    for child in _content(_parse_tree(text.removeprefix("\ufeff").replace("\r\n", "\n"), "tree_sitter_toml")):
        path: ValuePath = ()
        pairs = [child]
        if child.type != "pair":
            header, *pairs = _content(child)
            line = child.start_point.row + 1
            keys = _toml_keys(header)
            for depth, key in enumerate(keys, start=1):
                path = (*path, key)
                lines.setdefault(path, line)
                if child.type == "table_array_element" and depth == len(keys):
                    table_counts[path] += 1
                if table_counts[path]:
                    path = (*path, table_counts[path] - 1)
            lines.setdefault(path, line)
        for pair in pairs:
            for inner, line in _walk_lines(pair, path, _toml_keys):
                # A table that dotted keys make begins where its first key is.
                lines.setdefault(inner, line)
    return lines


def find_toml_error_line(error: tomllib.TOMLDecodeError, text: str) -> int:
    """The line that tomllib complains about; the last one where the text ends too early."""
    match = re.search(r"at line (\d+)", str(error))
    return int(match[1]) if match else text.rstrip().count("\n") + 1


def _parse_tree(text: str, grammar: str) -> "Node":
    from importlib import import_module

    from tree_sitter import Language, Parser

    parser = Parser(Language(import_module(grammar).language()))
    return parser.parse(text.encode("utf-8", "replace")).root_node


def _content(node: "Node") -> "list[Node]":
    return [child for child in node.named_children if child.type != "comment"]


def _walk_lines(
    node: "Node", path: ValuePath, parse_keys: "Callable[[Node], list[str]]"
) -> Iterator[tuple[ValuePath, int]]:
    """The lines of everything in a pair or a value, in order. Not recursive: files may be nested deeply."""
    pending = [(node, path)]
    while pending:
        node, path = pending.pop()
        if node.type == "pair":
            key, value = _content(node)
            for step in parse_keys(key):
                path = (*path, step)
                yield path, node.start_point.row + 1
            pending.append((value, path))
        elif node.type == "array":
            items = [(item, (*path, index)) for index, item in enumerate(_content(node))]
            yield from ((below, item.start_point.row + 1) for item, below in items)
            pending += reversed(items)
        elif node.type in ("inline_table", "object"):
            pending += [(pair, path) for pair in reversed(_content(node))]


def _json_keys(node: "Node") -> list[str]:
    return [str(_replace_surrogates(json.loads(node.text or b"")))]


def _toml_keys(node: "Node") -> list[str]:
    """The steps of a key: `a`, `b c` and `d` of `a."b c".d`."""
    if node.type == "dotted_key":
        return [key for child in _content(node) for key in _toml_keys(child)]
    text = (node.text or b"").decode()
    if text[0] == '"':
        return [str(tomllib.loads(f"x = {text}")["x"])]
    return [text[1:-1] if text[0] == "'" else text]
