"""Merges layers of settings into one tree in which every value knows where it comes from.

A higher layer overrides those below it. A project's layer may only tighten: whatever would loosen a setting
is ignored and reported with file, line and remedy. Reads no file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeGuard, cast

from cockpit.settings.config_text import find_toml_lines
from cockpit.settings.schema import (
    KEYS,
    MODES,
    KeyPath,
    SettingKey,
    find_key,
    format_key,
    suggest_key,
    walk_keys,
)

LayerName: TypeAlias = Literal["default", "user", "project", "environment", "flags", "managed"]


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Where a value is set: a file and its line, or the `name` of a variable or flag."""

    layer: LayerName
    name: str = ""
    line: int = 0

    def __str__(self) -> str:
        if self.layer == "default":
            return "default"
        return f"{self.name}:{self.line}" if self.line else self.name


@dataclass(frozen=True, slots=True)
class LayerTable:
    """The settings of one layer. `names` holds the origins of single values, `name` that of all others.
    `text` is the TOML text, in which lines are looked up when they are asked for."""

    layer: LayerName
    table: Mapping[str, object]
    name: str = ""
    text: str = ""
    names: Mapping[KeyPath, str] = field(default_factory=dict)

    def where(self, path: tuple[str | int, ...]) -> ValueOrigin:
        """The origin of the value at `path`, or of the nearest table around it."""
        lines = find_toml_lines(self.text) if self.text else {}
        line = next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 0)
        return ValueOrigin(self.layer, self.names.get(cast("KeyPath", path), self.name), line)


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The settings in force for one root.

    `values` is a tree of tables and `sources` are the files that were read. `left_out` holds a sentence for
    each entry that has no effect. `origins` are the layers that set each value, several for a list that grew.
    """

    values: Mapping[str, object]
    sources: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    origins: Mapping[KeyPath, tuple[LayerTable, ...]] = field(default_factory=dict)

    def table(self, key: str) -> Mapping[str, object]:
        """The table at dotted `key`; empty if there is none."""
        value = get_value(self.values, key)
        return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}

    def text(self, key: str, default: str = "") -> str:
        value = get_value(self.values, key)
        return value if isinstance(value, str) else default

    def number(self, key: str) -> float | None:
        value = get_value(self.values, key)
        return float(value) if is_number(value) else None

    def words(self, key: str) -> tuple[str, ...]:
        """The list of strings at `key`."""
        value = get_value(self.values, key)
        return tuple(str(item) for item in value) if isinstance(value, list) else ()

    def where(self, key: str | KeyPath) -> tuple[ValueOrigin, ...]:
        """The origins of the value at `key`; for a table, of everything in it."""
        path = tuple(key.split(".")) if isinstance(key, str) else key
        origins = (
            layer.where(at)
            for at, layers in self.origins.items()
            if at[: len(path)] == path
            for layer in layers
        )
        return tuple(dict.fromkeys(origins))

    def origin(self, key: str | KeyPath) -> str:
        """The origins of `key` as text: `settings.toml:3`, `environment COCKPIT_MODE`, `flag --mode`,
        `default`; empty if it is not set."""
        return ", ".join(map(str, self.where(key)))

    def is_managed(self, key: str) -> bool:
        """Whether the administrator's file sets `key`."""
        path = tuple(key.split("."))
        managed = (
            at for at, layers in self.origins.items() if any(layer.layer == "managed" for layer in layers)
        )
        return any(at[: len(path)] == path for at in managed)


