"""Derives the JSON Schema of a tool's argument type, a frozen dataclass, and parses arguments into it.

    @dataclass(frozen=True, slots=True)
    class Read:
        path: Annotated[str, "the file, relative to the root"]
        start: Annotated[int, "first line, from 1"] = 1

`typed(Read, run)` is a tool's `run` that receives a `Read`. Supported hints: str, int, float, bool,
Literal of strings, list[...] of these (or of such dataclasses), dict[str, str], and `| None`.
"""

import dataclasses
import types
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from cockpit.plugin.calls import Arguments, ArgumentsInvalid, Done
from cockpit.plugin.context import Context
from cockpit.protocol.messages import Json

T = TypeVar("T")
SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@cache
def schema(cls: type) -> Mapping[str, Json]:
    """The JSON Schema (a subset of 2020-12) of an argument type."""
    hints = get_type_hints(cls, include_extras=True)
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for field in dataclasses.fields(cls):
        properties[field.name] = _schema_of(hints[field.name])
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(field.name)
    out: dict[str, Json] = {"type": "object", "properties": properties}
    return out | ({"required": required} if required else {}) | {"additionalProperties": False}


def _schema_of(hint: Any) -> dict[str, Json]:
    if get_origin(hint) is Annotated:
        inner, description = get_args(hint)[:2]
        return _schema_of(inner) | {"description": str(description)}
    if (inner := _without_none(hint)) is not hint:
        return _schema_of(inner)
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) in (list, tuple):
        return {"type": "array", "items": _schema_of(get_args(hint)[0])}
    if get_origin(hint) is dict:
        return {"type": "object", "additionalProperties": _schema_of(get_args(hint)[1])}
    return dict(schema(hint))


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    rest = [member for member in get_args(hint) if member is not type(None)]
    return rest[0] if len(rest) == 1 else hint


def parse(cls: type[T], arguments: Arguments) -> T:
    """`arguments` as a `cls`. Raises `ArgumentsInvalid`, which names every problem at once. A number or
    boolean in a string is accepted, because small models send them."""
    problems: list[str] = []
    value = _read(cls, arguments, "", problems)
    if problems:
        raise ArgumentsInvalid("; ".join(problems))
    return cast("T", value)


def _read(cls: type, raw: Mapping[str, Any], prefix: str, problems: list[str]) -> Any:
    hints = get_type_hints(cls, include_extras=True)
    known = {field.name: field for field in dataclasses.fields(cls)}
    for name in raw:
        if name not in known:
            problems.append(f"unknown argument `{prefix}{name}`; known: {', '.join(known)}")
    values: dict[str, Any] = {}
    for name, field in known.items():
        if raw.get(name) is not None:
            values[name] = _value(hints[name], raw[name], prefix + name, problems)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            problems.append(f"`{prefix}{name}` is missing")
    return None if problems else cls(**values)


def _value(hint: Any, raw: Any, name: str, problems: list[str]) -> Any:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    hint = _without_none(hint)
    if hint in SCALARS:
        return _scalar(hint, raw, name, problems)
    if get_origin(hint) is Literal:
        if raw not in get_args(hint):
            problems.append(f"`{name}` must be one of {', '.join(get_args(hint))}, not {raw!r}")
        return raw
    if get_origin(hint) in (list, tuple):
        if not isinstance(raw, list):
            problems.append(f"`{name}` must be a list, not {type(raw).__name__}")
            return None
        item = get_args(hint)[0]
        values = [_value(item, part, f"{name}[{at}]", problems) for at, part in enumerate(raw)]
        return values if get_origin(hint) is list else tuple(values)
    if not isinstance(raw, Mapping):
        problems.append(f"`{name}` must be an object, not {type(raw).__name__}")
        return None
    if get_origin(hint) is dict:
        return {key: _value(get_args(hint)[1], item, f"{name}.{key}", problems) for key, item in raw.items()}
    return _read(hint, raw, f"{name}.", problems)


def _scalar(hint: Any, raw: Any, name: str, problems: list[str]) -> Any:
    if hint is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if type(raw) is hint:
        return raw
    if isinstance(raw, str) and hint is bool and raw.lower() in ("true", "false"):
        return raw.lower() == "true"
    if isinstance(raw, float) and hint is int and raw.is_integer():
        return int(raw)
    if isinstance(raw, str) and hint in (int, float):
        with suppress(ValueError):
            return hint(raw)
    problems.append(f"`{name}` must be of type {SCALARS[hint]}, not {type(raw).__name__}")
    return None


def typed(
    cls: type[T], run: Callable[[T, Context], Awaitable[Done]]
) -> Callable[[Arguments, Context], Awaitable[Done]]:
    """`run` as the core calls it: arguments are parsed into `cls` first."""

    async def call(arguments: Arguments, context: Context) -> Done:
        return await run(parse(cls, arguments), context)

    return call
