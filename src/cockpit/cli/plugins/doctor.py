"""`cockpit plugins doctor [NAME] [--json]`: what is wrong with plugins, where, and how to fix it. Changes
nothing.
"""

import argparse
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution
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
    """A `fault` keeps a plugin or a part of it from working; a `note` is only worth knowing. `place` is
    `file:line in function`, `mend` the next thing to do."""

    plugin: str
    level: Literal["fault", "note"]
    what: str
    mend: str = ""
    place: str = ""


def find_problems(
    manager: pluggy.PluginManager, catalog: PluginCatalog, settings: EffectiveSettings
) -> list[PluginFinding]:
    """Everything that is wrong or odd with the plugins of `catalog`, faults first."""
    own = find_own_distributions()
    folder = discovery.read_record().folder()
    beside = find_distributions([str(folder)]) if folder is not None and folder.is_dir() else {}
    problems: list[PluginFinding] = []
    for plugin in catalog.plugins:
        problems += _check_state(plugin, own)
        if plugin.found.state != "disabled":
            problems += _check_module(plugin, manager)
        if not plugin.found.is_ours:
            problems += _check_distribution(plugin, beside, own)
            problems += _check_values(plugin, catalog)
    problems += _check_disabled_names(catalog, settings)
    problems += _check_environment(beside, own)
    return sorted(dict.fromkeys(problems), key=lambda item: (item.level != "fault", item.plugin))


def _check_state(plugin: PluginState, own: environment.Distributions) -> Iterator[PluginFinding]:
    if plugin.found.state == "failed":
        yield PluginFinding(
            plugin.found.name, "fault", plugin.found.reason, _suggest_remedy(plugin, own), plugin.found.trace
        )
    if plugin.found.state == "loaded" and plugin.seconds >= SLOW_SECONDS:
        part = find_slowest_part(plugin)
        mend = "import heavy libraries inside the function that needs them"
        if not part.startswith("import"):
            mend = "a hook returns quickly: do the work in the function that is called later"
        took = f"it takes {plugin.seconds * 1000:.0f} ms at every start ({part})"
        yield PluginFinding(plugin.found.name, "note", took, mend)


def _suggest_remedy(plugin: PluginState, own: environment.Distributions) -> str:
    """What to do about a plugin that failed."""
    reason, name = plugin.found.reason, plugin.found.name
    if missing := re.search(r"No module named '([\w.]+)'", reason):
        module = missing[1].partition(".")[0]
        if plugin.found.module.startswith(module):
            return "its entry point names a module that does not exist; see [project.entry-points.cockpit]"
        return f"its pyproject.toml does not name what brings `{module}` among its dependencies"
    remedies = {
        "unknown hook": "rename the function; docs/extend/hooks.md lists the hooks",
        "PluginValidationError": "a hook takes `register` and `scope`, by these names, or either of them",
        "async def": "write `def` in place of `async def`",
        "is already used by": "remove one, or give it another name in [project.entry-points.cockpit]",
        "installed for Python": "cockpit plugins upgrade",
        "names no capabilities": "declare capabilities=frozenset({...}); see docs/extend/hooks.md",
    }
    for words, remedy in remedies.items():
        if words in reason:
            return remedy
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
            what = f"{name} is never called: it is not marked"
            yield PluginFinding(plugin.found.name, "fault", what, "write @hookimpl above it", place)


def _check_distribution(
    plugin: PluginState, beside: environment.Distributions, own: environment.Distributions
) -> Iterator[PluginFinding]:
    dist: Distribution | None = find_distribution(plugin)
    if dist is None:
        return
    for fault in environment.find_unmet_needs(dist, beside, own):
        mend = f"cockpit plugins upgrade {plugin.found.name}" if plugin.found.beside else "pip check"
        yield PluginFinding(plugin.found.name, "fault", fault, mend)


def _check_values(plugin: PluginState, catalog: PluginCatalog) -> Iterator[PluginFinding]:
    mine = [entry for entry in catalog.entries if entry.plugin == plugin.found.name]
    for entry in mine:
        kind = entry.hook.removeprefix("register_")
        if entry.shadows:
            yield PluginFinding(
                plugin.found.name, "note", f"its {kind}: {entry.name} hides that of {entry.shadows}"
            )
    if plugin.found.state == "loaded" and not plugin.registers:
        mend = "check its README for settings it needs, or trust the folder"
        yield PluginFinding(plugin.found.name, "note", "it registers nothing in this folder", mend)
    for warning in catalog.warnings:
        # A value that lost its name to another plugin is not in `entries`; only the warning mentions it.
        twice = re.fullmatch(r"(\w+: .+) is registered by both (\S+) and (\S+); the one of .*", warning)
        if twice and plugin.found.name in (twice[2], twice[3]):
            what = f"{twice[1]} is registered by {twice[2]} and by {twice[3]}; the one of {twice[2]} is used"
            yield PluginFinding(plugin.found.name, "fault", what, f"cockpit plugins disable {twice[2]}")
        own = re.fullmatch(rf"(\w+: .+ is registered twice by {re.escape(plugin.found.name)}); .*", warning)
        if own:
            yield PluginFinding(plugin.found.name, "fault", own[1], "give one of the two another name")


def _check_disabled_names(catalog: PluginCatalog, settings: EffectiveSettings) -> Iterator[PluginFinding]:
    known = {plugin.found.name for plugin in catalog.plugins}
    for name in settings.words("plugins.disabled"):
        if name not in known:
            mend = did_you_mean(closest_names(name, known), "remove it from [plugins] disabled")
            yield PluginFinding(name, "note", "it is disabled in settings, but there is no such plugin", mend)


def _check_environment(
    beside: environment.Distributions, own: environment.Distributions
) -> Iterator[PluginFinding]:
    for name, modules in environment.find_hidden_modules(beside, own).items():
        what = f"its modules {', '.join(modules)} are hidden by those of cockpit's own environment"
        yield PluginFinding(name, "fault", what, "its author must rename them")
    for plugin in discovery.read_record().plugins:
        if beside and normalize_name(plugin.distribution) not in beside:
            what = f"{plugin.distribution} is in the record but not in its folder"
            yield PluginFinding(
                plugin.distribution, "fault", what, f"cockpit plugins install {plugin.source}"
            )


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
        print_json([asdict(element) for element in rows])
    else:
        installed = sum(not entry.found.is_ours for entry in catalog.plugins)
        _print_findings(rows, len(catalog.plugins), installed)
    return 1 if any(item.level == "fault" for item in rows) else 0


def _print_findings(rows: list[PluginFinding], plugins: int, installed: int) -> None:
    print(f"{plugins} plugins, {installed} of them installed; {len(rows) or 'no'} findings")
    for row in rows:
        print(f"{LEVEL_LABELS[row.level]} {escape_text(row.plugin)}: {escape_text(row.what)}")
        if row.place:
            print(f"      at {escape_text(row.place)}")
        if row.mend:
            print(f"      -> {escape_text(row.mend)}")
