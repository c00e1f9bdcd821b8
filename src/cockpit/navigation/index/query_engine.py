"""Answers one question at a time in the index process: rows, extents and hover texts."""

import re
import textwrap
import time
from typing import TYPE_CHECKING

from cockpit.navigation.index.builder import relative_path
from cockpit.navigation.index.definitions import IndexedDefinition, widen_node
from cockpit.navigation.index.file_facts import FileCatalog
from cockpit.navigation.index.grammars import LanguageParsers
from cockpit.navigation.index.import_resolver import ImportResolver
from cockpit.navigation.index.name_search import path_rank, search_definitions
from cockpit.navigation.index.parsed_file import NameBinding, ParsedFile, ParsedFiles
from cockpit.navigation.index.resolver import SymbolResolver
from cockpit.navigation.index.targets import ModuleTarget, Target, target_row
from cockpit.navigation.index.usages import UsageSearch
from cockpit.plugin.navigation import Position
from cockpit.protocol.code import SymbolRow

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_SIGNATURE_LINES = 12
MAX_DOC_CHARS = 3_000
# Some grammars put these beside a definition although they belong to it.
DECORATION_TYPES = frozenset({"decorator", "attribute_item"})
COMMENT_MARKS = re.compile(r"^\s*(/\*\*?|\*/|\*(?!\*)|///?!?|//!|#+!?|--+)\s?|\s*\*/\s*$")
MAX_NAMED = 200
RESOLVE_SECONDS = 0.4


def definition_extent(node: "Node") -> tuple[int, int]:
    """First and end byte of a definition, with decorators and the comment that documents it."""
    whole = first = widen_node(node)
    while True:
        comments = _comments_above(first)
        above = (comments[0] if comments else first).prev_sibling
        if above is None or above.type not in DECORATION_TYPES:
            return (comments[0] if comments else first).start_byte, whole.end_byte
        first = above


def definition_hover(parsed: ParsedFile, row: IndexedDefinition, node: "Node") -> str:
    """The signature as a code block, followed by the documentation."""
    body = _find_body(node)
    until = body.start_byte if body is not None else node.end_byte
    start = node.start_byte
    # Decorators are not part of a signature.
    inner = node.child_by_field_name("definition")
    if inner is not None:
        start = inner.start_byte
    indent = " " * (inner or node).start_point[1]
    lines = textwrap.dedent(indent + parsed.text[start:until].decode("utf-8", "replace")).strip().split("\n")
    signature = "\n".join(lines[:MAX_SIGNATURE_LINES]).rstrip(" {:=")
    documented = _docstring(body) or _comment_text(_comments_above(node))
    return f"```{parsed.language}\n{signature}\n```\n\n{documented[:MAX_DOC_CHARS]}".rstrip()


def _find_body(node: "Node") -> "Node | None":
    """The body of the definition in `node`, which may be wrapped in other nodes."""
    nodes = [node]
    for _ in range(4):
        below: list[Node] = []
        for child in nodes:
            body = child.child_by_field_name("body")
            if body is not None:
                return body
            below += child.named_children[:6]
        nodes = below
    return None


def _docstring(body: "Node | None") -> str:
    """The string that a body begins with (Python)."""
    first = body.named_children[0] if body is not None and body.named_child_count else None
    if first is None or first.type != "expression_statement" or not first.named_child_count:
        return ""
    string = first.named_children[0]
    if string.type != "string":
        return ""
    text = (string.text or b"").decode("utf-8", "replace")
    text = re.sub(r'^[rRuUbBfF]*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', "", text)
    first_line, _, rest = text.partition("\n")
    return f"{first_line.strip()}\n{textwrap.dedent(rest)}".strip()


def _comments_above(node: "Node") -> "list[Node]":
    """The comments directly above a node, with no blank line in between."""
    comments: list[Node] = []
    below, above = node, node.prev_sibling
    if above is None and node.parent is not None and node.parent.type == "block":
        # A comment at the start of a Python body comes before the body in the tree.
        above = node.parent.prev_sibling
    while above is not None and "comment" in above.type:
        gap = below.start_point[0] - above.end_point[0]
        if gap > 1 or (above.prev_sibling is not None and _is_trailing(above.prev_sibling, above)):
            break
        comments.insert(0, above)
        below, above = above, above.prev_sibling
    return comments


def _is_trailing(before: "Node", comment: "Node") -> bool:
    """Whether a comment is at the end of a line of code."""
    return before.end_point[0] == comment.start_point[0] and before.end_point[1] > 0


def _comment_text(comments: "list[Node]") -> str:
    text = "\n".join((comment.text or b"").decode("utf-8", "replace").rstrip("\n") for comment in comments)
    return "\n".join(COMMENT_MARKS.sub("", line).rstrip() for line in text.split("\n")).strip()


Rows = tuple[SymbolRow, ...]


