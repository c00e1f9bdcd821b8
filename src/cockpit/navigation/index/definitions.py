"""Extracts from a parsed file its definitions and the set of its words: all that the index stores."""

import re
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from cockpit.navigation.index.grammars import LanguageParser

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from cockpit.protocol.code import SymbolRow

WORD = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")
CLASS_KINDS = frozenset({"class", "struct", "interface", "trait", "enum", "namespace_class"})
# A definition includes the nodes that wrap it: its decorators, its `export`, its C declaration.
WRAPPERS = (
    "decorated_definition export_statement template_declaration ambient_declaration pointer_declarator "
    "reference_declarator function_definition declaration field_declaration lexical_declaration "
    "variable_declaration init_declarator"
)
WRAPPER_TYPES = frozenset(WRAPPERS.split())
MAX_LINE_CHARS = 200
WORD_BYTES = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or chr(byte) in "_$" else 32 for byte in range(256)
)
# Deeper than this there are only expressions; definitions inside them are not searched for.
MAX_DEPTH = 14


class IndexedDefinition(NamedTuple):
    """A definition. Positions count from 1, columns in characters; `first` to `last` are its lines."""

    name: str
    kind: str
    line: int
    column: int
    end_line: int
    end_column: int
    first: int
    last: int
    container: str
    text: str

    @property
    def qualified(self) -> str:
        return f"{self.container}.{self.name}" if self.container else self.name

    def row(self, path: str) -> "SymbolRow":
        from cockpit.protocol.code import SymbolRow

        return SymbolRow(path=path, source="tree-sitter", **self._asdict())


class SourceLines:
    """The lines of a file: columns in characters, and the text of a line."""

    def __init__(self, text: bytes) -> None:
        self.lines = text.split(b"\n")
        self._ascii = text.isascii()

    def column(self, row: int, byte: int) -> int:
        """The column (from 1) of a byte offset in a row (from 0)."""
        if self._ascii or row >= len(self.lines):
            return byte + 1
        return len(self.lines[row][:byte].decode("utf-8", "replace")) + 1

    def byte(self, line: int, column: int) -> int:
        """The byte offset within its line of a line and column (from 1)."""
        if self._ascii:
            return column - 1
        text = self.lines[line - 1].decode("utf-8", "replace")
        return len(text[: column - 1].encode("utf-8", "replace"))

    def text(self, row: int) -> str:
        line = self.lines[row] if row < len(self.lines) else b""
        return line.strip()[:MAX_LINE_CHARS].decode("utf-8", "replace")


def find_words(text: bytes) -> bytes:
    """Every word of a text once, separated by line feeds."""
    # Twice as fast as a regular expression; the numbers it includes do no harm.
    return b"\n" + b"\n".join(set(text.translate(WORD_BYTES).split())) + b"\n"


def find_definition_nodes(
    reader: LanguageParser, tree: "Tree", text: bytes
) -> "list[tuple[IndexedDefinition, Node]]":
    """The definitions of a parsed file, each with the node of the whole definition."""
    from tree_sitter import QueryCursor

    query = reader.query("tags")
    if query is None:
        return []
    named_nodes: dict[int, tuple[int, str, Node, Node, str]] = {}
    spans: list[tuple[int, int, str]] = []
    cursor = QueryCursor(query)
    if "scopes" in reader.language.queries:
        cursor.set_max_start_depth(MAX_DEPTH)
    for pattern, captures in cursor.matches(tree.root_node):
        container_nodes = captures.get("container")
        container = _first_word(container_nodes[0]) if container_nodes else ""
        if "within" in captures:
            node = captures["within"][0]
            spans.append((node.start_byte, node.end_byte, container))
            continue
        for name in captures.get("name", ()):
            for capture, nodes in captures.items():
                earlier = named_nodes.get(name.start_byte)
                if capture.startswith("definition.") and (earlier is None or earlier[0] > pattern):
                    named_nodes[name.start_byte] = (pattern, capture[11:], nodes[0], name, container)
    return _add_containers(named_nodes, spans, SourceLines(text))


def _add_containers(
    named_nodes: "dict[int, tuple[int, str, Node, Node, str]]",
    spans: list[tuple[int, int, str]],
    lines: SourceLines,
) -> "list[tuple[IndexedDefinition, Node]]":
    """Give each definition its container: the definitions and `@within` nodes around it, or its own."""
    nodes = sorted(named_nodes.values(), key=lambda item: (item[2].start_byte, -item[2].end_byte))
    pending_spans = deque(sorted(spans, key=lambda span: span[0]))
    rows: list[tuple[IndexedDefinition, Node]] = []
    # The containers around: end byte, name and kind.
    stack: list[tuple[int, str, str]] = []
    last: Node | None = None
    for _, kind, node, name, container in nodes:
        start = node.start_byte
        while pending_spans and pending_spans[0][0] <= start:
            span_start, end, label = pending_spans.popleft()
            stack = [item for item in stack if item[0] > span_start]
            stack.append((end, label, "class"))
        while stack and stack[-1][0] <= start:
            stack.pop()
        if stack and node == last:
            stack.pop()  # `a, b = 1, 2`: one statement, and neither contains the other
        label = _label(name)
        names = [item[1] for item in stack]
        inside_class = bool(container) or (bool(stack) and stack[-1][2] in CLASS_KINDS)
        if container:
            names.append(container)
        whole = widen_node(node)
        stack.append((node.end_byte, label, kind))
        if kind == "function" and inside_class:
            kind = "method"
        elif kind == "variable" and len(label) > 1 and label.isupper():
            kind = "constant"
        rows.append((_make_definition(label, kind, whole, name, ".".join(names), lines), whole))
        last = node
    rows.sort(key=lambda item: (item[0].line, item[0].column))
    return rows


def _make_definition(
    label: str, kind: str, whole: "Node", name: "Node", around: str, lines: SourceLines
) -> IndexedDefinition:
    row, byte = name.start_point
    end_row, end_byte = name.end_point
    last_row, last_byte = whole.end_point
    return IndexedDefinition(
        label,
        kind,
        row + 1,
        lines.column(row, byte),
        end_row + 1,
        lines.column(end_row, end_byte),
        whole.start_point[0] + 1,
        # A node that ends in column 0 ends with the line before (headings, YAML).
        max(last_row + (1 if last_byte else 0), row + 1),
        around,
        lines.text(row),
    )


def widen_node(node: "Node") -> "Node":
    """`node` with the nodes that wrap it."""
    above = node.parent
    while above is not None and above.type in WRAPPER_TYPES:
        node, above = above, above.parent
    return node


def _label(name: "Node") -> str:
    return (name.text or b"").decode("utf-8", "replace").strip().strip("\"'")[:MAX_LINE_CHARS]


def _first_word(node: "Node") -> str:
    match = WORD.search(node.text or b"")
    return match[0].decode("utf-8", "replace") if match else ""
