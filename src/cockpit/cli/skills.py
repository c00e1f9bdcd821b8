"""`cockpit skills list|show|install|remove|enable|disable`: the skills of this folder and of the user.

`show` prints the text of a skill as a model would get it, without running any of its commands.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from cockpit import paths
from cockpit.builtin.files.skills.prompt_text import expand_skill, frame_text
from cockpit.cli import definition_list
from cockpit.cli.command import (
    UNTRUSTED_NOTE,
    add_options,
    confirm,
    escape_text,
    is_trusted,
    load_catalog,
    print_json,
    resolve_folder,
)
from cockpit.cli.definition_list import format_fault, shorten_path
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.errors import CockpitError
from cockpit.formats.frontmatter import parse_frontmatter
from cockpit.formats.search_folders import find_repository_top
from cockpit.formats.skills import find_skill_folder
from cockpit.formats.substitution import ExpandedTemplate
from cockpit.installing import skills as installing
from cockpit.installing.skills import FetchedSkills, OfferedSkill, list_programs, read_source_note
from cockpit.plugin.values import Skill
from cockpit.protocol.messages import Json
from cockpit.settings import file_io, files
from cockpit.workspace.resolver import Resolver

MAX_FILE_BYTES = 50_000
MAX_FILES_SHOWN = 12
LIST_HINT = "cockpit skills list shows all skills"


def show_skill(skill: Skill, arguments: str, root: str, as_json: bool) -> int:
    """Print the text on stdout and facts about the skill on stderr, or all of it as JSON."""
    expanded = expand_skill(skill, arguments, root, "")
    contents = {
        path: text for path in expanded.files if (text := _read_mentioned_file(path, skill, root)) is not None
    }
    text = frame_text(skill, expanded.filled({}, contents))
    if as_json:
        print_json(_encode_skill(skill, expanded, contents, text), 1)
        return 0
    print(text)
    for line in _describe_skill(skill, expanded, root):
        print(line, file=sys.stderr)
    return 0


def _encode_skill(
    skill: Skill, expanded: ExpandedTemplate, contents: Mapping[str, str], text: str
) -> dict[str, object]:
    origin = skill.origin
    return {
        "name": skill.name,
        "file": skill.path,
        "layer": origin.layer if origin is not None else "plugin",
        "fields": dict(origin.fields) if origin is not None else {},
        "shadows": list(origin.shadows) if origin is not None else [],
        "refused": [asdict(fault) for fault in origin.refused] if origin is not None else [],
        "text": text,
        "commands": list(expanded.commands),
        "files": list(contents),
        "hooks": _read_hooks(skill),
        "from": read_source_note(skill),
    }


def _describe_skill(skill: Skill, expanded: ExpandedTemplate, root: str) -> list[str]:
    """What the user should know besides the text."""
    origin = skill.origin
    lines = [f"{shorten_path(skill.path, root)} ({origin.layer if origin is not None else 'plugin'})"]
    if note := read_source_note(skill):
        lines.append(f"installed from {note}")
    for name, value in (origin.fields if origin is not None else {}).items():
        if name not in ("name", "description"):
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}")
    lines += [f"would run: {command}" for command in expanded.commands]
    if (folder := find_skill_folder(skill)) is not None:
        files = tuple(
            path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()
        )
        lines += [f"program: {program}" for program in list_programs(files, folder)]
    if skill.effort and not skill.fork:
        lines.append("effort has no effect unless the skill runs in a subagent (context: fork)")
    if skill.model and not skill.fork:
        lines.append(f"/{skill.name} is answered by {skill.model}; a turn that uses it keeps its own model")
    if origin is not None:
        lines += [f"hides {shorten_path(path, root)}" for path in origin.shadows]
        lines += [f"refused {format_fault(fault, root)}" for fault in origin.refused]
    if hooks := _read_hooks(skill):
        lines.append(f"its hooks, which are never run: {json.dumps(hooks, ensure_ascii=False)}")
    return lines


def _read_hooks(skill: Skill) -> Json:
    """The `hooks:` field of the skill's file."""
    if not skill.path:
        return None
    try:
        return parse_frontmatter(file_io.read_text(skill.path), skill.path).fields.get("hooks")
    except OSError:
        return None


