"""`cockpit mcp add|add-json|remove|enable|disable`: edit the files that define MCP servers."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from cockpit import paths
from cockpit.cli.command import ProjectFolder, resolve_folder, resolve_project
from cockpit.cli.mcp.servers import find_server, open_pins, read_server_files
from cockpit.errors import CockpitError
from cockpit.formats import mcp_files
from cockpit.mcp.pins import describe_target
from cockpit.plugin.values import McpServer
from cockpit.protocol.messages import Json
from cockpit.protocol.safe_text import single_line
from cockpit.settings.files import add_user_word, remove_user_word

DISABLED_KEY = ("mcp", "disabled")


def add_server(args: argparse.Namespace) -> int:
    """Write the server to its file and approve it, because the user typed its command line."""
    words = [*args.target, *args.line]
    if not words:
        raise CockpitError(
            "the server's command or address is missing",
            "cockpit mcp add NAME -- COMMAND ARG..., or NAME ADDRESS",
        )
    is_address = words[0].startswith(("http://", "https://"))
    transport = args.transport or ("http" if is_address else "stdio")
    entry: dict[str, Json] = {"type": transport}
    if transport == "stdio":
        entry["command"] = words[0]
        entry["args"] = list(words[1:])
        entry["env"] = dict(_parse_pairs(args.env, "=", "--env NAME=VALUE"))
    else:
        if not is_address or len(words) > 1:
            raise CockpitError(f"{words[0]} is not an address", "it must start with http:// or https://")
        entry["url"] = words[0]
        entry["headers"] = dict(_parse_pairs(args.header, ":", "--header 'NAME: VALUE'"))
    if args.timeout:
        entry["timeout"] = args.timeout
    return _store_server(args, {key: value for key, value in entry.items() if value not in ({}, [])})


def add_server_json(args: argparse.Namespace) -> int:
    try:
        entry = json.loads(args.json)
    except ValueError as error:
        raise CockpitError(f"not valid JSON: {error}", 'write {"command": "...", "args": []}') from error
    if not isinstance(entry, dict):
        raise CockpitError("not a server", 'write {"command": "...", "args": []}')
    return _store_server(args, entry)


def _store_server(args: argparse.Namespace, entry: Mapping[str, Json]) -> int:
    root = resolve_folder(args.cwd)
    file = _find_server_file(root, args.scope)
    # The entry may contain a key, so only the user may read the file.
    mcp_files.add_server(file, args.name, entry, args.force, private=args.scope == "user")
    made = [item for item in read_server_files(ProjectFolder(root, True)) if item.name == args.name]
    read = next((element for element in made if isinstance(element, McpServer)), None)
    if read is None:
        for each_item in made:
            for fault in each_item.origin.refused if each_item.origin is not None else ():
                print(fault)
        return 1
    open_pins(root).approve(read)
    print(f"added {args.name} to {file}: {single_line(describe_target(read))}")
    if args.scope == "project":
        print("others who open this project are asked before it starts")
    return 0


def _find_server_file(root: str, scope: str) -> Path:
    return Path(root, ".mcp.json") if scope == "project" else paths.config() / mcp_files.USER_FILE


def _parse_pairs(written: list[str], sign: str, form: str) -> list[tuple[str, Json]]:
    pairs: list[tuple[str, Json]] = []
    for item in written:
        name, separator, value = item.partition(sign)
        if not separator or not name.strip():
            raise CockpitError(f"{name!r} is not a pair", f"write {form}")
        pairs.append((name.strip(), value.strip()))
    return pairs


def remove_server(args: argparse.Namespace) -> int:
    """Remove the server from the file that defines it, and forget its approval."""
    where = resolve_project(args)
    if args.scope == "project":
        where = ProjectFolder(where.root, True)
    scopes = (args.scope,) if args.scope else ("project", "user") if where.trusted else ("user",)
    own = Path(where.root, ".cockpit", "mcp.json")
    files = [_find_server_file(where.root, scope) for scope in scopes] + (
        [own] if "project" in scopes else []
    )
    known = [entry for entry in read_server_files(where) if entry.name == args.name]
    for file in files:
        if mcp_files.remove_server(file, args.name):
            for element in known:
                if isinstance(element, McpServer):
                    open_pins(where.root).forget(element)
            print(f"removed {args.name} from {file}")
            return 0
    for item in known:
        if item.origin is not None:
            raise CockpitError(
                f"{args.name} is defined in {item.origin.file}, which cockpit does not edit",
                f"remove it there, or run cockpit mcp disable {args.name}",
            )
    names = ", ".join(sorted({entry.name for entry in read_server_files(where)}))
    hint = f"choose {names}" if names else "none is configured in files"
    raise CockpitError(f"unknown MCP server '{args.name}'", hint)


def enable_server(args: argparse.Namespace) -> int:
    if remove_user_word(DISABLED_KEY, args.name):
        print(f"{args.name} is enabled again")
    else:
        print(f"{find_server(args).name} is not disabled in your settings")
    return 0


def disable_server(args: argparse.Namespace) -> int:
    add_user_word(DISABLED_KEY, args.name)
    print(f"{args.name} is disabled; cockpit mcp enable {args.name} enables it again")
    return 0
