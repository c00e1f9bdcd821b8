"""Who uses a definition: references, callers, callees, heirs, tests."""

import re
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cockpit.navigation.index.definitions import CLASSES, Definition
from cockpit.navigation.index.heirs import Heirs, Key, files_using, key_of, own_members
from cockpit.navigation.index.parsed import Parsed
from cockpit.navigation.index.resolving import Resolver, is_closed
from cockpit.navigation.index.searching import aside_of
from cockpit.navigation.index.shape import Binding
from cockpit.navigation.index.targets import Target, definition_of, row_of, use_row
from cockpit.protocol.code import SymbolRow

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 2_000
SECONDS = 4.0
# A member of a name that many classes have says nothing where its object is unknown.
NAMESAKES = 3
TEST = re.compile(r"^(test|Test|it$|should)|(Test|Tests|TestCase)$")


class Uses:
    """What uses the targets of one question. Stops after four seconds with what it has."""

    def __init__(self, resolver: Resolver, targets: list[Target]) -> None:
        self.resolver = resolver
        self.targets = targets
        self._until = resolver.until = time.monotonic() + SECONDS
        self._heirs = Heirs(resolver, self._until)

    def is_cut(self, rows: int) -> bool:
        """Whether it stopped before its end."""
        return rows >= MOST or time.monotonic() >= self._until

    def references(self) -> list[SymbolRow]:
        """Every use and the definitions themselves, file by file."""
        rows: dict[tuple[str, int, int], SymbolRow] = {}
        own = {key_of(one): one for one in self.targets}
        for parsed, node in self.nodes():
            target = own.get((parsed.path, node.start_byte))
            row = row_of(target) if target is not None else use_row(parsed, node, "reference")
            rows.setdefault((row.path, row.line, row.column), row)
            if len(rows) >= MOST:
                break
        return sorted(rows.values(), key=lambda row: (row.path, row.line, row.column))

    def nodes(self) -> "Iterator[tuple[Parsed, Node]]":
        """Every name that means one of the targets."""
        for target in self.targets:
            if isinstance(target, Binding):
                yield from self._nodes_of(target)

    def callers(self) -> list[SymbolRow]:
        """The definitions in which one of the targets is called; the file, for what runs at its top."""
        return _around((parsed, node) for parsed, node in self.nodes() if is_called(parsed, node))

    def tests(self) -> list[SymbolRow]:
        """The tests that name one of the targets."""
        found = ((parsed, node) for parsed, node in self.nodes() if aside_of(parsed.path) == 1)
        rows = _around(found)
        named = [row for row in rows if TEST.search(row.name) or row.kind == "reference"]
        return named or [row for row in rows if row.kind in ("function", "method")]

    def callees(self) -> list[SymbolRow]:
        """What the targets call, as far as it lies in the root."""
        rows: dict[tuple[str, int, int], SymbolRow] = {}
        for target in self.targets:
            if not isinstance(target, Binding):
                continue
            whole = _whole(target)
            for callee in target.parsed.shape.calls.values() if whole is not None else ():
                if whole is None or not whole.start_byte <= callee.start_byte < whole.end_byte:
                    continue
                name = _called_name(target.parsed, callee)
                for one in self.resolver.targets(target.parsed, name) if name is not None else ():
                    row = row_of(one)
                    rows.setdefault((row.path, row.line, row.column), row)
        return list(rows.values())

    def supertypes(self) -> list[SymbolRow]:
        classes = self.resolver.classes
        return [row_of(base) for one in self._classes() for base in classes.bases(one)]

    def subtypes(self) -> list[SymbolRow]:
        rows = [row_of(one) for owner in self._classes() for one in self._heirs.of(owner)]
        return sorted(rows, key=lambda row: (row.path, row.line))

    def implementations(self) -> list[SymbolRow]:
        """The heirs of a class, all the way down; of a method, what heirs put in its place."""
        found: dict[Key, Binding] = {}
        for target in self.targets:
            if not isinstance(target, Binding):
                continue
            owner = target if self._is_class(target) else target.scope.owner
            for heir in self._heirs.all(owner) if owner is not None else ():
                members = [heir] if owner is target else own_members(heir, target.name)
                found |= {key_of(one): one for one in members}
        rows = [row_of(one) for one in found.values()]
        return sorted(rows, key=lambda row: (row.path, row.line))

    def _classes(self) -> list[Binding]:
        """The targets that are classes; of a method, the class around it."""
        found = []
        for target in self.targets:
            if isinstance(target, Binding):
                owner = target if self._is_class(target) else target.scope.owner
                found += [owner] if owner is not None else []
        return found

    def _is_class(self, target: Binding) -> bool:
        known = definition_of(target)
        return known is not None and (known.kind in CLASSES or known.kind == "type")

    def _nodes_of(self, target: Binding) -> "Iterator[tuple[Parsed, Node]]":
        if is_local(target):
            yield from self._local_nodes(target)
            return
        key = key_of(target)
        is_loose = target.scope.owner is not None and self._is_rare(target)
        seen = False
        for parsed in files_using(self.resolver, self._until, target.name):
            seen = seen or parsed.path == target.parsed.path
            for node in parsed.names_of(target.name):
                if self._means(parsed, node, target, key, is_loose):
                    yield parsed, node
        if not seen:
            yield target.parsed, target.node

    def _local_nodes(self, target: Binding) -> "Iterator[tuple[Parsed, Node]]":
        """A local's uses: every name in its scope that no inner scope binds anew."""
        parsed, scope = target.parsed, target.scope
        for node in parsed.names_of(target.name):
            if not scope.start <= node.start_byte < scope.end or node.start_byte in parsed.shape.members:
                continue
            if node.start_byte in parsed.shape.keywords and node.start_byte not in parsed.shape.bound:
                continue
            seen = parsed.shape.visible(target.name, node.start_byte)
            if seen is not None and seen[0] is scope:
                yield parsed, node

    def _means(self, parsed: Parsed, node: "Node", target: Binding, key: Key, is_loose: bool) -> bool:
        found = self.resolver.targets(parsed, node)
        if found:
            return any(key_of(one) == key or self._is_kin(one, target) for one in found)
        if node.start_byte in parsed.shape.members:
            return is_loose
        return not is_closed(parsed) and not parsed.shape.visible(target.name, node.start_byte)

    def _is_kin(self, one: Target, target: Binding) -> bool:
        """Another binding of the same name in the same scope: assigned twice, declared and defined."""
        if not isinstance(one, Binding) or one.name != target.name:
            return False
        return one.scope is target.scope or (one.parsed.path, one.scope.start) == (
            target.parsed.path,
            target.scope.start,
        )

    def _is_rare(self, target: Binding) -> bool:
        owners: set[tuple[str, str]] = set()
        for path, row in self.resolver.catalog.defining(target.name):
            owners.add((path, row.container))
            if len(owners) > NAMESAKES:
                return False
        return True


