"""`cockpit commands|roles|instructions show`: one definition in detail, as a model would get it. Runs
nothing.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    load_catalog,
    print_json,
    resolve_project,
    unknown_name,
)
from cockpit.cli.definition_list import DefinitionRow, format_fault, list_definitions, run_list_or_show
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
    return run_list_or_show("commands", argv, _show_command)


def _show_command(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit commands show", description="Show the prompt that a command would send. Nothing is run."
    )
    parser.add_argument("name", help="without the slash")
    parser.add_argument("--args", default="", help="the text typed after the command")
    add_options(parser, "json", "cwd", "trust")
    args = parser.parse_args(argv)
    root, trusted = resolve_project(args)
    name = args.name.removeprefix("/")
    rows = {row.name: row for row in list_definitions("commands", root, trusted) if row.loaded}
    if name not in rows:
        raise unknown_name("command", f"/{name}", [f"/{known}" for known in rows])
    expanded, limits = _expand_command(name, rows[name], args.args, root, trusted)
    if args.json:
        print_json(_encode_command(rows[name], expanded), 1)
        return 0
    _print_command(rows[name], expanded, limits, root)
    return 0


def _expand_command(
    name: str, row: DefinitionRow, arguments: str, root: str, trusted: bool
) -> tuple[ExpandedTemplate | None, str]:
    """The command's text with its arguments filled in (None if it is implemented in code), and its tool
    limits."""
    from cockpit.builtin.files.command_files import as_skill, expand_command
    from cockpit.builtin.files.skills.prompt_text import describe_limits, expand_skill
    from cockpit.formats.command_files import find_commands

    catalog = load_catalog(root, trusted)
    command = catalog.get(Command, name)
    skill = next((item for item in catalog.all(Skill) if item.path and item.path == row.file), None)
    if skill is not None:
        return expand_skill(skill, arguments, root, "SESSION"), describe_limits(skill)
    files = (
        entry for entry in find_commands(Path(root), trusted, Path.home()) if isinstance(entry, CommandFile)
    )
    plain = name.rpartition(":")[2] if name.startswith(("project:", "user:")) else name
    file = next(
        (element for element in files if element.name in (name, plain) and element.origin.file == row.file),
        None,
    )
    if file is None and row.layer == "plugin" and row.file.endswith(".md"):
        # A bundle's command is not in a folder of command files.
        read = read_command(Path(row.file), name, "plugin", "claude")
        file = read if isinstance(read, CommandFile) else None
    if file is None or command is None:
        return None, ""
    return expand_command(file, arguments, root, "SESSION"), describe_limits(as_skill(file))


def _encode_command(row: DefinitionRow, expanded: ExpandedTemplate | None) -> dict[str, object]:
    encoded: dict[str, object] = row.json()
    if expanded is not None:
        encoded |= {"text": expanded.text, "commands": list(expanded.commands), "files": list(expanded.files)}
    return encoded


def _print_command(row: DefinitionRow, expanded: ExpandedTemplate | None, limits: str, root: str) -> None:
    print(escape_text(f"/{row.name}  {row.layer}  {row.file}".rstrip()))
    for key, value in row.fields.items():
        print(escape_text(f"  {key}: {', '.join(map(str, value)) if isinstance(value, list) else value}"))
    for fault in row.refused:
        print(escape_text(f"  refused {format_fault(fault, root)}"))
    if expanded is None:
        print("this command is implemented in code and has no prompt text")
        return
    if limits:
        print(escape_text(f"  until the end of its turn: {limits}"))
    for what, words in (("would run", expanded.commands), ("would read", expanded.files)):
        for word in words:
            print(escape_text(f"  {what}: {word}"))
    print(f"\n{expanded.text}")


def run_roles(argv: Sequence[str]) -> int:
    return run_list_or_show("roles", argv, _show_role)


def _show_role(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit roles show", description="Show a role, its tools and its instructions. Nothing is run."
    )
    parser.add_argument("name", help="the role's name or one of its aliases")
    add_options(parser, "json", "cwd", "trust")
    args = parser.parse_args(argv)
    project = resolve_project(args)
    catalog = load_catalog(project.root, project.trusted)
    role = find_role(catalog, args.name)
    fields = _describe_role(role, catalog)
    if args.json:
        print_json({**fields, "instructions": role.instructions}, 1)
        return 0
    for key, value in fields.items():
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
    """Everything about a role except its instructions; `tools` are those of the main agent that it really
    gets."""
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
        "listed": list(role.tools) if role.tools is not None else "all tools of its parent",
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
    return run_list_or_show("instructions", argv, _show_instructions)


def _show_instructions(argv: list[str]) -> int:
    """Print the instructions a model gets when a session starts, or when it first touches a file."""
    parser = argparse.ArgumentParser(
        prog="cockpit instructions show", description="Show what a model is told."
    )
    parser.add_argument("file", nargs="?", help="show what is added when the model touches this file")
    add_options(parser, "cwd", "trust")
    args = parser.parse_args(argv)
    root, trusted = resolve_project(args)
    text = (
        _load_instructions_for_file(Path(root), args.file, trusted)
        if args.file
        else _load_initial_instructions(Path(root), trusted)
    )
    print(text or "there are no instructions")
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _load_initial_instructions(root: Path, trusted: bool) -> str:
    from cockpit.builtin.files.instructions import collect_instruction_files

    return collect_instruction_files(root, trusted, Path.home())


def _load_instructions_for_file(root: Path, file: str, trusted: bool) -> str:
    from cockpit.builtin.files.instructions import InstructionMemory, find_new_instructions

    path = Path(file).expanduser()
    relative = path.relative_to(root) if path.is_relative_to(root) else path
    if not (root / relative).is_file():
        raise CockpitError(f"{file} is not a file in {root}", "give its path relative to that folder")
    if not trusted:
        return ""
    return "\n\n".join(find_new_instructions(InstructionMemory(), root, [str(relative)], Path.home()))
