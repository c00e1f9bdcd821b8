"""Finding definitions by a few letters of their name: which names fit, and how well.

Definitions found by name alone, where no scope or import says which: the nearest, or the only one.
"""

import re
from collections.abc import Iterable

from cockpit.navigation.index.definitions import CLASS_KINDS, IndexedDefinition
from cockpit.navigation.index.file_facts import FileCatalog, FileFacts
from cockpit.navigation.index.parsed_file import NameBinding, ParsedFile, ParsedFiles, node_text
from cockpit.navigation.index.targets import Target

TEST_PATH = re.compile(
    r"(^|/)(tests?|testing|spec|__tests__|testdata|fixtures)(/|$)|(^|/)(test_[^/]*|[^/]*_test)\.\w+$"
    r"|\.(test|spec)\.\w+$"
)
VENDORED_PATH = re.compile(
    r"(^|/)(vendor|third[-_]?party|external|extern|deps|dist|build|generated|migrations)(/|$)|\.min\."
)
INITIAL = re.compile(r"(?:^|[_\W])([A-Za-z])|(?<=[a-z\d])([A-Z])|([A-Z])(?=[a-z])")
LOCAL = 6


def match_rank(query: str, name: str) -> int:
    """How well a name fits, 0 best; -1 when it does not.

    Exact, exact but for case, prefix, initials (`gvs` for `get_value_set`, `QS` for `QuerySet`), substring.
    """
    if name == query:
        return 0
    small, wanted = name.lower(), query.lower()
    if small == wanted:
        return 1
    if small.startswith(wanted):
        return 2 if name.startswith(query) else 3
    if len(query) > 1 and initials(name).startswith(wanted):
        return 4
    if wanted in small:
        return 5
    return -1


def initials(name: str) -> str:
    """The first letters of the words in a name, in lower case."""
    return "".join(a or b or c for a, b, c in INITIAL.findall(name)).lower()


def search_definitions(
    files: Iterable[FileFacts], query: str, limit: int
) -> list[tuple[str, IndexedDefinition]]:
    """The best `limit` definitions by name; `Class.method` also looks at what a name stands in."""
    container, _, last = query.replace("::", ".").rpartition(".")
    found: list[tuple[tuple[int, int, int, int, str, int], str, IndexedDefinition]] = []
    for one in files:
        fitting = _rank_names(one.names, last)
        if not fitting:
            continue
        aside = path_rank(one.path)
        for row in one.definitions():
            rank = fitting.get(row.name, -1)
            if rank < 0 or not _is_in_container(row.container, container):
                continue
            depth = row.container.count(".") + (1 if row.container else 0)
            key = (rank, aside, depth, len(row.name), one.path, row.line)
            found.append((key, one.path, row))
    found.sort(key=lambda one: one[0])
    return [(path, row) for _, path, row in found[:limit]]


def _rank_names(names: bytes, query: str) -> dict[str, int]:
    """The names of a file that fit, each with how well."""
    text = names.decode("utf-8", "replace").strip("\n")
    if not text:
        return {}
    ranks = {name: match_rank(query, name) for name in text.split("\n")}
    return {name: rank for name, rank in ranks.items() if rank >= 0}


def _is_in_container(container: str, wanted: str) -> bool:
    return not wanted or f".{container}".lower().endswith(f".{wanted}".lower())


def path_rank(path: str) -> int:
    """0 for a source, 1 for a test's, 2 for what somebody else wrote or a program made."""
    if VENDORED_PATH.search(path):
        return 2
    return 1 if TEST_PATH.search(path) else 0


MAX_MATCHES = 3
TYPE_KINDS = CLASS_KINDS | {"type", "namespace"}
LANGUAGE_FAMILIES = {
    "c": ("c", "cpp"),
    "cpp": ("c", "cpp"),
    "javascript": ("javascript", "typescript", "tsx"),
    "typescript": ("javascript", "typescript", "tsx"),
    "tsx": ("javascript", "typescript", "tsx"),
}


class NameLookup:
    def __init__(self, files: ParsedFiles, catalog: FileCatalog) -> None:
        self.files = files
        self.catalog = catalog

    def tops(self, parsed: ParsedFile, name: str) -> list[Target]:
        """Definitions called `name` that stand in no class, in files of the same language, nearest first."""
        found = [
            (path, row)
            for path, row in self._kin(parsed, name)
            if not row.container or row.kind in TYPE_KINDS
        ]
        found.sort(key=lambda one: _distance(parsed.path, *one))
        return [
            one for one in (self.binding(path, row) for path, row in found[:MAX_MATCHES]) if one is not None
        ]

    def sole(self, parsed: ParsedFile, name: str) -> list[Target]:
        """The members called `name` when one class only has such."""
        found = [(path, row) for path, row in self._kin(parsed, name) if row.container]
        if len({(row.container.rpartition(".")[2]) for _, row in found}) != 1 or len(found) > 2:
            return []
        found.sort(key=lambda one: _distance(parsed.path, *one))
        return [one for one in (self.binding(path, row) for path, row in found) if one is not None]

    def members(self, owner: NameBinding, name: str) -> list[Target]:
        """Members that stand outside of the class's body: Go methods, Rust's `impl`, C++ definitions."""
        if owner.parsed.language in ("python", "javascript", "typescript", "tsx", "java"):
            return []
        found = [
            (path, row)
            for path, row in self._kin(owner.parsed, name)
            if row.container.rpartition(".")[2] == owner.name
        ]
        found.sort(key=lambda one: _distance(owner.parsed.path, *one))
        return [one for one in (self.binding(path, row) for path, row in found[:2]) if one is not None]

    def binding(self, path: str, row: IndexedDefinition) -> NameBinding | None:
        """A definition of the index as a binding of its file, None when the file is another by now."""
        parsed = self.files.get(path)
        node = parsed.node_at(row.line, row.column) if parsed is not None else None
        if parsed is None or node is None or node_text(node) != row.name:
            return None
        bound = parsed.shape.bound.get(node.start_byte)
        if bound is not None and bound.imported is None:
            return bound
        scope = parsed.shape.scope_at(node.start_byte)
        return NameBinding(row.name, "def", node, parsed, scope, node.end_byte, node.parent)

    def _kin(self, parsed: ParsedFile, name: str) -> list[tuple[str, IndexedDefinition]]:
        """Definitions of a name in files of the same language."""
        family = LANGUAGE_FAMILIES.get(parsed.language, (parsed.language,))
        return [
            (path, row)
            for path, row in self.catalog.defining(name)
            if (one := self.catalog.get(path)) is not None and one.language in family
        ]


def _distance(path: str, other: str, row: IndexedDefinition) -> tuple[int, bool, int, int, str]:
    """Sources before tests, definitions before declarations, then the nearest."""
    mine, theirs = path.split("/")[:-1], other.split("/")[:-1]
    shared = 0
    for a, b in zip(mine, theirs, strict=False):
        if a != b:
            break
        shared += 1
    apart = len(mine) + len(theirs) - 2 * shared
    aside = path_rank(other) if path_rank(path) != path_rank(other) else 0
    is_declared = row.first == row.last and "{" not in row.text
    return (aside, is_declared, apart, row.first - row.last, other)
