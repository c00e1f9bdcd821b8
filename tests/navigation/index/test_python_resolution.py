"""Name resolution in Python by tree-sitter alone."""

from pathlib import Path

import pytest
from tests.support.sources import at, indexed, names, places, write

SHOP = '''
=== shop/__init__.py
from .cart import Cart as Basket
from .prices import *
=== shop/cart.py
"""Carts."""
import functools
from typing import Optional

from . import prices
from .prices import Price, tax as add_tax

LIMIT = 10


class Base:
    limit = LIMIT

    def __init__(self, owner):
        self.owner = owner
        self.rows = []

    def total(self):
        return sum(row.amount for row in self.rows)


class Cart(Base):
    """Holds what is bought."""

    # How it is shown to a person.
    @property
    def first(self) -> Optional[Price]:
        return self.rows[0]

    def add(self, price: Price, *, often=1):
        for _ in range(often):
            self.rows.append(price)
        label = price.amount
        if often:
            label = add_tax(price)
        return label

    def total(self):
        return prices.tax(super().total())

    @classmethod
    def empty(cls):
        return cls(None)

    def merge(self, other: "Cart"):
        kept = self.first.amount
        limit = [limit for limit in other.rows if limit]
        return self.limit, kept


def main():
    cart = Cart.empty()
    cart.add(Price(3), often=2)
    with Opened() as opened:
        opened.read()
    try:
        pass
    except Broken as error:
        error.reason
    return lambda price: price


class Opened:
    def __enter__(self):
        return self

    def read(self): ...


class Broken(Exception):
    def __init__(self, reason):
        self.reason = reason
=== shop/prices.py
class Price:
    def __init__(self, amount):
        self.amount = amount


def tax(value):
    return value * 1.2


def __secret(): ...
=== app.py
import shop.cart
import shop as store
from shop import Basket, Price, tax
import os.path

basket = Basket(None)
basket.add(Price(1))
store.tax(2)
shop.cart.main()
os.path.join("a")
def total(): ...
=== tests/test_cart.py
from shop.cart import Cart


class TestCart:
    def test_adding(self):
        Cart(None).add(3)


def test_nothing():
    "Cart.add"
'''
MEANS = [
    ("shop/cart.py", "= |LIMIT", ["shop/cart.py:8"]),
    ("shop/cart.py", "self.|rows[0]", ["shop/cart.py:16"]),
    ("shop/cart.py", "row.|amount", []),
    ("shop/cart.py", "(|row.amount", ["shop/cart.py:19"]),
    ("shop/cart.py", "append(|price)", ["shop/cart.py:30"]),
    ("shop/cart.py", "label = price.|amount", ["shop/prices.py:3"]),
    ("shop/cart.py", "return |label", ["shop/cart.py:35", "shop/cart.py:33"]),
    ("shop/cart.py", "= |add_tax", ["shop/prices.py:6"]),
    ("shop/cart.py", "return |prices", ["shop/prices.py:1"]),
    ("shop/cart.py", "prices.|tax", ["shop/prices.py:6"]),
    ("shop/cart.py", "super().|total", ["shop/cart.py:18"]),
    ("shop/cart.py", "return |cls", ["shop/cart.py:42"]),
    ("shop/cart.py", "self.first.|amount", ["shop/prices.py:3"]),
    ("shop/cart.py", "= [|limit for", ["shop/cart.py:47"]),
    ("shop/cart.py", "return self.|limit", ["shop/cart.py:12"]),
    ("shop/cart.py", "cart.|add(Price", ["shop/cart.py:30"]),
    ("shop/cart.py", "|often=2", ["shop/cart.py:30"]),
    ("shop/cart.py", "opened.|read", ["shop/cart.py:67"]),
    ("shop/cart.py", "error.|reason", ["shop/cart.py:72"]),
    ("shop/cart.py", "lambda price: |price", ["shop/cart.py:60"]),
    ("shop/cart.py", "|functools", []),
    ("app.py", "basket.|add", ["shop/cart.py:30"]),
    ("app.py", "|Price(1)", ["shop/prices.py:1"]),
    ("app.py", "store.|tax", ["shop/prices.py:6"]),
    ("app.py", "shop.cart.|main", ["shop/cart.py:51"]),
    ("app.py", "import shop.|cart", ["shop/cart.py:1"]),
    ("app.py", "os.path.|join", []),
    ("app.py", "from shop import |Basket", ["shop/cart.py:22"]),
]


@pytest.fixture
def shop(root: Path) -> Path:
    write(root, SHOP)
    return root


async def test_scopes_imports_and_evident_classes_resolve_names(shop: Path) -> None:
    async with indexed(shop) as index:
        found = {
            (path, marked): places(await index.related("definition", at(shop, path, marked)))
            for path, marked, _ in MEANS
        }
    assert found == {(path, marked): expected for path, marked, expected in MEANS}


