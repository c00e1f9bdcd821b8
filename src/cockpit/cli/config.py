"""`cockpit config show|get|set|unset|path|check`: shows the settings in force and their origin, and changes
the user's own.
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
    select_fields,
)
from cockpit.core.queries.queries import setting_rows
from cockpit.errors import CockpitError, SettingsInvalid
from cockpit.formats.imports.secrets import mask_secret
from cockpit.settings import files
from cockpit.settings.files import assign_setting, parse_key_path, unassign_setting
from cockpit.settings.layers import (
    EffectiveSettings,
    describe_invalid_values,
    describe_unknown_keys,
    get_value,
)
from cockpit.settings.schema import find_key, format_key, is_key_under

JSON_FIELDS = ("key", "value", "origin", "default", "about", "kind", "choices", "writable")


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
    add_options(put, "cwd")
    for item in (show, get, path, check):
        add_options(item, "cwd", "json", "trust")
    parser.set_defaults(origin=False, all=False, key="", cwd="", json=False, trust=False)
    return parser


def _print_settings(args: argparse.Namespace) -> int:
    root, trusted = resolve_project(args)
    settings = files.load_settings(root, trusted)
    rows = [row for row in setting_rows(settings) if is_key_under(row.key, args.key)]
    if args.key and not rows:
        parse_key_path(args.key.rstrip("."))
    encoded = [select_fields(row, *JSON_FIELDS) for row in rows if args.all or row.value is not None]
    encoded += _encode_unlisted(settings, args.key)
    if args.json:
        print_json(encoded, 1)
        return 0
    width = max((len(str(item["key"])) for item in encoded), default=0)
    for item in encoded:
        text = f"{item['key']:{width}}  {_format_value(item['value'])}"
        if args.origin:
            text = f"{text:{width + 26}}  {item['origin']}"
        print(escape_text(text.rstrip()))
    for problem in settings.left_out:
        print(escape_text(f"! {problem}"))
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _encode_unlisted(settings: EffectiveSettings, prefix: str) -> list[dict[str, object]]:
    """Values in tables with free keys: those of plugins, and rules of single folders."""
    paths = [path for path in settings.origins if find_key(path) is None or path[0] == "projects"]
    return [_encode_value(settings, path) for path in paths if is_key_under(format_key(path), prefix)]


def _encode_value(settings: EffectiveSettings, path: tuple[str, ...]) -> dict[str, object]:
    key, value = format_key(path), get_value(settings.values, path)
    return {"key": key, "value": _mask_secrets(key, value), "origin": settings.origin(path)}


def _mask_secrets(key: str, value: object) -> object:
    """`value` with secrets masked: listings are seen by others and pasted into issues."""
    if isinstance(value, dict):
        return {name: _mask_secrets(f"{key}.{name}", entry) for name, entry in value.items()}
    return mask_secret(key.rpartition(".")[2].strip('"'), value) if isinstance(value, str) else value


def _print_value(args: argparse.Namespace) -> int:
    root, trusted = resolve_project(args)
    encoded = _encode_value(files.load_settings(root, trusted), parse_key_path(args.key))
    value = encoded["value"]
    if args.json:
        print_json(encoded)
    elif value is not None:
        print(escape_text(_format_value(value) + (f"  {encoded['origin']}" if args.origin else "")))
    # Exit code 1 if the key is not set, as in `git config --get`.
    return 0 if value is not None else 1


def _set_value(key: str, words: list[str], cwd: str) -> int:
    value = words[0] if len(words) == 1 else json.dumps(words, ensure_ascii=False)
    path = assign_setting(key, value)
    print(escape_text(f"{format_key(path)} = {value}  ({files.user_file()})"))
    root = resolve_folder(cwd)
    for place in files.load_settings(root, is_trusted(root)).where(path):
        if place.layer in ("project", "environment", "managed"):
            print(escape_text(f"but in this folder {place} takes precedence"))
    return 0


def _unset_value(key: str) -> int:
    if not unassign_setting(key):
        hint = "cockpit config show --origin shows where it is set"
        raise CockpitError(f"{key} is not set in {files.user_file()}", hint)
    print(escape_text(f"removed {key} from {files.user_file()}"))
    return 0


def _print_files(args: argparse.Namespace) -> int:
    root, trusted = resolve_project(args)
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
        state = "does not exist" if item["read"] else "not read: the folder is not trusted"
        print(escape_text(f"{item['layer']:8}  {item['file']}  {'' if item['exists'] else state}".rstrip()))
    return 0


def _check_files(args: argparse.Namespace) -> int:
    root, trusted = resolve_project(args)
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
