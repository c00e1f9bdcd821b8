"""Finding and loading plugins by entry point. Loads them one by one, so that one bad plugin is one
bad plugin. Refuses to register anything: that is the catalog's part, per root (core/catalog.py).
"""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Literal

import pluggy

from cockpit.plugin import hookspecs

GROUP = "cockpit"
OURS = "cockpit-agent"


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin that has an entry point. `seconds` is what loading took."""

    name: str
    distribution: str
    version: str
    state: Literal["loaded", "failed", "disabled"]
    reason: str = ""
    seconds: float = 0.0

    @property
    def is_ours(self) -> bool:
        return self.distribution == OURS


def load(disabled: Collection[str] = ()) -> tuple[pluggy.PluginManager, tuple[Found, ...]]:
    """Load every plugin that is not disabled.

    The environment's `COCKPIT_PLUGINS`, where set, is a comma-separated list of the foreign plugins
    to load; empty loads ours only.
    """
    manager = pluggy.PluginManager("cockpit")
    manager.add_hookspecs(hookspecs)
    wanted = _wanted()
    found: list[Found] = []
    taken: dict[str, str] = {}
    for point, distribution, version in sorted(_points(), key=lambda one: (one[1] != OURS, one[0].name)):
        name = point.name
        plugin = Found(name, distribution, version, "disabled")
        if distribution != OURS and wanted is not None and name not in wanted:
            found.append(replace(plugin, reason="not named in COCKPIT_PLUGINS"))
        elif name in disabled:
            found.append(replace(plugin, reason="switched off in settings ([plugins] disabled)"))
        elif name in taken:
            reason = f"the name {name} is taken by {taken[name]}"
            found.append(replace(plugin, state="failed", reason=reason))
        else:
            taken[name] = distribution
            found.append(_load(manager, point, plugin))
    return manager, tuple(found)


def _wanted() -> frozenset[str] | None:
    named = os.environ.get("COCKPIT_PLUGINS")
    if named is None:
        return None
    return frozenset(name.strip() for name in named.split(",") if name.strip())


def _points() -> list[tuple[metadata.EntryPoint, str, str]]:
    """Every entry point, with its distribution's name and version."""
    found: list[tuple[metadata.EntryPoint, str, str]] = []
    # Name and version each parse the whole METADATA, and the points of one distribution share it.
    known: dict[int, tuple[str, str]] = {}
    for point in metadata.entry_points(group=GROUP):
        dist = point.dist
        if dist is not None and id(dist) not in known:
            known[id(dist)] = dist.name, dist.version
        found.append((point, *known.get(id(dist), ("unknown", ""))))
    return found


def _load(manager: pluggy.PluginManager, point: metadata.EntryPoint, plugin: Found) -> Found:
    started = time.perf_counter()
    try:
        manager.register(point.load(), name=point.name)
        _refuse_unknown_hooks(manager, point.name)
    # Foreign code: whatever it raises at import (also `sys.exit`) must not take the others with it.
    except (Exception, SystemExit) as error:
        if manager.has_plugin(point.name):
            manager.unregister(name=point.name)
        reason = f"{type(error).__name__}: {error}"
        return replace(plugin, state="failed", reason=reason, seconds=time.perf_counter() - started)
    return replace(plugin, state="loaded", seconds=time.perf_counter() - started)


def _refuse_unknown_hooks(manager: pluggy.PluginManager, name: str) -> None:
    for caller in manager.get_hookcallers(manager.get_plugin(name)) or ():
        if not caller.has_spec():
            raise AttributeError(f"there is no hook {caller.name}; see docs/hooks.md")