@dataclass
class LayerStack:
    """Layers merged on top of each other, the lowest first."""

    values: dict[str, object] = field(default_factory=dict)
    origins: dict[KeyPath, tuple[LayerTable, ...]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def put(self, layer: LayerTable, remedy: str = "") -> None:
        """Merge a layer on top. A project's layer is tightened first; `remedy` names the file that may hold
        what a project may not set."""
        table = copy_table(layer.table)
        if layer.layer not in ("default", "flags", "environment"):
            self.left_out += describe_unknown_keys(table, layer)
        if layer.layer == "project":
            self._tighten(table, layer, remedy)
        elif layer.layer == "managed":
            self._drop_looser_limits(table)
        self._merge(self.values, table, layer, ())

    def _tighten(self, table: dict[str, object], layer: LayerTable, remedy: str) -> None:
        """Remove everything from a project's table that is looser than the settings without it."""
        for path in [path for path, _ in list(_iterate_leaves(table)) if not self._is_allowed(path, table)]:
            remove_value(table, path)
            key = find_key(path)
            can_tighten = key is not None and key.project
            why = "a project can only tighten it" if can_tighten else f"a project cannot set it; use {remedy}"
            self.left_out.append(f"{layer.where(path)}: `{format_key(path)}` ignored; {why}")

    def _is_allowed(self, path: KeyPath, table: Mapping[str, object]) -> bool:
        key = find_key(path)
        if key is None:
            # An unknown key has no effect, which was reported before.
            return path[0] != "plugins"
        return key.project and is_stricter(key, get_value(table, path), get_value(self.values, path))

    def _drop_looser_limits(self, table: dict[str, object]) -> None:
        """A managed mode or limit is an upper bound: a stricter value of the user stays."""
        for path, value in list(_iterate_leaves(table)):
            key, own = find_key(path), get_value(self.values, path)
            bounds = key is not None and (key.name == "mode" or key.name.startswith("limits."))
            if bounds and key is not None and own not in (None, value) and is_stricter(key, own, value):
                remove_value(table, path)

    def _merge(
        self, into: dict[str, object], table: Mapping[str, object], layer: LayerTable, above: KeyPath
    ) -> None:
        for name, value in table.items():
            path, inner = (*above, name), into.get(name)
            if isinstance(value, Mapping):
                if not isinstance(inner, dict):
                    inner = into[name] = {}
                self._merge(inner, value, layer, path)
                continue
            key = find_key(path)
            layers: tuple[LayerTable, ...] = (layer,)
            if isinstance(value, list) and isinstance(inner, list) and key is not None and key.grows:
                value = [*inner, *(item for item in value if item not in inner)]
                below = (other for other in self.origins.get(path, ()) if other.layer != "default")
                layers = (*below, layer)
            into[name] = value
            self.origins[path] = layers


def describe_unknown_keys(table: Mapping[str, object], layer: LayerTable) -> Iterator[str]:
    """A message for each unknown key of a file, with the key that may be meant."""
    for path, _, key in walk_keys(table):
        if key is None:
            where = layer.where(path)
            yield f"{where}: `{format_key(path)}` is not a setting and has no effect; {suggest_key(path)}"


def describe_invalid_values(table: Mapping[str, object], layer: LayerTable) -> Iterator[str]:
    """A message for each value that does not have the type of its key."""
    for path, value, key in walk_keys(table):
        if key is not None and key.is_invalid(value):
            if layer.layer == "project" and key.choices and isinstance(value, str):
                # A project cannot set a choice at all: it is ignored and reported, valid or not.
                continue
            bad = _find_invalid_item(key, value)
            where = layer.where((*path, *bad[:1]))
            yield f"{where}: `{format_key(path)}` must be {key.expected}, not {bad[1] if bad else value!r}"


def _find_invalid_item(key: SettingKey, value: object) -> tuple[int, str] | tuple[()]:
    """Index and text of the first item of a list that is not a string."""
    if key.kind != "words" or not isinstance(value, list):
        return ()
    return next(((index, repr(item)) for index, item in enumerate(value) if not isinstance(item, str)), ())


def is_stricter(key: SettingKey, value: object, own: object) -> bool:
    """Whether replacing `own` by `value` adds no rights or resources."""
    if key.name == "mode":
        return value in MODES and own in MODES and MODES.index(str(value)) >= MODES.index(str(own))
    if key.name.startswith("limits."):
        if isinstance(value, str) or own is None:
            return own is None
        return is_number(value) and is_number(own) and value <= own
    # A list that grows adds rules and removes none.
    return key.grows


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def get_value(table: Mapping[str, object], key: str | KeyPath) -> object:
    """The value at `key`, dotted or a path; None if there is none."""
    value: object = table
    for part in key.split(".") if isinstance(key, str) else key:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def remove_value(table: dict[str, object], path: KeyPath) -> None:
    """Remove the value at `path`, and the tables around it that become empty."""
    inner = table.get(path[0])
    if len(path) > 1 and isinstance(inner, dict):
        remove_value(inner, path[1:])
        if inner:
            return
    table.pop(path[0], None)


def copy_table(table: Mapping[str, object]) -> dict[str, object]:
    return {key: copy_table(value) if isinstance(value, Mapping) else value for key, value in table.items()}


def _iterate_leaves(table: Mapping[str, object], above: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """What is judged on its own: values, and whole tables in which a project may set no key."""
    for name, value in table.items():
        path = (*above, name)
        if isinstance(value, Mapping) and any(key.project and key.path[: len(path)] == path for key in KEYS):
            yield from _iterate_leaves(value, path)
        else:
            yield path, value
