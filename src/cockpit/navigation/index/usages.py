"""Finds what uses a definition: references, callers, callees, subclasses, implementations, tests."""

import re
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cockpit.navigation.index.definitions import CLASS_KINDS, IndexedDefinition
from cockpit.navigation.index.name_search import path_rank
from cockpit.navigation.index.parsed_file import NameBinding, ParsedFile, node_text
from cockpit.navigation.index.resolver import SymbolResolver, requires_imports
from cockpit.navigation.index.targets import (
    ModuleTarget,
    Target,
    TypedValue,
    find_definition,
    target_row,
    use_row,
)
from cockpit.protocol.code import SymbolRow

if TYPE_CHECKING:
    from tree_sitter import Node


TargetKey = tuple[str, int]
MAX_ROWS = 2_000
SEARCH_SECONDS = 4.0
# If more classes than this have a member of the name, a use on an unknown object is not counted.
MAX_OWNERS = 3
TEST_NAME = re.compile(r"^(test|Test|it$|should)|(Test|Tests|TestCase)$")


def target_key(target: Target) -> TargetKey:
    return (
        (target.path, -1)
        if isinstance(target, ModuleTarget)
        else (target.parsed.path, target.node.start_byte)
    )


class SubclassSearch:
    """Searches until `until` (monotonic), then answers with what it has found."""

    def __init__(self, resolver: SymbolResolver, until: float) -> None:
        self.resolver = resolver
        self._until = until

    def of(self, owner: NameBinding) -> list[NameBinding]:
        """The classes that name `owner` among their bases."""
        subclasses: dict[TargetKey, NameBinding] = {}
        for parsed in find_files_using(self.resolver, self._until, owner.name):
            for scope in parsed.shape.scopes:
                if scope.owner is None or target_key(scope.owner) in subclasses:
                    continue
                names = (base for base in scope.bases if owner.name in node_text(base))
                if any(target_key(owner) in self._bases(parsed, base) for base in names):
                    subclasses[target_key(scope.owner)] = scope.owner
            for subclass, base in parsed.shape.implements:
                if target_key(owner) in self._bases(parsed, base):
                    types = self.resolver.types.of(parsed, subclass)
                    subclasses |= {
                        target_key(type_.binding): type_.binding
                        for type_ in types
                        if isinstance(type_, TypedValue)
                    }
        return list(subclasses.values())

    def all(self, owner: NameBinding) -> Iterator[NameBinding]:
        """All direct and indirect subclasses."""
        visited = {target_key(owner)}
        pending = [owner]
        while pending and time.monotonic() < self._until:
            for subclass in self.of(pending.pop(0)):
                if target_key(subclass) not in visited:
                    visited.add(target_key(subclass))
                    pending.append(subclass)
                    yield subclass

    def _bases(self, parsed: ParsedFile, base: "Node") -> set[TargetKey]:
        types = self.resolver.types.of(parsed, base)
        return {target_key(type_.binding) for type_ in types if not isinstance(type_, ModuleTarget)}


def find_own_members(owner: NameBinding, name: str) -> list[NameBinding]:
    """The members called `name` that a class itself defines."""
    scopes = [scope for scope in owner.parsed.shape.scopes if scope.owner is owner]
    return [binding for scope in scopes for binding in scope.names.get(name, ()) if binding.imported is None]


def find_files_using(resolver: SymbolResolver, until: float, name: str) -> Iterator[ParsedFile]:
    for facts in sorted(resolver.catalog.using(name), key=lambda item: item.path):
        if time.monotonic() > until:
            return
        if (parsed := resolver.files.get(facts.path)) is not None:
            yield parsed


