"""Settings files, layered: managed > flags > local project > shared project > user > defaults.

A project's files are read only in a trusted folder, and they can only tighten: what would loosen
anything there is left out and said. Refuses keys it cannot read, naming file and key.
"""

import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard, cast

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.settings import plain
from cockpit.settings.atomic import write_atomically
from cockpit.settings.known import strangers

DEFAULTS: Mapping[str, object] = {
    "mode": "ask",
    "models": {"default": "", "fallback": [], "tiers": {}},
    "limits": {"steps": 200},
    "permissions": {"allow": [], "ask": [], "deny": []},
    "plugins": {"disabled": []},
}
MANAGED = {
    "linux": "/etc/cockpit/settings.toml",
    "darwin": "/Library/Application Support/cockpit/settings.toml",
}
# From the loosest to the tightest.
MODES = ("full", "auto-edit", "ask", "plan", "deny")
LOOSENING = (
    ("permissions", "allow"),
    ("models",),
    ("plugins",),
    ("projects",),
    ("redaction",),
    ("approvals",),
    ("sandbox",),
)
# What each key that somebody reads must hold: a file that says otherwise is refused, because
# `permissions = 1` would otherwise sweep the denials of a lower layer away.
SHAPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "mode": ((str,), "a word in quotes"),
    "models": ((dict,), "a table"),
    "models.default": ((str,), "a name in quotes"),
    "models.fallback": ((list,), "a list of names"),
    "models.tiers": ((dict,), "a table"),
    "models.window": ((int,), "a number of tokens"),
    "limits": ((dict,), "a table"),
    **{f"limits.{name}": ((int,), "a whole number") for name in ("steps", "tool_calls", "tokens")},
    **{f"limits.{name}": ((int, float), "a number") for name in ("seconds", "money", "session_money")},
    "limits.stop_file": ((str,), "a path in quotes"),
    "approvals": ((dict,), "a table"),
    "approvals.seconds": ((int, float), "a number of seconds"),
    "redaction": ((dict,), "a table"),
    "redaction.file_reads": ((str,), "`raw` or `redacted`, in quotes"),
    "permissions": ((dict,), "a table"),
    "permissions.allow": ((list,), "a list of rules"),
    "permissions.ask": ((list,), "a list of rules"),
    "permissions.deny": ((list,), "a list of rules"),
    "plugins": ((dict,), "a table"),
    "plugins.disabled": ((list,), "a list of names"),
    "agents": ((dict,), "a table"),
    **{
        f"agents.{name}": ((int,), "a whole number")
        for name in ("limit", "depth", "steps", "tokens", "output")
    },
    "agents.seconds": ((int, float), "a number of seconds"),
    "skills": ((dict,), "a table"),
    "skills.disabled": ((list,), "a list of names"),
    "hooks": ((dict,), "a table"),
    "hooks.disabled": ((list,), "a list of names"),
    "mcp": ((dict,), "a table"),
    "mcp.disabled": ((list,), "a list of names"),
    "mcp.connect_seconds": ((int, float), "a number of seconds"),
    "mcp.call_seconds": ((int, float), "a number of seconds"),
    "mcp.expose_tools": ((list,), "a list of names of tools"),
    "projects": ((dict,), "a table"),
    "sandbox": ((dict,), "a table"),
    "sandbox.use": ((str,), "`auto`, `required` or `off`, in quotes"),
    "sandbox.hosts": ((list,), "a list of names of hosts"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force for one root.

    `values` is a tree of tables. `sources` are the files that were read; `left_out` says, a
    sentence each, what a project's file asked for and did not get.
    """

    values: Mapping[str, object]
    sources: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def table(self, key: str) -> Mapping[str, object]:
        """The table at dotted `key`, empty where there is none."""
        value = _at(self.values, key)
        return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}

    def text(self, key: str, default: str = "") -> str:
        value = _at(self.values, key)
        return value if isinstance(value, str) else default

    def number(self, key: str) -> float | None:
        value = _at(self.values, key)
        return float(value) if _is_number(value) else None

    def words(self, key: str) -> tuple[str, ...]:
        """The list of strings at `key`."""
        value = _at(self.values, key)
        return tuple(str(one) for one in value) if isinstance(value, list) else ()


def user_file() -> Path:
    return paths.config() / "settings.toml"


def managed_file() -> Path:
    """The machine's file; relative where the platform has none."""
    return Path(MANAGED.get(sys.platform, ""))


def load(root: str, trusted: bool, flags: Mapping[str, object] | None = None) -> Settings:
    """The settings in force for `root`. Raises `SettingsInvalid`."""
    merged: dict[str, object] = _copy(DEFAULTS)
    sources: list[str] = []
    left_out: list[str] = []
    project = Path(root) / ".cockpit"
    layers: list[tuple[Path, bool]] = [(user_file(), False)]
    if trusted:
        layers += [(project / "settings.toml", True), (project / "settings.local.toml", True)]
    managed = managed_file()
    for path, is_project in layers:
        table = _read(path)
        if table is None:
            continue
        sources.append(str(path))
        left_out += strangers(table, str(path))
        _merge(merged, _tightened(table, merged, path, left_out) if is_project else table)
    _merge(merged, flags or {})
    if managed.is_absolute() and (table := _read(managed)) is not None:
        sources.append(str(managed))
        _merge(merged, table)
    return Settings(merged, tuple(sources), tuple(left_out))


def set_user_value(key: str, value: object) -> None:
    """Write `value` at dotted `key` of the user's file, keeping its comments and order.

    Raises `SettingsInvalid` when the file there is no TOML.
    """
    _edit_user_file(key.split("."), lambda old: value)


def add_user_word(parts: tuple[str, ...], word: str) -> None:
    """Add `word` to the list at `parts` (a path of keys) of the user's file, once."""

    def added(old: object) -> object:
        words = list(old) if isinstance(old, list) else []
        return words if word in words else [*words, word]

    _edit_user_file(list(parts), added)


def remove_user_word(parts: tuple[str, ...], word: str) -> bool:
    """Take `word` out of the list at `parts` of the user's file; whether it stood there."""
    words = _at(_read(user_file()) or {}, parts)
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
    table[parts[-1]] = change(table.get(parts[-1]))
    write_atomically(path, tomlkit.dumps(document).encode(), private=True)


def environment(root: str, trusted: bool) -> Mapping[str, str]:
    """The process's environment, with a trusted folder's `.env` beneath it."""
    found: dict[str, str] = {}
    if trusted:
        found.update(dotenv(Path(root) / ".env"))
    found.update(os.environ)
    return found


def dotenv(path: Path) -> dict[str, str]:
    """The variables of a `.env` file, empty where there is none."""
    try:
        lines = plain.read_text(path).splitlines()
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


def _read(path: Path) -> dict[str, object] | None:
    try:
        raw = plain.read_bytes(path)
    except OSError:
        return None
    try:
        table = tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}", "mend it or move it away") from error
    for key, (kinds, words) in SHAPES.items():
        value = _at(table, key)
        # A bool is an int to Python, not to a person.
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise SettingsInvalid(f"{path}: `{key}` must be {words}, not {value!r}", "docs/settings.md")
    return table


