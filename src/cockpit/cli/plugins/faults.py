"""What can be wrong with a plugin, found by looking at what it became. Changes nothing."""

import difflib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution
from typing import Literal

import pluggy

from cockpit.cli.plugins.info import distribution_of
from cockpit.cli.plugins.listing import SLOW, slowest
from cockpit.core.catalog import Catalog, PluginState
from cockpit.installing import needs
from cockpit.installing.environment import distributions, normal, own_distributions
from cockpit.plugin import installed
from cockpit.plugin.hookspecs import HOOKS
from cockpit.settings.files import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    """A `fault` keeps a plugin, or a part of it, from working; a `note` is worth knowing. `place` is
    `file:line in function`, `mend` the next thing to do."""

    plugin: str
    level: Literal["fault", "note"]
    what: str
    mend: str = ""
    place: str = ""


def findings(manager: pluggy.PluginManager, catalog: Catalog, settings: Settings) -> list[Finding]:
    """Everything that is wrong or odd with the plugins of `catalog`, faults first."""
    own = own_distributions()
    folder = installed.read().folder()
    beside = distributions([str(folder)]) if folder is not None and folder.is_dir() else {}
    found: list[Finding] = []
    for one in catalog.plugins:
        found += _of_state(one, own)
        if one.found.state != "disabled":
            found += _of_module(one, manager)
        if not one.found.is_ours:
            found += _of_distribution(one, beside, own)
            found += _of_values(one, catalog)
    found += _of_names(catalog, settings)
    found += _of_environment(beside, own)
    return sorted(dict.fromkeys(found), key=lambda one: (one.level != "fault", one.plugin))


def _of_state(one: PluginState, own: needs.Distributions) -> Iterator[Finding]:
    if one.found.state == "failed":
        yield Finding(one.found.name, "fault", one.found.reason, _remedy(one, own), one.found.trace)
    if one.found.state == "loaded" and one.seconds >= SLOW:
        part = slowest(one)
        mend = "import heavy libraries inside the function that needs them"
        if not part.startswith("import"):
            mend = "a hook returns quickly: do the work in the function that is called later"
        took = f"it takes {one.seconds * 1000:.0f} ms at every start ({part})"
        yield Finding(one.found.name, "note", took, mend)


def _remedy(one: PluginState, own: needs.Distributions) -> str:
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


def _of_module(one: PluginState, manager: pluggy.PluginManager) -> Iterator[Finding]:
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
            yield Finding(one.found.name, "fault", what, "write @hookimpl above it", place)


def _of_distribution(
    one: PluginState, beside: needs.Distributions, own: needs.Distributions
) -> Iterator[Finding]:
    dist: Distribution | None = distribution_of(one)
    if dist is None:
        return
    for fault in needs.faults_of(dist, beside, own):
        mend = f"cockpit plugins upgrade {one.found.name}" if one.found.beside else "pip check"
        yield Finding(one.found.name, "fault", fault, mend)


def _of_values(one: PluginState, catalog: Catalog) -> Iterator[Finding]:
    mine = [entry for entry in catalog.entries if entry.plugin == one.found.name]
    for entry in mine:
        kind = entry.hook.removeprefix("register_")
        if entry.shadows:
            yield Finding(one.found.name, "note", f"its {kind}: {entry.name} hides that of {entry.shadows}")
    if one.found.state == "loaded" and not one.registers:
        mend = "look into its README for settings it needs, or trust the folder"
        yield Finding(one.found.name, "note", "it registers nothing in this folder", mend)
    for warning in catalog.warnings:
        # One that lost its name to another is not in `entries`: only the warning tells of it.
        twice = re.fullmatch(r"(\w+: .+) is registered by both (\S+) and (\S+); the one of .*", warning)
        if twice and one.found.name in (twice[2], twice[3]):
            what = f"{twice[1]} is registered by {twice[2]} and by {twice[3]}; the one of {twice[2]} is used"
            yield Finding(one.found.name, "fault", what, f"cockpit plugins disable {twice[2]}")
        own = re.fullmatch(rf"(\w+: .+ is registered twice by {re.escape(one.found.name)}); .*", warning)
        if own:
            yield Finding(one.found.name, "fault", own[1], "give one of the two another name")


def _of_names(catalog: Catalog, settings: Settings) -> Iterator[Finding]:
    known = {one.found.name for one in catalog.plugins}
    for name in settings.words("plugins.disabled"):
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            mend = f"did you mean {near[0]}?" if near else "take it out of [plugins] disabled"
            yield Finding(name, "note", "it is switched off in settings, and there is no such plugin", mend)


def _of_environment(beside: needs.Distributions, own: needs.Distributions) -> Iterator[Finding]:
    for name, modules in needs.hidden(beside, own).items():
        what = f"its modules {', '.join(modules)} are hidden by those of cockpit's own environment"
        yield Finding(name, "fault", what, "its author has to rename them")
    for one in installed.read().plugins:
        if beside and normal(one.distribution) not in beside:
            what = f"{one.distribution} is in the record and not in its folder"
            yield Finding(one.distribution, "fault", what, f"cockpit plugins install {one.source}")