def _read_mentioned_file(path: str, skill: Skill, root: str) -> str | None:
    """The file that `@path` names, or None if it does not exist or must not be read."""
    resolver = Resolver(root)
    with contextlib.suppress(CockpitError, OSError, ValueError):
        real = resolver.resolve(path, "read")
        return file_io.read_text(real, MAX_FILE_BYTES) if resolver.is_inside(real) else None
    folder = find_skill_folder(skill)
    with contextlib.suppress(OSError, ValueError):
        if folder is not None and (file := (folder / path).resolve()).is_relative_to(folder.resolve()):
            return file_io.read_text(file, MAX_FILE_BYTES)
    return None


def main(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] in ([], ["list"]) or arguments[0] in ("--json", "--cwd", "--trust"):
        return definition_list.run_list("skills", arguments[1:] if arguments[:1] == ["list"] else arguments)
    args = _parser().parse_args(arguments)
    root = resolve_folder(getattr(args, "cwd", ""))
    match args.what:
        case "show":
            trusted = args.trust or is_trusted(root)
            return show_skill(_find_skill(args.name, root, trusted), args.args, root, args.json)
        case "install":
            return _install_skills(args, root)
        case "remove":
            return _remove_skill(args, root)
        case "enable":
            return _enable_skill(args.name, root)
        case "disable":
            return _disable_skill(args.name, root)
        case other:
            raise AssertionError(other)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cockpit skills", description="Skills: guidance for models.")
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    text = "list every skill, where it is from, what it shadows, and what was refused"
    what.add_parser("list", help=text, add_help=False)
    shown = what.add_parser("show", help="show what a model would get; nothing is run")
    shown.add_argument("name")
    shown.add_argument("--args", default="", metavar="TEXT", help="the arguments after /NAME")
    add_options(shown, "json", "trust")
    add = what.add_parser("install", help="copy skills, after showing what they may run")
    text = "a folder, an archive, or a git address (@REFERENCE, #subdirectory=FOLDER)"
    add.add_argument("source", help=text)
    text = "install only this skill; repeatable"
    add.add_argument("--skill", action="append", default=[], metavar="NAME", help=text)
    where = add.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for you, in every folder (default)")
    where.add_argument("--project", action="store_true", help="for this folder: .cockpit/skills")
    add.add_argument("--replace", action="store_true", help="replace an installed skill of that name")
    add.add_argument("--yes", "-y", action="store_true", help="do not ask")
    remove = what.add_parser("remove", help="delete an installed skill")
    remove.add_argument("name")
    remove.add_argument("--yes", "-y", action="store_true", help="do not ask")
    on = what.add_parser("enable", help="enable a skill that was disabled")
    off = what.add_parser("disable", help="disable a skill for you, wherever it is from")
    for command in (on, off):
        command.add_argument("name")
    for command in (shown, add, remove, on, off):
        add_options(command, "cwd")
    return parser


def _list_skills(catalog: PluginCatalog) -> list[Skill]:
    """Every loaded skill, including shadowed ones."""
    return [entry.value for entry in catalog.entries if isinstance(entry.value, Skill)]


def _find_skill(name: str, root: str, trusted: bool) -> Skill:
    catalog = load_catalog(root, trusted)
    skill = catalog.get(Skill, name.removeprefix("/"))
    if skill is not None:
        return skill
    for unloaded in catalog.unloaded.get("register_skills", ()):
        if unloaded.name == name:
            reasons = "; ".join(str(fault) for fault in unloaded.origin.refused)
            raise CockpitError(f"the skill {name} was not loaded: {reasons}")
    raise CockpitError(f"there is no skill {name}", LIST_HINT + ("" if trusted else f"; {UNTRUSTED_NOTE}"))


