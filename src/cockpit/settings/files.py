"""EffectiveSettings files, layered: managed > flags > environment > local project > shared project > user > defaults.

A project's files are read only in a trusted folder, and they can only tighten. A file that cannot be used
is refused, naming file, line and key. The keys themselves are in `schema`, the layering in `layers`.

Setting one value of the person's own file by its key's name, as `cockpit config set` and a screen do.
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


def user_file() -> Path:
    return paths.config() / "settings.toml"


def managed_file() -> Path:
    """The machine's file; relative where the platform has none."""
    return Path(MANAGED_FILES.get(sys.platform, ""))


def project_files(root: str) -> tuple[Path, Path]:
    """The shared file of a project and the one that is only on this machine."""
    folder = Path(root) / ".cockpit"
    return folder / "settings.toml", folder / "settings.local.toml"


def load_settings(
    root: str, trusted: bool, flags: Mapping[KeyPath, tuple[str, object]] | None = None
) -> EffectiveSettings:
    """The settings in force for `root`. `flags` maps a key to the flag that sets it and its value.

    Raises `SettingsInvalid`, naming file and line.
    """
    pile = LayerStack()
    pile.put(LayerTable("default", DEFAULTS))
    sources: list[str] = []
    for layer in read_layers(root, trusted, flags or {}):
        for said in describe_invalid_values(layer.table, layer):
            raise SettingsInvalid(said, "docs/settings.md")
        if layer.lines or layer.name:
            sources.append(layer.name)
        pile.put(layer, str(user_file()))
    return EffectiveSettings(pile.values, tuple(sources), tuple(pile.left_out), pile.origins)


def read_layers(
    root: str,
    trusted: bool,
    flags: Mapping[KeyPath, tuple[str, object]],
    broken: list[SettingsInvalid] | None = None,
) -> Iterator[LayerTable]:
    """What each layer above the defaults says, the lowest first. Raises `SettingsInvalid` for a file that
    is no TOML; with a list for those that are `broken` they go there, and the others are read."""
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
    """One file with its lines, None where there is none. Raises `SettingsInvalid` for what is no TOML, and
    for what is there and cannot be read: its denials would be gone without a word."""
    try:
        raw = file_io.read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        said = f"{path}: it cannot be read ({error.strerror})"
        raise SettingsInvalid(said, "make it a plain file that you may read, or move it away") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SettingsInvalid(f"{path}:{line}: this is no UTF-8", "mend it or move it away") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = config_text.find_toml_error_line(error, text)
        said = f"{path}:{line}: this is no TOML: {error}"
        raise SettingsInvalid(said, "mend it or move it away") from error
    return LayerTable(name, table, str(path), config_text.find_toml_lines(text))


def _build_layer(layer: LayerName, values: Mapping[KeyPath, tuple[str, object]]) -> LayerTable:
    table: dict[str, object] = {}
    for path, (_, value) in values.items():
        inner = table
        for part in path[:-1]:
            inner = cast("dict[str, object]", inner.setdefault(part, {}))
        inner[path[-1]] = value
    return LayerTable(layer, table, names={path: name for path, (name, _) in values.items()})


def _read_variables(environment: Mapping[str, str]) -> dict[KeyPath, tuple[str, object]]:
    """What variables set: the process's own, never those of a folder's `.env`. An empty one sets nothing."""
    found: dict[KeyPath, tuple[str, object]] = {}
    for key in KEYS:
        text = environment.get(key.variable, "").strip() if key.variable else ""
        if text:
            found[key.path] = (f"environment {key.variable}", parse_value(key, text))
    return found


def parse_value(key: SettingKey, text: str) -> object:
    """The value that `text` means for `key`: as TOML, else words between commas, else the text itself.

    What does not fit is given back as it is, for the schema to refuse.
    """
    if key.kind in ("text", "choice"):
        return text
    try:
        return cast("object", tomllib.loads(f"x = {text}")["x"])
    except tomllib.TOMLDecodeError:
        return [one.strip() for one in text.split(",") if one.strip()] if key.kind == "words" else text


def set_user_value(key: str | KeyPath, value: object) -> None:
    """Write `value` at `key` (dotted, or a path of keys) of the user's file, keeping its comments and order.

    Raises `SettingsInvalid` when the file there is no TOML.
    """
    _edit_user_file(key.split(".") if isinstance(key, str) else list(key), lambda old: value)


