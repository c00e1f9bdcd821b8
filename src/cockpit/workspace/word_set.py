"""Lets a set of names be written in source as one space-separated string: words separated by spaces."""


def word_set(text: str) -> frozenset[str]:
    """The set of the words in `text`."""
    return frozenset(text.split())
