"""Settings of several layers as one tree in which every value knows where it came from.

A layer is put over those below it. A project's may only tighten: what would loosen anything there is left
out and said, with file, line and remedy. Reads no file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeGuard, cast

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
    """Where one value stands: a file and its line, or a variable or a flag by its `name`."""

    layer: LayerName
    name: str = ""
    line: int = 0

    def __str__(self) -> str:
        if self.layer == "default":
            return "default"
        return f"{self.name}:{self.line}" if self.line else self.name


@dataclass(frozen=True, slots=True)
class LayerTable:
    """What one layer says. `names` tell where a value stands, by its path, `everywhere` for all of them."""

    layer: LayerName
    table: Mapping[str, object]
    name: str = ""
    lines: Mapping[tuple[str | int, ...], int] = field(default_factory=dict)
    names: Mapping[KeyPath, str] = field(default_factory=dict)

    def where(self, path: tuple[str | int, ...]) -> ValueOrigin:
        """The place of the value at `path`, or of the nearest table around it."""
        line = next(
            (self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), 0
        )
        return ValueOrigin(self.layer, self.names.get(cast("KeyPath", path), self.name), line)


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """What is in force for one root.

    `values` is a tree of tables. `sources` are the files that were read; `left_out` says, a sentence each,
    what of them has no effect. `origins` are the places of each value, several for a list that grew.
    """

    values: Mapping[str, object]
    sources: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    origins: Mapping[KeyPath, tuple[ValueOrigin, ...]] = field(default_factory=dict)

    def table(self, key: str) -> Mapping[str, object]:
        """The table at dotted `key`, empty where there is none."""
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
        return tuple(str(one) for one in value) if isinstance(value, list) else ()

    def where(self, key: str | KeyPath) -> tuple[ValueOrigin, ...]:
        """The places of the value at `key`: of a table, those of all that is in it."""
        path = tuple(key.split(".")) if isinstance(key, str) else key
        found = [place for at, places in self.origins.items() if at[: len(path)] == path for place in places]
        return tuple(dict.fromkeys(found))

    def origin(self, key: str | KeyPath) -> str:
        """The same in words: `settings.toml:3`, `environment COCKPIT_MODE`, `flag --mode`, `default`; empty
        where nobody says anything."""
        return ", ".join(str(place) for place in self.where(key))

    def is_managed(self, key: str) -> bool:
        """Whether the machine's file has the last word about `key`."""
        return any(place.layer == "managed" for place in self.where(key))


@dataclass
class LayerStack:
    """Layers put on each other, the lowest first."""

    values: dict[str, object] = field(default_factory=dict)
    origins: dict[KeyPath, tuple[ValueOrigin, ...]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def put(self, layer: LayerTable, remedy: str = "") -> None:
        """Put a layer on top. A project's is tightened first; `remedy` says where to write what was left
        out of it."""
        table = copy_table(layer.table)
        if layer.layer not in ("default", "flags", "environment"):
            self.left_out += describe_unknown_keys(table, layer)
        if layer.layer == "project":
            self._tighten(table, layer, remedy)
        elif layer.layer == "managed":
            self._keep_what_is_tighter(table)
        self._merge(self.values, table, layer, ())

    def _tighten(self, table: dict[str, object], layer: LayerTable, remedy: str) -> None:
        """Take out of a project's table what is looser than what is in force without it."""
        for path in [path for path, _ in list(_iterate_leaves(table)) if not self._may_stand(path, table)]:
            remove_value(table, path)
            key = find_key(path)
            only = key is not None and key.project
            why = (
                "a project can only tighten" if only else f"it is not a project's to say; set it in {remedy}"
            )
            self.left_out.append(f"{layer.where(path)}: `{format_key(path)}` left out; {why}")

    def _may_stand(self, path: KeyPath, table: Mapping[str, object]) -> bool:
        key = find_key(path)
        if key is None:
            # A key nobody knows does nothing; that was said.
            return path[0] != "plugins"
        return key.project and is_stricter(key, get_value(table, path), get_value(self.values, path))

    def _keep_what_is_tighter(self, table: dict[str, object]) -> None:
        """The machine's mode and limits are the loosest there may be: what is stricter stays."""
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
            places: tuple[ValueOrigin, ...] = (layer.where(path),)
            if isinstance(value, list) and isinstance(inner, list) and key is not None and key.grows:
                value = [*inner, *(one for one in value if one not in inner)]
                places = (*(one for one in self.origins.get(path, ()) if one.layer != "default"), *places)
            into[name] = value
            self.origins[path] = places


def describe_unknown_keys(table: Mapping[str, object], layer: LayerTable) -> Iterator[str]:
    """A sentence for each key of a file that means nothing, with the key it may have meant."""
    for path, _, key in walk_keys(table):
        if key is None:
            where = layer.where(path)
            yield f"{where}: `{format_key(path)}` is no setting and has no effect; {suggest_key(path)}"


def describe_invalid_values(table: Mapping[str, object], layer: LayerTable) -> Iterator[str]:
    """A sentence for each value of another shape than its key has."""
    for path, value, key in walk_keys(table):
        if key is not None and key.misfit(value):
            if layer.layer == "project" and key.choices and isinstance(value, str):
                # A project chooses nothing: such a word is left out as a good one is, and that is said.
                continue
            bad = _find_invalid_item(key, value)
            where = layer.where((*path, *bad[:1]))
            yield f"{where}: `{format_key(path)}` must be {key.wanted}, not {bad[1] if bad else value!r}"


def _find_invalid_item(key: SettingKey, value: object) -> tuple[int, str] | tuple[()]:
    """The first entry of a list that is no word, and how it is written."""
    if key.kind != "words" or not isinstance(value, list):
        return ()
    return next(((at, repr(one)) for at, one in enumerate(value) if not isinstance(one, str)), ())


def is_stricter(key: SettingKey, value: object, own: object) -> bool:
    """Whether `value` in place of `own` gives nobody more than they have."""
    if key.name == "mode":
        return value in MODES and own in MODES and MODES.index(str(value)) >= MODES.index(str(own))
    if key.name.startswith("limits."):
        if isinstance(value, str) or own is None:
            return own is None
        return is_number(value) and is_number(own) and value <= own
    # Lists that grow take nothing away.
    return key.grows


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def get_value(table: Mapping[str, object], key: str | KeyPath) -> object:
    """What stands at dotted `key` (or at a path of keys), None where nothing does."""
    value: object = table
    for part in key.split(".") if isinstance(key, str) else key:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def remove_value(table: dict[str, object], path: KeyPath) -> None:
    """Take the value at `path` out, and the tables around it that are empty then."""
    inner = table.get(path[0])
    if len(path) > 1 and isinstance(inner, dict):
        remove_value(inner, path[1:])
        if inner:
            return
    table.pop(path[0], None)


def copy_table(table: Mapping[str, object]) -> dict[str, object]:
    return {key: copy_table(one) if isinstance(one, Mapping) else one for key, one in table.items()}


def _iterate_leaves(table: Mapping[str, object], above: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """What may be judged on its own: values, and whole tables that have no key a project may set."""
    for name, value in table.items():
        path = (*above, name)
        if isinstance(value, Mapping) and any(key.project and key.path[: len(path)] == path for key in KEYS):
            yield from _iterate_leaves(value, path)
        else:
            yield path, value
