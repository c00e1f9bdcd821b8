"""Claude Code's plugins, as values of the layer `plugin`: their skills, agents, commands and servers, each
named `bundle:name`. Their hooks are read by `hooks` (docs/bundles.md)."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from cockpit.formats.bundles import Bundle, list_bundles, read_installed_bundles
from cockpit.formats.command_files import CommandFile
from cockpit.plugin import hookimpl
from cockpit.plugin.agents import Role
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.plugin.origin import FileProblem, Origin, Unloaded
from cockpit.plugin.values import Command, McpServer, Register, Scope, Skill, Source

CLAUDE_FAMILY = "claude"
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
    """The skills of all bundles, and what of the bundles themselves could not be taken over."""
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
                body = skill.body if isinstance(skill, Skill) else None
                yield skill if body is None else _insert_skill_root(skill, bundle)


def _insert_skill_root(skill: Skill | Unloaded, bundle: Bundle) -> Skill | Unloaded:
    """A skill whose text knows where its bundle lies."""
    if isinstance(skill, Unloaded):
        return skill
    return replace(skill, body=partial(_read_body, skill, bundle))


def _read_body(skill: Skill, bundle: Bundle) -> str:
    return insert_root(skill.body(), bundle)


def insert_root(text: str, bundle: Bundle) -> str:
    """`text` with the bundle's own folder in the place of `${CLAUDE_PLUGIN_ROOT}`."""
    return text.replace(ROOT_VARIABLE, str(bundle.folder))


def load_roles(scope: Scope) -> Iterator[Role | Unloaded]:
    """The agents of all bundles, narrowed like every role of a file."""
    from cockpit.builtin.files.roles import load_bounds
    from cockpit.formats.roles import find_role_files, read_role

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        for place in bundle.places.get("agents", ()):
            for file in find_role_files(place, ".md") if place.is_dir() else (place,):
                role = read_role(file, "plugin", CLAUDE_FAMILY, load_bounds(scope))
                if isinstance(role, Role):
                    name = f"{bundle.name}:{role.name}"
                    role = replace(role, name=name, instructions=insert_root(role.instructions, bundle))
                yield role


def load_commands(scope: Scope) -> Iterator[Command | Unloaded]:
    """The commands of all bundles."""
    from cockpit.builtin.files.command_files import build_command
    from cockpit.formats.command_files import find_commands_in, read_command

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        for place in bundle.places.get("commands", ()):
            if place.is_dir():
                found = find_commands_in(place, "plugin", bundle.name)
            else:
                found = (read_command(place, f"{bundle.name}:{place.stem}", "plugin", "claude"),)
            for one in found:
                yield one if isinstance(one, Unloaded) else build_command(_insert_command_root(one, bundle))


def _insert_command_root(file: CommandFile, bundle: Bundle) -> CommandFile:
    """A command whose text knows where its bundle lies. One that cannot be read says so when it is used."""
    try:
        text = file.template()
    except (OSError, ValueError):
        return file
    return file if ROOT_VARIABLE not in text else replace(file, text=insert_root(text, bundle))


def load_servers(scope: Scope) -> Iterator[McpServer | Unloaded]:
    """The MCP servers of all bundles, named `plugin:bundle:name` as Claude Code names them."""
    from cockpit.formats.mcp_files import read_server_file

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        environment = {**scope.environment, **bundle.environment(scope.root)}
        for file in bundle.servers:
            yield from read_server_file(file, "plugin", environment, f"plugin:{bundle.name}:")


def load_languages(scope: Scope) -> Iterator[Language | Unloaded]:
    """The language servers of all bundles."""
    from cockpit.navigation.lsp import lsp_json

    for bundle in list_bundles(Path.home(), Path(scope.root)):
        for file in bundle.languages:
            found = lsp_json.read_lsp_json(file, key="lspServers" if file == bundle.file else "")
            known = {**bundle.environment(scope.root)}
            for language in found.languages:
                made = tuple(_expand_server(server, known) for server in language.servers)
                name = f"{bundle.name}:{language.name}"
                yield replace(language, name=name, ids=_language_ids(language), servers=made)
            faults = tuple(FileProblem(str(file), 0, text, "mend the entry") for text in found.warnings)
            if faults:
                yield Unloaded(f"{bundle.name} {file.name}", Origin(str(file), "plugin", refused=faults))


def _language_ids(language: Language) -> dict[str, str]:
    """The protocol's ids by suffix: the language's name here says whose bundle it is."""
    suffixes = (glob.removeprefix("*") for glob in language.globs)
    return dict.fromkeys(suffixes, language.name) | dict(language.ids)


def _expand_server(server: LanguageServer, known: dict[str, str]) -> LanguageServer:
    def filled(text: str) -> str:
        for name, value in known.items():
            text = text.replace(f"${{{name}}}", value)
        return text

    return replace(
        server,
        command=tuple(filled(word) for word in server.command),
        environment={name: filled(value) for name, value in server.environment.items()},
        folder=filled(server.folder),
    )
