"""Answers of servers as rows, with the text of each line. Called in worker threads: lines are read from disk.

Every function raises `Misshapen` for what the protocol does not know.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cockpit.navigation.lsp.documents import DocumentTextCache
from cockpit.navigation.lsp.protocol import (
    Encoding,
    JsonObject,
    as_count,
    as_list,
    as_object,
    as_text,
    display_path,
    get_nested,
    offset_to_column,
    uri_to_path,
)
from cockpit.protocol.code import SymbolRow

SYMBOL_KIND_NAMES = (
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum_member",
    "struct",
    "event",
    "operator",
    "type_parameter",
)
DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|declare|pub(?:\([^)]*\))?"
    r"|unsafe|inline|virtual|override|extern|const(?=\s+fn))\s+)*"
    r"(?P<kind>class|def|function|func|fn|interface|struct|enum|trait|type|namespace|module|const|let|var)\b"
)
KEYWORD_KINDS = {
    "def": "function",
    "func": "function",
    "fn": "function",
    "const": "constant",
    "let": "variable",
    "var": "variable",
    "trait": "interface",
}
MAX_ROWS = 10_000
MAX_SYMBOLS = 300
MAX_NAME_LINES = 30
MAX_TEXT_CHARS = 300
MAX_DEPTH = 60


@dataclass(frozen=True, slots=True)
class RowReader:
    """How a server's places are read."""

    root: str
    texts: DocumentTextCache
    encoding: Encoding

    def span(self, path: str, found: object) -> tuple[int, int, int, int]:
        """Our line, column, end line and end column of a range."""
        start, end = as_object(get_nested(found, "start")), as_object(get_nested(found, "end"))
        return *self._at(path, start), *self._at(path, end)

    def _at(self, path: str, position: JsonObject) -> tuple[int, int]:
        line, offset = as_count(position.get("line")) + 1, as_count(position.get("character"))
        return line, offset_to_column(self.texts.line(path, line), offset, self.encoding)

    def row(self, path: str, found: object, name: str, kind: str, whole: object = None) -> SymbolRow:
        """A row at the range `found`; without a name it is named by the text it stands on."""
        line, start, end_line, end = self.span(path, found)
        full = self.texts.line(path, line)
        if not name and line == end_line:
            name = full[start - 1 : end - 1]
        first = last = 0
        if whole is not None:
            first, _, last, tail = self.span(path, whole)
            last -= tail == 1 and last > first
        return SymbolRow(
            name=name,
            kind=kind or guess_kind(full),
            path=display_path(self.root, path),
            line=line,
            column=start,
            text=full.strip()[:MAX_TEXT_CHARS],
            source="lsp",
            end_line=end_line,
            end_column=end,
            first=first,
            last=last,
        )


def guess_kind(line: str) -> str:
    """What a line seems to define, where a server gives a place and no kind."""
    found = DEFINITION.match(line)
    if found is None:
        return "definition"
    kind = KEYWORD_KINDS.get(found["kind"], found["kind"])
    return "method" if kind == "function" and line[:1].isspace() else kind


def symbol_kind_name(value: object) -> str:
    """The name of a SymbolKind (LSP 3.17)."""
    place = as_count(value)
    return SYMBOL_KIND_NAMES[place - 1] if 0 < place <= len(SYMBOL_KIND_NAMES) else "symbol"


def location_rows(reading: RowReader, answer: object, kind: str) -> tuple[SymbolRow, ...]:
    """Rows of a Location, Location[] or LocationLink[]; what is no file is left out."""
    places = [answer] if isinstance(answer, dict) else as_list(answer)
    rows = (_location_row(reading, as_object(one), kind) for one in places[:MAX_ROWS])
    return tuple(dict.fromkeys(row for row in rows if row is not None))


def _location_row(reading: RowReader, one: JsonObject, kind: str) -> SymbolRow | None:
    uri = as_text(one.get("targetUri", one.get("uri")))
    if not uri.startswith("file:"):
        return None
    if "targetUri" not in one:
        return reading.row(uri_to_path(uri), one.get("range"), "", kind)
    narrow = one.get("targetSelectionRange", one.get("targetRange"))
    return reading.row(uri_to_path(uri), narrow, "", kind, one.get("targetRange"))


