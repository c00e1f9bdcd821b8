"""A frozen value with every text in it changed by a function; what does not change is the same object."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, cast

from cockpit.protocol.content import Image

T = TypeVar("T")
Clean = Callable[[str], str]


def walked(value: T, clean: Clean) -> T:
    """`value` (text, numbers, tuples, lists, mappings, frozen dataclasses, each within the others) with
    `clean` applied to every text, keys of mappings and the pixels of pictures aside."""
    return cast("T", _walked(value, clean))


def _walked(value: object, clean: Clean) -> object:
    if isinstance(value, str):
        return clean(value) if value else value
    if value is None or isinstance(value, int | float | bytes | Image):
        return value
    if isinstance(value, tuple | list):
        return _sequence(value, clean)
    if isinstance(value, Mapping):
        changed = {key: _walked(one, clean) for key, one in value.items()}
        return changed if any(changed[key] is not value[key] for key in changed) else value
    if is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, clean)
    return value


def _sequence(value: tuple[object, ...] | list[object], clean: Clean) -> object:
    changed = [_walked(one, clean) for one in value]
    if all(new is old for new, old in zip(changed, value, strict=True)):
        return value
    return changed if isinstance(value, list) else tuple(changed)


def _dataclass(value: Any, clean: Clean) -> object:
    changed = {}
    cls: Any = type(value)
    for name in _names(cls):
        old = getattr(value, name)
        new = _walked(old, clean)
        if new is not old:
            changed[name] = new
    return replace(value, **changed) if changed else value


@cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(cls))
