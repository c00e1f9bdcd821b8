"""Lists of names, written as people read them: words with spaces between."""


def words(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())
