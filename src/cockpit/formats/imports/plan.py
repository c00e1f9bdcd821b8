"""Plans and performs the import of another agent's settings: what is new, what exists, what is left out.

Never overwrites anything in the user's own files, so a second import changes nothing.
"""

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.formats import config_files
from cockpit.formats.imports import claude, codex, crush, opencode, vibe
from cockpit.formats.imports.collector import (
    AddAgent,
    AddFacts,
    AddRule,
    AddServer,
    FoundSetting,
    ImportAction,
    SettingsCollector,
    SetValue,
)
from cockpit.protocol.messages import Json
from cockpit.settings import file_io, files
from cockpit.settings.file_io import write_atomically
from cockpit.settings.layers import get_value
from cockpit.settings.schema import format_key

PlanState: TypeAlias = Literal["new", "there", "other", "in place", "left"]
AGENTS = {item.AGENT: item.read for item in (claude, codex, opencode, crush, vibe)}


@dataclass(frozen=True, slots=True)
class ImportRow:
    """A setting and what would happen to it: it is `new`, exists already (`there`), conflicts with something
    `other`, is read `in place`, or is `left` out; `why` says more."""

    setting: FoundSetting
    state: PlanState
    becomes: str = ""
    why: str = ""


@dataclass
class CurrentSettings:
    """The user's own files as they are now, plus what is planned, so that nothing is planned twice."""

    settings: Mapping[str, object]
    servers: dict[str, Json]
    prices: Mapping[str, object]
    agents: Path
    planned: dict[object, object] = field(default_factory=dict)


def collect_settings(
    agents: Collection[str], root: Path, trusted: bool, home: Path, known: Collection[str]
) -> list[FoundSetting]:
    """What the settings of the named agents say. `known` are the names of cockpit's providers."""
    settings: list[FoundSetting] = []
    for name in AGENTS:
        if name in agents:
            gathering = SettingsCollector(name, known)
            AGENTS[name](root, trusted, home, gathering)
            settings += gathering.settings
    return settings


def plan_import(settings: Iterable[FoundSetting], copy: bool = False) -> list[ImportRow]:
    """What would happen to each setting. With `copy`, settings that are read in place are imported too.
    Raises `SettingsInvalid` if the user's own files cannot be read."""
    current = _read_current()
    return [_plan_row(item, current, copy) for item in settings]


def apply_import(rows: Iterable[ImportRow], loosening: bool) -> list[ImportRow]:
    """Write what is new, and what loosens only if `loosening`. Returns the rows that were written."""
    written = [row for row in rows if row.state == "new" and (loosening or not row.setting.loosens)]
    servers: dict[str, Json] = {}
    for row in written:
        match row.setting.take:
            case SetValue(path, value):
                files.set_user_value(path, value)
            case AddRule(level, text, root):
                files.add_user_word((*(("projects", root) if root else ()), "permissions", level), text)
            case AddFacts(provider, model, facts):
                _write_facts(provider, model, facts)
            case AddServer(name, entry):
                servers[name] = dict(entry)
            case AddAgent(name, text):
                write_atomically(_find_agents_folder() / f"{name}.md", text.encode())
            case None:
                pass
    if servers:
        _write_servers(servers)
    return written


def _read_current() -> CurrentSettings:
    layer = files.read_layer(files.user_file(), "user")
    located = _read_servers()
    prices: Mapping[str, object] = {}
    try:
        prices = tomllib.loads(file_io.read_text(_find_prices_file(), encoding="utf-8-sig"))
    except FileNotFoundError:
        pass
    except (OSError, tomllib.TOMLDecodeError) as error:
        reason = f"{_find_prices_file()} cannot be read: {error}"
        raise SettingsInvalid(reason, "fix it or move it away") from error
    servers = dict(located.table("mcpServers")) if located is not None else {}
    return CurrentSettings(layer.table if layer is not None else {}, servers, prices, _find_agents_folder())


def _read_servers() -> config_files.ConfigFile | None:
    """The user's own `mcp.json`. Raises `SettingsInvalid`."""
    file = paths.config() / "mcp.json"
    try:
        located = config_files.parse_config(file_io.read_text(file, encoding="utf-8-sig"), str(file))
    except FileNotFoundError:
        return None
    if located.faults:
        raise SettingsInvalid(f"{file}:{located.faults[0].line}: {located.faults[0].reason}", "fix it first")
    return located


