"""Suggests names: those that are similar to an unknown one, and the question `did you mean ...?`."""

from collections.abc import Iterable, Sequence


def closest_names(name: str, known: Iterable[str], limit: int = 1, cutoff: float = 0.6) -> list[str]:
    """At most `limit` of `known` that are similar to `name`, the most similar first.

    `cutoff` is the least similarity, from 0 (any name) to 1 (equal names only).
    """
    # Most starts import this module and suggest nothing.
    import difflib

    return difflib.get_close_matches(name, known, limit, cutoff)


def did_you_mean(names: Sequence[str], otherwise: str = "") -> str:
    """`did you mean a or b?`, or `otherwise` where there is no name to suggest."""
    return f"did you mean {' or '.join(names)}?" if names else otherwise
