"""What a server sent, looked at before it is believed. Knows no message, only JSON."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Record: TypeAlias = Mapping[str, object]


class Misshapen(ValueError):
    """A server's answer has another shape than the protocol says."""


def record(value: object) -> Record:
    """`value` as an object. Raises `Misshapen`."""
    if not isinstance(value, dict):
        raise Misshapen(f"an object was due, not {_shown(value)}")
    return value


def listing(value: object) -> Sequence[object]:
    """`value` as a list; null is an empty one. Raises `Misshapen`."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Misshapen(f"a list was due, not {_shown(value)}")
    return value


def text(value: object) -> str:
    """`value` as a string. Raises `Misshapen`."""
    if not isinstance(value, str):
        raise Misshapen(f"a string was due, not {_shown(value)}")
    return value


def number(value: object) -> int:
    """`value` as a count, 0 or more. Raises `Misshapen`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Misshapen(f"a number was due, not {_shown(value)}")
    return value


def inner(value: object, *keys: str) -> object:
    """What lies below `keys` in nested objects, None where nothing does."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _shown(value: object) -> str:
    return repr(value)[:60]