class UsageSearch:
    """Searches for uses of the targets of one question. Stops after four seconds with what it has found."""

    def __init__(self, resolver: SymbolResolver, targets: list[Target]) -> None:
        self.resolver = resolver
        self.targets = targets
        self._until = resolver.until = time.monotonic() + SEARCH_SECONDS
        self._subclasses = SubclassSearch(resolver, self._until)

    def is_cut(self, rows: int) -> bool:
        """Whether it stopped before the end."""
        return rows >= MAX_ROWS or time.monotonic() >= self._until

    def references(self) -> list[SymbolRow]:
        """Every use and the definitions themselves, file by file."""
        own_targets = {target_key(target): target for target in self.targets}

        def make_row(parsed: ParsedFile, node: "Node") -> SymbolRow:
            target = own_targets.get((parsed.path, node.start_byte))
            return target_row(target) if target is not None else use_row(parsed, node, "reference")

        return sorted(_unique_rows(make_row(*use) for use in self.nodes()), key=_location)

    def nodes(self) -> "Iterator[tuple[ParsedFile, Node]]":
        """Every name that refers to one of the targets."""
        for target in self.targets:
            if isinstance(target, NameBinding):
                yield from self._nodes_of(target)

    def callers(self) -> list[SymbolRow]:
        """The definitions in which a target is called; the file, for top-level code."""
        return _enclosing_rows(use for use in self.nodes() if is_callee(*use))

    def tests(self) -> list[SymbolRow]:
        """The tests that name one of the targets."""
        rows = _enclosing_rows(use for use in self.nodes() if path_rank(use[0].path) == 1)
        named = [row for row in rows if TEST_NAME.search(row.name) or row.kind == "reference"]
        return named or [row for row in rows if row.kind in ("function", "method")]

    def callees(self) -> list[SymbolRow]:
        """What the targets call, inside the root."""
        return _unique_rows(
            target_row(called)
            for target in self.targets
            if isinstance(target, NameBinding)
            for name in _called_names(target)
            for called in self.resolver.targets(target.parsed, name)
        )

    def supertypes(self) -> list[SymbolRow]:
        classes = self.resolver.classes
        return [target_row(base) for _, owner in self._classes() for base in classes.bases(owner)]

    def subtypes(self) -> list[SymbolRow]:
        subclasses = (subclass for _, owner in self._classes() for subclass in self._subclasses.of(owner))
        return sorted(map(target_row, subclasses), key=_location)

    def implementations(self) -> list[SymbolRow]:
        """All subclasses of a class; for a method, the overriding methods."""
        bindings: dict[TargetKey, NameBinding] = {}
        for target, owner in self._classes():
            for subclass in self._subclasses.all(owner):
                members = [subclass] if owner is target else find_own_members(subclass, target.name)
                bindings |= {target_key(binding): binding for binding in members}
        return sorted(map(target_row, bindings.values()), key=_location)

    def _classes(self) -> Iterator[tuple[NameBinding, NameBinding]]:
        """The targets that are classes, and those that are members, each with its class."""
        for target in self.targets:
            if isinstance(target, NameBinding):
                known = find_definition(target)
                is_class = known is not None and (known.kind in CLASS_KINDS or known.kind == "type")
                owner = target if is_class else target.scope.owner
                if owner is not None:
                    yield target, owner

    def _nodes_of(self, target: NameBinding) -> "Iterator[tuple[ParsedFile, Node]]":
        if is_local_binding(target):
            yield from self._local_nodes(target)
            return
        key = target_key(target)
        is_loose = target.scope.owner is not None and self._has_few_owners(target)
        has_own_file = False
        for parsed in find_files_using(self.resolver, self._until, target.name):
            has_own_file = has_own_file or parsed.path == target.parsed.path
            for node in parsed.names_of(target.name):
                if self._means(parsed, node, target, key, is_loose):
                    yield parsed, node
        if not has_own_file:
            yield target.parsed, target.node

    def _local_nodes(self, target: NameBinding) -> "Iterator[tuple[ParsedFile, Node]]":
        """Uses of a local variable: every name in its scope that no inner scope binds again."""
        parsed, scope = target.parsed, target.scope
        for node in parsed.names_of(target.name):
            if not scope.start <= node.start_byte < scope.end or node.start_byte in parsed.shape.members:
                continue
            if node.start_byte in parsed.shape.keywords and node.start_byte not in parsed.shape.bound:
                continue
            visible = parsed.shape.visible(target.name, node.start_byte)
            if visible is not None and visible[0] is scope:
                yield parsed, node

    def _means(
        self, parsed: ParsedFile, node: "Node", target: NameBinding, key: TargetKey, is_loose: bool
    ) -> bool:
        candidates = self.resolver.targets(parsed, node)
        if candidates:
            return any(
                target_key(candidate) == key or _is_same_symbol(candidate, target) for candidate in candidates
            )
        if node.start_byte in parsed.shape.members:
            return is_loose
        return not requires_imports(parsed) and not parsed.shape.visible(target.name, node.start_byte)

    def _has_few_owners(self, target: NameBinding) -> bool:
        definitions = self.resolver.catalog.defining(target.name)
        return len({(path, row.container) for path, row in definitions}) <= MAX_OWNERS