def outline_rows(reading: RowReader, path: str, answer: object) -> tuple[SymbolRow, ...]:
    """Rows of DocumentSymbol[] or SymbolInformation[], in the order of the file."""
    found = as_list(answer)
    if found and "location" in as_object(found[0]):
        rows = [_flat_row(reading, as_object(one)) for one in found[:MAX_ROWS]]
        return tuple(sorted(filter(None, rows), key=lambda row: (row.line, row.column)))
    return tuple(_nested_rows(reading, path, found, "", 0))


def _nested_rows(
    reading: RowReader, path: str, found: object, container: str, depth: int
) -> Iterator[SymbolRow]:
    if depth > MAX_DEPTH:
        return
    for one in as_list(found)[:MAX_ROWS]:
        symbol = as_object(one)
        name = as_text(symbol.get("name"))
        kind = symbol_kind_name(symbol.get("kind"))
        row = reading.row(path, symbol.get("selectionRange"), name, kind, symbol.get("range"))
        yield _with_container(row, container)
        below = f"{container}.{name}" if container else name
        yield from _nested_rows(reading, path, symbol.get("children"), below, depth + 1)


def _flat_row(reading: RowReader, one: JsonObject) -> SymbolRow | None:
    """A SymbolInformation or WorkspaceSymbol: its range is the whole definition, the name is looked for."""
    uri = as_text(get_nested(one, "location", "uri"))
    if not uri.startswith("file:"):
        return None
    name, path, whole = as_text(one.get("name")), uri_to_path(uri), get_nested(one, "location", "range")
    if whole is None:
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    row = reading.row(path, whole, name, symbol_kind_name(one.get("kind")), whole)
    bare = re.match(r"[\w$]*", name.rpartition(".")[2])
    word = re.compile(rf"\b{re.escape(bare[0])}\b") if bare and bare[0] else None
    container = one.get("containerName")
    row = replace(row, container=container if isinstance(container, str) else "")
    for at_line in range(row.line, min(row.last, row.line + MAX_NAME_LINES) + 1):
        line = reading.texts.line(path, at_line)
        at = word.search(line, row.column - 1 if at_line == row.line else 0) if word else None
        # Decorators stand above the line with the name, and may hold it too.
        if at is not None and not line.lstrip().startswith("@"):
            row = replace(row, line=at_line, end_line=at_line, text=line.strip()[:MAX_TEXT_CHARS])
            return replace(row, column=at.start() + 1, end_column=at.end() + 1)
    return replace(row, end_line=row.line, end_column=row.column)


def symbol_rows(reading: RowReader, answer: object, query: str) -> tuple[SymbolRow, ...]:
    """Rows of a workspace symbol query, the nearest names first and no more than a person would look at: each
    costs reading its file."""
    wanted = query.lower()

    def far(one: JsonObject) -> int:
        name = as_text(one.get("name")).lower()
        return 0 if name == wanted else 1 if name.startswith(wanted) else 2 if wanted in name else 3

    near = sorted(map(as_object, as_list(answer)), key=far)
    rows = (_flat_row(reading, one) for one in near[:MAX_SYMBOLS])
    return tuple(row for row in rows if row is not None)


def hierarchy_rows(reading: RowReader, answer: object, key: str) -> tuple[SymbolRow, ...]:
    """Rows of call hierarchy calls (`key` is from or to) or, without `key`, of type hierarchy entries."""
    rows = []
    for one in as_list(answer)[:MAX_ROWS]:
        entry = as_object(as_object(one).get(key) if key else one)
        uri = as_text(entry.get("uri"))
        if uri.startswith("file:"):
            narrow = entry.get("selectionRange", entry.get("range"))
            kind = symbol_kind_name(entry.get("kind"))
            rows.append(
                reading.row(uri_to_path(uri), narrow, as_text(entry.get("name")), kind, entry.get("range"))
            )
    return tuple(dict.fromkeys(rows))


def hover_markdown(answer: object) -> str:
    """Markdown of a hover: MarkupContent, MarkedString or a list of those."""
    contents = get_nested(answer, "contents")
    parts = contents if isinstance(contents, list) else [contents]
    return "\n\n".join(filter(None, (_marked_string(one) for one in parts))).strip()


def _marked_string(one: object) -> str:
    if one is None or isinstance(one, str):
        return one or ""
    value, language = as_text(get_nested(one, "value")), get_nested(one, "language")
    return f"```{language}\n{value}\n```" if isinstance(language, str) and language else value


def _with_container(row: SymbolRow, container: str) -> SymbolRow:
    return replace(row, container=container) if container else row
