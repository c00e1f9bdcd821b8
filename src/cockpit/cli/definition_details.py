"""`cockpit commands|roles|instructions show`: a definition as a model would get it. Runs nothing."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cockpit.builtin.files import instructions
from cockpit.builtin.files.command_files import as_skill, expand_command
from cockpit.builtin.files.skills.prompt_text import describe_limits, expand_skill
from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    escape_text,
    load_catalog,
    print_json,
    resolve_project,
    select_fields,
    unknown_name,
)
from cockpit.cli.definition_list import DefinitionRow, format_fault, list_definitions, run_list_or_show
from cockpit.core.permission.rules import RoleRights, unknown_entries
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.core.subagents.child_agent import find_role
from cockpit.errors import CockpitError
from cockpit.formats.command_files import CommandFile, find_commands, read_command
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
    if not args.json:
        _print_command(rows[name], expanded, limits, root)
        return 0
    encoded = rows[name].json()
    if expanded is not None:
        encoded |= select_fields(expanded, "text", "commands", "files")
    print_json(encoded, 1)
    return 0


def _expand_command(
    name: str, row: DefinitionRow, arguments: str, root: str, trusted: bool
) -> tuple[ExpandedTemplate | None, str]:
    """The command's text with its arguments filled in (None if it is implemented in code), and its tool
    limits."""
    catalog = load_catalog(root, trusted)
    command = catalog.get(Command, name)
    skill = next((item for item in catalog.all(Skill) if item.path and item.path == row.file), None)
    if skill is not None:
        return expand_skill(skill, arguments, root, "SESSION"), describe_limits(skill)
    plain = name.rpartition(":")[2] if name.startswith(("project:", "user:")) else name
    files = [
        file
        for file in find_commands(Path(root), trusted, Path.home())
        if file.name in (name, plain) and file.origin.file == row.file
    ]
    if not files and row.layer == "plugin" and row.file.endswith(".md"):
        # A bundle's command is not in a folder of command files.
        files = [read_command(Path(row.file), name, "plugin", "claude")]
    loaded = [file for file in files if isinstance(file, CommandFile)]
    if not loaded or command is None:
        return None, ""
    return expand_command(loaded[0], arguments, root, "SESSION"), describe_limits(as_skill(loaded[0]))


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
    for command in expanded.commands:
        print(escape_text(f"  would run: {command}"))
    for file in expanded.files:
        print(escape_text(f"  would read: {file}"))
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
    catalog = load_catalog(*resolve_project(args))
    role = find_role(catalog, args.name)
    fields = _describe_role(role, catalog)
    if args.json:
        print_json({**fields, "instructions": role.instructions}, 1)
        return 0
    for key, value in fields.items():
        for line in value if key == "refused" and isinstance(value, list) else [_format_value(value)]:
            if value:
                print(escape_text(f"{key:<14}{line}"))
    print()
    for line in role.instructions.strip().splitlines():
        print(escape_text(line))
    return 0


def _describe_role(role: Role, catalog: PluginCatalog) -> dict[str, Json]:
    """Everything about a role except its instructions; `tools` are those of the main agent that it gets."""
    rights = RoleRights(role)
    tools = catalog.all(Tool)
    unknown = unknown_entries(role.tools or (), tools)
    origin = role.origin
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
        "quota": {key: value for key, value in asdict(role.quota).items() if value is not None},
        "tools": [tool.name for tool in tools if not rights.withholds(tool)],
        "listed": list(role.tools) if role.tools is not None else "all tools of its parent",
        "denied": list(role.denied_tools),
        "unknown tools": [name for name in unknown if name.partition("(")[0] not in OTHER_AGENTS_TOOLS],
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
        return ", ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "yes" if value is True else str(value)


def run_instructions(argv: Sequence[str]) -> int:
    return run_list_or_show("instructions", argv, _show_instructions)


def _show_instructions(argv: list[str]) -> int:
    """Print the instructions a model gets when a session starts, or when it first touches a file."""
    parser = argparse.ArgumentParser(
        prog="cockpit instructions show", description="Show the instructions that a model gets."
    )
    parser.add_argument("file", nargs="?", help="show what is added when the model touches this file")
    add_options(parser, "cwd", "trust")
    args = parser.parse_args(argv)
    root, trusted = resolve_project(args)
    if args.file:
        text = _load_instructions_for_file(Path(root), args.file, trusted)
    else:
        text = instructions.collect_instruction_files(Path(root), trusted, Path.home())
    print(text or "there are no instructions")
    if not trusted:
        print(UNTRUSTED_NOTE)
    return 0


def _load_instructions_for_file(root: Path, file: str, trusted: bool) -> str:
    path = Path(file).expanduser()
    relative = path.relative_to(root) if path.is_relative_to(root) else path
    if not (root / relative).is_file():
        raise CockpitError(f"{file} is not a file in {root}", "pass its path relative to that folder")
    if not trusted:
        return ""
    memory = instructions.InstructionMemory()
    return "\n\n".join(instructions.find_new_instructions(memory, root, [str(relative)], Path.home()))
