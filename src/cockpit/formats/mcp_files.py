"""The files that define MCP servers: `.mcp.json` of projects and bundles, `~/.claude.json`, cockpit's own
`mcp.json`.

Reads them into plain values with `${VAR}` and `${VAR:-default}` filled in, and adds and removes servers.
Starts nothing.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from cockpit import paths
from cockpit.errors import CockpitError
from cockpit.formats.config_files import ConfigFile, ValuePath, read_config
from cockpit.formats.fields import add_shadowed
from cockpit.formats.search_folders import list_folders_upward
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded
from cockpit.plugin.values import McpServer
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import clean
from cockpit.settings import file_io
from cockpit.settings.file_io import write_atomically

VARIABLE_PATTERN = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# Values with such names are masked: listings are seen by others and pasted into issues.
SECRET_NAME = re.compile(r"key|token|secret|pass|auth|cred|cookie|pat$|dsn", re.IGNORECASE)
MASK = "***"


@dataclass(slots=True)
class McpEntry:
    """The server at `path` while it is read field by field. `faults` and `understood` grow; an entry
    with `is_broken` is not used as a server."""

    located: ConfigFile
    path: ValuePath
    environment: Mapping[str, str]
    faults: list[FileProblem] = field(default_factory=list)
    understood: dict[str, Json] = field(default_factory=dict)
    is_broken: bool = False

    def at(self, key: str) -> Json:
        return self.located.at(*self.path, key)

    def refuse(self, key: str, reason: str, remedy: str) -> None:
        """Record that the field is ignored; the server works without it."""
        self.faults.append(self.located.fault((*self.path, key), reason, remedy))

    def broken(self, key: str, reason: str, remedy: str) -> None:
        """Record a fault that makes the server unusable."""
        self.refuse(key, reason, remedy)
        self.is_broken = True

    def filled(self, key: str, text: str, *below: str | int) -> str:
        """`text` with variables filled in. A variable without value and default breaks the server."""

        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2]
            known = self.environment.get(name)
            if known or (known is not None and default is None):
                return known
            if default is not None:
                return default
            remedy = f"set it, or write ${{{name}:-a default}} in its place"
            path = (*self.path, key, *below)
            self.faults.append(self.located.fault(path, f"the environment has no {name}", remedy))
            self.is_broken = True
            return ""

        return VARIABLE_PATTERN.sub(value, text)

    def shown(self, text: str) -> str:
        """`text` as a listing may show it: variables filled in, except those that hold a secret."""

        def value(match: re.Match[str]) -> str:
            name, default = match[1], match[2] or ""
            known = self.environment.get(name) or default
            return match[0] if SECRET_NAME.search(name) and known != default else known

        return VARIABLE_PATTERN.sub(value, text)

    def text(self, key: str) -> str:
        value = self.at(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.broken(key, f"`{key}` is {value!r}", "write text")
            return ""
        self.understood[key] = self.shown(value.strip())
        return self.filled(key, value.strip())

    def words(self, key: str) -> tuple[str, ...]:
        value = self.at(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(entry, str | int | float) for entry in value):
            self.broken(key, f"`{key}` is {value!r}", "write a list of texts")
            return ()
        self.understood[key] = [self.shown(str(item)) for item in value]
        return tuple(self.filled(key, str(element), at) for at, element in enumerate(value))

    def table(self, key: str) -> dict[str, str]:
        """Texts by name. Values that may be secret by their name are not listed."""
        value = self.at(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.broken(key, f"`{key}` is {value!r}", "write a table of texts")
            return {}
        texts: dict[str, str] = {}
        masked: dict[str, Json] = {}
        for name, entry in value.items():
            if isinstance(entry, bool | int | float | str):
                text = str(entry).lower() if isinstance(entry, bool) else str(entry)
                texts[name] = self.filled(key, text, name)
                masked[name] = MASK if SECRET_NAME.search(name) else self.shown(text)
            else:
                self.refuse(key, f"`{key}.{name}` is not text", "write text")
        self.understood[key] = masked
        return texts

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.at(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.refuse(key, f"`{key}` is {value!r}", "write true or false")
            return default
        self.understood[key] = value
        return value


Transport = Literal["stdio", "http", "sse"]
TRANSPORT_OF_TYPE: Mapping[str, Transport] = {
    **dict.fromkeys(("stdio", "local"), "stdio"),
    **dict.fromkeys(("http", "streamable-http", "streamableHttp", "streamable_http", "remote"), "http"),
    "sse": "sse",
}
# Claude's timeouts are milliseconds; smaller numbers are meant as seconds.
MIN_MILLISECONDS = 1_000
USER_FILE = "mcp.json"
PROJECT_FILES = (".cockpit/mcp.json", ".mcp.json")


def read_servers(
    root: Path, trusted: bool, home: Path, environment: Mapping[str, str]
) -> Iterator[McpServer | Unloaded]:
    """The servers of all files, one per name: Claude's local scope for this project first, then the
    project's own files (the nearest first), then the user's."""
    claude = read_config(home / ".claude.json")
    user = paths.config() / USER_FILE
    servers = [*_read_table(claude, ("projects", str(root), "mcpServers"), "user", environment, private=True)]
    if trusted:
        for folder in list_folders_upward(root, home):
            for name in PROJECT_FILES:
                servers += read_server_file(folder / name, "project", environment)
    servers += read_server_file(user, "user", environment)
    servers += _read_table(claude, ("mcpServers",), "user", environment)
    yield from _select_nearest(servers)


def read_server_file(
    file: Path, layer: Layer, environment: Mapping[str, str], prefix: str = ""
) -> list[McpServer | Unloaded]:
    """The servers in a file's `mcpServers` table, named `prefix` + name. Empty if the file does not exist."""
    located = read_config(file)
    if located is None:
        return []
    if located.faults:
        return [Unloaded(file.name, Origin(str(file), layer, refused=located.faults))]
    # A bundle's file may be the table itself, without `mcpServers`.
    bare = "mcpServers" not in located.table() and all(isinstance(v, dict) for v in located.table().values())
    return [*_read_table(located, () if bare else ("mcpServers",), layer, environment, prefix)]