def _install_skills(args: argparse.Namespace, root: str) -> int:
    home = _find_project_skills(root) if args.project else paths.config() / "skills"
    with installing.fetch_skills(args.source) as fetched:
        chosen = _choose_skills(fetched, args.skill)
        for offer in chosen:
            _print_offer(offer)
        for fault in fetched.broken:
            print(escape_text(f"left out: {fault}"))
        print(f"to {home}" + ("" if not fetched.revision else f", from commit {fetched.revision[:12]}"))
        if args.project and not is_trusted(root):
            print("this folder is not trusted: its skills are not read until it is")
        if not confirm("Install?", args.yes):
            return 1
        for offer in chosen:
            target = installing.install_skill(offer, fetched.source, fetched.revision, home, args.replace)
            print(f"installed {offer.skill.name} in {target}; use it with /{offer.skill.name}")
    return 0


def _find_project_skills(root: str) -> Path:
    return find_repository_top(Path(root), Path.home()) / ".cockpit" / "skills"


def _choose_skills(fetched: FetchedSkills, names: list[str]) -> list[OfferedSkill]:
    offers = {offer.skill.name: offer for offer in fetched.offered}
    if missing := [name for name in names if name not in offers]:
        choices = f"choose one of {', '.join(sorted(offers))}"
        raise CockpitError(f"{fetched.source} has no skill {missing[0]}", choices)
    return [offers[name] for name in names or offers]


def _print_offer(offer: OfferedSkill) -> None:
    """Print what would be installed, and what it may run."""
    print(escape_text(f"{offer.skill.name}: {offer.skill.description}"))
    more = f" and {len(offer.files) - MAX_FILES_SHOWN} more" if len(offer.files) > MAX_FILES_SHOWN else ""
    if offer.files:
        print(escape_text(f"  files: {', '.join(offer.files[:MAX_FILES_SHOWN])}{more}"))
    for line in offer.runs or ("runs nothing",):
        print(escape_text(f"  {line}"))
    for fault in offer.faults:
        print(escape_text(f"  ignored: {fault}"))


def _remove_skill(args: argparse.Namespace, root: str) -> int:
    homes = (paths.config() / "skills", _find_project_skills(root))
    matching = [skill for skill in _list_skills(load_catalog(root)) if skill.name == args.name and skill.path]
    installed = [skill for skill in matching if any(Path(skill.path).is_relative_to(home) for home in homes)]
    if not matching:
        raise CockpitError(f"no skill {args.name} is installed", LIST_HINT)
    if not installed:
        reason = f"no skill {args.name} is installed; it is {matching[0].path}, which cockpit did not install"
        raise CockpitError(reason, f"remove it there, or run cockpit skills disable {args.name}")
    skill = installed[0]
    print(f"{skill.path}{f' (from {note})' if (note := installing.read_source_note(skill)) else ''}")
    if not confirm("Remove it?", args.yes):
        return 1
    print(f"removed {installing.remove_skill(skill)}")
    return 0


def _is_known(name: str, root: str) -> bool:
    return any(skill.name == name for skill in _list_skills(load_catalog(root)))


def _enable_skill(name: str, root: str) -> int:
    was_disabled = files.remove_user_word(("skills", "disabled"), name)
    if not was_disabled and not _is_known(name, root):
        raise CockpitError(f"there is no skill {name}", LIST_HINT)
    settings = files.load_settings(root, is_trusted(root))
    if name in settings.words("skills.disabled"):
        print(f"{name} is still disabled by {settings.origin('skills.disabled')}")
        return 1
    print(f"enabled {name}" if was_disabled else f"{name} was not disabled")
    return 0


def _disable_skill(name: str, root: str) -> int:
    if not _is_known(name, root):
        raise CockpitError(f"there is no skill {name}", LIST_HINT)
    files.add_user_word(("skills", "disabled"), name)
    print(f"disabled {name}; cockpit skills enable {name} enables it again")
    return 0
