"""A file as a question needs it: text, tree, definitions and shape, each made when first asked for."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.navigation.index.definitions import Definition, Lines, defined
from cockpit.navigation.index.facts import LARGEST, is_generated
from cockpit.navigation.index.grammars import Reader, Readers
from cockpit.navigation.index.shape import Shape
from cockpit.navigation.index.shaping import shaped
from cockpit.settings import plain

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

KEPT = 96
LEAF = re.compile(r"identifier|^constant$|^type_identifier$")


class Parsed:
    """One version of one file. `path` is relative to the root."""

    def __init__(self, path: str, text: bytes, reader: Reader, tree: "Tree") -> None:
        self.path = path
        self.text = text
        self.reader = reader
        self.tree = tree

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text)

    @cached_property
    def defined(self) -> "list[tuple[Definition, Node]]":
        return defined(self.reader, self.tree, self.text)

    @cached_property
    def definitions(self) -> list[Definition]:
        return [row for row, _ in self.defined]

    @cached_property
    def by_place(self) -> dict[tuple[int, int], Definition]:
        return {(one.line, one.column): one for one in self.definitions}

    @cached_property
    def shape(self) -> Shape:
        return shaped(self, self.tree.root_node, self._matches("scopes"), self._matches("imports"))

    @property
    def language(self) -> str:
        return self.reader.name

    def _matches(self, name: str) -> "list[dict[str, list[Node]]]":
        from tree_sitter import QueryCursor

        query = self.reader.query(name)
        if query is None:
            return []
        return [captures for _, captures in QueryCursor(query).matches(self.tree.root_node)]

    def bound_by_import(self, module: str) -> str:
        """The name that importing a whole module binds: `a` of Python's `a.b`, `sub` of Go's `x.y/sub`."""
        if self.language == "python":
            return module.split(".")[0]
        return re.split(r"[./:]+", module)[-1]

    def first_of_module(self, module: str) -> str:
        return module.split(".")[0] if self.language == "python" else module

    def node_at(self, line: int, column: int) -> "Node | None":
        """The name at a place; the one that ends there when none begins. Both count from 1."""
        if not 1 <= line <= len(self.lines.lines):
            return None
        row, byte = line - 1, self.lines.byte(line, column)
        for at in (byte, byte - 1):
            if at < 0:
                continue
            node = self.tree.root_node.descendant_for_point_range((row, at), (row, at + 1))
            if node is not None and self.is_name(node):
                return node
        return None

    def is_name(self, node: "Node") -> bool:
        if node.child_count:
            return False
        return bool(LEAF.search(node.type)) or node.start_byte in self.shape.references

    def names_of(self, word: str) -> "Iterator[Node]":
        """Every identifier that is this word; never what stands in a string or a comment."""
        root = self.tree.root_node
        for found in re.finditer(rb"(?<![\w$])" + re.escape(word.encode()) + rb"(?![\w$])", self.text):
            node = root.descendant_for_byte_range(found.start(), found.end())
            if node is not None and node.start_byte == found.start() and self.is_name(node):
                yield node

    def definition_around(self, line: int) -> Definition | None:
        """The innermost definition whose lines hold `line`."""
        best: Definition | None = None
        for one in self.definitions:
            if one.first <= line <= one.last and one.kind not in ("variable", "constant", "field"):
                best = one if best is None or one.first >= best.first else best
        return best


class Files:
    """Parsed files, the last used kept; each is looked at anew on disk before it is believed."""

    def __init__(self, root: str, readers: Readers) -> None:
        self.root = root
        self.readers = readers
        self._kept: OrderedDict[str, tuple[tuple[int, int], Parsed | None]] = OrderedDict()

    def get(self, path: str) -> Parsed | None:
        """None for a file that is not there, is left out, or that no language reads."""
        place = Path(self.root, path)
        try:
            stat = place.stat()
        except OSError:
            return None
        state = (stat.st_mtime_ns, stat.st_size)
        known = self._kept.get(path)
        if known is not None and known[0] == state:
            self._kept.move_to_end(path)
            return known[1]
        fresh = self._parse(path, place, stat.st_size)
        self._kept[path] = (state, fresh)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return fresh

    def _parse(self, path: str, place: Path, size: int) -> Parsed | None:
        if size > LARGEST or not self.readers.candidates(path):
            return None
        try:
            text = plain.read_bytes(place, LARGEST)
        except OSError:
            return None
        if is_generated(text):
            return None
        found = self.readers.parse(path, text)
        return Parsed(path, text, *found) if found is not None else None
