"""Forms of a place that users and models write."""

import pytest

from cockpit.navigation.place_resolver import LinePlace, SymbolPlace, find_first_name, parse_place


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("src/a.py:3:5", LinePlace("src/a.py", 3, 5)),
        ("src/a.py:3", LinePlace("src/a.py", 3)),
        ("`src/a.py:3`", LinePlace("src/a.py", 3)),
        (r"C:\work\a.py:3:5", LinePlace(r"C:\work\a.py", 3, 5)),
        ("src/a.py:Cart.total", SymbolPlace("Cart.total", "src/a.py")),
        (r"C:\work\a.py:Cart.total", SymbolPlace("Cart.total", r"C:\work\a.py")),
        ("src/a.cpp:ns::f", SymbolPlace("ns.f", "src/a.cpp")),
        ("Cart.total", SymbolPlace("Cart.total")),
        ("Cart::total", SymbolPlace("Cart.total")),
        ("Cart#total", SymbolPlace("Cart.total")),
        ("total", SymbolPlace("total")),
        ("总计", SymbolPlace("总计")),
        ("src/a.py", None),
        (r"C:\work\a.py", None),
        ("a name of words", None),
        ("", None),
    ],
)
def test_a_place_is_read_as_it_is_meant(written: str, meant: LinePlace | SymbolPlace | None) -> None:
    assert parse_place(written) == meant


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("    async def total(self):", 15),
        ("export const rate = 3;", 14),
        ("    return", 0),
        ("x = 1", 1),
        ("", 0),
    ],
)
def test_first_name_of_a_line_is_not_a_keyword(line: str, column: int) -> None:
    assert find_first_name(line) == column
