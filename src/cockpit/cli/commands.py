"""`cockpit commands list|show`: the slash commands of this folder, and what a model would get of one."""

import argparse
import difflib
import json
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.catalogs import catalog_of, folder_of, is_trusted
from cockpit.cli.lines import said
from cockpit.cli.listing import Row, fault_text, rows_of
from cockpit.errors import CockpitError
from cockpit.formats.command_files import CommandFile, read_command
from cockpit.formats.substitution import Expanded
from cockpit.plugin.values import Command, Skill


def main(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return _show(arguments[1:])
    from cockpit.cli import listing

    return listing.main("commands", arguments[1:] if arguments[:1] == ["list"] else arguments)


def _show(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit commands show", description="What a model would get of a command. Nothing is run."
    )
    parser.add_argument("name", help="without its slash")
    parser.add_argument("--args", default="", help="what is typed behind it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    parser.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
    given = parser.parse_args(argv)
    root = folder_of(given.cwd)
    trusted = given.trust or is_trusted(root)
    name = given.name.removeprefix("/")
    rows = {row.name: row for row in rows_of("commands", root, trusted) if row.loaded}
    if name not in rows:
        near = difflib.get_close_matches(name, rows, 3, 0.5)
        raise CockpitError(
            f"there is no command /{name}", f"near it: {', '.join(near)}" if near else "list them"
        )
    expanded, limits = _expanded(name, rows[name], given.args, root, trusted)
    if given.json:
        print(json.dumps(_json(rows[name], expanded), ensure_ascii=False, indent=1))
        return 0
    _print(rows[name], expanded, limits, root)
    return 0


def _expanded(name: str, row: Row, arguments: str, root: str, trusted: bool) -> tuple[Expanded | None, str]:
    """The text with its arguments, None for a command that is code; and what holds while it is in force."""
    from cockpit.builtin.command_files.running import as_skill, expansion
    from cockpit.builtin.skills.rendering import expansion as expansion_of_skill
    from cockpit.builtin.skills.rendering import limits_of
    from cockpit.formats.command_places import find

    catalog = catalog_of(root, trusted)
    command = catalog.get(Command, name)
    skill = next((one for one in catalog.all(Skill) if one.path and one.path == row.file), None)
    if skill is not None:
        return expansion_of_skill(skill, arguments, root, "SESSION"), limits_of(skill)
    files = (one for one in find(Path(root), trusted, Path.home()) if isinstance(one, CommandFile))
    plain = name.rpartition(":")[2] if name.startswith(("project:", "user:")) else name
    file = next((one for one in files if one.name in (name, plain) and one.origin.file == row.file), None)
    if file is None and row.layer == "plugin" and row.file.endswith(".md"):
        # A bundle's: it lies in no folder of commands.
        read = read_command(Path(row.file), name, "plugin", "claude")
        file = read if isinstance(read, CommandFile) else None
    if file is None or command is None:
        return None, ""
    return expansion(file, arguments, root, "SESSION"), limits_of(as_skill(file))


def _json(row: Row, expanded: Expanded | None) -> dict[str, object]:
    shown: dict[str, object] = row.json()
    if expanded is not None:
        shown |= {"text": expanded.text, "commands": list(expanded.commands), "files": list(expanded.files)}
    return shown


def _print(row: Row, expanded: Expanded | None, limits: str, root: str) -> None:
    print(said(f"/{row.name}  {row.layer}  {row.file}".rstrip()))
    for key, value in row.fields.items():
        print(said(f"  {key}: {', '.join(map(str, value)) if isinstance(value, list) else value}"))
    for one in row.refused:
        print(said(f"  refused {fault_text(one, root)}"))
    if expanded is None:
        print("it is a command of code: it makes no prompt of a file")
        return
    if limits:
        print(said(f"  to the end of its turn it {limits}"))
    for what, words in (("would run", expanded.commands), ("would read", expanded.files)):
        for word in words:
            print(said(f"  {what}: {word}"))
    print(f"\n{expanded.text}")
