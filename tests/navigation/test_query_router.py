"""Merging and ranking the rows of several backends."""

from cockpit.navigation.query_router import merge_rows, rank_symbols
from cockpit.protocol.code import AnswerSource, SymbolRow


def row(name: str, path: str = "a.py", line: int = 1, source: AnswerSource = "lsp") -> SymbolRow:
    return SymbolRow(name, "function", path, line, 1, "", source)


def test_a_location_appears_once_with_the_first_row() -> None:
    both = merge_rows([row("f")], [row("f", source="tree-sitter"), row("f", line=2, source="tree-sitter")])
    assert [(one.line, one.source) for one in both] == [(1, "lsp"), (2, "tree-sitter")]


def test_the_name_itself_comes_first_and_tests_come_last() -> None:
    rows = [row("my_total"), row("total", "tests/test_a.py"), row("total_of"), row("total"), row("other")]
    found = rank_symbols("total", rows)
    assert [(one.name, one.path) for one in found] == [
        ("total", "a.py"),
        ("total", "tests/test_a.py"),
        ("total_of", "a.py"),
        ("my_total", "a.py"),
    ]
