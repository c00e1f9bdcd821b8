"""Answers of servers as rows, with the text of each line. Called in worker threads: lines are read from disk.

Every function raises `Misshapen` for what the protocol does not know.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cockpit.navigation.lsp.positions import Encoding, column
from cockpit.navigation.lsp.shapes import Record, inner, listing, number, record, text
from cockpit.navigation.lsp.texts import Texts
from cockpit.navigation.lsp.uris import path_of, shown
from cockpit.protocol.code import SymbolRow

KINDS = (
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
DEFINES = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|declare|pub(?:\([^)]*\))?"
    r"|unsafe|inline|virtual|override|extern|const(?=\s+fn))\s+)*"
    r"(?P<kind>class|def|function|func|fn|interface|struct|enum|trait|type|namespace|module|const|let|var)\b"
)
WORDS = {
    "def": "function",
    "func": "function",
    "fn": "function",
    "const": "constant",
    "let": "variable",
    "var": "variable",
    "trait": "interface",
}
MOST = 10_000
MOST_SYMBOLS = 300
MOST_ABOVE = 30
LONGEST = 300
DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Reading:
    """How a server's places are read."""

    root: str
    texts: Texts
    encoding: Encoding

    def span(self, path: str, found: object) -> tuple[int, int, int, int]:
        """Our line, column, end line and end column of a range."""
        start, end = record(inner(found, "start")), record(inner(found, "end"))
        return *self._at(path, start), *self._at(path, end)

    def _at(self, path: str, position: Record) -> tuple[int, int]:
        line, offset = number(position.get("line")) + 1, number(position.get("character"))
        return line, column(self.texts.line(path, line), offset, self.encoding)

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
            kind=kind or kind_of(full),
            path=shown(self.root, path),
            line=line,
            column=start,
            text=full.strip()[:LONGEST],
            source="lsp",
            end_line=end_line,
            end_column=end,
            first=first,
            last=last,
        )


def kind_of(line: str) -> str:
    """What a line seems to define, where a server gives a place and no kind."""
    found = DEFINES.match(line)
    if found is None:
        return "definition"
    kind = WORDS.get(found["kind"], found["kind"])
    return "method" if kind == "function" and line[:1].isspace() else kind


def symbol_kind(value: object) -> str:
    """The name of a SymbolKind (LSP 3.17)."""
    place = number(value)
    return KINDS[place - 1] if 0 < place <= len(KINDS) else "symbol"


def located(reading: Reading, answer: object, kind: str) -> tuple[SymbolRow, ...]:
    """Rows of a Location, Location[] or LocationLink[]; what is no file is left out."""
    places = [answer] if isinstance(answer, dict) else listing(answer)
    rows = (_located(reading, record(one), kind) for one in places[:MOST])
    return tuple(dict.fromkeys(row for row in rows if row is not None))


def _located(reading: Reading, one: Record, kind: str) -> SymbolRow | None:
    uri = text(one.get("targetUri", one.get("uri")))
    if not uri.startswith("file:"):
        return None
    if "targetUri" not in one:
        return reading.row(path_of(uri), one.get("range"), "", kind)
    narrow = one.get("targetSelectionRange", one.get("targetRange"))
    return reading.row(path_of(uri), narrow, "", kind, one.get("targetRange"))


def outline(reading: Reading, path: str, answer: object) -> tuple[SymbolRow, ...]:
    """Rows of DocumentSymbol[] or SymbolInformation[], in the order of the file."""
    found = listing(answer)
    if found and "location" in record(found[0]):
        rows = [_flat(reading, record(one)) for one in found[:MOST]]
        return tuple(sorted(filter(None, rows), key=lambda row: (row.line, row.column)))
    return tuple(_nested(reading, path, found, "", 0))


def _nested(reading: Reading, path: str, found: object, container: str, depth: int) -> Iterator[SymbolRow]:
    if depth > DEEPEST:
        return
    for one in listing(found)[:MOST]:
        symbol = record(one)
        name = text(symbol.get("name"))
        kind = symbol_kind(symbol.get("kind"))
        row = reading.row(path, symbol.get("selectionRange"), name, kind, symbol.get("range"))
        yield _within(row, container)
        below = f"{container}.{name}" if container else name
        yield from _nested(reading, path, symbol.get("children"), below, depth + 1)


def _flat(reading: Reading, one: Record) -> SymbolRow | None:
    """A SymbolInformation or WorkspaceSymbol: its range is the whole definition, the name is looked for."""
    uri = text(inner(one, "location", "uri"))
    if not uri.startswith("file:"):
        return None
    name, path, whole = text(one.get("name")), path_of(uri), inner(one, "location", "range")
    if whole is None:
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    row = reading.row(path, whole, name, symbol_kind(one.get("kind")), whole)
    bare = re.match(r"[\w$]*", name.rpartition(".")[2])
    word = re.compile(rf"\b{re.escape(bare[0])}\b") if bare and bare[0] else None
    container = one.get("containerName")
    row = replace(row, container=container if isinstance(container, str) else "")
    for at_line in range(row.line, min(row.last, row.line + MOST_ABOVE) + 1):
        line = reading.texts.line(path, at_line)
        at = word.search(line, row.column - 1 if at_line == row.line else 0) if word else None
        # Decorators stand above the line with the name, and may hold it too.
        if at is not None and not line.lstrip().startswith("@"):
            row = replace(row, line=at_line, end_line=at_line, text=line.strip()[:LONGEST])
            return replace(row, column=at.start() + 1, end_column=at.end() + 1)
    return replace(row, end_line=row.line, end_column=row.column)


def found_symbols(reading: Reading, answer: object, query: str) -> tuple[SymbolRow, ...]:
    """Rows of a workspace symbol query, the nearest names first and no more than a person would look at: each
    costs reading its file."""
    wanted = query.lower()

    def far(one: Record) -> int:
        name = text(one.get("name")).lower()
        return 0 if name == wanted else 1 if name.startswith(wanted) else 2 if wanted in name else 3

    near = sorted(map(record, listing(answer)), key=far)
    rows = (_flat(reading, one) for one in near[:MOST_SYMBOLS])
    return tuple(row for row in rows if row is not None)


def hierarchy(reading: Reading, answer: object, key: str) -> tuple[SymbolRow, ...]:
    """Rows of call hierarchy calls (`key` is from or to) or, without `key`, of type hierarchy entries."""
    rows = []
    for one in listing(answer)[:MOST]:
        entry = record(record(one).get(key) if key else one)
        uri = text(entry.get("uri"))
        if uri.startswith("file:"):
            narrow = entry.get("selectionRange", entry.get("range"))
            kind = symbol_kind(entry.get("kind"))
            rows.append(reading.row(path_of(uri), narrow, text(entry.get("name")), kind, entry.get("range")))
    return tuple(dict.fromkeys(rows))


def hover(answer: object) -> str:
    """Markdown of a hover: MarkupContent, MarkedString or a list of those."""
    contents = inner(answer, "contents")
    parts = contents if isinstance(contents, list) else [contents]
    return "\n\n".join(filter(None, (_marked(one) for one in parts))).strip()


def _marked(one: object) -> str:
    if one is None or isinstance(one, str):
        return one or ""
    value, language = text(inner(one, "value")), inner(one, "language")
    return f"```{language}\n{value}\n```" if isinstance(language, str) and language else value


def _within(row: SymbolRow, container: str) -> SymbolRow:
    return replace(row, container=container) if container else row
