"""`cockpit skills|roles|commands|hooks|mcp|instructions list`: what was loaded, and why the rest was not.

Listing runs nothing. A file that could not be loaded is a row like any other.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    load_catalog,
    print_json,
    resolve_project,
    select_fields,
)
from cockpit.core.plugins.catalog import CatalogEntry, PluginCatalog
from cockpit.plugin.origin import FileProblem, Origin
from cockpit.plugin.values import Command, Role, Skill
from cockpit.protocol.messages import Json

HOOK_OF_KIND: Mapping[str, str] = {
    "skills": "register_skills",
    "roles": "register_roles",
    "commands": "register_commands",
    "hooks": "register_guards",
    "mcp": "register_mcp_servers",
}


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """A listed name: its origin, the fields that were understood, the files it shadows, and what was
    refused."""

    name: str
    file: str
    layer: str
    fields: Mapping[str, Json] = field(default_factory=dict)
    shadows: tuple[str, ...] = ()
    refused: tuple[FileProblem, ...] = ()
    loaded: bool = True

    def json(self) -> dict[str, object]:
        """The row as `--json` prints it."""
        return {
            **select_fields(self, "name", "file", "layer", "fields", "shadows"),
            "refused": [asdict(fault) for fault in self.refused],
        }


def run_list(kind: str, argv: Sequence[str]) -> int:
    """`cockpit KIND list`. Raises `CockpitError` for a missing folder and for broken settings."""
    parser = argparse.ArgumentParser(prog=f"cockpit {kind} list", description=f"The {kind} of this folder.")
    add_options(parser, "json", "cwd", "trust")
    args = parser.parse_args(list(argv))
    root, trusted = resolve_project(args)
    rows = list_definitions(kind, root, trusted)
    if args.json:
        print_json([row.json() for row in rows], 1)
        return 0
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        for line in _format_row(row, root, width):
            print(escape_text(line))
    if not rows:
        print(f"no {kind} here")
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def run_list_or_show(kind: str, argv: Sequence[str], show: Callable[[list[str]], int]) -> int:
    """`cockpit KIND [list|show]`; `show` gets the arguments after that word."""
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return show(arguments[1:])
    return run_list(kind, arguments[1:] if arguments[:1] == ["list"] else arguments)


def list_definitions(kind: str, root: str, trusted: bool) -> list[DefinitionRow]:
    """The rows of `kind` for the folder `root`, sorted by name."""
    if kind == "instructions":
        rows = _list_instructions(Path(root), trusted)
    else:
        rows = _list_registered(kind, load_catalog(root, trusted))
    return sorted(rows, key=lambda row: (row.name, row.file))


def _list_instructions(root: Path, trusted: bool) -> list[DefinitionRow]:
    from cockpit.builtin.files.instructions import build_refusal_check
    from cockpit.formats.instructions import list_instructions

    rows = list_instructions(root, trusted, Path.home(), build_refusal_check(root))
    return [_build_origin_row(name, origin) for name, origin in rows]


def _list_registered(kind: str, catalog: PluginCatalog) -> list[DefinitionRow]:
    hook = HOOK_OF_KIND[kind]
    rows = [_build_row(entry) for entry in catalog.by_hook[hook].values() if _is_listed(kind, entry)]
    unloaded = catalog.unloaded.get(hook, ())
    return rows + [_build_origin_row(item.name, item.origin, loaded=False) for item in unloaded]


def _is_listed(kind: str, entry: CatalogEntry) -> bool:
    """Leave out guards that plugins register in code, and hidden commands."""
    if kind == "hooks":
        return entry.origin is not None
    return not (isinstance(entry.value, Command) and entry.value.hidden)


def _build_row(entry: CatalogEntry) -> DefinitionRow:
    if entry.origin is None:
        return DefinitionRow(entry.name, "", entry.layer, _describe_entry(entry), entry.hides)
    return replace(_build_origin_row(entry.name, entry.origin), shadows=entry.hides)


def _build_origin_row(name: str, origin: Origin, loaded: bool = True) -> DefinitionRow:
    return DefinitionRow(
        name, origin.file, origin.layer, origin.fields, origin.shadows, origin.refused, loaded
    )


def _describe_entry(entry: CatalogEntry) -> dict[str, Json]:
    """The fields shown for a value that does not come from a file."""
    value = entry.value
    fields: dict[str, Json] = {"plugin": entry.plugin}
    if isinstance(value, Skill | Role | Command) and value.description:
        fields["description"] = value.description
    if isinstance(value, Command) and value.hint:
        fields["argument-hint"] = value.hint
    return fields


def _format_row(row: DefinitionRow, root: str, width: int) -> list[str]:
    """Name, layer and file, and below them the files it shadows and what was refused."""
    what = str(row.fields.get("description") or row.fields.get("command") or "")
    what = what if len(what) <= 70 else f"{what[:69]}…"
    where = shorten_path(row.file, root) or str(row.fields.get("plugin", ""))
    sign = "✗" if not row.loaded else "○" if row.fields.get("enabled") is False else " "
    lines = [f"{sign} {row.name:{min(width, 34)}}  {row.layer:8}  {where:40}  {what}".rstrip()]
    lines += [f"    hides {shorten_path(path, root)}" for path in row.shadows]
    return lines + [f"    refused {format_fault(fault, root)}" for fault in row.refused]


def format_fault(fault: FileProblem, root: str) -> str:
    """A fault in one line, with its path shortened."""
    return str(replace(fault, file=shorten_path(fault.file, root)))


def shorten_path(file: str, root: str = "") -> str:
    """`file` relative to `root`, or to the home folder as `~/...`, if it is inside one of them."""
    for base, prefix in ((root, ""), (Path.home(), "~/")):
        if file and base and Path(file).is_relative_to(base):
            return f"{prefix}{Path(file).relative_to(base).as_posix()}"
    return file
