"""`cockpit plugins doctor [NAME] [--json]`: what is wrong with plugins, where, and how to fix it. Changes
nothing.
"""

import argparse
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import pluggy

from cockpit.cli.command import add_options, escape_text, print_json
from cockpit.cli.plugins.inventory import SLOW_SECONDS, find_distribution, find_plugins, find_slowest_part
from cockpit.core.plugins.catalog import PluginCatalog, PluginState, build_catalog
from cockpit.installing import environment
from cockpit.installing.environment import find_distributions, find_own_distributions, normalize_name
from cockpit.plugin import discovery
from cockpit.plugin.discovery import load_plugins
from cockpit.plugin.hookspecs import HOOKS
from cockpit.settings import files, trust
from cockpit.settings.files import EffectiveSettings
from cockpit.suggestions import closest_names, did_you_mean


@dataclass(frozen=True, slots=True)
class PluginFinding:
    """A `fault` keeps a plugin or a part of it from working; a `note` is for information. `place` is
    `file:line in function`, `fix` the next thing to do."""

    plugin: str
    level: Literal["fault", "note"]
    what: str
    fix: str = ""
    place: str = ""


def find_problems(
    manager: pluggy.PluginManager, catalog: PluginCatalog, settings: EffectiveSettings
) -> list[PluginFinding]:
    """Everything that is wrong or unusual with the plugins of `catalog`, faults first."""
    own = find_own_distributions()
    folder = discovery.read_record().folder()
    beside = find_distributions([str(folder)]) if folder is not None and folder.is_dir() else {}
    problems: list[PluginFinding] = []
    for plugin in catalog.plugins:
        problems += _check_state(plugin)
        if plugin.found.state != "disabled":
            problems += _check_module(plugin, manager)
        if not plugin.found.is_ours:
            problems += _check_distribution(plugin, beside, own)
            problems += _check_values(plugin, catalog)
    problems += _check_disabled_names(catalog, settings)
    problems += _check_environment(beside, own)
    return sorted(dict.fromkeys(problems), key=lambda item: (item.level != "fault", item.plugin))


def _check_state(plugin: PluginState) -> Iterator[PluginFinding]:
    details = plugin.found
    if details.state == "failed":
        yield PluginFinding(details.name, "fault", details.reason, _suggest_fix(plugin), details.trace)
    if details.state == "loaded" and plugin.seconds >= SLOW_SECONDS:
        part = find_slowest_part(plugin)
        fix = "import heavy libraries inside the function that needs them"
        if not part.startswith("import"):
            fix = "a hook returns quickly: do the work in the function that is called later"
        took = f"it takes {plugin.seconds * 1000:.0f} ms at every start ({part})"
        yield PluginFinding(details.name, "note", took, fix)


def _suggest_fix(plugin: PluginState) -> str:
    """What to do about a plugin that failed."""
    reason, name = plugin.found.reason, plugin.found.name
    if missing := re.search(r"No module named '([\w.]+)'", reason):
        module = missing[1].partition(".")[0]
        if plugin.found.module.startswith(module):
            return "its entry point names a module that does not exist; see [project.entry-points.cockpit]"
        return f"add the package that provides `{module}` to the dependencies in its pyproject.toml"
    fixes = {
        "unknown hook": "rename the function; docs/extend/hooks.md lists the hooks",
        "PluginValidationError": "a hook takes only arguments named `register` and `scope`",
        "async def": "write `def` instead of `async def`",
        "is already used by": "remove one, or give it another name in [project.entry-points.cockpit]",
        "installed for Python": "cockpit plugins upgrade",
        "names no capabilities": "declare capabilities=frozenset({...}); see docs/extend/hooks.md",
    }
    for words, fix in fixes.items():
        if words in reason:
            return fix
    return f"report it to its author; until then: cockpit plugins disable {name}"


def _check_module(plugin: PluginState, manager: pluggy.PluginManager) -> Iterator[PluginFinding]:
    """Functions that look like hooks but lack the marker, so that they are never called."""
    module = manager.get_plugin(plugin.found.name)
    if module is None:
        return
    for name, value in vars(module).items():
        if not name.startswith("register_") or not inspect.isfunction(value):
            continue
        if value.__module__ != module.__name__ or hasattr(value, "cockpit_impl"):
            continue
        if closest_names(name, HOOKS):
            place = f"{value.__code__.co_filename}:{value.__code__.co_firstlineno} in {name}"
            what = f"{name} is never called, because it is not marked as a hook"
            yield PluginFinding(plugin.found.name, "fault", what, "write @hookimpl above it", place)


