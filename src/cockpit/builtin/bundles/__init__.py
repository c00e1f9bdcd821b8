"""Claude Code's plugins, as values of the layer `plugin`: their skills, agents, commands and servers, each
named `bundle:name`. Their hooks are read by `hooks` (docs/bundles.md)."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from cockpit.formats.bundles import Bundle, bundles_of, found_bundles
from cockpit.formats.command_files import CommandFile
from cockpit.plugin import hookimpl
from cockpit.plugin.agents import Role
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.plugin.origin import Fault, Origin, Unloaded
from cockpit.plugin.values import Command, McpServer, Register, Scope, Skill, Source

FAMILY = "claude"
ROOT = "${CLAUDE_PLUGIN_ROOT}"


@hookimpl
def register_skills(register: Register, scope: Scope) -> None:
    register(Source("bundles", skills, "plugin"))


@hookimpl
def register_roles(register: Register, scope: Scope) -> None:
    register(Source("bundles", roles, "plugin"))


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Source("bundles", commands, "plugin"))


@hookimpl
def register_mcp_servers(register: Register, scope: Scope) -> None:
    register(Source("bundles", servers, "plugin"))


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(Source("bundles", languages, "plugin"))


def skills(scope: Scope) -> Iterator[Skill | Unloaded]:
    """The skills of all bundles, and what of the bundles themselves could not be taken over."""
    from cockpit.formats.skill_places import files_in
    from cockpit.formats.skills import read_skill

    for bundle in found_bundles(Path.home(), Path(scope.root)):
        if isinstance(bundle, Unloaded):
            yield bundle
            continue
        if bundle.faults:
            yield Unloaded(bundle.name, Origin(str(bundle.file), "plugin", refused=bundle.faults))
        for place in bundle.places.get("skills", ()):
            files = files_in(place) if place.is_dir() else (place,)
            own = place / "SKILL.md"
            for file in (own,) if own.is_file() else files:
                skill = read_skill(file, "plugin", prefix=bundle.name)
                body = skill.body if isinstance(skill, Skill) else None
                yield skill if body is None else _with_root(skill, bundle)


def _with_root(skill: Skill | Unloaded, bundle: Bundle) -> Skill | Unloaded:
    """A skill whose text knows where its bundle lies."""
    if isinstance(skill, Unloaded):
        return skill
    return replace(skill, body=partial(_body, skill, bundle))


def _body(skill: Skill, bundle: Bundle) -> str:
    return rooted(skill.body(), bundle)


def rooted(text: str, bundle: Bundle) -> str:
    """`text` with the bundle's own folder in the place of `${CLAUDE_PLUGIN_ROOT}`."""
    return text.replace(ROOT, str(bundle.folder))


def roles(scope: Scope) -> Iterator[Role | Unloaded]:
    """The agents of all bundles, narrowed like every role of a file."""
    from cockpit.builtin.roles import bounds_of
    from cockpit.formats.role_places import files_in
    from cockpit.formats.roles import read_role

    for bundle in bundles_of(Path.home(), Path(scope.root)):
        for place in bundle.places.get("agents", ()):
            for file in files_in(place, ".md") if place.is_dir() else (place,):
                role = read_role(file, "plugin", FAMILY, bounds_of(scope))
                if isinstance(role, Role):
                    name = f"{bundle.name}:{role.name}"
                    role = replace(role, name=name, instructions=rooted(role.instructions, bundle))
                yield role


def commands(scope: Scope) -> Iterator[Command | Unloaded]:
    """The commands of all bundles."""
    from cockpit.builtin.command_files.running import command_of
    from cockpit.formats.command_files import read_command
    from cockpit.formats.command_places import in_folder

    for bundle in bundles_of(Path.home(), Path(scope.root)):
        for place in bundle.places.get("commands", ()):
            if place.is_dir():
                found = in_folder(place, "plugin", bundle.name)
            else:
                found = (read_command(place, f"{bundle.name}:{place.stem}", "plugin", "claude"),)
            for one in found:
                yield one if isinstance(one, Unloaded) else command_of(_filled(one, bundle))


def _filled(file: CommandFile, bundle: Bundle) -> CommandFile:
    """A command whose text knows where its bundle lies. One that cannot be read says so when it is used."""
    try:
        text = file.template()
    except (OSError, ValueError):
        return file
    return file if ROOT not in text else replace(file, text=rooted(text, bundle))


def servers(scope: Scope) -> Iterator[McpServer | Unloaded]:
    """The MCP servers of all bundles, named `plugin:bundle:name` as Claude Code names them."""
    from cockpit.formats.mcp_files import read

    for bundle in bundles_of(Path.home(), Path(scope.root)):
        environment = {**scope.environment, **bundle.environment(scope.root)}
        for file in bundle.servers:
            yield from read(file, "plugin", environment, f"plugin:{bundle.name}:")


def languages(scope: Scope) -> Iterator[Language | Unloaded]:
    """The language servers of all bundles."""
    from cockpit.navigation.lsp import lsp_json

    for bundle in bundles_of(Path.home(), Path(scope.root)):
        for file in bundle.languages:
            found = lsp_json.read(file, key="lspServers" if file == bundle.file else "")
            known = {**bundle.environment(scope.root)}
            for language in found.languages:
                made = tuple(_started(server, known) for server in language.servers)
                name = f"{bundle.name}:{language.name}"
                yield replace(language, name=name, ids=_ids(language), servers=made)
            faults = tuple(Fault(str(file), 0, text, "mend the entry") for text in found.warnings)
            if faults:
                yield Unloaded(f"{bundle.name} {file.name}", Origin(str(file), "plugin", refused=faults))


def _ids(language: Language) -> dict[str, str]:
    """The protocol's ids by suffix: the language's name here says whose bundle it is."""
    suffixes = (glob.removeprefix("*") for glob in language.globs)
    return dict.fromkeys(suffixes, language.name) | dict(language.ids)


def _started(server: LanguageServer, known: dict[str, str]) -> LanguageServer:
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
