"""Finds definitions by name: fuzzy search for a few letters, and definitions of exactly one name ranked by
distance where no scope or import tells which is meant."""

import re
from collections.abc import Iterable
from itertools import takewhile

from cockpit.fuzzy_match import LETTERS, rank_name
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
MAX_MATCHES = 3
TYPE_KINDS = CLASS_KINDS | {"type", "namespace"}
LANGUAGE_FAMILIES = {
    "c": ("c", "cpp"),
    "cpp": ("c", "cpp"),
    "javascript": ("javascript", "typescript", "tsx"),
    "typescript": ("javascript", "typescript", "tsx"),
    "tsx": ("javascript", "typescript", "tsx"),
}


def search_definitions(
    files: Iterable[FileFacts], query: str, limit: int
) -> list[tuple[str, IndexedDefinition]]:
    """The best `limit` definitions by name; `Class.method` also matches the container."""
    container, _, last = query.replace("::", ".").rpartition(".")
    ending = f".{container}".lower() if container else ""
    matches: list[tuple[tuple[int, int, int, int, str, int], str, IndexedDefinition]] = []
    for facts in files:
        words = facts.names.decode("utf-8", "replace").split("\n")
        ranks = {name: rank for name in words if name and (rank := rank_name(last, name)) is not None}
        file_rank = path_rank(facts.path) if ranks else 0
        for row in facts.definitions() if ranks else ():
            rank = ranks.get(row.name, LETTERS)
            if rank >= LETTERS or not f".{row.container}".lower().endswith(ending):
                continue
            depth = row.container.count(".") + (1 if row.container else 0)
            key = (rank, file_rank, depth, len(row.name), facts.path, row.line)
            matches.append((key, facts.path, row))
    matches.sort(key=lambda match: match[0])
    return [(path, row) for _, path, row in matches[:limit]]


def count_common_folders(first: str, second: str) -> int:
    """How many leading folders two paths have in common."""
    pairs = zip(first.split("/")[:-1], second.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def path_rank(path: str) -> int:
    """0 for a source, 1 for a test, 2 for vendored or generated code."""
    if VENDORED_PATH.search(path):
        return 2
    return 1 if TEST_PATH.search(path) else 0


class NameLookup:
    """Definitions found by name alone."""

    def __init__(self, files: ParsedFiles, catalog: FileCatalog) -> None:
        self.files = files
        self.catalog = catalog

    def tops(self, parsed: ParsedFile, name: str) -> list[Target]:
        """Definitions called `name` outside classes, in files of the same language, nearest first."""
        matches = self._same_language(parsed, name)
        tops = [(path, row) for path, row in matches if not row.container or row.kind in TYPE_KINDS]
        return self._bindings(tops[:MAX_MATCHES])

    def sole(self, parsed: ParsedFile, name: str) -> list[Target]:
        """The members called `name` if only one class has such a member."""
        matches = [(path, row) for path, row in self._same_language(parsed, name) if row.container]
        if len({row.container.rpartition(".")[2] for _, row in matches}) != 1 or len(matches) > 2:
            return []
        return self._bindings(matches)

    def members(self, owner: NameBinding, name: str) -> list[Target]:
        """Members outside the class's body: Go methods, Rust's `impl`, C++ definitions."""
        if owner.parsed.language in ("python", "javascript", "typescript", "tsx", "java"):
            return []
        matches = self._same_language(owner.parsed, name)
        members = [(path, row) for path, row in matches if row.container.rpartition(".")[2] == owner.name]
        return self._bindings(members[:2])

    def binding(self, path: str, row: IndexedDefinition) -> NameBinding | None:
        """The definition as a binding of its file; None if the file has changed."""
        parsed = self.files.get(path)
        node = parsed.node_at(row.line, row.column) if parsed is not None else None
        if parsed is None or node is None or node_text(node) != row.name:
            return None
        bound = parsed.shape.bound.get(node.start_byte)
        if bound is not None and bound.imported is None:
            return bound
        scope = parsed.shape.scope_at(node.start_byte)
        return NameBinding(row.name, "def", node, parsed, scope, node.end_byte, node.parent)

    def _bindings(self, matches: Iterable[tuple[str, IndexedDefinition]]) -> list[Target]:
        bindings = (self.binding(path, row) for path, row in matches)
        return [binding for binding in bindings if binding is not None]

    def _same_language(self, parsed: ParsedFile, name: str) -> list[tuple[str, IndexedDefinition]]:
        """Definitions of a name in files of the same language, nearest first."""
        family = LANGUAGE_FAMILIES.get(parsed.language, (parsed.language,))
        matches = [
            (path, row)
            for path, row in self.catalog.defining(name)
            if (facts := self.catalog.get(path)) is not None and facts.language in family
        ]
        return sorted(matches, key=lambda match: _distance(parsed.path, *match))


def _distance(path: str, other: str, row: IndexedDefinition) -> tuple[int, bool, int, int, str]:
    """Sort key: sources before tests, definitions before declarations, then the nearest."""
    steps_apart = path.count("/") + other.count("/") - 2 * count_common_folders(path, other)
    file_rank = path_rank(other) if path_rank(path) != path_rank(other) else 0
    is_declared = row.first == row.last and "{" not in row.text
    return (file_rank, is_declared, steps_apart, row.first - row.last, other)
