"""Lists of names, written as people read them: words with spaces between."""


def word_set(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())
