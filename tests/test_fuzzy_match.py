"""How well names, paths and labels match what the user typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.fuzzy_match import best_matches, initials, rank_label, rank_name, rank_path

NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)


@given(NAME)
def test_exact_names_match_best_and_prefixes_well(name: str) -> None:
    assert rank_name(name, name) == 0
    assert rank_name(name.swapcase(), name) in (0, 1)
    assert rank_name(name[: len(name) // 2 + 1], name) in range(4)
    assert rank_name(name[1:] or name, name) in range(6)


@given(NAME, NAME)
def test_letters_that_are_not_in_a_name_do_not_match(query: str, name: str) -> None:
    if rank_name(query, name) is None:
        assert query.lower() not in name.lower()


def test_scattered_letters_of_a_name_match_last() -> None:
    assert rank_name("oe", "Cockpit_other") == 6 and rank_name("eo", "Cockpit_other") is None


@pytest.mark.parametrize(
    ("name", "letters"),
    [("QuerySet", "qs"), ("get_value_set", "gvs"), ("HTTPServer", "hs"), ("__init__", "i"), ("snake", "s")],
)
def test_initials_are_those_of_the_words(name: str, letters: str) -> None:
    assert initials(name) == letters


def test_a_file_matches_by_its_name_before_its_folders() -> None:
    paths = ["cart/b.py", "src/my_cart.py", "a/cart.py", "c/a/r/t.py", "b.py"]
    ranks = {path: rank for path in paths if (rank := rank_path("cart", path)) is not None}
    assert sorted(ranks, key=ranks.__getitem__) == ["a/cart.py", "src/my_cart.py", "cart/b.py", "c/a/r/t.py"]


def test_labels_match_by_beginnings_of_words_and_letters() -> None:
    labels = ["The members", "Choose a theme", "Start a new session"]
    assert best_matches("theme", labels, str) == ["Choose a theme", "The members"]
    assert best_matches("new ses", labels, str) == ["Start a new session"]
    assert rank_label("sns", "Start a new session") is not None and rank_label("zz", "Start") is None


def test_labels_that_match_equally_keep_their_order() -> None:
    assert best_matches("", ["b", "a"], str) == ["b", "a"]