def _plan_row(setting: FoundSetting, current: CurrentSettings, copy: bool) -> ImportRow:
    if setting.take is None:
        return ImportRow(setting, "left", "", setting.why)
    key, value, now, becomes = _locate_action(setting.take, current)
    if setting.in_place and not copy:
        return ImportRow(setting, "in place", "", "cockpit reads it in place; --copy imports it")
    if now is None and key not in current.planned:
        current.planned[key] = value
        why = "it allows more than now: needs your consent" if setting.loosens else ""
        return ImportRow(setting, "new", becomes, why)
    if now is None:
        planned = current.planned[key]
        same, why = planned == value, f"a different value is imported above: {_shorten(planned)}"
        same_why = "the same as above"
    else:
        same, why = now == value, f"another value exists and is not overwritten: {_shorten(now)}"
        same_why = ""
    return ImportRow(setting, "there" if same else "other", becomes, same_why if same else why)


def _locate_action(take: ImportAction, current: CurrentSettings) -> tuple[object, object, object, str]:
    """The place an action writes to (as a key), the new and the current value, and a description."""
    match take:
        case SetValue(path, value):
            now = get_value(current.settings, path)
            return path, value, now, f"settings.toml: {format_key(path)} = {_shorten(value)}"
        case AddRule(level, text, root):
            path = (*(("projects", root) if root else ()), "permissions", level)
            listed = get_value(current.settings, path)
            now = text if isinstance(listed, list) and text in listed else None
            return (*path, text), text, now, f"settings.toml: {format_key(path)}"
        case AddFacts(provider, model, facts):
            now = get_value(current.prices, (provider, model))
            becomes = f"models.toml: [{provider}] {_shorten(dict(facts))}"
            return ("prices", provider, model), dict(facts), now, becomes
        case AddServer(name, entry):
            becomes = f"mcp.json: {_format_server(entry)}"
            return ("mcp", name), dict(entry), current.servers.get(name), becomes
        case AddAgent(name, text):
            return ("agent", name), text, _read_or_none(current.agents / f"{name}.md"), f"agents/{name}.md"


def _format_server(entry: Mapping[str, Json]) -> str:
    """The command a server runs, or its address."""
    args = entry.get("args")
    words = [entry.get("command", ""), *(args if isinstance(args, list) else ())]
    return str(entry["url"]) if entry.get("url") else " ".join(str(word) for word in words)


def _read_or_none(path: Path) -> str | None:
    try:
        return file_io.read_text(path)
    except OSError:
        return None


def _shorten(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _find_agents_folder() -> Path:
    return paths.config() / "agents"


def _find_prices_file() -> Path:
    return paths.config() / "models.toml"


def _write_facts(provider: str, model: str, facts: Mapping[str, Json]) -> None:
    """Add the facts of a model to `models.toml`, preserving comments and order."""
    import tomlkit

    text = _read_or_none(_find_prices_file()) or ""
    document = tomlkit.parse(text)
    section = document.get(provider)
    if not isinstance(section, dict):
        section = document[provider] = tomlkit.table()
        section = cast("dict[str, object]", document[provider])
    row = tomlkit.inline_table()
    row.update(facts)
    section[model] = row
    write_atomically(_find_prices_file(), tomlkit.dumps(document).encode())


def _write_servers(servers: Mapping[str, Json]) -> None:
    """Add servers to `mcp.json`. Refuses if the file has comments, which would be lost."""
    file = paths.config() / "mcp.json"
    text = _read_or_none(file) or "{}"
    try:
        table = json.loads(text)
    except ValueError as error:
        names = ", ".join(servers)
        hint = f"remove them, or add {names} yourself"
        raise SettingsInvalid(f"{file} has comments, which would be lost", hint) from error
    table.setdefault("mcpServers", {}).update(servers)
    write_atomically(file, json.dumps(table, indent=2, ensure_ascii=False).encode() + b"\n", private=True)


def select_loosening(rows: Iterable[ImportRow]) -> list[ImportRow]:
    """The rows that need the user's consent."""
    return [row for row in rows if row.state == "new" and row.setting.loosens]