def _read_table(
    located: ConfigFile | None,
    path: ValuePath,
    layer: Layer,
    environment: Mapping[str, str],
    prefix: str = "",
    private: bool = False,
) -> Iterator[McpServer | Unloaded]:
    if located is None:
        return
    value = located.at(*path)
    if value is not None and not isinstance(value, dict):
        fault = located.fault(path, "this is not a table of servers", 'write {"name": {"command": "..."}}')
        yield Unloaded(Path(located.file).name, Origin(located.file, layer, refused=(fault,)))
        return
    for name in value or {}:
        entry = McpEntry(located, (*path, name), environment)
        yield _build_server(prefix + name, entry, layer, private)


def _build_server(name: str, entry: McpEntry, layer: Layer, private: bool) -> McpServer | Unloaded:
    located = entry.located
    if not isinstance(located.at(*entry.path), dict):
        entry.faults.append(located.fault(entry.path, "this is not a server", 'write {"command": "..."}'))
        return Unloaded(name, Origin(located.file, layer, refused=tuple(entry.faults)))
    if not name.strip() or clean(name) != name or len(name) > 100:
        fault = located.fault(entry.path, "this is not a valid server name", "use letters and digits")
        entry.faults.append(fault)
        entry.is_broken = True
    transport, command, url = _read_target(entry)
    server = McpServer(
        name=name,
        command=command,
        url=url,
        environment=entry.table("env") | entry.table("environment"),
        headers=entry.table("headers"),
        transport=transport,
        cwd=entry.text("cwd"),
        seconds=_read_timeout(entry),
        disabled=entry.flag("disabled") or not entry.flag("enabled", True),
        oauth=_read_oauth(entry),
    )
    _refuse_unsafe_fields(entry)
    if private:
        entry.understood["scope"] = "local"
    origin = Origin(located.file, layer, dict(entry.understood), refused=tuple(entry.faults))
    return Unloaded(name, origin) if entry.is_broken else replace(server, origin=origin)


