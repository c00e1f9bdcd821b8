"""Settings files: finding, reading and editing them.

Layers, highest first: managed, flags, environment, local project, shared project, user, defaults. A project's
files are read only in a trusted folder, and they can only tighten. An unusable file is refused with an error
that names file, line and key. `schema` defines the keys, `layers` merges the layers.
"""

import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.settings import config_text, file_io
from cockpit.settings.file_io import write_atomically
from cockpit.settings.layers import EffectiveSettings as EffectiveSettings
from cockpit.settings.layers import LayerName, LayerStack, LayerTable, describe_invalid_values, get_value
from cockpit.settings.schema import (
    DEFAULTS,
    KEYS,
    KeyPath,
    SettingKey,
    find_key,
    format_key,
    is_in_open_table,
    suggest_key,
)

MANAGED_FILES = {
    "linux": "/etc/cockpit/settings.toml",
    "darwin": "/Library/Application Support/cockpit/settings.toml",
    "win32": r"C:\ProgramData\cockpit\settings.toml",
}
SECRET_NAMES = frozenset({"api_key", "apikey", "key", "token", "secret", "password"})


def user_file() -> Path:
    return paths.config() / "settings.toml"


def managed_file() -> Path:
    """The administrator's file; a relative path where the platform has none."""
    return Path(MANAGED_FILES.get(sys.platform, ""))


def project_files(root: str) -> tuple[Path, Path]:
    """The shared file of a project, and the local one for this machine only."""
    folder = Path(root) / ".cockpit"
    return folder / "settings.toml", folder / "settings.local.toml"


def load_settings(
    root: str, trusted: bool, flags: Mapping[KeyPath, tuple[str, object]] | None = None
) -> EffectiveSettings:
    """The settings in force for `root`. `flags` maps a key to the flag that sets it and its value.

    Raises `SettingsInvalid`, naming file and line.
    """
    stack = LayerStack()
    stack.put(LayerTable("default", DEFAULTS))
    sources: list[str] = []
    for layer in read_layers(root, trusted, flags or {}):
        for problem in describe_invalid_values(layer.table, layer):
            raise SettingsInvalid(problem, "docs/use/settings.md")
        if layer.name:
            sources.append(layer.name)
        stack.put(layer, str(user_file()))
    return EffectiveSettings(stack.values, tuple(sources), tuple(stack.left_out), stack.origins)


def read_layers(
    root: str,
    trusted: bool,
    flags: Mapping[KeyPath, tuple[str, object]],
    broken: list[SettingsInvalid] | None = None,
) -> Iterator[LayerTable]:
    """The layers above the defaults, the lowest first.

    Raises `SettingsInvalid` for a file that is not TOML. If `broken` is given, such errors are appended to it
    and the other files are read.
    """
    files: list[tuple[LayerName, Path]] = [("user", user_file())]
    if trusted:
        files += [("project", path) for path in project_files(root)]
    for name, path in [*files, ("managed", managed_file())]:
        if name == "managed":
            yield _build_layer("environment", _read_variables(os.environ))
            yield _build_layer(
                "flags", {key: (f"flag {flag}", value) for key, (flag, value) in flags.items()}
            )
        try:
            layer = read_layer(path, name) if path.is_absolute() else None
        except SettingsInvalid as error:
            if broken is None:
                raise
            broken.append(error)
            continue
        if layer is not None:
            yield layer


def read_layer(path: Path, name: LayerName) -> LayerTable | None:
    """Read one file; None if it does not exist.

    Raises `SettingsInvalid` if it is not TOML, and also if it cannot be read: ignoring it would silently drop
    its deny rules.
    """
    try:
        raw = file_io.read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror})"
        raise SettingsInvalid(message, "make it a regular file that you can read, or move it away") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SettingsInvalid(f"{path}:{line}: not valid UTF-8", "fix it or move it away") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = config_text.find_toml_error_line(error, text)
        message = f"{path}:{line}: invalid TOML: {error}"
        raise SettingsInvalid(message, "fix it or move it away") from error
    return LayerTable(name, table, str(path), text)


def _build_layer(layer: LayerName, values: Mapping[KeyPath, tuple[str, object]]) -> LayerTable:
    table: dict[str, object] = {}
    for path, (_, value) in values.items():
        inner = table
        for part in path[:-1]:
            inner = cast("dict[str, object]", inner.setdefault(part, {}))
        inner[path[-1]] = value
    return LayerTable(layer, table, names={path: name for path, (name, _) in values.items()})


def _read_variables(environment: Mapping[str, str]) -> dict[KeyPath, tuple[str, object]]:
    """Settings from the environment of the process, never from `.env`. An empty variable sets nothing."""
    values: dict[KeyPath, tuple[str, object]] = {}
    for key in KEYS:
        text = environment.get(key.variable, "").strip() if key.variable else ""
        if text:
            values[key.path] = (f"environment {key.variable}", parse_value(key, text))
    return values


def parse_value(key: SettingKey, text: str) -> object:
    """The value that `text` stands for: parsed as TOML, or split at commas for a list, else the text itself.

    A value that does not fit the key is returned unchanged; the schema refuses it.
    """
    if key.kind in ("text", "choice"):
        return text
    try:
        return cast("object", tomllib.loads(f"x = {text}")["x"])
    except tomllib.TOMLDecodeError:
        return [word.strip() for word in text.split(",") if word.strip()] if key.kind == "words" else text


