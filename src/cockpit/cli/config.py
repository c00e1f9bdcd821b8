"""`cockpit config show|get|set|unset|path|check`: the settings in force and their origin, and changing your
own.
"""

import argparse
import contextlib
import json
from collections.abc import Sequence

from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    is_trusted,
    print_json,
    resolve_folder,
    resolve_project,
)
from cockpit.core.queries.queries import setting_rows
from cockpit.errors import CockpitError, SettingsInvalid
from cockpit.formats.imports.secrets import mask_secret
from cockpit.protocol.rows import SettingRow
from cockpit.settings import files
from cockpit.settings.files import assign_setting, parse_key_path, unassign_setting
from cockpit.settings.layers import (
    EffectiveSettings,
    describe_invalid_values,
    describe_unknown_keys,
    get_value,
)
from cockpit.settings.schema import find_key, format_key, is_key_under


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(list(argv))
    match args.what:
        case "get":
            return _print_value(args)
        case "set":
            return _set_value(args.key, args.value, args.cwd)
        case "unset":
            return _unset_value(args.key)
        case "path":
            return _print_files(args)
        case "check":
            return _check_files(args)
        case _:
            return _print_settings(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cockpit config", description="Settings and where they come from.")
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    show = what.add_parser("show", help="show every setting in force")
    show.add_argument(
        "--origin", action="store_true", help="show where each comes from: file and line, variable or option"
    )
    show.add_argument("--all", action="store_true", help="also settings that are not set")
    show.add_argument("key", nargs="?", default="", help="only this key or table, such as limits")
    get = what.add_parser("get", help="print a single value")
    get.add_argument("key")
    get.add_argument("--origin", action="store_true")
    put = what.add_parser("set", help="change a setting in your own file; comments are preserved")
    put.add_argument("key", help="a key such as limits.steps")
    put.add_argument("value", nargs="+", help="the value; several words make a list")
    unset = what.add_parser("unset", help="remove a setting from your own file")
    unset.add_argument("key")
    path = what.add_parser("path", help="list the settings files for this folder")
    check = what.add_parser("check", help="check the settings files; exit code 1 if there are faults")
    for item in (show, get, put, path, check):
        add_options(item, "cwd")
    for entry in (show, get, path, check):
        add_options(entry, "json", "trust")
    parser.set_defaults(origin=False, all=False, key="", cwd="", json=False, trust=False)
    return parser


def _print_settings(args: argparse.Namespace) -> int:
    project = resolve_project(args)
    root, trusted = project.root, project.trusted
    settings = files.load_settings(root, trusted)
    rows = [row for row in setting_rows(settings) if is_key_under(row.key, args.key)]
    if args.key and not rows:
        parse_key_path(args.key.rstrip("."))
    rows = rows if args.all else [element for element in rows if element.value is not None]
    if args.json:
        print_json([_encode_setting(each_row) for each_row in rows] + _encode_unlisted(settings, args.key), 1)
        return 0
    lines = [(entry.key, _format_value(entry.value), entry.origin) for entry in rows]
    lines += [
        (str(item["key"]), _format_value(item["value"]), str(item["origin"]))
        for item in _encode_unlisted(settings, args.key)
    ]
    width = max((len(key) for key, *_ in lines), default=0)
    for key, value, origin in lines:
        text = f"{key:{width}}  {value:24}  {origin}" if args.origin else f"{key:{width}}  {value}"
        print(escape_text(text.rstrip()))
    for problem in settings.left_out:
        print(escape_text(f"! {problem}"))
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _encode_setting(row: SettingRow) -> dict[str, object]:
    return {
        "key": row.key,
        "value": row.value,
        "origin": row.origin,
        "default": row.default,
        "about": row.about,
        "kind": row.kind,
        "choices": list(row.choices),
        "writable": row.writable,
    }


def _encode_unlisted(settings: EffectiveSettings, prefix: str) -> list[dict[str, object]]:
    """Values in tables with free keys: those of plugins, and rules of single folders."""
    paths = [path for path in settings.origins if find_key(path) is None or path[0] == "projects"]
    named = [(format_key(path), get_value(settings.values, path), settings.origin(path)) for path in paths]
    return [
        {"key": key, "value": _mask_secrets(key, value), "origin": at}
        for key, value, at in named
        if is_key_under(key, prefix)
    ]


def _mask_secrets(key: str, value: object) -> object:
    """`value` with secrets masked: listings are seen by others and pasted into issues."""
    if isinstance(value, dict):
        return {name: _mask_secrets(f"{key}.{name}", entry) for name, entry in value.items()}
    return mask_secret(key.rpartition(".")[2].strip('"'), value) if isinstance(value, str) else value


def _print_value(args: argparse.Namespace) -> int:
    project = resolve_project(args)
    root, trusted = project.root, project.trusted
    path = parse_key_path(args.key)
    settings = files.load_settings(root, trusted)
    value, origin = _mask_secrets(format_key(path), get_value(settings.values, path)), settings.origin(path)
    if args.json:
        result = {"key": format_key(path), "value": value, "origin": origin}
        print_json(result)
    elif value is not None:
        print(escape_text(f"{_format_value(value)}  {origin}" if args.origin else _format_value(value)))
    # As in `git config --get`: not set.
    return 0 if value is not None else 1


def _set_value(key: str, words: list[str], cwd: str) -> int:
    value = words[0] if len(words) == 1 else json.dumps(words, ensure_ascii=False)
    path = assign_setting(key, value)
    print(escape_text(f"{format_key(path)} = {value}  ({files.user_file()})"))
    root = resolve_folder(cwd)
    for place in files.load_settings(root, is_trusted(root)).where(path):
        if place.layer in ("project", "environment", "managed"):
            print(escape_text(f"but here {place} takes precedence"))
    return 0


def _unset_value(key: str) -> int:
    if not unassign_setting(key):
        raise CockpitError(f"{key} is not set in {files.user_file()}", "cockpit config show --origin")
    print(escape_text(f"removed {key} from {files.user_file()}"))
    return 0


def _print_files(args: argparse.Namespace) -> int:
    project = resolve_project(args)
    root, trusted = project.root, project.trusted
    rows = [("user", files.user_file(), True)]
    rows += [("project", path, trusted) for path in files.project_files(root)]
    managed = files.managed_file()
    rows += [("managed", managed, True)] if managed.is_absolute() else []
    encoded = [
        {"layer": layer, "file": str(path), "exists": path.is_file() if read else None, "read": read}
        for layer, path, read in rows
    ]
    if args.json:
        print_json(encoded, 1)
        return 0
    for item in encoded:
        state = (
            ""
            if item["exists"]
            else "does not exist"
            if item["read"]
            else "not read: the folder is not trusted"
        )
        print(escape_text(f"{item['layer']:8}  {item['file']}  {state}".rstrip()))
    return 0


def _check_files(args: argparse.Namespace) -> int:
    project = resolve_project(args)
    root, trusted = project.root, project.trusted
    faults = _find_faults(root, trusted)
    if args.json:
        print_json(faults, 1)
    else:
        for fault in faults:
            print(escape_text(fault))
        if not faults:
            print("no faults in the settings files")
    return 1 if faults else 0


def _find_faults(root: str, trusted: bool) -> list[str]:
    """Every fault of every settings file, not only the first."""
    broken: list[SettingsInvalid] = []
    faults: list[str] = []
    for layer in files.read_layers(root, trusted, {}, broken):
        faults += describe_invalid_values(layer.table, layer)
        if layer.layer not in ("environment", "flags"):
            faults += describe_unknown_keys(layer.table, layer)
    faults += [str(item) for item in broken]
    # Unreadable files are reported above; this adds what a project is not allowed to set.
    with contextlib.suppress(SettingsInvalid):
        faults += files.load_settings(root, trusted).left_out
    return list(dict.fromkeys(faults))


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "none"
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else str(value)
