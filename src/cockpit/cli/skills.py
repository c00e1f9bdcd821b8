"""`cockpit skills list|show|install|remove|enable|disable`: the skills of this folder and of the person."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit import paths
from cockpit.cli import listing
from cockpit.cli.catalogs import catalog_of, folder_of, is_trusted
from cockpit.cli.lines import said
from cockpit.cli.skill_showing import show
from cockpit.core.catalog import Catalog
from cockpit.errors import CockpitError
from cockpit.formats.places import top_of
from cockpit.installing import skills as installing
from cockpit.installing.skills import Fetched, Offered
from cockpit.plugin.values import Skill
from cockpit.settings import files

SHOWN = 12


def main(argv: Sequence[str]) -> int:
    arguments = list(argv)
    if arguments[:1] in ([], ["list"]) or arguments[0] in ("--json", "--cwd", "--trust"):
        return listing.main("skills", arguments[1:] if arguments[:1] == ["list"] else arguments)
    given = _parser().parse_args(arguments)
    root = folder_of(getattr(given, "cwd", ""))
    match given.what:
        case "show":
            trusted = given.trust or is_trusted(root)
            return show(_named(given.name, root, trusted), given.args, root, given.json)
        case "install":
            return _install(given, root)
        case "remove":
            return _remove(given, root)
        case "enable":
            return _switch(given.name, root, True)
        case "disable":
            return _switch(given.name, root, False)
        case other:
            raise AssertionError(other)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit skills", description="Skills: guidance that a model reads."
    )
    what = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    what.add_parser(
        "list", help="every skill, where it is from, what it hides, what was refused", add_help=False
    )
    shown = what.add_parser("show", help="what a model would get; nothing of it is run")
    shown.add_argument("name")
    shown.add_argument("--args", default="", metavar="TEXT", help="what would stand behind /NAME")
    shown.add_argument("--json", action="store_true")
    shown.add_argument(
        "--trust", action="store_true", help="read this folder's skills although nobody trusts it"
    )
    add = what.add_parser("install", help="copy skills here, after showing what they may run")
    add.add_argument(
        "source", help="a folder, an archive, or a git address (@REFERENCE, #subdirectory=FOLDER)"
    )
    add.add_argument(
        "--skill", action="append", default=[], metavar="NAME", help="only this one; may be repeated"
    )
    where = add.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for you, in every folder (default)")
    where.add_argument("--project", action="store_true", help="for this folder: .cockpit/skills")
    add.add_argument("--replace", action="store_true", help="take the place of a skill of that name")
    add.add_argument("--yes", "-y", action="store_true", help="do not ask")
    gone = what.add_parser("remove", help="take an installed skill away")
    gone.add_argument("name")
    gone.add_argument("--yes", "-y", action="store_true", help="do not ask")
    on = what.add_parser("enable", help="use a skill again that was switched off")
    off = what.add_parser("disable", help="switch a skill off, for you, wherever it is from")
    for one in (on, off):
        one.add_argument("name")
    for one in (shown, add, gone, on, off):
        one.add_argument("--cwd", default="", metavar="DIR", help="the folder (default: this one)")
    return parser


def _all(catalog: Catalog) -> list[Skill]:
    """Every skill that loaded, also those that another hides."""
    return [one.value for one in catalog.entries if isinstance(one.value, Skill)]


def _named(name: str, root: str, trusted: bool) -> Skill:
    catalog = catalog_of(root, trusted)
    found = catalog.get(Skill, name.removeprefix("/"))
    if found is not None:
        return found
    for one in catalog.unloaded.get("register_skills", ()):
        if one.name == name:
            reasons = "; ".join(str(fault) for fault in one.origin.refused)
            raise CockpitError(f"the skill {name} was not loaded: {reasons}")
    hint = "cockpit skills list shows them" + ("" if trusted else "; --trust reads this folder's")
    raise CockpitError(f"there is no skill {name}", hint)


def _install(given: argparse.Namespace, root: str) -> int:
    home = _project_home(root) if given.project else paths.config() / "skills"
    with installing.fetched(given.source) as found:
        chosen = _chosen(found, given.skill)
        for one in chosen:
            _describe(one)
        for fault in found.broken:
            print(f"left out: {said(fault)}")
        print(f"to {home}" + ("" if not found.revision else f", from commit {found.revision[:12]}"))
        if given.project and not is_trusted(root):
            print("this folder is not trusted: its skills are read once it is")
        if not given.yes and not _agreed("Install?"):
            return 1
        for one in chosen:
            target = installing.install(one, found.source, found.revision, home, given.replace)
            print(f"installed {one.skill.name} in {target}; use it with /{one.skill.name}")
    return 0


def _project_home(root: str) -> Path:
    return top_of(Path(root), Path.home()) / ".cockpit" / "skills"


def _chosen(found: Fetched, names: list[str]) -> list[Offered]:
    there = {one.skill.name: one for one in found.offered}
    if missing := [name for name in names if name not in there]:
        raise CockpitError(f"{found.source} has no skill {missing[0]}", f"it has {', '.join(sorted(there))}")
    return [there[name] for name in names] if names else list(there.values())


def _describe(one: Offered) -> None:
    """What would be installed, and what it may run."""
    print(said(f"{one.skill.name}: {one.skill.description}"))
    more = f" and {len(one.files) - SHOWN} more" if len(one.files) > SHOWN else ""
    if one.files:
        print(said(f"  files: {', '.join(one.files[:SHOWN])}{more}"))
    for line in one.runs or ("runs nothing",):
        print(said(f"  {line}"))
    for fault in one.faults:
        print(said(f"  not taken over: {fault}"))


def _agreed(question: str) -> bool:
    """A person's yes. Without a person it is a no."""
    if not sys.stdin.isatty():
        print("nothing was done: nobody is there to ask; --yes agrees beforehand", file=sys.stderr)
        return False
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _remove(given: argparse.Namespace, root: str) -> int:
    ours = (paths.config() / "skills", _project_home(root))
    named = [one for one in _all(catalog_of(root)) if one.name == given.name and one.path]
    installed = [one for one in named if any(Path(one.path).is_relative_to(home) for home in ours)]
    if not installed:
        elsewhere = f"it is {named[0].path}, which cockpit did not install" if named else ""
        hint = (
            "remove it there, or `cockpit skills disable` it" if named else "cockpit skills list shows them"
        )
        raise CockpitError(f"no skill {given.name} is installed{'; ' if elsewhere else ''}{elsewhere}", hint)
    skill = installed[0]
    print(f"{skill.path}{f' (from {note})' if (note := installing.note_of(skill)) else ''}")
    if not given.yes and not _agreed("Remove it?"):
        return 1
    print(f"removed {installing.remove(skill)}")
    return 0


def _switch(name: str, root: str, on: bool) -> int:
    """Switch a skill on or off in the person's own settings."""
    known = {one.name for one in _all(catalog_of(root))}
    if on:
        was_off = files.remove_user_word(("skills", "disabled"), name)
        if not was_off and name not in known:
            raise CockpitError(f"there is no skill {name}", "cockpit skills list shows them")
        where = files.load(root, is_trusted(root))
        if name in where.words("skills.disabled"):
            print(f"{name} stays off: {where.origin('skills.disabled')} says so")
            return 1
        print(f"{name} is on" if was_off else f"{name} was not off")
        return 0
    if name not in known:
        raise CockpitError(f"there is no skill {name}", "cockpit skills list shows them")
    files.add_user_word(("skills", "disabled"), name)
    print(f"{name} is off; cockpit skills enable {name} switches it on")
    return 0
