"""Converts answers of servers to rows, with the text of each line. Called in worker threads: reads files.

Every function raises `MalformedMessage` for what the protocol does not define.
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

# In the order of SymbolKind (LSP 3.17), from 1.
SYMBOL_KINDS = (
    "file module namespace package class method property field constructor enum interface function variable "
    "constant string number boolean array object key null enum_member struct event operator type_parameter"
)
DEFINITION = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|declare|pub(?:\([^)]*\))?"
    r"|unsafe|inline|virtual|override|extern|const(?=\s+fn))\s+)*"
    r"(?P<kind>class|def|function|func|fn|interface|struct|enum|trait|type|namespace|module|const|let|var)\b"
)
KEYWORD_KINDS = dict.fromkeys(("def", "func", "fn"), "function") | {
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
    """Reads positions of a server in files of a root."""

    root: str
    texts: DocumentTextCache
    encoding: Encoding

    def span(self, path: str, range_: object) -> tuple[int, int, int, int]:
        """Line, column, end line and end column of a range."""
        start, end = as_object(get_nested(range_, "start")), as_object(get_nested(range_, "end"))
        return *self._at(path, start), *self._at(path, end)

    def _at(self, path: str, position: JsonObject) -> tuple[int, int]:
        line, offset = as_count(position.get("line")) + 1, as_count(position.get("character"))
        return line, offset_to_column(self.texts.line(path, line), offset, self.encoding)

    def row(self, path: str, selection: object, name: str, kind: str, definition: object = None) -> SymbolRow:
        """A row for the range `selection` of a file; `definition` is the range of the whole definition.
        Without a name, it is named by the text at the range."""
        line, start, end_line, end = self.span(path, selection)
        line_text = self.texts.line(path, line)
        if not name and line == end_line:
            name = line_text[start - 1 : end - 1]
        first = last = 0
        if definition is not None:
            first, _, last, tail = self.span(path, definition)
            last -= tail == 1 and last > first
        return SymbolRow(
            name=name,
            kind=kind or guess_kind(line_text),
            path=display_path(self.root, path),
            line=line,
            column=start,
            text=line_text.strip()[:MAX_TEXT_CHARS],
            source="lsp",
            end_line=end_line,
            end_column=end,
            first=first,
            last=last,
        )


def guess_kind(line: str) -> str:
    """The kind of definition on a line, for servers that give a location without a kind."""
    match = DEFINITION.match(line)
    if match is None:
        return "definition"
    kind = KEYWORD_KINDS.get(match["kind"], match["kind"])
    return "method" if kind == "function" and line[:1].isspace() else kind


def symbol_kind_name(value: object) -> str:
    """The name of a SymbolKind (LSP 3.17)."""
    names = ("symbol", *SYMBOL_KINDS.split())
    number = as_count(value)
    return names[number] if number < len(names) else "symbol"


def location_rows(reader: RowReader, answer: object, kind: str) -> tuple[SymbolRow, ...]:
    """Rows of a Location, Location[] or LocationLink[]; locations that are not files are left out."""
    locations = [answer] if isinstance(answer, dict) else as_list(answer)
    rows = (_location_row(reader, as_object(location), kind) for location in locations[:MAX_ROWS])
    return tuple(dict.fromkeys(row for row in rows if row is not None))


def _location_row(reader: RowReader, location: JsonObject, kind: str) -> SymbolRow | None:
    uri = as_text(location.get("targetUri", location.get("uri")))
    if not uri.startswith("file:"):
        return None
    if "targetUri" not in location:
        return reader.row(uri_to_path(uri), location.get("range"), "", kind)
    selection = location.get("targetSelectionRange", location.get("targetRange"))
    return reader.row(uri_to_path(uri), selection, "", kind, location.get("targetRange"))


def outline_rows(reader: RowReader, path: str, answer: object) -> tuple[SymbolRow, ...]:
    """Rows of DocumentSymbol[] or SymbolInformation[], in file order."""
    symbols = as_list(answer)
    if symbols and "location" in as_object(symbols[0]):
        rows = [_flat_row(reader, as_object(symbol)) for symbol in symbols[:MAX_ROWS]]
        return tuple(sorted(filter(None, rows), key=lambda row: (row.line, row.column)))
    return tuple(_nested_rows(reader, path, symbols, "", 0))


def _nested_rows(
    reader: RowReader, path: str, symbols: object, container: str, depth: int
) -> Iterator[SymbolRow]:
    if depth > MAX_DEPTH:
        return
    for raw in as_list(symbols)[:MAX_ROWS]:
        symbol = as_object(raw)
        name = as_text(symbol.get("name"))
        kind = symbol_kind_name(symbol.get("kind"))
        row = reader.row(path, symbol.get("selectionRange"), name, kind, symbol.get("range"))
        yield replace(row, container=container)
        path_in_file = f"{container}.{name}" if container else name
        yield from _nested_rows(reader, path, symbol.get("children"), path_in_file, depth + 1)


def _flat_row(reader: RowReader, symbol: JsonObject) -> SymbolRow | None:
    """A SymbolInformation or WorkspaceSymbol: its range is the whole definition, so its name is searched
    for."""
    uri = as_text(get_nested(symbol, "location", "uri"))
    if not uri.startswith("file:"):
        return None
    name, path = as_text(symbol.get("name")), uri_to_path(uri)
    definition = get_nested(symbol, "location", "range")
    if definition is None:
        definition = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    row = reader.row(path, definition, name, symbol_kind_name(symbol.get("kind")), definition)
    bare_name = re.match(r"[\w$]*", name.rpartition(".")[2])
    word = re.compile(rf"\b{re.escape(bare_name[0])}\b") if bare_name and bare_name[0] else None
    container = symbol.get("containerName")
    row = replace(row, container=container if isinstance(container, str) else "")
    for at_line in range(row.line, min(row.last, row.line + MAX_NAME_LINES) + 1):
        line = reader.texts.line(path, at_line)
        match = word.search(line, row.column - 1 if at_line == row.line else 0) if word else None
        # Decorators are above the line with the name and may contain it, too.
        if match is not None and not line.lstrip().startswith("@"):
            row = replace(row, line=at_line, end_line=at_line, text=line.strip()[:MAX_TEXT_CHARS])
            return replace(row, column=match.start() + 1, end_column=match.end() + 1)
    return replace(row, end_line=row.line, end_column=row.column)


def symbol_rows(reader: RowReader, answer: object, query: str) -> tuple[SymbolRow, ...]:
    """Rows of a workspace symbol query, the closest names first. Limited, because each row requires
    reading its file."""
    lower_query = query.lower()

    def distance(symbol: JsonObject) -> tuple[bool, bool, bool]:
        name = as_text(symbol.get("name")).lower()
        return name != lower_query, not name.startswith(lower_query), lower_query not in name

    closest = sorted(map(as_object, as_list(answer)), key=distance)
    rows = (_flat_row(reader, symbol) for symbol in closest[:MAX_SYMBOLS])
    return tuple(row for row in rows if row is not None)


def hierarchy_rows(reader: RowReader, answer: object, key: str) -> tuple[SymbolRow, ...]:
    """Rows of call hierarchy calls (`key` is from or to) or, without `key`, of type hierarchy items."""
    rows = []
    for item in as_list(answer)[:MAX_ROWS]:
        entry = as_object(as_object(item).get(key) if key else item)
        uri = as_text(entry.get("uri"))
        if uri.startswith("file:"):
            selection = entry.get("selectionRange", entry.get("range"))
            kind = symbol_kind_name(entry.get("kind"))
            rows.append(
                reader.row(uri_to_path(uri), selection, as_text(entry.get("name")), kind, entry.get("range"))
            )
    return tuple(dict.fromkeys(rows))


def hover_markdown(answer: object) -> str:
    """Markdown of a hover: MarkupContent, MarkedString or a list of those."""
    contents = get_nested(answer, "contents")
    parts = contents if isinstance(contents, list) else [contents]
    return "\n\n".join(filter(None, (_marked_string(part) for part in parts))).strip()


def _marked_string(part: object) -> str:
    if part is None or isinstance(part, str):
        return part or ""
    value, language = as_text(get_nested(part, "value")), get_nested(part, "language")
    return f"```{language}\n{value}\n```" if isinstance(language, str) and language else value
