"""Rows of several answerers as one list: no place twice, the best first. Pure."""

from collections.abc import Iterable, Sequence

from cockpit.protocol.code import SymbolRow

ASIDE = ("test", "tests", "vendor", "node_modules", "third_party", "migrations", "examples")


def joined(first: Iterable[SymbolRow], second: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
    """Both, each place once; where both have it, `first`'s row stays."""
    rows: dict[tuple[str, int, int], SymbolRow] = {}
    for row in (*first, *second):
        rows.setdefault((row.path, row.line, row.column), row)
    return tuple(rows.values())


def completed(index: Sequence[SymbolRow], server: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
    """The index's symbols, which know what they stand in, and a server's that it does not have: other names
    of a file, files it left out. What lies outside of the root is not the workspace's."""
    known = {(row.path, row.name) for row in index}
    more = (row for row in server if not _is_outside(row.path))
    return joined(index, (row for row in more if (row.path, row.name.rpartition(".")[2]) not in known))


def _is_outside(path: str) -> bool:
    return path.startswith(("/", "\\")) or path[1:2] == ":"


def by_place(rows: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
    return tuple(sorted(rows, key=lambda row: (row.path, row.line, row.column)))


def ranked(query: str, rows: Sequence[SymbolRow], limit: int = 200) -> tuple[SymbolRow, ...]:
    """Rows by how well their name fits `query`: exact, prefix, part, initials; tests and what others
    wrote come later. Rows that fit equally keep their order."""
    owner, _, wanted = query.rpartition(".")
    fitting = [(fit, at, row) for at, row in enumerate(rows) if (fit := _fit(wanted, row.name)) < 9]
    fitting.sort(key=lambda one: (_is_elsewhere(owner, one[2]), one[0], _is_aside(one[2].path), one[1]))
    return tuple(row for _, _, row in fitting[:limit])


def _is_elsewhere(owner: str, row: SymbolRow) -> bool:
    """Whether a name that was asked for as `owner.name` stands in something else."""
    return bool(owner) and not f".{row.container}".lower().endswith(f".{owner}".lower())


def _fit(wanted: str, name: str) -> int:
    """0 is the name itself; 9 is none."""
    lower, folded = wanted.lower(), name.lower()
    if name == wanted:
        return 0
    if folded == lower:
        return 1
    if folded.startswith(lower):
        return 2
    if lower in folded:
        return 3
    letters = iter(folded)
    return 4 if all(letter in letters for letter in lower) else 9


def _is_aside(path: str) -> bool:
    parts = path.lower().split("/")
    return any(part in ASIDE for part in parts[:-1]) or parts[-1].startswith("test_")