def _tightened(
    table: dict[str, object], in_force: Mapping[str, object], path: Path, left_out: list[str]
) -> dict[str, object]:
    """What a project's file may say: nothing that is looser than what is in force without it."""
    kept = _copy(table)
    mode, own = kept.get("mode"), in_force.get("mode")
    if mode is not None and (mode not in MODES or own not in MODES or MODES.index(mode) < MODES.index(own)):
        del kept["mode"]
        left_out.append(f"{path}: `mode = {mode!r}` left out; a project can only tighten")
    for keys in LOOSENING:
        inner = _at(kept, ".".join(keys[:-1])) if keys[:-1] else kept
        if isinstance(inner, dict) and keys[-1] in inner:
            del inner[keys[-1]]
            left_out.append(f"{path}: `{'.'.join(keys)}` left out; set it in {user_file()}")
    limits = cast("dict[str, object]", kept.get("limits") or {})
    for name in [name for name in limits if not _is_tighter(limits[name], _at(in_force, f"limits.{name}"))]:
        del limits[name]
        left_out.append(f"{path}: `limits.{name}` left out; a project can only tighten")
    return kept


def _is_tighter(value: object, own: object) -> bool:
    """Whether a limit (or a stop file where there is none) takes nothing away."""
    if isinstance(value, str) or own is None:
        return own is None
    return _is_number(value) and _is_number(own) and value <= own


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at(table: Mapping[str, object], key: str | tuple[str, ...]) -> object:
    """What stands at dotted `key` (or at a path of keys), None where nothing does."""
    value: object = table
    for part in key.split(".") if isinstance(key, str) else key:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def _copy(table: Mapping[str, object]) -> dict[str, object]:
    return {key: _copy(one) if isinstance(one, Mapping) else one for key, one in table.items()}


def _merge(into: dict[str, object], table: Mapping[str, object]) -> None:
    for key, value in table.items():
        inner = into.get(key)
        if isinstance(value, Mapping) and isinstance(inner, dict):
            _merge(inner, value)
        elif isinstance(value, list) and isinstance(inner, list) and key in ("ask", "deny", "disabled"):
            into[key] = [*inner, *(one for one in value if one not in inner)]
        else:
            into[key] = _copy(value) if isinstance(value, Mapping) else value
