"""Answers about code as a session would give them: the shop of the scenes."""

from cockpit.protocol.code import (
    FileText,
    Navigate,
    Place,
    ProblemRow,
    ProblemRows,
    Problems,
    SymbolRow,
    SymbolRows,
    Symbols,
    TextPage,
)
from cockpit.protocol.queries import Query, Reply

CART = "src/shop/cart.py"
TEXT = '''"""Carts and what they cost."""

from decimal import Decimal

TAX = Decimal("0.19")


class Cart:
    """Prices, and a discount on all of them."""

    def __init__(self, prices: list[Decimal], discount: Decimal | None = None) -> None:
        self.prices = prices
        self.discount = discount

    def total(self) -> Decimal:
        """What is to be paid."""

        def rebate() -> Decimal:
            return self.discount or Decimal(0)

        return sum(self.prices, Decimal(0)) - rebate()


def checkout(cart: Cart) -> str:
    return f"{cart.total() * (1 + TAX):.2f} €"
'''
_LINES = TEXT.split("\n")


def symbol(name: str, kind: str, line: int, last: int, container: str = "", path: str = CART) -> SymbolRow:
    text = _LINES[line - 1].strip() if path == CART else f"def {name}():"
    column = _LINES[line - 1].find(name) + 1 if path == CART else 5
    end = column + len(name)
    return SymbolRow(name, kind, path, line, column, text, "lsp", line, end, line, last, container)


OUTLINE = (
    symbol("TAX", "constant", 5, 5),
    symbol("Cart", "class", 8, 22),
    symbol("__init__", "method", 11, 13, "Cart"),
    symbol("total", "method", 15, 21, "Cart"),
    symbol("rebate", "function", 18, 19, "Cart.total"),
    symbol("checkout", "function", 24, 25),
)
ELSEWHERE = (
    symbol("test_cart_total", "function", 7, 9, path="tests/test_cart.py"),
    symbol("cart_of", "function", 3, 5, path="tests/support.py"),
)
USES = (
    SymbolRow("total", "reference", CART, 25, 19, _LINES[24].strip(), "lsp", 25, 24),
    SymbolRow("total", "reference", "tests/test_cart.py", 8, 17, "assert cart.total() == 7", "lsp", 8, 22),
)
PROBLEMS = (
    ProblemRow(CART, 19, 20, 19, 33, "error", "`discount` may be None here", "possibly-none", "ty"),
    ProblemRow(CART, 3, 21, 3, 28, "warning", "`Decimal` imported but unused", "F401", "ruff"),
    ProblemRow("tests/test_cart.py", 1, 8, 1, 10, "warning", "`os` imported but unused", "F401", "ruff"),
)


def about_code(query: Query) -> Reply | None:
    """The reply to a question about code, None for another question."""
    match query:
        case Symbols(text, ""):
            rows = [row for row in (*OUTLINE, *ELSEWHERE) if text.lower() in row.name.lower()]
            return SymbolRows(tuple(rows))
        case Symbols(_, path):
            return SymbolRows(OUTLINE if path == CART else ())
        case Place(path, line, _):
            around = [row for row in OUTLINE if path == CART and row.first <= line <= row.last]
            return SymbolRows(tuple(sorted(around, key=lambda row: row.last - row.first)[:1]))
        case Navigate():
            return SymbolRows(USES)
        case Problems(path):
            return ProblemRows(tuple(row for row in PROBLEMS if path in ("", row.path)))
        case FileText(path, first, last):
            lines = _LINES if path == CART else [f"line {n}" for n in range(1, 5001)]
            return TextPage(path, first, "\n".join(lines[first - 1 : last or None]), len(lines))
        case _:
            return None
