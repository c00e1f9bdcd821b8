"""Which definitions match a few letters, and in which order."""

from pathlib import Path

import pytest
from tests.support.sources import indexed, names, places, write

from cockpit.navigation.index.name_search import path_rank


@pytest.mark.parametrize(
    ("path", "aside"),
    [
        ("a/b.py", 0),
        ("tests/b.py", 1),
        ("a/test_b.py", 1),
        ("a/b_test.go", 1),
        ("a/b.spec.ts", 1),
        ("vendor/x.go", 2),
        ("a/contest.py", 0),
        ("latest/a.py", 0),
    ],
)
def test_tests_and_vendored_code_rank_lower(path: str, aside: int) -> None:
    assert path_rank(path) == aside


async def test_the_best_match_comes_first_and_sources_before_tests(root: Path) -> None:
    write(
        root,
        """
=== shop.py
def cart_total(): ...
class CartTotal:
    def total(self): ...
def total(): ...
def subtotal(): ...
=== tests/test_shop.py
def total(): ...
=== vendor/lib.py
def total(): ...
""",
    )
    async with indexed(root) as index:
        found = await index.symbols("total")
        assert places(found)[:4] == ["shop.py:4", "shop.py:3", "tests/test_shop.py:1", "vendor/lib.py:1"]
        assert names(await index.symbols("ct")) == ["CartTotal", "cart_total"]
        assert names(await index.symbols("CartTotal.tot")) == ["CartTotal.total"]
        assert len(await index.symbols("total", 2)) == 2
        assert len(await index.symbols("")) == 7
        assert await index.symbols("nowhere") == ()


async def test_symbol_paths_match_by_file_module_or_suffix(root: Path) -> None:
    write(
        root,
        """
=== pkg/mod.py
class Cart:
    def total(self): ...
def total(): ...
=== other/mod.py
class Cart:
    def total(self): ...
""",
    )
    async with indexed(root) as index:
        assert places(await index.named("pkg/mod.py:Cart.total")) == ["pkg/mod.py:2"]
        assert places(await index.named("mod.py:Cart")) == ["other/mod.py:1", "pkg/mod.py:1"]
        assert places(await index.named("pkg.mod.Cart.total")) == ["pkg/mod.py:2"]
        assert places(await index.named("Cart::total")) == ["other/mod.py:2", "pkg/mod.py:2"]
        assert places(await index.named("total")) == ["pkg/mod.py:3", "other/mod.py:2", "pkg/mod.py:2"]
        assert await index.named("pkg/mod.py:nothing") == ()
