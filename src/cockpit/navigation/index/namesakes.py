"""Definitions found by name alone, where no scope or import says which: the nearest, or the only one."""

from cockpit.navigation.index.catalog import Catalog
from cockpit.navigation.index.definitions import CLASSES, Definition
from cockpit.navigation.index.parsed import Files, Parsed
from cockpit.navigation.index.searching import aside_of
from cockpit.navigation.index.shape import Binding, text_of
from cockpit.navigation.index.targets import Target

MOST = 3
TYPE_KINDS = CLASSES | {"type", "namespace"}
FAMILIES = {
    "c": ("c", "cpp"),
    "cpp": ("c", "cpp"),
    "javascript": ("javascript", "typescript", "tsx"),
    "typescript": ("javascript", "typescript", "tsx"),
    "tsx": ("javascript", "typescript", "tsx"),
}


class Namesakes:
    def __init__(self, files: Files, catalog: Catalog) -> None:
        self.files = files
        self.catalog = catalog

    def tops(self, parsed: Parsed, name: str) -> list[Target]:
        """Definitions called `name` that stand in no class, in files of the same language, nearest first."""
        found = [
            (path, row)
            for path, row in self._kin(parsed, name)
            if not row.container or row.kind in TYPE_KINDS
        ]
        found.sort(key=lambda one: _nearness(parsed.path, *one))
        return [one for one in (self.binding(path, row) for path, row in found[:MOST]) if one is not None]

    def sole(self, parsed: Parsed, name: str) -> list[Target]:
        """The members called `name` when one class only has such."""
        found = [(path, row) for path, row in self._kin(parsed, name) if row.container]
        if len({(row.container.rpartition(".")[2]) for _, row in found}) != 1 or len(found) > 2:
            return []
        found.sort(key=lambda one: _nearness(parsed.path, *one))
        return [one for one in (self.binding(path, row) for path, row in found) if one is not None]

    def members(self, owner: Binding, name: str) -> list[Target]:
        """Members that stand outside of the class's body: Go methods, Rust's `impl`, C++ definitions."""
        if owner.parsed.language in ("python", "javascript", "typescript", "tsx", "java"):
            return []
        found = [
            (path, row)
            for path, row in self._kin(owner.parsed, name)
            if row.container.rpartition(".")[2] == owner.name
        ]
        found.sort(key=lambda one: _nearness(owner.parsed.path, *one))
        return [one for one in (self.binding(path, row) for path, row in found[:2]) if one is not None]

    def binding(self, path: str, row: Definition) -> Binding | None:
        """A definition of the index as a binding of its file, None when the file is another by now."""
        parsed = self.files.get(path)
        node = parsed.node_at(row.line, row.column) if parsed is not None else None
        if parsed is None or node is None or text_of(node) != row.name:
            return None
        bound = parsed.shape.bound.get(node.start_byte)
        if bound is not None and bound.imported is None:
            return bound
        scope = parsed.shape.scope_at(node.start_byte)
        return Binding(row.name, "def", node, parsed, scope, node.end_byte, node.parent)

    def _kin(self, parsed: Parsed, name: str) -> list[tuple[str, Definition]]:
        """Definitions of a name in files of the same language."""
        family = FAMILIES.get(parsed.language, (parsed.language,))
        return [
            (path, row)
            for path, row in self.catalog.defining(name)
            if (one := self.catalog.get(path)) is not None and one.language in family
        ]


def _nearness(path: str, other: str, row: Definition) -> tuple[int, bool, int, int, str]:
    """Sources before tests, definitions before declarations, then the nearest."""
    mine, theirs = path.split("/")[:-1], other.split("/")[:-1]
    shared = 0
    for a, b in zip(mine, theirs, strict=False):
        if a != b:
            break
        shared += 1
    apart = len(mine) + len(theirs) - 2 * shared
    aside = aside_of(other) if aside_of(path) != aside_of(other) else 0
    is_declared = row.first == row.last and "{" not in row.text
    return (aside, is_declared, apart, row.first - row.last, other)