def unset_user_value(path: KeyPath) -> bool:
    """Take the value at `path` out of the user's file; whether it stood there."""
    layer = read_layer(user_file(), "user")
    if layer is None or get_value(layer.table, path) is None:
        return False
    _edit_user_file(list(path), lambda old: None)
    return True


def add_user_word(parts: tuple[str, ...], word: str) -> None:
    """Add `word` to the list at `parts` (a path of keys) of the user's file, once."""

    def added(old: object) -> object:
        words = list(old) if isinstance(old, list) else []
        return words if word in words else [*words, word]

    _edit_user_file(list(parts), added)


def remove_user_word(parts: tuple[str, ...], word: str) -> bool:
    """Take `word` out of the list at `parts` of the user's file; whether it stood there."""
    layer = read_layer(user_file(), "user")
    words = get_value(layer.table, parts) if layer is not None else None
    if not isinstance(words, list) or word not in words:
        return False
    _edit_user_file(list(parts), lambda old: [one for one in cast("list[object]", old) if one != word])
    return True


def _edit_user_file(parts: list[str], change: Callable[[object], object]) -> None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = user_file()
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    except TOMLKitError as error:
        raise SettingsInvalid(f"{path} is no TOML: {error}", "mend or remove it") from error
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
    """The process's environment, with a trusted folder's `.env` beneath it."""
    found: dict[str, str] = {}
    if trusted:
        found.update(read_dotenv(Path(root) / ".env"))
    found.update(os.environ)
    return found


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables of a `.env` file, empty where there is none."""
    try:
        lines = file_io.read_text(path).splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or name.startswith("#"):
            continue
        value = value.strip()
        if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
            value = value[1:-1]
        else:
            value = value.partition(" #")[0].rstrip()
        found[name.strip()] = value
    return found


SECRET_NAMES = frozenset({"api_key", "apikey", "key", "token", "secret", "password"})


def parse_key_path(text: str) -> KeyPath:
    """The path of a key as it is written in TOML: `limits.steps`, `projects."/a b".permissions.deny`.

    Raises `SettingsInvalid` for what is no key, naming the one that may have been meant.
    """
    try:
        table: object = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError as error:
        raise SettingsInvalid(f"{text!r} is no key", "write it as limits.steps") from error
    path: list[str] = []
    while isinstance(table, Mapping) and len(table) == 1:
        (name,) = table
        path.append(name)
        table = table[name]
    if table != 0 or isinstance(table, Mapping):
        raise SettingsInvalid(f"{text!r} is no key", "write it as limits.steps")
    found = tuple(path)
    if find_key(found) is None and not is_in_open_table(found):
        raise SettingsInvalid(f"`{format_key(found)}` is no setting", suggest_key(found))
    return found


def parse_user_value(path: KeyPath, text: str) -> object:
    """The value that `text` means at `path`. Raises `SettingsInvalid` where it is of another shape."""
    key = find_key(path)
    if path[-1].lower() in SECRET_NAMES:
        hint = "`cockpit connect` keeps a key in the keyring, or name its variable with key_env"
        raise SettingsInvalid(f"`{format_key(path)}` would hold a secret in clear", hint)
    if key is None:
        try:
            return cast("object", tomllib.loads(f"x = {text}")["x"])
        except tomllib.TOMLDecodeError:
            return text
    if key.kind == "table":
        inner = [one.name for one in KEYS if one.path[:-1] == key.path]
        hint = f"set one of {', '.join(inner)}" if inner else "name a key in it"
        raise SettingsInvalid(f"`{format_key(path)}` is a table", hint)
    value = parse_value(key, text)
    if key.misfit(value):
        raise SettingsInvalid(f"`{format_key(path)}` must be {key.wanted}, not {text!r}", _example_value(key))
    return value


def assign_setting(text: str, value: str) -> KeyPath:
    """Write `value` (as text) at the key `text` of the person's file; the path of it. Raises
    `SettingsInvalid`, and nothing is written then."""
    path = parse_key_path(text)
    set_user_value(path, parse_user_value(path, value))
    return path


def unassign_setting(text: str) -> bool:
    """Take the key `text` out of the person's file; whether it stood there. Raises `SettingsInvalid`."""
    return unset_user_value(parse_key_path(text))


def _example_value(key: SettingKey) -> str:
    examples = {"words": '["one", "two"] or one,two', "whole": "as 200", "number": "as 1.5"}
    return examples.get(key.kind, f"it is {key.about}")