def _is_same_symbol(candidate: Target, target: NameBinding) -> bool:
    """Another binding of the same name in the same scope: assigned twice, declared and defined."""
    if not isinstance(candidate, NameBinding) or candidate.name != target.name:
        return False
    is_same_file = candidate.parsed.path == target.parsed.path
    return candidate.scope is target.scope or (is_same_file and candidate.scope.start == target.scope.start)


def is_local_binding(target: NameBinding) -> bool:
    """Whether a binding is visible in one function only."""
    if target.kind in ("parameter", "instance"):
        return True
    if target.scope.parent is None or target.scope.kind not in ("plain", "unordered"):
        return False
    # The names of a namespace or module are visible outside its block.
    known = find_definition(target)
    return known is None or known.kind in ("variable", "constant", "function")


def is_callee(parsed: ParsedFile, node: "Node") -> bool:
    """Whether a name is what a call calls."""
    callees = {callee.end_byte for callee in parsed.shape.calls.values()}
    return node.end_byte in callees and node.start_byte not in parsed.shape.bound


def _called_names(target: NameBinding) -> "Iterator[Node]":
    """The names of what a definition calls."""
    shape, whole = target.parsed.shape, _whole_node(target)
    for callee in shape.calls.values() if whole is not None else ():
        if whole is None or not whole.start_byte <= callee.start_byte < whole.end_byte:
            continue
        if target.parsed.is_name(callee):
            yield callee
        elif callee.id in shape.accesses:
            yield shape.accesses[callee.id][1]


def _whole_node(target: NameBinding) -> "Node | None":
    if target.whole is not None:
        return target.whole
    known = find_definition(target)
    return next((node for row, node in target.parsed.definition_nodes if row is known), None)


def _enclosing_rows(uses: "Iterable[tuple[ParsedFile, Node]]") -> list[SymbolRow]:
    """The definitions around nodes, each once; the use itself at the top level of a file."""

    def make_row(parsed: ParsedFile, node: "Node") -> SymbolRow:
        enclosing = _enclosing_definition(parsed, node)
        return enclosing.row(parsed.path) if enclosing is not None else use_row(parsed, node, "reference")

    return sorted(_unique_rows(make_row(*use) for use in uses), key=_location)


def _unique_rows(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    """Each location once; stops after 2,000."""
    unique: dict[tuple[str, int, int], SymbolRow] = {}
    for row in rows:
        unique.setdefault(_location(row), row)
        if len(unique) >= MAX_ROWS:
            break
    return list(unique.values())


def _location(row: SymbolRow) -> tuple[str, int, int]:
    return row.path, row.line, row.column


def _enclosing_definition(parsed: ParsedFile, node: "Node") -> IndexedDefinition | None:
    around = [
        row
        for row, whole in parsed.definition_nodes
        if whole.start_byte <= node.start_byte < whole.end_byte
        and row.kind in ("function", "method", "constructor", "macro", "class")
    ]
    return around[-1] if around else None
