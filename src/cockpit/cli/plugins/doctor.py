"""What can be wrong with a plugin, found by looking at what it became. Changes nothing.

`cockpit plugins doctor [NAME] [--json]`: what is wrong with plugins, where, and what mends it.
"""

import argparse
import difflib
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import Literal

import pluggy

from cockpit.cli.command import escape_text
from cockpit.cli.plugins.inventory import SLOW_SECONDS, find_distribution, find_plugins, find_slowest_part
from cockpit.core.plugins.catalog import PluginCatalog, PluginState, build_catalog
from cockpit.installing import environment
from cockpit.installing.environment import find_distributions, find_own_distributions, normalize_name
from cockpit.plugin import discovery
from cockpit.plugin.discovery import load_plugins
from cockpit.plugin.hookspecs import HOOKS
from cockpit.settings import files, trust
from cockpit.settings.files import EffectiveSettings


@dataclass(frozen=True, slots=True)
class PluginFinding:
    """A `fault` keeps a plugin, or a part of it, from working; a `note` is worth knowing. `place` is
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
    found: list[PluginFinding] = []
    for one in catalog.plugins:
        found += _check_state(one, own)
        if one.found.state != "disabled":
            found += _check_module(one, manager)
        if not one.found.is_ours:
            found += _check_distribution(one, beside, own)
            found += _check_values(one, catalog)
    found += _check_disabled_names(catalog, settings)
    found += _check_environment(beside, own)
    return sorted(dict.fromkeys(found), key=lambda one: (one.level != "fault", one.plugin))


def _check_state(one: PluginState, own: environment.Distributions) -> Iterator[PluginFinding]:
    if one.found.state == "failed":
        yield PluginFinding(
            one.found.name, "fault", one.found.reason, _suggest_remedy(one, own), one.found.trace
        )
    if one.found.state == "loaded" and one.seconds >= SLOW_SECONDS:
        part = find_slowest_part(one)
        mend = "import heavy libraries inside the function that needs them"
        if not part.startswith("import"):
            mend = "a hook returns quickly: do the work in the function that is called later"
        took = f"it takes {one.seconds * 1000:.0f} ms at every start ({part})"
        yield PluginFinding(one.found.name, "note", took, mend)


def _suggest_remedy(one: PluginState, own: environment.Distributions) -> str:
    """The next thing to do about a plugin that failed."""
    reason, name = one.found.reason, one.found.name
    if missing := re.search(r"No module named '([\w.]+)'", reason):
        module = missing[1].partition(".")[0]
        if one.found.module.startswith(module):
            return "its entry point names a module that is not there; see [project.entry-points.cockpit]"
        return f"its pyproject.toml does not name what brings `{module}` among its dependencies"
    remedies = {
        "there is no hook": "rename the function; docs/hooks.md lists the hooks",
        "PluginValidationError": "a hook takes `register` and `scope`, by these names, or one of them",
        "async def": "write `def` in place of `async def`",
        "is taken by": "give one of the two another name in [project.entry-points.cockpit], or remove it",
        "installed for Python": "cockpit plugins upgrade",
        "names no capabilities": "say what the tool can do: capabilities=frozenset({...}), docs/hooks.md",
    }
    for words, remedy in remedies.items():
        if words in reason:
            return remedy
    return f"tell its author; until then: cockpit plugins disable {name}"


def _check_module(one: PluginState, manager: pluggy.PluginManager) -> Iterator[PluginFinding]:
    """Functions that look like hooks and are none: without the mark nobody calls them."""
    module = manager.get_plugin(one.found.name)
    if module is None:
        return
    for name, value in vars(module).items():
        if not name.startswith("register_") or not inspect.isfunction(value):
            continue
        if value.__module__ != module.__name__ or hasattr(value, "cockpit_impl"):
            continue
        near = difflib.get_close_matches(name, HOOKS, 1)
        if near:
            place = f"{value.__code__.co_filename}:{value.__code__.co_firstlineno} in {name}"
            what = f"{name} is never called: it is not marked"
            yield PluginFinding(one.found.name, "fault", what, "write @hookimpl above it", place)


def _check_distribution(
    one: PluginState, beside: environment.Distributions, own: environment.Distributions
) -> Iterator[PluginFinding]:
    dist: Distribution | None = find_distribution(one)
    if dist is None:
        return
    for fault in environment.find_unmet_needs(dist, beside, own):
        mend = f"cockpit plugins upgrade {one.found.name}" if one.found.beside else "pip check"
        yield PluginFinding(one.found.name, "fault", fault, mend)


def _check_values(one: PluginState, catalog: PluginCatalog) -> Iterator[PluginFinding]:
    mine = [entry for entry in catalog.entries if entry.plugin == one.found.name]
    for entry in mine:
        kind = entry.hook.removeprefix("register_")
        if entry.shadows:
            yield PluginFinding(
                one.found.name, "note", f"its {kind}: {entry.name} hides that of {entry.shadows}"
            )
    if one.found.state == "loaded" and not one.registers:
        mend = "look into its README for settings it needs, or trust the folder"
        yield PluginFinding(one.found.name, "note", "it registers nothing in this folder", mend)
    for warning in catalog.warnings:
        # One that lost its name to another is not in `entries`: only the warning tells of it.
        twice = re.fullmatch(r"(\w+: .+) is registered by both (\S+) and (\S+); the one of .*", warning)
        if twice and one.found.name in (twice[2], twice[3]):
            what = f"{twice[1]} is registered by {twice[2]} and by {twice[3]}; the one of {twice[2]} is used"
            yield PluginFinding(one.found.name, "fault", what, f"cockpit plugins disable {twice[2]}")
        own = re.fullmatch(rf"(\w+: .+ is registered twice by {re.escape(one.found.name)}); .*", warning)
        if own:
            yield PluginFinding(one.found.name, "fault", own[1], "give one of the two another name")


def _check_disabled_names(catalog: PluginCatalog, settings: EffectiveSettings) -> Iterator[PluginFinding]:
    known = {one.found.name for one in catalog.plugins}
    for name in settings.words("plugins.disabled"):
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            mend = f"did you mean {near[0]}?" if near else "take it out of [plugins] disabled"
            yield PluginFinding(
                name, "note", "it is switched off in settings, and there is no such plugin", mend
            )


def _check_environment(
    beside: environment.Distributions, own: environment.Distributions
) -> Iterator[PluginFinding]:
    for name, modules in environment.find_hidden_modules(beside, own).items():
        what = f"its modules {', '.join(modules)} are hidden by those of cockpit's own environment"
        yield PluginFinding(name, "fault", what, "its author has to rename them")
    for one in discovery.read_record().plugins:
        if beside and normalize_name(one.distribution) not in beside:
            what = f"{one.distribution} is in the record and not in its folder"
            yield PluginFinding(one.distribution, "fault", what, f"cockpit plugins install {one.source}")


LEVEL_LABELS = {"fault": "FAULT", "note": "note "}


def main(name: str, argv: Sequence[str]) -> int:
    """0 when no plugin has a fault, else 1; notes are none."""
    parser = argparse.ArgumentParser(prog="cockpit plugins doctor")
    parser.add_argument("name", nargs="?", default="", help="of one plugin, or of its distribution")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(list(argv))
    root = str(Path.cwd())
    trusted = trust.is_trusted(root) is True
    settings = files.load_settings(root, trusted)
    manager, found = load_plugins(settings.words("plugins.disabled"))
    environment = files.load_environment(root, trusted)
    catalog = build_catalog(manager, found, root, settings, environment, trusted, lambda: None)
    rows = find_problems(manager, catalog, settings)
    if given.name:
        names = {one.found.name for one in find_plugins(given.name, catalog)}
        rows = [one for one in rows if one.plugin in names]
    if given.json:
        print(json.dumps([asdict(one) for one in rows], ensure_ascii=False))
    else:
        foreign = sum(not one.found.is_ours for one in catalog.plugins)
        _print_findings(rows, len(catalog.plugins), foreign)
    return 1 if any(one.level == "fault" for one in rows) else 0


def _print_findings(rows: list[PluginFinding], plugins: int, foreign: int) -> None:
    print(f"{plugins} plugins, {foreign} of them installed; {len(rows) or 'no'} findings")
    for one in rows:
        print(f"{LEVEL_LABELS[one.level]} {escape_text(one.plugin)}: {escape_text(one.what)}")
        if one.place:
            print(f"      at {escape_text(one.place)}")
        if one.mend:
            print(f"      -> {escape_text(one.mend)}")
