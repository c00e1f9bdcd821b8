"""Setting one value of the person's own file by its key's name, as `cockpit config set` and a screen do."""

import tomllib
from collections.abc import Mapping
from typing import cast

from cockpit.errors import SettingsInvalid
from cockpit.settings import files
from cockpit.settings.schema import KEYS, Key, Path, dotted, find, is_open, nearest

SECRET = frozenset({"api_key", "apikey", "key", "token", "secret", "password"})


def path_of(text: str) -> Path:
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
    if find(found) is None and not is_open(found):
        raise SettingsInvalid(f"`{dotted(found)}` is no setting", nearest(found))
    return found


def value_for(path: Path, text: str) -> object:
    """The value that `text` means at `path`. Raises `SettingsInvalid` where it is of another shape."""
    key = find(path)
    if path[-1].lower() in SECRET:
        hint = "`cockpit connect` keeps a key in the keyring, or name its variable with key_env"
        raise SettingsInvalid(f"`{dotted(path)}` would hold a secret in clear", hint)
    if key is None:
        try:
            return cast("object", tomllib.loads(f"x = {text}")["x"])
        except tomllib.TOMLDecodeError:
            return text
    if key.kind == "table":
        inner = [one.name for one in KEYS if one.path[:-1] == key.path]
        hint = f"set one of {', '.join(inner)}" if inner else "name a key in it"
        raise SettingsInvalid(f"`{dotted(path)}` is a table", hint)
    value = files.value_of(key, text)
    if key.misfit(value):
        raise SettingsInvalid(f"`{dotted(path)}` must be {key.wanted}, not {text!r}", _example(key))
    return value


def assign(text: str, value: str) -> Path:
    """Write `value` (as text) at the key `text` of the person's file; the path of it. Raises
    `SettingsInvalid`, and nothing is written then."""
    path = path_of(text)
    files.set_user_value(path, value_for(path, value))
    return path


def unassign(text: str) -> bool:
    """Take the key `text` out of the person's file; whether it stood there. Raises `SettingsInvalid`."""
    return files.unset_user_value(path_of(text))


def _example(key: Key) -> str:
    examples = {"words": '["one", "two"] or one,two', "whole": "as 200", "number": "as 1.5"}
    return examples.get(key.kind, f"it is {key.about}")
