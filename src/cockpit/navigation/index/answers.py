"""One question, one answer: what the process of an index does when it is asked."""

import re
import time

from cockpit.navigation.index.catalog import Catalog
from cockpit.navigation.index.definitions import Definition
from cockpit.navigation.index.describing import extent, hover
from cockpit.navigation.index.grammars import Readers
from cockpit.navigation.index.modules import Modules
from cockpit.navigation.index.parsed import Files, Parsed
from cockpit.navigation.index.resolving import Resolver
from cockpit.navigation.index.searching import aside_of, search
from cockpit.navigation.index.shape import Binding
from cockpit.navigation.index.sources import relative
from cockpit.navigation.index.targets import Module, Target, row_of
from cockpit.navigation.index.uses import Uses
from cockpit.plugin.navigation import Position
from cockpit.protocol.code import SymbolRow

Rows = tuple[SymbolRow, ...]
MOST_NAMED = 200
SECONDS = 0.4


class Answers:
    """Reads files as they are on disk now; names that it does not find there it asks the catalog for."""

    def __init__(self, root: str, readers: Readers, catalog: Catalog) -> None:
        self.root = root
        self.catalog = catalog
        self.files = Files(root, readers)
        self.modules = Modules(root, catalog)
        self.is_cut = False

    def answer(self, name: str, arguments: tuple[object, ...]) -> object:
        """Rows, a text, a span; None for a question nobody knows."""
        match (name, *arguments):
            case ("outline", str() as path):
                return self.outline(path)
            case ("symbols", str() as query, int() as limit):
                return tuple(row.row(path) for path, row in search(self.catalog.all(), query, limit))
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
        """Definitions a symbol path fits: the most of it first, then sources before tests."""
        file, colon, name = path.rpartition(":")
        if colon and file.endswith(":"):
            file, name = "", path
        steps = [step for step in re.split(r"::|[.#/]", name) if step]
        if not steps:
            return ()
        wanted = ".".join(steps)
        if file:
            rows = [row for one in self._paths(file) for row in self.outline(one) if _fits(row, wanted)]
            return tuple(sorted(rows, key=_by_depth))
        found = []
        for one, row in self.catalog.defining(steps[-1]):
            dotted = f"{self.modules.package_of(one)}.{row.qualified}"
            if _ends(row.qualified, wanted) or _ends(dotted, wanted):
                found.append(row.row(one))
        return tuple(sorted(found, key=_by_depth)[:MOST_NAMED])

    def related(self, relation: str, at: Position) -> Rows:
        parsed = self._parsed(at.path)
        if parsed is None:
            return ()
        resolver = self._resolver()
        targets = self._targets(resolver, parsed, at)
        uses = Uses(resolver, targets)
        rows = self._related(relation, targets, uses)
        self.is_cut = uses.is_cut(len(rows))
        return rows

    def _related(self, relation: str, targets: "list[Target]", uses: Uses) -> Rows:
        match relation:
            case "definition":
                modules = [one for one in targets if isinstance(one, Module)]
                # A package of several files is one place to go to.
                return tuple(row_of(one) for one in targets if one not in modules[1:])
            case "references":
                return tuple(uses.references())
            case "implementations":
                return tuple(uses.implementations())
            case "callers":
                return tuple(uses.callers())
            case "callees":
                return tuple(uses.callees())
            case "supertypes":
                return tuple(uses.supertypes())
            case "subtypes":
                return tuple(uses.subtypes())
            case "tests":
                return tuple(uses.tests())
            case _:
                return ()

    def extent(self, at: Position) -> tuple[int, int] | None:
        """Of the definition that is named at a place, else of the innermost around it."""
        parsed = self._parsed(at.path)
        row = _definition_at(parsed, at) if parsed is not None else None
        if parsed is None or row is None:
            return None
        return next((extent(parsed, node) for one, node in parsed.defined if one is row), None)

    def hover(self, at: Position) -> str:
        parsed = self._parsed(at.path)
        if parsed is None:
            return ""
        for target in self._targets(self._resolver(), parsed, at):
            if not isinstance(target, Binding):
                continue
            place = (target.node.start_point[0] + 1, target.parsed.lines.column(*target.node.start_point))
            for row, node in target.parsed.defined:
                if (row.line, row.column) == place:
                    return hover(target.parsed, row, node)
        return ""

    def _resolver(self) -> Resolver:
        return Resolver(self.files, self.catalog, time.monotonic() + SECONDS)

    def _targets(self, resolver: Resolver, parsed: Parsed, at: Position) -> list[Target]:
        """What the name at a place means; on no name, the definition around it."""
        node = parsed.node_at(at.line, at.column)
        if node is not None:
            found = resolver.targets(parsed, node)
            return found or self._own(resolver, parsed, at)
        row = parsed.definition_around(at.line)
        own = resolver.namesakes.binding(parsed.path, row) if row is not None else None
        return [own] if own is not None else []

    def _own(self, resolver: Resolver, parsed: Parsed, at: Position) -> list[Target]:
        """The definition that is named exactly here: one that binds no name in a scope (Go's methods)."""
        row = _named_at(parsed, at)
        own = resolver.namesakes.binding(parsed.path, row) if row is not None else None
        return [own] if own is not None else []

    def _parsed(self, path: str) -> Parsed | None:
        inside = relative(self.root, path)
        return self.files.get(inside) if inside else None

    def _paths(self, file: str) -> list[str]:
        """The files a path of a symbol path means: itself, else those that end in it."""
        inside = relative(self.root, file)
        if inside and self.files.get(inside) is not None:
            return [inside]
        return sorted(path for path in list(self.catalog.files) if path.endswith("/" + file))[:MOST_NAMED]


def _ends(qualified: str, wanted: str) -> bool:
    return qualified == wanted or qualified.endswith("." + wanted)


def _fits(row: SymbolRow, wanted: str) -> bool:
    return _ends(f"{row.container}.{row.name}" if row.container else row.name, wanted)


def _by_depth(row: SymbolRow) -> tuple[int, int, int, str, int]:
    """Sources before tests, outer before inner, definitions before their declarations."""
    depth = row.container.count(".") + 1 if row.container else 0
    return (aside_of(row.path), depth, row.first - row.last, row.path, row.line)


def _named_at(parsed: Parsed, at: Position) -> Definition | None:
    for row in parsed.definitions:
        if row.line == at.line and row.column <= at.column <= row.end_column:
            return row
    return None


def _definition_at(parsed: Parsed, at: Position) -> Definition | None:
    """The one named at a place, else the innermost around its line."""
    if (named := _named_at(parsed, at)) is not None:
        return named
    starting = [row for row in parsed.definitions if row.first == at.line]
    return starting[0] if starting else parsed.definition_around(at.line)
