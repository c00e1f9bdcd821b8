"""JSON encoding and decoding of everything that crosses the frontend API.

A value becomes an object with a `type` (its class in snake_case) and those fields that differ from their
defaults. A type unknown to this version loads as `Unknown` and is written back unchanged; unknown fields are
ignored.
"""

import json
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from cockpit.errors import DecodeFailed
from cockpit.protocol import code, content, events, messages, ops, queries, rows
from cockpit.protocol.events import Unknown

VERSION = 1

Decoder = Callable[[Any], Any]


def dumps(value: object) -> str:
    """One line of JSON for a value of the protocol."""
    return json.dumps(encode(value), ensure_ascii=False, separators=(",", ":"))


def loads(line: str | bytes) -> Any:
    """The value that `dumps` wrote. Raises `DecodeFailed`."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DecodeFailed(f"not a line of JSON: {error}") from error
    return decode(raw)


def encode(value: object) -> Any:
    """`value` as dicts, lists and scalars."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Unknown):
        return {"type": value.kind, **value.data}
    if is_dataclass(value) and not isinstance(value, type):
        return _encode_fields(value)
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is not a protocol value")


def decode(raw: Any) -> Any:
    """The value of an encoded object with a `type`. Raises `DecodeFailed`."""
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise DecodeFailed("expected an object with a `type`")
    kind = raw["type"]
    cls = _kinds().get(kind)
    if cls is None:
        return Unknown(kind, {key: item for key, item in raw.items() if key != "type"})
    return _decode_fields(cls, raw)


def kind_of(cls: type) -> str:
    """The `type` of a class: `TextDelta` is `text_delta`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


@cache
def _kinds() -> dict[str, type]:
    kinds: dict[str, type] = {}
    for module in (content, code, messages, rows, ops, events, queries):
        for value in vars(module).values():
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__:
                kind = kind_of(value)
                if kinds.setdefault(kind, value) is not value:
                    raise TypeError(f"two classes have the type {kind}")
    del kinds[kind_of(Unknown)]
    return kinds


@cache
def _shape(cls: Any) -> tuple[str, tuple[tuple[str, object], ...]]:
    shape = tuple((field.name, field.default) for field in fields(cls))
    return kind_of(cls), shape


def _encode_fields(value: object) -> dict[str, Any]:
    cls: Any = type(value)
    kind, shape = _shape(cls)
    out: dict[str, Any] = {"type": kind}
    for name, default in shape:
        content = getattr(value, name)
        if default is MISSING or content != default or type(content) is not type(default):
            out[name] = encode(content)
    return out


@cache
def _decoders(cls: type) -> tuple[tuple[str, bool, Decoder], ...]:
    hints = get_type_hints(cls)
    return tuple(
        (
            field.name,
            field.default is MISSING and field.default_factory is MISSING,
            _decoder(hints[field.name]),
        )
        for field in fields(cls)
    )


def _decode_fields(cls: type, raw: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = {}
    for name, required, decoder in _decoders(cls):
        if name in raw:
            values[name] = decoder(raw[name])
        elif required:
            raise DecodeFailed(f"{kind_of(cls)} lacks the field `{name}`")
    return cls(**values)


@cache
def _decoder(hint: Any) -> Decoder:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        return _sequence(_decoder(arguments[0]))
    if origin is tuple:
        return _row(tuple(_decoder(argument) for argument in arguments))
    if origin is not None and issubclass(origin, Mapping):
        return _expect(dict)
    if origin is list:  # only `Json` has lists
        return _expect(list)
    if is_dataclass(hint):
        return decode
    if hint is float:
        return _number
    return _expect(cast("type", hint))


def _expect(cls: type) -> Decoder:
    def check(raw: Any) -> Any:
        if not isinstance(raw, cls) or (cls is int and isinstance(raw, bool)):
            raise DecodeFailed(f"expected {cls.__name__}, found {type(raw).__name__}")
        return raw

    return check


def _number(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise DecodeFailed(f"expected a number, found {type(raw).__name__}")
    return float(raw)


def _literal(allowed: tuple[object, ...]) -> Decoder:
    def check(raw: Any) -> Any:
        if raw not in allowed:
            raise DecodeFailed(f"{raw!r} is not one of {', '.join(map(repr, allowed))}")
        return raw

    return check


def _union(members: tuple[Any, ...]) -> Decoder:
    if all(is_dataclass(member) for member in members):
        return decode
    rest = [_decoder(member) for member in members if member is not type(None)]

    def choose(raw: Any) -> Any:
        if raw is None and type(None) in members:
            return None
        failure = DecodeFailed("no member of the union matches")
        for decoder in rest:
            try:
                return decoder(raw)
            except DecodeFailed as error:
                failure = error
        raise failure

    return choose


def _sequence(item: Decoder) -> Decoder:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list):
            raise DecodeFailed(f"expected a list, found {type(raw).__name__}")
        return tuple(item(part) for part in raw)

    return read


def _row(columns: tuple[Decoder, ...]) -> Decoder:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list) or len(raw) != len(columns):
            raise DecodeFailed(f"expected a list of {len(columns)}")
        return tuple(column(part) for column, part in zip(columns, raw, strict=True))

    return read
