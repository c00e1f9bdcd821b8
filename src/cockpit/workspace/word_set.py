"""Writes sets of names as plain text: words separated by spaces."""


def word_set(text: str) -> frozenset[str]:
    """The set of the words in `text`."""
    return frozenset(text.split())