def _check_distribution(
    plugin: PluginState, beside: environment.Distributions, own: environment.Distributions
) -> Iterator[PluginFinding]:
    dist = find_distribution(plugin)
    for fault in environment.find_unmet_needs(dist, beside, own) if dist is not None else ():
        fix = f"cockpit plugins upgrade {plugin.found.name}" if plugin.found.beside else "pip check"
        yield PluginFinding(plugin.found.name, "fault", fault, fix)


def _check_values(plugin: PluginState, catalog: PluginCatalog) -> Iterator[PluginFinding]:
    name = plugin.found.name
    for entry in catalog.entries:
        if entry.plugin == name and entry.shadows:
            what = f"its {entry.hook.removeprefix('register_')}: {entry.name} hides that of {entry.shadows}"
            yield PluginFinding(name, "note", what)
    if plugin.found.state == "loaded" and not plugin.registers:
        fix = "check its README for settings it needs, or trust the folder"
        yield PluginFinding(name, "note", "it registers nothing in this folder", fix)
    for warning in catalog.warnings:
        # A value that lost its name to another plugin is not in `entries`; only the warning mentions it.
        twice = re.fullmatch(r"(\w+: .+) is registered by both (\S+) and (\S+); .*", warning)
        if twice and name in (twice[2], twice[3]):
            what = f"{twice[1]} is registered by {twice[2]} and by {twice[3]}; that of {twice[2]} is used"
            yield PluginFinding(name, "fault", what, f"cockpit plugins disable {twice[2]}")
        own = re.fullmatch(rf"(\w+: .+ is registered twice by {re.escape(name)}); .*", warning)
        if own:
            yield PluginFinding(name, "fault", own[1], "give one of the two another name")


def _check_disabled_names(catalog: PluginCatalog, settings: EffectiveSettings) -> Iterator[PluginFinding]:
    known = {plugin.found.name for plugin in catalog.plugins}
    for name in settings.words("plugins.disabled"):
        if name not in known:
            fix = did_you_mean(closest_names(name, known), "remove it from [plugins] disabled")
            yield PluginFinding(name, "note", "it is disabled in settings, but there is no such plugin", fix)


def _check_environment(
    beside: environment.Distributions, own: environment.Distributions
) -> Iterator[PluginFinding]:
    for name, modules in environment.find_hidden_modules(beside, own).items():
        what = f"its modules {', '.join(modules)} are hidden by those of cockpit's own environment"
        yield PluginFinding(name, "fault", what, "its author must rename them")
    for plugin in discovery.read_record().plugins:
        if beside and normalize_name(plugin.distribution) not in beside:
            what = f"{plugin.distribution} is recorded as installed, but its files are missing"
            fix = f"cockpit plugins install {plugin.source}"
            yield PluginFinding(plugin.distribution, "fault", what, fix)


LEVEL_LABELS = {"fault": "FAULT", "note": "note "}


def main(name: str, argv: Sequence[str]) -> int:
    """Exit code 0 if no plugin has a fault, else 1; notes do not count."""
    parser = argparse.ArgumentParser(prog="cockpit plugins doctor")
    parser.add_argument("name", nargs="?", default="", help="name of a plugin or of its distribution")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    root = str(Path.cwd())
    trusted = trust.is_trusted(root) is True
    settings = files.load_settings(root, trusted)
    manager, discovered = load_plugins(settings.words("plugins.disabled"))
    environment = files.load_environment(root, trusted)
    catalog = build_catalog(manager, discovered, root, settings, environment, trusted, lambda: None)
    rows = find_problems(manager, catalog, settings)
    if args.name:
        names = {plugin.found.name for plugin in find_plugins(args.name, catalog)}
        rows = [row for row in rows if row.plugin in names]
    if args.json:
        print_json([asdict(row) for row in rows])
    else:
        installed = sum(not plugin.found.is_ours for plugin in catalog.plugins)
        plugins = f"{len(catalog.plugins)} plugins, {installed} of them installed"
        print(f"{plugins}; {len(rows) or 'no'} findings")
        _print_findings(rows)
    return 1 if any(row.level == "fault" for row in rows) else 0


def _print_findings(rows: list[PluginFinding]) -> None:
    for row in rows:
        print(escape_text(f"{LEVEL_LABELS[row.level]} {row.plugin}: {row.what}"))
        if row.place:
            print(escape_text(f"      at {row.place}"))
        if row.fix:
            print(escape_text(f"      -> {row.fix}"))
