"""Suggests known names for an unknown name, in the form `did you mean a or b?`."""

from collections.abc import Iterable, Sequence


def closest_names(name: str, known: Iterable[str], limit: int = 1, cutoff: float = 0.6) -> list[str]:
    """At most `limit` of `known` that are similar to `name`, the most similar first.

    `cutoff` is the least similarity, from 0 (any name) to 1 (equal names only).
    """
    # Imported late, because most starts suggest nothing.
    import difflib

    return difflib.get_close_matches(name, known, limit, cutoff)


def did_you_mean(names: Sequence[str], otherwise: str = "") -> str:
    """The question `did you mean a or b?`, or `otherwise` if `names` is empty."""
    return f"did you mean {' or '.join(names)}?" if names else otherwise