async def test_references_exclude_strings_and_unrelated_names(shop: Path) -> None:
    async with indexed(shop) as index:
        add = await index.related("references", at(shop, "shop/cart.py", "def |add"))
        tax = await index.related("references", at(shop, "shop/prices.py", "def |tax"))
        local = await index.related("references", at(shop, "shop/cart.py", "|label = price"))
        total = await index.related("references", at(shop, "app.py", "def |total"))
    assert places(add) == ["app.py:7", "shop/cart.py:30", "shop/cart.py:53", "tests/test_cart.py:6"]
    assert places(tax) == ["app.py:3", "app.py:8", "shop/cart.py:6", "shop/cart.py:39", "shop/prices.py:6"]
    assert places(local) == ["shop/cart.py:33", "shop/cart.py:35", "shop/cart.py:36"]
    assert places(total) == ["app.py:11"]
    assert {row.kind for row in add} == {"method", "reference"}


async def test_calls_subclasses_and_tests_follow_resolved_names(shop: Path) -> None:
    async with indexed(shop) as index:
        add = at(shop, "shop/cart.py", "def |add")
        callers = await index.related("callers", add)
        callees = await index.related("callees", at(shop, "shop/cart.py", "def |main"))
        tests = await index.related("tests", add)
        above = await index.related("supertypes", at(shop, "shop/cart.py", "class |Cart"))
        below = await index.related("subtypes", at(shop, "shop/cart.py", "class |Base"))
        instead = await index.related("implementations", at(shop, "shop/cart.py", "def |total"))
    assert places(callers) == ["app.py:7", "shop/cart.py:51", "tests/test_cart.py:5"]
    assert names(callees)[:3] == ["Cart.empty", "Cart.add", "Price"]
    assert names(tests) == ["TestCart.test_adding"]
    assert (names(above), names(below)) == (["Base"], ["Cart"])
    assert places(instead) == ["shop/cart.py:38"]


async def test_extent_and_hover_know_decorators_comments_and_docstrings(shop: Path) -> None:
    async with indexed(shop) as index:
        span = await index.extent(at(shop, "shop/cart.py", "def |first"))
        inside = await index.extent(at(shop, "shop/cart.py", "|self.rows[0]"))
        hover = await index.hover(at(shop, "app.py", "= |Basket"))
        nothing = await index.hover(at(shop, "app.py", "|os.path.join"))
    text = (shop / "shop/cart.py").read_bytes()
    assert span == inside and span is not None
    assert text[span[0] : span[1]].startswith(b"# How it is shown") and text[: span[1]].endswith(b"rows[0]")
    assert hover == "```python\nclass Cart(Base)\n```\n\nHolds what is bought."
    assert nothing == ""


async def test_a_root_that_is_the_package_resolves_its_absolute_imports(root: Path) -> None:
    package = root / "shop"
    write(
        root, "=== shop/__init__.py\n=== shop/a.py\nfrom shop.b import f\nf()\n=== shop/b.py\ndef f(): ...\n"
    )
    async with indexed(package) as index:
        assert places(await index.related("definition", at(package, "a.py", "|f()"))) == ["b.py:1"]


async def test_a_sources_folder_and_stub_files_are_found(root: Path) -> None:
    write(
        root,
        "=== src/lib/__init__.py\n=== src/lib/core.pyi\ndef run(): ...\n"
        "=== run.py\nfrom lib.core import run\nrun()\n",
    )
    async with indexed(root) as index:
        assert places(await index.related("definition", at(root, "run.py", "|run()"))) == [
            "src/lib/core.pyi:1"
        ]


async def test_circular_imports_terminate(root: Path) -> None:
    write(
        root, "=== a.py\nfrom b import x\nfrom b import *\nx\ny\n=== b.py\nfrom a import x\nfrom a import *\n"
    )
    async with indexed(root) as index:
        assert await index.related("definition", at(root, "a.py", "\n|x\n")) == ()
        assert await index.related("definition", at(root, "a.py", "\n|y\n")) == ()
        assert not index.failure


async def test_a_member_of_an_unknown_object_is_ambiguous_in_several_classes(root: Path) -> None:
    write(
        root,
        """
=== a.py
class A:
    def get(self): ...
    def only_here(self): ...
class B:
    def get(self): ...
def f(x):
    x.get()
    x.only_here()
""",
    )
    async with indexed(root) as index:
        assert await index.related("definition", at(root, "a.py", "x.|get")) == ()
        assert places(await index.related("definition", at(root, "a.py", "x.|only_here"))) == ["a.py:3"]
