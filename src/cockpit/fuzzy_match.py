"""Ranks names, paths and labels by how well they match what the user typed.

Ranks are compared with each other only: the lowest is the best match, and None means no match.
"""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

EXACT, EXACT_BUT_FOR_CASE, PREFIX, PREFIX_BUT_FOR_CASE, INITIALS, PART, LETTERS = range(7)
"""How a name matches: `gvs` are the initials of `get_value_set`, `QS` those of `QuerySet`; LETTERS means the
letters in their order, with others between them."""
_INITIAL = re.compile(r"(?:^|[_\W])([A-Za-z])|(?<=[a-z\d])([A-Z])|([A-Z])(?=[a-z])")
_PATH_ONLY = 10
_WORDS_ONLY = 10.0


def rank_name(query: str, name: str) -> int | None:
    """How well an identifier or a file name matches, from EXACT to LETTERS."""
    if name == query:
        return EXACT
    lower_name, lower_query = name.lower(), query.lower()
    if lower_name == lower_query:
        return EXACT_BUT_FOR_CASE
    if lower_name.startswith(lower_query):
        return PREFIX if name.startswith(query) else PREFIX_BUT_FOR_CASE
    if len(query) > 1 and initials(name).startswith(lower_query):
        return INITIALS
    if lower_query in lower_name:
        return PART
    return None if letter_span(lower_query, lower_name) is None else LETTERS


def rank_path(query: str, path: str) -> int | None:
    """How well a path matches: by the file's name if that has `query` in it, else by the whole path."""
    rank = rank_name(query, path.rpartition("/")[2])
    if rank is not None and rank < LETTERS:
        return rank
    rank = rank_name(query, path)
    return None if rank is None else _PATH_ONLY + rank


def rank_label(query: str, label: str) -> float | None:
    """How well a label of several words matches: first where `query` begins a word of it, then where it is a
    part of it, then where each word of `query` is a part, initials or letters of the label."""
    lower_query, text = query.casefold(), label.casefold()
    if (at := text.find(lower_query)) != -1:
        begins_word = at == 0 or not text[at - 1].isalnum()
        return (0 if begins_word else 5) + at / 1000
    total = _WORDS_ONLY
    for word in lower_query.split():
        if word in text:
            continue
        span = letter_span(word, text)
        if span is None:
            return None
        total += INITIALS if word in initials(label) else LETTERS + span / 1000
    return total


def best_matches(query: str, values: Iterable[T], label: Callable[[T], str]) -> list[T]:
    """The values whose label matches `query`, the best first; values that match equally keep their order."""
    ranked = [(rank, value) for value in values if (rank := rank_label(query, label(value))) is not None]
    return [value for _, value in sorted(ranked, key=lambda item: item[0])]


def initials(name: str) -> str:
    """The first letters of the words in a name, in lower case."""
    return "".join(a or b or c for a, b, c in _INITIAL.findall(name)).lower()


def letter_span(letters: str, text: str) -> int | None:
    """How many characters of `text` lie between the first and the last of `letters`, which it contains in
    this order; None if it does not."""
    first = at = text.find(letters[:1])
    for letter in letters[1:]:
        if at == -1:
            return None
        at = text.find(letter, at + 1)
    return None if at == -1 else at - first
