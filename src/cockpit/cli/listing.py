"""`cockpit skills list`, and the same for roles, commands, hooks, mcp, permissions and instructions: what
loaded, and why the rest did not.

Nothing is run by listing, and a file that is broken is a row like the others.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cockpit.cli.catalogs import catalog_of, folder_of, is_trusted
from cockpit.cli.lines import said
from cockpit.core.catalog import Catalog, Entry
from cockpit.plugin.origin import Fault, Layer, Origin
from cockpit.plugin.values import Command, Role, Skill
from cockpit.protocol.messages import Json
from cockpit.settings import files, permissions

HOOKS: Mapping[str, str] = {
    "skills": "register_skills",
    "roles": "register_roles",
    "commands": "register_commands",
    "hooks": "register_guards",
    "mcp": "register_mcp_servers",
}
UNTRUSTED = "this folder is not trusted: its own files were not read (--trust reads them)"


@dataclass(frozen=True, slots=True)
class Row:
    """One name: where it comes from, what of it was understood, which files it hides, what was refused."""

    name: str
    file: str
    layer: str
    fields: Mapping[str, Json] = field(default_factory=dict)
    shadows: tuple[str, ...] = ()
    refused: tuple[Fault, ...] = ()
    loaded: bool = True

    def json(self) -> dict[str, object]:
        """As `--json` writes it."""
        refused = [
            {"file": one.file, "line": one.line, "reason": one.reason, "remedy": one.remedy}
            for one in self.refused
        ]
        return {
            "name": self.name,
            "file": self.file,
            "layer": self.layer,
            "fields": dict(self.fields),
            "shadows": list(self.shadows),
            "refused": refused,
        }


def main(kind: str, argv: Sequence[str]) -> int:
    """`cockpit KIND list`. Raises `CockpitError` for a folder that is none and for broken settings."""
    parser = argparse.ArgumentParser(prog=f"cockpit {kind} list", description=f"The {kind} of this folder.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    parser.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
    given = parser.parse_args(list(argv))
    root = folder_of(given.cwd)
    trusted = given.trust or is_trusted(root)
    rows = rows_of(kind, root, trusted)
    if given.json:
        print(json.dumps([one.json() for one in rows], ensure_ascii=False, indent=1))
        return 0
    for line in _lines(kind, rows, root, trusted):
        print(line)
    return 0


def rows_of(kind: str, root: str, trusted: bool) -> tuple[Row, ...]:
    """The rows of a kind for the folder `root`, by name."""
    found = _LISTED[kind](root, trusted) if kind in _LISTED else _registered(kind, catalog_of(root, trusted))
    return tuple(sorted(found, key=lambda one: (one.name, one.file)))


def _registered(kind: str, catalog: Catalog) -> list[Row]:
    hook = HOOKS[kind]
    entries = catalog.by_hook[hook].values()
    rows = [_row(entry) for entry in entries if _is_listed(kind, entry)]
    return rows + [_of(one.name, one.origin, False) for one in catalog.unloaded.get(hook, ())]


def _is_listed(kind: str, entry: Entry) -> bool:
    """Guards of plugins are no hooks of files, and a hidden command is no command to a person."""
    if kind == "hooks":
        return entry.origin is not None
    return not (isinstance(entry.value, Command) and entry.value.hidden)


def _row(entry: Entry) -> Row:
    if entry.origin is None:
        return Row(entry.name, "", entry.layer, _told(entry), entry.hides)
    row = _of(entry.name, entry.origin)
    return replace(row, shadows=entry.hides)


def _of(name: str, origin: Origin, loaded: bool = True) -> Row:
    return Row(name, origin.file, origin.layer, origin.fields, origin.shadows, origin.refused, loaded)


def _told(entry: Entry) -> dict[str, Json]:
    """What there is to say of a value that comes from no file."""
    value = entry.value
    told: dict[str, Json] = {"plugin": entry.plugin}
    if isinstance(value, Skill | Role | Command) and value.description:
        told["description"] = value.description
    if isinstance(value, Command) and value.hint:
        told["argument-hint"] = value.hint
    return told


def permission(entry: permissions.Entry) -> Row:
    """A permission rule as a row. One that is only offered is refused until the person adopts it."""
    fields: dict[str, Json] = {"level": entry.level, "scope": entry.scope, "applies": entry.applies}
    layer = "user" if entry.scope == "everywhere" else "project"
    refused: tuple[Fault, ...] = ()
    if not entry.applies:
        remedy = f"take it over: cockpit permissions adopt '{entry.text}'"
        refused = (Fault(entry.source, entry.line, "a file of others allows nothing", remedy),)
    return Row(entry.text, entry.source, layer, fields, (), refused, entry.applies)


def unread(one: permissions.Unread, root: str) -> Row:
    """What of a file with rules could not be read, as a row of the file's name."""
    layer: Layer = "project" if Path(one.source).is_relative_to(root) else "user"
    layer = "managed" if Path(one.source) == files.managed_file() else layer
    fault = Fault(one.source, one.line, one.reason, one.remedy)
    return Row(shown(one.source, root), one.source, layer, {}, (), (fault,), False)


def permission_rows(root: str, trusted: bool) -> list[tuple[Row, permissions.Entry | None]]:
    """Every rule of `root` as a row, and beside it what it is made of; None: what could not be read."""
    rules, broken = permissions.gathered(root, trusted)
    return [(permission(one), one) for one in rules] + [(unread(one, root), None) for one in broken]


def _permissions(root: str, trusted: bool) -> list[Row]:
    return [row for row, _ in permission_rows(root, trusted)]


def _instructions(root: str, trusted: bool) -> list[Row]:
    from cockpit.builtin.instructions.files import refusing
    from cockpit.formats.instructions import found

    rows = found(Path(root), trusted, Path.home(), refusing(Path(root)))
    return [_of(name, origin) for name, origin in rows]


_LISTED: Mapping[str, Callable[[str, bool], list[Row]]] = {
    "permissions": _permissions,
    "instructions": _instructions,
}


def _lines(kind: str, rows: Iterable[Row], root: str, trusted: bool) -> list[str]:
    """The rows for people: name, layer, where from, and beneath it what was hidden and refused."""
    rows = list(rows)
    lines = [line for row in rows for line in _line(row, root, max(len(one.name) for one in rows))]
    if not rows:
        lines.append(f"no {kind} here")
    if not trusted:
        lines.append(UNTRUSTED)
    return lines


def _line(row: Row, root: str, width: int) -> list[str]:
    what = str(row.fields.get("description") or row.fields.get("command") or "")
    what = what if len(what) <= 70 else f"{what[:69]}…"
    where = shown(row.file, root) or str(row.fields.get("plugin", ""))
    sign = "✗" if not row.loaded else "○" if row.fields.get("enabled") is False else " "
    lines = [said(f"{sign} {row.name:{min(width, 34)}}  {row.layer:8}  {where:40}  {what}").rstrip()]
    lines += [said(f"    hides {shown(one, root)}") for one in row.shadows]
    lines += [said(f"    refused {fault_text(one, root)}") for one in row.refused]
    return lines


def fault_text(fault: Fault, root: str) -> str:
    """A fault in one line, its file as short as it can be written."""
    return str(replace(fault, file=shown(fault.file, root)))


def shown(file: str, root: str) -> str:
    """`file` from `root` or from the home folder, where it lies in one of them."""
    for base, sign in ((Path(root), ""), (Path.home(), "~/")):
        try:
            return f"{sign}{Path(file).relative_to(base).as_posix()}" if file else ""
        except ValueError:
            continue
    return file
