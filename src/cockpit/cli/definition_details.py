"""`cockpit commands list|show`: the slash commands of this folder, and what a model would get of one.

`cockpit roles list|show`: who subagents can be here, and what one of them would be allowed and told.

`cockpit instructions list|show`: the files that tell models how to work here, and what they say.
"""

import argparse
import difflib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cockpit.cli.command import escape_text, is_trusted, load_catalog, resolve_folder
from cockpit.cli.definition_list import DefinitionRow, format_fault, list_definitions
from cockpit.core.permission.rules import RoleRights, unknown_entries
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.core.subagents.child_agent import find_role
from cockpit.errors import CockpitError
from cockpit.formats.command_files import CommandFile, read_command
from cockpit.formats.role_tools import OTHER_AGENTS_TOOLS
from cockpit.formats.substitution import ExpandedTemplate
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Command, Role, Skill
from cockpit.protocol.messages import Json


def run_commands(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return _show_command(arguments[1:])
    from cockpit.cli import definition_list

    return definition_list.run_list("commands", arguments[1:] if arguments[:1] == ["list"] else arguments)


def _show_command(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit commands show", description="What a model would get of a command. Nothing is run."
    )
    parser.add_argument("name", help="without its slash")
    parser.add_argument("--args", default="", help="what is typed behind it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    parser.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
    args = parser.parse_args(argv)
    root = resolve_folder(args.cwd)
    trusted = args.trust or is_trusted(root)
    name = args.name.removeprefix("/")
    rows = {row.name: row for row in list_definitions("commands", root, trusted) if row.loaded}
    if name not in rows:
        near = difflib.get_close_matches(name, rows, 3, 0.5)
        raise CockpitError(
            f"there is no command /{name}", f"near it: {', '.join(near)}" if near else "list them"
        )
    expanded, limits = _expand_command(name, rows[name], args.args, root, trusted)
    if args.json:
        print(json.dumps(_encode_command(rows[name], expanded), ensure_ascii=False, indent=1))
        return 0
    _print_command(rows[name], expanded, limits, root)
    return 0


def _expand_command(
    name: str, row: DefinitionRow, arguments: str, root: str, trusted: bool
) -> tuple[ExpandedTemplate | None, str]:
    """The text with its arguments, None for a command that is code; and what holds while it is in force."""
    from cockpit.builtin.files.command_files import as_skill, expand_command
    from cockpit.builtin.files.skills.prompt_text import describe_limits
    from cockpit.builtin.files.skills.prompt_text import expand_skill as expansion_of_skill
    from cockpit.formats.command_files import find_commands

    catalog = load_catalog(root, trusted)
    command = catalog.get(Command, name)
    skill = next((item for item in catalog.all(Skill) if item.path and item.path == row.file), None)
    if skill is not None:
        return expansion_of_skill(skill, arguments, root, "SESSION"), describe_limits(skill)
    files = (
        entry for entry in find_commands(Path(root), trusted, Path.home()) if isinstance(entry, CommandFile)
    )
    plain = name.rpartition(":")[2] if name.startswith(("project:", "user:")) else name
    file = next(
        (element for element in files if element.name in (name, plain) and element.origin.file == row.file),
        None,
    )
    if file is None and row.layer == "plugin" and row.file.endswith(".md"):
        # A bundle's: it lies in no folder of commands.
        read = read_command(Path(row.file), name, "plugin", "claude")
        file = read if isinstance(read, CommandFile) else None
    if file is None or command is None:
        return None, ""
    return expand_command(file, arguments, root, "SESSION"), describe_limits(as_skill(file))


def _encode_command(row: DefinitionRow, expanded: ExpandedTemplate | None) -> dict[str, object]:
    shown: dict[str, object] = row.json()
    if expanded is not None:
        shown |= {"text": expanded.text, "commands": list(expanded.commands), "files": list(expanded.files)}
    return shown


def _print_command(row: DefinitionRow, expanded: ExpandedTemplate | None, limits: str, root: str) -> None:
    print(escape_text(f"/{row.name}  {row.layer}  {row.file}".rstrip()))
    for key, value in row.fields.items():
        print(escape_text(f"  {key}: {', '.join(map(str, value)) if isinstance(value, list) else value}"))
    for fault in row.refused:
        print(escape_text(f"  refused {format_fault(fault, root)}"))
    if expanded is None:
        print("it is a command of code: it makes no prompt of a file")
        return
    if limits:
        print(escape_text(f"  to the end of its turn it {limits}"))
    for what, words in (("would run", expanded.commands), ("would read", expanded.files)):
        for word in words:
            print(escape_text(f"  {what}: {word}"))
    print(f"\n{expanded.text}")


def run_roles(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return _show_role(arguments[1:])
    from cockpit.cli import definition_list

    return definition_list.run_list("roles", arguments[1:] if arguments[:1] == ["list"] else arguments)


def _show_role(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit roles show", description="What a role is, may do and is told. Nothing is run."
    )
    parser.add_argument("name", help="or one of its other names")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    parser.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
    args = parser.parse_args(argv)
    root = resolve_folder(args.cwd)
    catalog = load_catalog(root, args.trust or is_trusted(root))
    role = find_role(catalog, args.name)
    shown = _describe_role(role, catalog)
    if args.json:
        print(json.dumps({**shown, "instructions": role.instructions}, ensure_ascii=False, indent=1))
        return 0
    for key, value in shown.items():
        if value not in ("", [], None, False, {}):
            lines = (
                [str(item) for item in value]
                if key == "refused" and isinstance(value, list)
                else [_format_value(value)]
            )
            for line in lines:
                print(escape_text(f"{key:<14}{line}"))
    print()
    for line in role.instructions.strip().splitlines():
        print(escape_text(line))
    return 0


def _describe_role(role: Role, catalog: PluginCatalog) -> dict[str, Json]:
    """All of a role but its instructions; `tools` are those it really gets of the main agent's."""
    rights = RoleRights(role)
    tools = catalog.all(Tool)
    missing = [
        entry
        for entry in unknown_entries(role.tools or (), tools)
        if entry.partition("(")[0] not in OTHER_AGENTS_TOOLS
    ]
    origin = role.origin
    quota = {key: value for key, value in asdict(role.quota).items() if value is not None}
    return {
        "name": role.name,
        "description": role.description,
        "aliases": list(role.aliases),
        "layer": origin.layer if origin is not None else "",
        "file": origin.file if origin is not None else "",
        "shadows": list(origin.shadows) if origin is not None else [],
        "model": role.model or "inherit",
        "mode": role.mode or "the session's",
        "steps": role.max_steps,
        "quota": quota,
        "tools": [tool.name for tool in tools if not rights.withholds(tool)],
        "listed": list(role.tools) if role.tools is not None else "all of its opener's",
        "denied": list(role.denied_tools),
        "unknown tools": list(missing),
        "skills": list(role.skills),
        "mcp servers": list(role.mcp_servers) if role.mcp_servers is not None else "all",
        "background": role.background,
        "isolation": role.isolation,
        "effort": role.effort,
        "color": role.color,
        "memory": role.memory,
        "prompt": role.prompt,
        "runner": role.runner,
        "refused": [str(fault) for fault in origin.refused] if origin is not None else [],
    }


def _format_value(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {entry}" for key, entry in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "yes" if value is True else str(value)


def run_instructions(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] == ["show"]:
        return _show_instructions(arguments[1:])
    from cockpit.cli import definition_list

    return definition_list.run_list("instructions", arguments[1:] if arguments[:1] == ["list"] else arguments)


def _show_instructions(argv: list[str]) -> int:
    """What a model is told at the beginning, or when it touches a file."""
    parser = argparse.ArgumentParser(prog="cockpit instructions show", description="What a model is told.")
    parser.add_argument("file", nargs="?", help="what is told besides when this file is touched")
    parser.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
    parser.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
    args = parser.parse_args(argv)
    root = resolve_folder(args.cwd)
    trusted = args.trust or is_trusted(root)
    text = (
        _load_instructions_for_file(Path(root), args.file, trusted)
        if args.file
        else _load_initial_instructions(Path(root), trusted)
    )
    print(text or "nothing is told")
    if not trusted:
        print("this folder is not trusted: its own files were not read (--trust reads them)")
    return 0


def _load_initial_instructions(root: Path, trusted: bool) -> str:
    from cockpit.builtin.files.instructions import collect_instruction_files

    return collect_instruction_files(root, trusted, Path.home())


def _load_instructions_for_file(root: Path, file: str, trusted: bool) -> str:
    from cockpit.builtin.files.instructions import InstructionMemory, find_new_instructions

    path = Path(file).expanduser()
    relative = path.relative_to(root) if path.is_relative_to(root) else path
    if not (root / relative).is_file():
        raise CockpitError(f"{file} is no file in {root}", "name one as seen from there")
    return (
        "\n\n".join(find_new_instructions(InstructionMemory(), root, [str(relative)], Path.home()))
        if trusted
        else ""
    )