def set_user_value(key: str | KeyPath, value: object) -> None:
    """Write `value` at `key` (dotted or a path) of the user's file, keeping comments and order.

    Raises `SettingsInvalid` if the file is not TOML.
    """
    _edit_user_file(key.split(".") if isinstance(key, str) else list(key), lambda old: value)


def unset_user_value(path: KeyPath) -> bool:
    """Remove the value at `path` from the user's file. Returns whether it was there."""
    layer = read_layer(user_file(), "user")
    if layer is None or get_value(layer.table, path) is None:
        return False
    _edit_user_file(list(path), lambda old: None)
    return True


def add_user_word(parts: tuple[str, ...], word: str) -> None:
    """Add `word` to the list at `parts` (a path of keys) of the user's file, unless it is there."""

    def add(old: object) -> object:
        words = list(old) if isinstance(old, list) else []
        return words if word in words else [*words, word]

    _edit_user_file(list(parts), add)


def remove_user_word(parts: tuple[str, ...], word: str) -> bool:
    """Remove `word` from the list at `parts` of the user's file. Returns whether it was there."""
    layer = read_layer(user_file(), "user")
    words = get_value(layer.table, parts) if layer is not None else None
    if not isinstance(words, list) or word not in words:
        return False
    _edit_user_file(list(parts), lambda old: [item for item in cast("list[object]", old) if item != word])
    return True


def _edit_user_file(parts: list[str], change: Callable[[object], object]) -> None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = user_file()
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    except TOMLKitError as error:
        raise SettingsInvalid(f"{path}: invalid TOML: {error}", "fix or remove it") from error
    table = cast("dict[str, object]", document)
    for part in parts[:-1]:
        inner = table.get(part)
        if not isinstance(inner, dict):
            inner = tomlkit.table()
            table[part] = inner
            inner = table[part]
        table = cast("dict[str, object]", inner)
    value = change(table.get(parts[-1]))
    if value is None:
        table.pop(parts[-1], None)
    else:
        table[parts[-1]] = value
    write_atomically(path, tomlkit.dumps(document).encode(), private=True)


def load_environment(root: str, trusted: bool) -> Mapping[str, str]:
    """The process's environment; a trusted folder's `.env` adds variables that it does not set."""
    variables: dict[str, str] = {}
    if trusted:
        variables.update(read_dotenv(Path(root) / ".env"))
    variables.update(os.environ)
    return variables


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables of a `.env` file; empty if there is none."""
    try:
        lines = file_io.read_text(path).splitlines()
    except OSError:
        return {}
    variables = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or name.startswith("#"):
            continue
        value = value.strip()
        if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
            value = value[1:-1]
        else:
            value = value.partition(" #")[0].rstrip()
        variables[name.strip()] = value
    return variables


def parse_key_path(text: str) -> KeyPath:
    """Parse a key as it is written in TOML: `limits.steps`, `projects."/a b".permissions.deny`.

    Raises `SettingsInvalid` for an unknown key, naming the one that may be meant.
    """
    try:
        table: object = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError as error:
        raise SettingsInvalid(f"invalid key {text!r}", "write it like limits.steps") from error
    path: list[str] = []
    while isinstance(table, Mapping) and len(table) == 1:
        (name,) = table
        path.append(name)
        table = table[name]
    if table != 0 or isinstance(table, Mapping):
        raise SettingsInvalid(f"invalid key {text!r}", "write it like limits.steps")
    key_path = tuple(path)
    if find_key(key_path) is None and not is_in_open_table(key_path):
        raise SettingsInvalid(f"unknown setting `{format_key(key_path)}`", suggest_key(key_path))
    return key_path


def parse_user_value(path: KeyPath, text: str) -> object:
    """The value that `text` stands for at `path`. Raises `SettingsInvalid` if it does not fit the key."""
    key = find_key(path)
    if path[-1].lower() in SECRET_NAMES:
        hint = "`cockpit connect` stores a key in the keyring, or name its variable with key_env"
        raise SettingsInvalid(f"`{format_key(path)}` would store a secret in plain text", hint)
    if key is None:
        try:
            return cast("object", tomllib.loads(f"x = {text}")["x"])
        except tomllib.TOMLDecodeError:
            return text
    if key.kind == "table":
        inner = [other.name for other in KEYS if other.path[:-1] == key.path]
        hint = f"set one of {', '.join(inner)}" if inner else "name a key in it"
        raise SettingsInvalid(f"`{format_key(path)}` is a table", hint)
    value = parse_value(key, text)
    if key.is_invalid(value):
        reason = f"`{format_key(path)}` must be {key.expected}, not {text!r}"
        raise SettingsInvalid(reason, _example_value(key))
    return value


def assign_setting(text: str, value: str) -> KeyPath:
    """Write `value`, given as text, at the key `text` of the user's file and return its path.

    Raises `SettingsInvalid` without writing anything.
    """
    path = parse_key_path(text)
    set_user_value(path, parse_user_value(path, value))
    return path


def unassign_setting(text: str) -> bool:
    """Remove the key `text` from the user's file. Returns whether it was there. Raises `SettingsInvalid`."""
    return unset_user_value(parse_key_path(text))


def _example_value(key: SettingKey) -> str:
    examples = {"words": '["one", "two"] or one,two', "whole": "as 200", "number": "as 1.5"}
    return examples.get(key.kind, f"it is {key.about}")
