"""The files that name MCP servers: `.mcp.json` of a project and of bundles, `~/.claude.json`, our own
`mcp.json`. What they say as plain values, with `${VAR}` and `${VAR:-default}` filled in.

Reads what it is given; starts nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from cockpit import paths
from cockpit.formats.fields import hiding
from cockpit.formats.jsons import Located, load
from cockpit.formats.mcp_entries import HIDDEN, SECRET, Entry, Steps
from cockpit.formats.places import upward
from cockpit.plugin.origin import Fault, Layer, Origin, Unloaded
from cockpit.plugin.values import McpServer
from cockpit.protocol.clean import clean
from cockpit.protocol.messages import Json
from cockpit.settings import plain

Transport = Literal["stdio", "http", "sse"]
TYPES: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "remote": "http",
    "sse": "sse",
}
# Claude writes milliseconds; nobody means less than a second by it.
FEWEST_MILLISECONDS = 1_000
USER_FILE = "mcp.json"
PROJECT_FILES = (".cockpit/mcp.json", ".mcp.json")


def servers(
    root: Path, trusted: bool, home: Path, environment: Mapping[str, str]
) -> Iterator[McpServer | Unloaded]:
    """The servers that files name, one for each name: what is written for this project alone (Claude's
    local scope) before the project's own files (the nearest first), before the user's."""
    claude = _load(home / ".claude.json")
    user = paths.config() / USER_FILE
    found = [*_in(claude, ("projects", str(root), "mcpServers"), "user", environment, private=True)]
    if trusted:
        for folder in upward(root, home):
            for name in PROJECT_FILES:
                found += read(folder / name, "project", environment)
    found += read(user, "user", environment)
    found += _in(claude, ("mcpServers",), "user", environment)
    yield from _nearest(found)


def read(
    file: Path, layer: Layer, environment: Mapping[str, str], prefix: str = ""
) -> list[McpServer | Unloaded]:
    """The servers of one file with the table `mcpServers`, in its order, their names behind `prefix`.
    A file that is not there has none."""
    located = _load(file)
    if located is None:
        return []
    if located.faults:
        return [Unloaded(file.name, Origin(str(file), layer, refused=located.faults))]
    # A bundle's file may be the table itself.
    bare = "mcpServers" not in located.table() and all(isinstance(v, dict) for v in located.table().values())
    return [*_in(located, () if bare else ("mcpServers",), layer, environment, prefix)]


def _load(file: Path) -> Located | None:
    try:
        return load(plain.read_text(file), str(file))
    except FileNotFoundError:
        return None
    except OSError as error:
        fault = Fault(str(file), 0, f"it cannot be read: {error.strerror or error}", "look at the file")
        return Located(str(file), faults=(fault,))


def _in(
    located: Located | None,
    path: Steps,
    layer: Layer,
    environment: Mapping[str, str],
    prefix: str = "",
    private: bool = False,
) -> Iterator[McpServer | Unloaded]:
    if located is None:
        return
    value = located.at(*path)
    if value is not None and not isinstance(value, dict):
        fault = located.fault(path, "this is no table of servers", 'write {"name": {"command": "..."}}')
        yield Unloaded(Path(located.file).name, Origin(located.file, layer, refused=(fault,)))
        return
    for name in value or {}:
        entry = Entry(located, (*path, name), environment)
        yield _server(prefix + name, entry, layer, private)


def _server(name: str, entry: Entry, layer: Layer, private: bool) -> McpServer | Unloaded:
    located = entry.located
    if not isinstance(located.at(*entry.path), dict):
        entry.faults.append(located.fault(entry.path, "this is no server", 'write {"command": "..."}'))
        return Unloaded(name, Origin(located.file, layer, refused=tuple(entry.faults)))
    if not name.strip() or clean(name) != name or len(name) > 100:
        entry.faults.append(
            located.fault(entry.path, "this is no name for a server", "use letters and digits")
        )
        entry.is_broken = True
    transport, command, url = _target(entry)
    server = McpServer(
        name=name,
        command=command,
        url=url,
        environment=entry.table("env") | entry.table("environment"),
        headers=entry.table("headers"),
        transport=transport,
        cwd=entry.text("cwd"),
        seconds=_seconds(entry),
        disabled=entry.flag("disabled") or not entry.flag("enabled", True),
        oauth=_oauth(entry),
    )
    _leave_out(entry)
    if private:
        entry.understood["scope"] = "local"
    origin = Origin(located.file, layer, dict(entry.understood), refused=tuple(entry.faults))
    return Unloaded(name, origin) if entry.is_broken else replace(server, origin=origin)


def _target(entry: Entry) -> tuple[Transport, tuple[str, ...], str]:
    """What is started, or where it is."""
    said = entry.text("type") or entry.text("transport")
    listed = isinstance(entry.at("command"), list)
    program = entry.words("command") if listed else tuple(one for one in (entry.text("command"),) if one)
    command = (*program, *entry.words("args")) if program else ()
    url = entry.text("url") or entry.text("httpUrl") or entry.text("serverUrl")
    transport = TYPES.get(said)
    if said and transport is None:
        entry.broken("type", f"`type` is {said!r}", "write stdio, http or sse")
    if transport is None:
        transport = "http" if url and not command else "stdio"
    if transport == "stdio":
        if not command:
            entry.broken("command", "it says neither `command` nor `url`", 'write "command": "the program"')
        return "stdio", command, ""
    if not url.startswith(("http://", "https://")) and not entry.is_broken:
        entry.broken("url", f"`url` is {url!r}", "write an address that begins with https://")
    return transport, (), url


def _seconds(entry: Entry) -> float | None:
    value = entry.at("timeout")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        entry.refuse("timeout", f"`timeout` is {value!r}", "write milliseconds: 60000")
        return None
    entry.understood["timeout"] = value
    return value / 1_000 if value >= FEWEST_MILLISECONDS else float(value)


def _oauth(entry: Entry) -> Mapping[str, Json]:
    value = entry.at("oauth")
    if value is None or value is False:
        return {}
    if not isinstance(value, dict):
        entry.refuse("oauth", f"`oauth` is {value!r}", 'write a table: {"clientId": "..."}')
        return {}
    told: dict[str, Json] = {key: HIDDEN if SECRET.search(key) else one for key, one in value.items()}
    entry.understood["oauth"] = told
    return {
        key: entry.filled("oauth", one, key) if isinstance(one, str) else one for key, one in value.items()
    }


def _leave_out(entry: Entry) -> None:
    """Fields of other programs that would run something nobody sees."""
    if entry.at("headersHelper") is not None:
        remedy = "write the headers, with ${VAR} where a secret stands, or use `oauth`"
        entry.refuse("headersHelper", "a program that makes headers is not run", remedy)
    if entry.at("envFile") is not None:
        entry.refuse("envFile", "a file of variables is not read", "name them in `env` with ${VAR}")


def _nearest(found: Iterable[McpServer | Unloaded]) -> Iterator[McpServer | Unloaded]:
    """One value for each name: the first, which tells what it hides. A broken one hides the next of its name
    too: that would be another program than the one the nearest file means."""
    kept: dict[str, McpServer | Unloaded] = {}
    for one in found:
        first = kept.get(one.name)
        if first is None:
            kept[one.name] = one
        elif first.origin is not None and one.origin is not None:
            kept[one.name] = replace(first, origin=hiding(first.origin, one.origin))
    yield from kept.values()