def is_local(target: Binding) -> bool:
    """Whether a binding is seen in one function only."""
    if target.kind in ("parameter", "instance"):
        return True
    scope = target.scope
    return scope.parent is not None and scope.kind in ("plain", "unordered") and not _is_open(target)


def _is_open(target: Binding) -> bool:
    """Whether a block's names are seen outside: a namespace's, a module's."""
    known = definition_of(target)
    return known is not None and known.kind not in ("variable", "constant", "function")


def is_called(parsed: Parsed, node: "Node") -> bool:
    """Whether a name is what a call calls."""
    callees = {one.end_byte for one in parsed.shape.calls.values()}
    return node.end_byte in callees and node.start_byte not in parsed.shape.bound


def _called_name(parsed: Parsed, callee: "Node") -> "Node | None":
    if parsed.is_name(callee):
        return callee
    access = parsed.shape.accesses.get(callee.id)
    return access[1] if access is not None else None


def _whole(target: Binding) -> "Node | None":
    if target.whole is not None:
        return target.whole
    known = definition_of(target)
    return next((node for row, node in target.parsed.defined if row is known), None)


def _around(found: "Iterable[tuple[Parsed, Node]]") -> list[SymbolRow]:
    """The definitions around nodes, each once; the use itself at the top of a file."""
    rows: dict[tuple[str, int, int], SymbolRow] = {}
    for parsed, node in found:
        around = _enclosing(parsed, node)
        row = around.row(parsed.path) if around is not None else use_row(parsed, node, "reference")
        rows.setdefault((row.path, row.line, row.column), row)
    return sorted(rows.values(), key=lambda row: (row.path, row.line, row.column))


def _enclosing(parsed: Parsed, node: "Node") -> Definition | None:
    best: Definition | None = None
    for row, whole in parsed.defined:
        inside = whole.start_byte <= node.start_byte < whole.end_byte
        if inside and row.kind in ("function", "method", "constructor", "macro", "class"):
            best = row
    return best
