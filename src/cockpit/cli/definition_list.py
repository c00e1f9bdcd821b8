"""`cockpit skills|roles|commands|hooks|mcp|permissions|instructions list`: what was loaded, and why the rest
was not.

Listing runs nothing. A broken file is a row like any other.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    load_catalog,
    print_json,
    resolve_project,
)
from cockpit.core.plugins.catalog import CatalogEntry, PluginCatalog
from cockpit.plugin.origin import FileProblem, Layer, Origin
from cockpit.plugin.values import Command, Role, Skill
from cockpit.protocol.messages import Json
from cockpit.settings import files, permissions

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
            "name": self.name,
            "file": self.file,
            "layer": self.layer,
            "fields": dict(self.fields),
            "shadows": list(self.shadows),
            "refused": encode_faults(self.refused),
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
    for line in _format_rows(kind, rows, root, trusted):
        print(line)
    return 0


def run_list_or_show(kind: str, argv: Sequence[str], show: Callable[[list[str]], int]) -> int:
    """`cockpit KIND [list|show]`; `show` gets the arguments behind the word."""
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return show(arguments[1:])
    return run_list(kind, arguments[1:] if arguments[:1] == ["list"] else arguments)


def list_definitions(kind: str, root: str, trusted: bool) -> tuple[DefinitionRow, ...]:
    """The rows of `kind` for the folder `root`, sorted by name."""
    rows = (
        _LISTERS[kind](root, trusted)
        if kind in _LISTERS
        else _list_registered(kind, load_catalog(root, trusted))
    )
    return tuple(sorted(rows, key=lambda row: (row.name, row.file)))


def _list_registered(kind: str, catalog: PluginCatalog) -> list[DefinitionRow]:
    hook = HOOK_OF_KIND[kind]
    entries = catalog.by_hook[hook].values()
    rows = [_build_row(entry) for entry in entries if _is_listed(kind, entry)]
    return rows + [
        _build_origin_row(item.name, item.origin, False) for item in catalog.unloaded.get(hook, ())
    ]


def _is_listed(kind: str, entry: CatalogEntry) -> bool:
    """Leave out guards that plugins register in code, and hidden commands."""
    if kind == "hooks":
        return entry.origin is not None
    return not (isinstance(entry.value, Command) and entry.value.hidden)


def _build_row(entry: CatalogEntry) -> DefinitionRow:
    if entry.origin is None:
        return DefinitionRow(entry.name, "", entry.layer, _describe_entry(entry), entry.hides)
    row = _build_origin_row(entry.name, entry.origin)
    return replace(row, shadows=entry.hides)


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


def _build_permission_row(entry: permissions.PermissionEntry) -> DefinitionRow:
    """The row of a permission rule. An offered rule counts as refused until the user adopts it."""
    fields: dict[str, Json] = {"level": entry.level, "scope": entry.scope, "applies": entry.applies}
    layer = "user" if entry.scope == "everywhere" else "project"
    refused: tuple[FileProblem, ...] = ()
    if not entry.applies:
        remedy = f"adopt it with cockpit permissions adopt '{entry.text}'"
        refused = (
            FileProblem(
                entry.source, entry.line, "rules of other agents' files allow nothing by themselves", remedy
            ),
        )
    return DefinitionRow(entry.text, entry.source, layer, fields, (), refused, entry.applies)


def _build_unread_row(entry: permissions.UnreadableEntry, root: str) -> DefinitionRow:
    """The row of a rules file that could not be read, under the name of the file."""
    layer: Layer = "project" if Path(entry.source).is_relative_to(root) else "user"
    layer = "managed" if Path(entry.source) == files.managed_file() else layer
    fault = FileProblem(entry.source, entry.line, entry.reason, entry.remedy)
    return DefinitionRow(shorten_path(entry.source, root), entry.source, layer, {}, (), (fault,), False)


def list_permissions(
    root: str, trusted: bool
) -> list[tuple[DefinitionRow, permissions.PermissionEntry | None]]:
    """Every rule of `root` as a row, paired with its entry; None for a file that could not be read."""
    rules, broken = permissions.read_entries(root, trusted)
    return [(_build_permission_row(rule), rule) for rule in rules] + [
        (_build_unread_row(item, root), None) for item in broken
    ]


def _list_permission_rows(root: str, trusted: bool) -> list[DefinitionRow]:
    return [row for row, _ in list_permissions(root, trusted)]


def _list_instructions(root: str, trusted: bool) -> list[DefinitionRow]:
    from cockpit.builtin.files.instructions import build_refusal_check
    from cockpit.formats.instructions import list_instructions

    rows = list_instructions(Path(root), trusted, Path.home(), build_refusal_check(Path(root)))
    return [_build_origin_row(name, origin) for name, origin in rows]


_LISTERS: Mapping[str, Callable[[str, bool], list[DefinitionRow]]] = {
    "permissions": _list_permission_rows,
    "instructions": _list_instructions,
}


def _format_rows(kind: str, rows: Iterable[DefinitionRow], root: str, trusted: bool) -> list[str]:
    """The rows as text: name, layer and file, and below each what it shadows and what was refused."""
    rows = list(rows)
    lines = [line for row in rows for line in _format_row(row, root, max(len(entry.name) for entry in rows))]
    if not rows:
        lines.append(f"no {kind} here")
    if not trusted:
        lines.append(UNTRUSTED_NOTE)
    return lines


def _format_row(row: DefinitionRow, root: str, width: int) -> list[str]:
    what = str(row.fields.get("description") or row.fields.get("command") or "")
    what = what if len(what) <= 70 else f"{what[:69]}…"
    where = shorten_path(row.file, root) or str(row.fields.get("plugin", ""))
    sign = "✗" if not row.loaded else "○" if row.fields.get("enabled") is False else " "
    lines = [escape_text(f"{sign} {row.name:{min(width, 34)}}  {row.layer:8}  {where:40}  {what}").rstrip()]
    lines += [escape_text(f"    hides {shorten_path(path, root)}") for path in row.shadows]
    lines += [escape_text(f"    refused {format_fault(fault, root)}") for fault in row.refused]
    return lines


def encode_faults(faults: Iterable[FileProblem]) -> list[dict[str, object]]:
    """Faults as `--json` prints them."""
    return [
        {"file": fault.file, "line": fault.line, "reason": fault.reason, "remedy": fault.remedy}
        for fault in faults
    ]


def format_fault(fault: FileProblem, root: str) -> str:
    """A fault in one line, with its path shortened."""
    return str(replace(fault, file=shorten_path(fault.file, root)))


def shorten_path(file: str, root: str) -> str:
    """`file` relative to `root`, or to the home folder as `~/...`, if it is inside one of them."""
    for base, sign in ((Path(root), ""), (Path.home(), "~/")):
        try:
            return f"{sign}{Path(file).relative_to(base).as_posix()}" if file else ""
        except ValueError:
            continue
    return file
