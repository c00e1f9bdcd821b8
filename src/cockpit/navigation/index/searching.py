"""Finding definitions by a few letters of their name: which names fit, and how well."""

import re
from collections.abc import Iterable

from cockpit.navigation.index.definitions import Definition
from cockpit.navigation.index.facts import FileFacts

TESTS = re.compile(
    r"(^|/)(tests?|testing|spec|__tests__|testdata|fixtures)(/|$)|(^|/)(test_[^/]*|[^/]*_test)\.\w+$"
    r"|\.(test|spec)\.\w+$"
)
VENDORED = re.compile(
    r"(^|/)(vendor|third[-_]?party|external|extern|deps|dist|build|generated|migrations)(/|$)|\.min\."
)
INITIAL = re.compile(r"(?:^|[_\W])([A-Za-z])|(?<=[a-z\d])([A-Z])|([A-Z])(?=[a-z])")
LOCAL = 6


def fit(query: str, name: str) -> int:
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


def search(files: Iterable[FileFacts], query: str, limit: int) -> list[tuple[str, Definition]]:
    """The best `limit` definitions by name; `Class.method` also looks at what a name stands in."""
    container, _, last = query.replace("::", ".").rpartition(".")
    found: list[tuple[tuple[int, int, int, int, str, int], str, Definition]] = []
    for one in files:
        fitting = _fitting(one.names, last)
        if not fitting:
            continue
        aside = aside_of(one.path)
        for row in one.definitions():
            rank = fitting.get(row.name, -1)
            if rank < 0 or not _stands_in(row.container, container):
                continue
            depth = row.container.count(".") + (1 if row.container else 0)
            key = (rank, aside, depth, len(row.name), one.path, row.line)
            found.append((key, one.path, row))
    found.sort(key=lambda one: one[0])
    return [(path, row) for _, path, row in found[:limit]]


def _fitting(names: bytes, query: str) -> dict[str, int]:
    """The names of a file that fit, each with how well."""
    text = names.decode("utf-8", "replace").strip("\n")
    if not text:
        return {}
    ranks = {name: fit(query, name) for name in text.split("\n")}
    return {name: rank for name, rank in ranks.items() if rank >= 0}


def _stands_in(container: str, wanted: str) -> bool:
    return not wanted or f".{container}".lower().endswith(f".{wanted}".lower())


def aside_of(path: str) -> int:
    """0 for a source, 1 for a test's, 2 for what somebody else wrote or a program made."""
    if VENDORED.search(path):
        return 2
    return 1 if TESTS.search(path) else 0