def _read_target(entry: McpEntry) -> tuple[Transport, tuple[str, ...], str]:
    written = entry.text("type") or entry.text("transport")
    listed = isinstance(entry.at("command"), list)
    program = entry.words("command") if listed else tuple(item for item in (entry.text("command"),) if item)
    command = (*program, *entry.words("args")) if program else ()
    url = entry.text("url") or entry.text("httpUrl") or entry.text("serverUrl")
    transport = TRANSPORT_OF_TYPE.get(written)
    if written and transport is None:
        entry.broken("type", f"`type` is {written!r}", "write stdio, http or sse")
    if transport is None:
        transport = "http" if url and not command else "stdio"
    if transport == "stdio":
        if not command:
            entry.broken("command", "it has neither `command` nor `url`", 'write "command": "the program"')
        return "stdio", command, ""
    if not url.startswith(("http://", "https://")) and not entry.is_broken:
        entry.broken("url", f"`url` is {url!r}", "write an address that starts with https://")
    return transport, (), url


def _read_timeout(entry: McpEntry) -> float | None:
    value = entry.at("timeout")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        entry.refuse("timeout", f"`timeout` is {value!r}", "write milliseconds: 60000")
        return None
    entry.understood["timeout"] = value
    return value / 1_000 if value >= MIN_MILLISECONDS else float(value)


def _read_oauth(entry: McpEntry) -> Mapping[str, Json]:
    value = entry.at("oauth")
    if value is None or value is False:
        return {}
    if not isinstance(value, dict):
        entry.refuse("oauth", f"`oauth` is {value!r}", 'write a table: {"clientId": "..."}')
        return {}
    masked: dict[str, Json] = {key: MASK if SECRET_NAME.search(key) else item for key, item in value.items()}
    entry.understood["oauth"] = masked
    texts = {key: entry.filled("oauth", item, key) for key, item in value.items() if isinstance(item, str)}
    return value | texts


def _refuse_unsafe_fields(entry: McpEntry) -> None:
    """Refuse fields of other programs that would run something the user does not see."""
    if entry.at("headersHelper") is not None:
        remedy = "write the headers with ${VAR} in place of secrets, or use `oauth`"
        entry.refuse("headersHelper", "a program that creates headers is not run", remedy)
    if entry.at("envFile") is not None:
        entry.refuse("envFile", "a file of variables is not read", "name them in `env` with ${VAR}")


def _select_nearest(servers: Iterable[McpServer | Unloaded]) -> Iterator[McpServer | Unloaded]:
    """One value per name: the first, which records what it shadows. A broken one also hides those after it,
    because they would be another program than the nearest file means."""
    nearest: dict[str, McpServer | Unloaded] = {}
    for item in servers:
        first = nearest.get(item.name)
        if first is None:
            nearest[item.name] = item
        elif first.origin is not None and item.origin is not None:
            nearest[item.name] = replace(first, origin=add_shadowed(first.origin, item.origin))
    yield from nearest.values()


def add_server(
    file: Path, name: str, entry: Mapping[str, Json], force: bool = False, private: bool = False
) -> None:
    """Write a server into `file`, creating it if needed. Raises `CockpitError` if the name exists (unless
    `force`) or the file is not plain JSON."""
    document, servers = _read_document(file)
    if name in servers and not force:
        raise CockpitError(f"{file} already has a server {name}", "add --force to replace it")
    servers[name] = dict(entry)
    _write_document(file, document, servers, private)


def remove_server(file: Path, name: str) -> bool:
    """Remove a server from `file`; return whether it was there. Raises `CockpitError`."""
    if not file.exists():
        return False
    document, servers = _read_document(file)
    if name not in servers:
        return False
    del servers[name]
    _write_document(file, document, servers, False)
    return True


def _read_document(file: Path) -> tuple[dict[str, Json], dict[str, Json]]:
    try:
        document = json.loads(file_io.read_text(file) or "{}")
    except FileNotFoundError:
        return {}, {}
    except ValueError as error:
        reason = f"{file} is not plain JSON ({error}), so it is not rewritten"
        raise CockpitError(reason, "add the server by hand") from error
    servers = document.get("mcpServers", {}) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(servers, dict):
        raise CockpitError(f"{file} has no table of servers", "fix it by hand first")
    return document, servers


def _write_document(file: Path, document: dict[str, Json], servers: dict[str, Json], private: bool) -> None:
    text = json.dumps(document | {"mcpServers": servers}, ensure_ascii=False, indent=2)
    write_atomically(file, f"{text}\n".encode(), private=private)
