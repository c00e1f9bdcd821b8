"""Claude Code plugins ("bundles") as values of the layer `plugin`, named `bundle:name` (docs/use/bundles.md).

Covers their skills, agents, commands, MCP servers and language servers; `hooks` reads their hooks.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from cockpit.formats.bundles import Bundle, list_bundles, read_installed_bundles
from cockpit.formats.command_files import CommandFile
from cockpit.plugin import hookimpl
from cockpit.plugin.agents import Role
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.plugin.origin import FileProblem, Origin, Unloaded
from cockpit.plugin.values import Command, McpServer, Register, Scope, Skill, Source

CLAUDE_FAMILY: Final = "claude"
ROOT_VARIABLE = "${CLAUDE_PLUGIN_ROOT}"


@hookimpl
def register_skills(register: Register, scope: Scope) -> None:
    register(Source("bundles", load_skills, "plugin"))


@hookimpl
def register_roles(register: Register, scope: Scope) -> None:
    register(Source("bundles", load_roles, "plugin"))


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Source("bundles", load_commands, "plugin"))


@hookimpl
def register_mcp_servers(register: Register, scope: Scope) -> None:
    register(Source("bundles", load_servers, "plugin"))


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(Source("bundles", load_languages, "plugin"))


def load_skills(scope: Scope) -> Iterator[Skill | Unloaded]:
    """Load the skills of all bundles, and report what could not be read of the bundles themselves."""
    from cockpit.formats.skills import find_skill_files, read_skill

    for bundle in read_installed_bundles(Path.home(), Path(scope.root)):
        if isinstance(bundle, Unloaded):
            yield bundle
            continue
        if bundle.faults:
            yield Unloaded(bundle.name, Origin(str(bundle.file), "plugin", refused=bundle.faults))
        for place in bundle.places.get("skills", ()):
            files = find_skill_files(place) if place.is_dir() else (place,)
            own = place / "SKILL.md"
            for file in (own,) if own.is_file() else files:
                skill = read_skill(file, "plugin", prefix=bundle.name)
                if isinstance(skill, Skill):
                    skill = replace(skill, body=partial(_read_body, skill, bundle))
                yield skill


def _read_body(skill: Skill, bundle: Bundle) -> str:
    return _insert_root(skill.body(), bundle)


def _insert_root(text: str, bundle: Bundle) -> str:
    return text.replace(ROOT_VARIABLE, str(bundle.folder))


def load_roles(scope: Scope) -> Iterator[Role | Unloaded]:
    """Load the agents of all bundles, limited like every role from a file."""
    from cockpit.builtin.files.roles import load_bounds
    from cockpit.formats.roles import find_role_files, read_role

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        for place in bundle.places.get("agents", ()):
            for file in find_role_files(place, ".md") if place.is_dir() else (place,):
                role = read_role(file, "plugin", CLAUDE_FAMILY, load_bounds(scope))
                if isinstance(role, Role):
                    name = f"{bundle.name}:{role.name}"
                    role = replace(role, name=name, instructions=_insert_root(role.instructions, bundle))
                yield role


def load_commands(scope: Scope) -> Iterator[Command | Unloaded]:
    """Load the commands of all bundles."""
    from cockpit.builtin.files.command_files import build_command
    from cockpit.formats.command_files import find_commands_in, read_command

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        for place in bundle.places.get("commands", ()):
            if place.is_dir():
                files = find_commands_in(place, "plugin", bundle.name)
            else:
                files = (read_command(place, f"{bundle.name}:{place.stem}", "plugin", CLAUDE_FAMILY),)
            for file in files:
                if isinstance(file, Unloaded):
                    yield file
                else:
                    yield build_command(_insert_command_root(file, bundle))


def _insert_command_root(file: CommandFile, bundle: Bundle) -> CommandFile:
    """Replace the root variable in a command's text. An unreadable file is reported when it is used."""
    try:
        text = file.template()
    except (OSError, ValueError):
        return file
    return file if ROOT_VARIABLE not in text else replace(file, text=_insert_root(text, bundle))


def load_servers(scope: Scope) -> Iterator[McpServer | Unloaded]:
    """Load the MCP servers of all bundles, named `plugin:bundle:name` as in Claude Code."""
    from cockpit.formats.mcp_files import read_server_file

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        environment = {**scope.environment, **bundle.environment(scope.root)}
        for file in bundle.servers:
            yield from read_server_file(file, "plugin", environment, f"plugin:{bundle.name}:")


def load_languages(scope: Scope) -> Iterator[Language | Unloaded]:
    """Load the language servers of all bundles."""
    from cockpit.navigation.lsp import lsp_json

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        variables = {**bundle.environment(scope.root)}
        for file in bundle.languages:
            contents = lsp_json.read_lsp_json(file, key="lspServers" if file == bundle.file else "")
            for language in contents.languages:
                # The language's name here carries the bundle's name, so the protocol id is set by suffix.
                suffixes = (glob.removeprefix("*") for glob in language.globs)
                yield replace(
                    language,
                    name=f"{bundle.name}:{language.name}",
                    ids=dict.fromkeys(suffixes, language.name) | dict(language.ids),
                    servers=tuple(_expand_server(server, variables) for server in language.servers),
                )
            problems = tuple(FileProblem(str(file), 0, text, "fix the entry") for text in contents.warnings)
            if problems:
                yield Unloaded(f"{bundle.name} {file.name}", Origin(str(file), "plugin", refused=problems))


def _expand_server(server: LanguageServer, variables: dict[str, str]) -> LanguageServer:
    def expand(text: str) -> str:
        for name, value in variables.items():
            text = text.replace(f"${{{name}}}", value)
        return text

    return replace(
        server,
        command=tuple(map(expand, server.command)),
        environment={name: expand(value) for name, value in server.environment.items()},
        folder=expand(server.folder),
    )