class QueryEngine:
    """Reads files as they are on disk now; names that are not in them are looked up in the catalog."""

    def __init__(self, root: str, readers: LanguageParsers, catalog: FileCatalog) -> None:
        self.root = root
        self.catalog = catalog
        self.files = ParsedFiles(root, readers)
        self.modules = ImportResolver(root, catalog)
        self.is_cut = False

    def answer(self, name: str, arguments: tuple[object, ...]) -> object:
        """Rows, a text or a span; None for an unknown question."""
        match (name, *arguments):
            case ("outline", str() as path):
                return self.outline(path)
            case ("symbols", str() as query, int() as limit):
                return tuple(
                    row.row(path) for path, row in search_definitions(self.catalog.all(), query, limit)
                )
            case ("named", str() as path):
                return self.named(path)
            case ("related", str() as relation, Position() as at):
                rows = self.related(relation, at)
                return self.is_cut, rows
            case ("extent", Position() as at):
                return self.extent(at)
            case ("hover", Position() as at):
                return self.hover(at)
            case _:
                return None

    def outline(self, path: str) -> Rows:
        parsed = self._parsed(path)
        return tuple(row.row(parsed.path) for row in parsed.definitions) if parsed is not None else ()

    def named(self, path: str) -> Rows:
        """Definitions that match a symbol path: the closest match first, then sources before tests."""
        file, colon, name = path.rpartition(":")
        if colon and file.endswith(":"):
            file, name = "", path
        parts = [part for part in re.split(r"::|[.#/]", name) if part]
        if not parts:
            return ()
        symbol = ".".join(parts)
        if file:
            outlines = (parsed for path in self._paths(file) if (parsed := self._parsed(path)) is not None)
            rows = [
                row.row(parsed.path)
                for parsed in outlines
                for row in parsed.definitions
                if _ends_with(row.qualified, symbol)
            ]
            return tuple(sorted(rows, key=_depth_order))
        matches = [
            row.row(path)
            for path, row in self.catalog.defining(parts[-1])
            # The dotted name of the module may come first.
            if _ends_with(f"{self.modules.package_of(path)}.{row.qualified}", symbol)
        ]
        return tuple(sorted(matches, key=_depth_order)[:MAX_NAMED])

    def related(self, relation: str, at: Position) -> Rows:
        parsed = self._parsed(at.path)
        if parsed is None:
            return ()
        resolver = SymbolResolver(self.files, self.catalog, time.monotonic() + RESOLVE_SECONDS)
        targets = self._targets(resolver, parsed, at)
        uses = UsageSearch(resolver, targets)
        match relation:
            case "definition":
                # A package of several files counts as one target.
                others = [target for target in targets if isinstance(target, ModuleTarget)][1:]
                rows = [target_row(target) for target in targets if target not in others]
            case "references":
                rows = uses.references()
            case "implementations":
                rows = uses.implementations()
            case "callers":
                rows = uses.callers()
            case "callees":
                rows = uses.callees()
            case "supertypes":
                rows = uses.supertypes()
            case "subtypes":
                rows = uses.subtypes()
            case "tests":
                rows = uses.tests()
            case _:
                rows = []
        self.is_cut = uses.is_cut(len(rows))
        return tuple(rows)

    def extent(self, at: Position) -> tuple[int, int] | None:
        """The extent of the definition named at a position, else of the innermost one around it."""
        parsed = self._parsed(at.path)
        row = _definition_at(parsed, at) if parsed is not None else None
        if parsed is None or row is None:
            return None
        return next(definition_extent(node) for each, node in parsed.definition_nodes if each is row)

    def hover(self, at: Position) -> str:
        parsed = self._parsed(at.path)
        if parsed is None:
            return ""
        resolver = SymbolResolver(self.files, self.catalog, time.monotonic() + RESOLVE_SECONDS)
        for target in self._targets(resolver, parsed, at):
            if not isinstance(target, NameBinding):
                continue
            place = (target.node.start_point[0] + 1, target.parsed.lines.column(*target.node.start_point))
            for row, node in target.parsed.definition_nodes:
                if (row.line, row.column) == place:
                    return definition_hover(target.parsed, row, node)
        return ""

    def _targets(self, resolver: SymbolResolver, parsed: ParsedFile, at: Position) -> list[Target]:
        """What the name at a position refers to; without a name, the definition around it."""
        node = parsed.node_at(at.line, at.column)
        if node is None:
            row = parsed.definition_around(at.line)
        elif targets := resolver.targets(parsed, node):
            return targets
        else:
            # Some definitions bind no name in a scope (Go's methods).
            row = _definition_named_at(parsed, at)
        own = resolver.namesakes.binding(parsed.path, row) if row is not None else None
        return [own] if own is not None else []

    def _parsed(self, path: str) -> ParsedFile | None:
        inside = relative_path(self.root, path)
        return self.files.get(inside) if inside else None

    def _paths(self, file: str) -> list[str]:
        """The files that the file part of a symbol path means: itself, else those that end with it."""
        inside = relative_path(self.root, file)
        if inside and self.files.get(inside) is not None:
            return [inside]
        return sorted(path for path in list(self.catalog.files) if path.endswith("/" + file))[:MAX_NAMED]


def _ends_with(qualified: str, symbol: str) -> bool:
    return qualified == symbol or qualified.endswith("." + symbol)


def _depth_order(row: SymbolRow) -> tuple[int, int, int, str, int]:
    """Sources before tests, outer before inner, definitions before their declarations."""
    depth = row.container.count(".") + 1 if row.container else 0
    return (path_rank(row.path), depth, row.first - row.last, row.path, row.line)


def _definition_named_at(parsed: ParsedFile, at: Position) -> IndexedDefinition | None:
    on_line = (row for row in parsed.definitions if row.line == at.line)
    return next((row for row in on_line if row.column <= at.column <= row.end_column), None)


def _definition_at(parsed: ParsedFile, at: Position) -> IndexedDefinition | None:
    """The definition named at a position, else the innermost one around its line."""
    if (named := _definition_named_at(parsed, at)) is not None:
        return named
    starting = [row for row in parsed.definitions if row.first == at.line]
    return starting[0] if starting else parsed.definition_around(at.line)
