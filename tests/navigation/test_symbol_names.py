"""A new symbol name is checked before any server is asked."""

from pathlib import Path

import pytest
from tests.support.code import TY, opened, ready, shop, with_faults

from cockpit.navigation.symbol_names import check_new_name
from cockpit.plugin.navigation import NotPossible, Position


@pytest.mark.parametrize(
    ("file", "name", "said"),
    [
        ("a.py", "a b", "is not a valid name in Python"),
        ("a.py", "1x", "is not a valid name in Python"),
        ("a.py", "", "is empty"),
        ("a.py", "a\n", "is not a valid name"),
        ("a.py", "class", "class is a keyword of Python"),
        ("a.ts", "delete", "keyword of TypeScript"),
        ("a.go", "func", "keyword of Go"),
        ("a.go", "a$", "is not a valid name in Go"),
        ("a.rs", "fn", "keyword of Rust"),
        ("a.c", "int", "keyword of C"),
        ("a.hpp", "template", r"keyword of C\+\+"),
        ("a.java", "void", "keyword of Java"),
        ("a.lisp", "a b", "is not a valid name"),
        ("a.py", "old", "is already called old"),
    ],
)
def test_an_invalid_name_is_refused(file: str, name: str, said: str) -> None:
    with pytest.raises(NotPossible, match=said):
        check_new_name(name, Position(file, 2, 5), ["# A file", "def old():"])


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.py", "größe"),
        ("a.py", "match"),
        ("a.py", "delete"),
        ("a.js", "$q"),
        ("a.js", "#own"),
        ("a.rs", "r#type"),
        ("a.cpp", "~Shape"),
        ("a.c", "template"),
        ("a.sh", "do-it"),
        ("a.md", "1. A heading"),
    ],
)
def test_a_valid_name_passes(file: str, name: str) -> None:
    check_new_name(name, Position(file, 1, 1), ["old"])


async def test_a_bad_name_is_refused_before_a_server_starts(root: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with opened(shop(root), with_faults(notes=notes)) as one:
        at = await one.navigator.locate("shop.py:Cart.total")
        for name in ("a b", "class", "total"):
            with pytest.raises(NotPossible):
                await one.navigator.rename(at, name)
    assert not notes.exists()


async def test_a_refusal_of_the_server_is_shown_in_its_words(root: Path) -> None:
    async with opened(shop(root), TY) as one:
        await ready(one.navigator)
        with pytest.raises(NotPossible, match="finds nothing to rename") as refused:
            await one.navigator.rename(Position("shop.py", 4, 1), "other")
        assert "cockpit doctor" not in str(refused.value)
