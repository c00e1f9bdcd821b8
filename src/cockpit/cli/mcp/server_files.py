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
        hint = "cockpit mcp add NAME -- COMMAND ARG..., or NAME ADDRESS"
        raise CockpitError("the server's command or address is missing", hint)
    is_address = words[0].startswith(("http://", "https://"))
    transport = args.transport or ("http" if is_address else "stdio")
    entry: dict[str, Json] = {"type": transport}
    if transport == "stdio":
        entry["command"] = words[0]
        entry["args"] = list(words[1:])
        entry["env"] = _parse_pairs(args.env, "=", "--env NAME=VALUE")
    else:
        if not is_address or len(words) > 1:
            raise CockpitError(f"{words[0]} is not an address", "it must start with http:// or https://")
        entry["url"] = words[0]
        entry["headers"] = _parse_pairs(args.header, ":", "--header 'NAME: VALUE'")
    if args.timeout:
        entry["timeout"] = args.timeout
    return _store_server(args, {key: value for key, value in entry.items() if value not in ({}, [])})


def add_server_json(args: argparse.Namespace) -> int:
    example = 'write {"command": "...", "args": []}'
    try:
        entry = json.loads(args.json)
    except ValueError as error:
        raise CockpitError(f"the server is not valid JSON: {error}", example) from error
    if not isinstance(entry, dict):
        raise CockpitError("the server is not a JSON object", example)
    return _store_server(args, entry)


def _store_server(args: argparse.Namespace, entry: Mapping[str, Json]) -> int:
    root = resolve_folder(args.cwd)
    file = _find_server_file(root, args.scope)
    # The entry may contain a key, so only the user may read the file.
    mcp_files.add_server(file, args.name, entry, args.force, private=args.scope == "user")
    found = [server for server in read_server_files(ProjectFolder(root, True)) if server.name == args.name]
    added = next((server for server in found if isinstance(server, McpServer)), None)
    if added is None:
        for server in found:
            for fault in server.origin.refused if server.origin is not None else ():
                print(fault)
        return 1
    open_pins(root).approve(added)
    print(f"added {args.name} to {file}: {single_line(describe_target(added))}")
    if args.scope == "project":
        print("others who open this project are asked before it starts")
    return 0


def _find_server_file(root: str, scope: str) -> Path:
    return Path(root, ".mcp.json") if scope == "project" else paths.config() / mcp_files.USER_FILE


def _parse_pairs(texts: list[str], sign: str, form: str) -> dict[str, Json]:
    pairs: dict[str, Json] = {}
    for text in texts:
        name, separator, value = text.partition(sign)
        if not separator or not name.strip():
            raise CockpitError(f"{name!r} is not of the form NAME{sign}VALUE", f"write {form}")
        pairs[name.strip()] = value.strip()
    return pairs


def remove_server(args: argparse.Namespace) -> int:
    """Remove the server from the file that defines it, and forget its approval."""
    root, trusted = resolve_project(args)
    trusted = trusted or args.scope == "project"
    scopes = (args.scope,) if args.scope else ("project", "user") if trusted else ("user",)
    files = [_find_server_file(root, scope) for scope in scopes]
    if "project" in scopes:
        files.append(Path(root, ".cockpit", "mcp.json"))
    found = [item for item in read_server_files(ProjectFolder(root, trusted)) if item.name == args.name]
    for file in files:
        if mcp_files.remove_server(file, args.name):
            for server in found:
                if isinstance(server, McpServer):
                    open_pins(root).forget(server)
            print(f"removed {args.name} from {file}")
            return 0
    for server in found:
        if server.origin is not None:
            reason = f"{args.name} is defined in {server.origin.file}, which cockpit does not edit"
            raise CockpitError(reason, f"remove it there, or run cockpit mcp disable {args.name}")
    names = ", ".join(sorted({item.name for item in read_server_files(ProjectFolder(root, trusted))}))
    hint = f"choose {names}" if names else "none is configured in files"
    raise CockpitError(f"unknown MCP server '{args.name}'", hint)


def enable_server(args: argparse.Namespace) -> int:
    if remove_user_word(DISABLED_KEY, args.name):
        print(f"{args.name} is enabled again")
    else:
        print(f"{find_server(args)[1].name} is not disabled in your settings")
    return 0


def disable_server(args: argparse.Namespace) -> int:
    add_user_word(DISABLED_KEY, args.name)
    print(f"{args.name} is disabled; cockpit mcp enable {args.name} enables it again")
    return 0
