"""What is registered for one root: every plugin asked, one by one, layered and shadowed.

Within one layer the same name twice is an error that names both plugins; a higher layer (built-in <
plugin < user < project) hides a lower one. Plugins' code runs here in a worker thread.
"""

import contextlib
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

import pluggy

from cockpit import paths
from cockpit.core.command_names import kept_apart
from cockpit.core.metering import Meter
from cockpit.core.skill_entries import with_skills
from cockpit.plugin.discovery import Found, place_of
from cockpit.plugin.hookspecs import HOOKS
from cockpit.plugin.origin import Fault, Layer, Origin, Unloaded
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Scope, Source, name_of
from cockpit.settings.files import Settings

T = TypeVar("T")
LAYERS: tuple[Layer, ...] = ("built-in", "plugin", "user", "project", "flags", "managed")


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered value: who brought it, in which layer, and what it hides (`hides`: the files)."""

    hook: str
    name: str
    value: object
    plugin: str
    layer: Layer
    shadows: str = ""
    origin: Origin | None = None
    hides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginState:
    """A plugin after registration: `found.state` turns to failed when a hook of it raised.

    `hooks` are the seconds that each of its hooks took, beside `found.seconds` for loading it.
    """

    found: Found
    registers: tuple[str, ...] = ()
    seconds: float = 0.0
    hooks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything registered for a root. Built whole, never changed: a reload builds another.

    `unloaded` are, by hook, the files that gave no value, `faults` what of any file was refused. `meter`
    counts what calls cost from now on.
    """

    entries: tuple[Entry, ...]
    plugins: tuple[PluginState, ...]
    warnings: tuple[str, ...]
    by_hook: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)
    unloaded: Mapping[str, tuple[Unloaded, ...]] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    faults: tuple[Fault, ...] = ()

    def all(self, cls: type[T]) -> tuple[T, ...]:
        """Every value of a class that no higher layer hides, in the order of registration."""
        hook = _HOOK_OF[cls]
        return tuple(cast("T", entry.value) for entry in self.by_hook.get(hook, {}).values())

    def get(self, cls: type[T], name: str) -> T | None:
        entry = self.by_hook.get(_HOOK_OF[cls], {}).get(name)
        return None if entry is None else cast("T", entry.value)

    def owner(self, cls: type, name: str) -> str:
        """The plugin that registered `name`, or empty."""
        entry = self.by_hook.get(_HOOK_OF[cls], {}).get(name)
        return "" if entry is None else entry.plugin


_HOOK_OF: dict[type, str] = {cls: hook for hook, cls in HOOKS.items()}


@dataclass(slots=True)
class _Collector:
    """The `register` that one plugin's hook is given."""

    hook: str
    plugin: str
    layer: Layer
    scope: Scope
    on_change: Callable[[], None]
    meter: Meter
    entries: list[Entry] = field(default_factory=list)
    unloaded: list[Unloaded] = field(default_factory=list)

    def __call__(self, value: object) -> None:
        if isinstance(value, Source):
            for one in cast("Iterable[object]", value.find(self.scope)):
                if isinstance(one, Unloaded):
                    self.unloaded.append(one)
                else:
                    self._take(one, value.layer)
            return
        self._take(value, self.layer)

    def changed(self) -> None:
        self.on_change()

    def _take(self, value: object, layer: Layer) -> None:
        expected = HOOKS[self.hook]
        if not isinstance(value, expected):
            raise TypeError(f"{self.hook} takes a {expected.__name__}, not a {type(value).__name__}")
        if isinstance(value, Tool) and not value.capabilities:
            raise ValueError(f"tool {value.name} names no capabilities, so it is not exposed")
        origin = getattr(value, "origin", None)
        if isinstance(origin, Origin):
            layer = origin.layer
        else:
            origin = None
        name, value = name_of(value), self.meter.metered(value, self.plugin, self.hook)
        self.entries.append(Entry(self.hook, name, value, self.plugin, layer, origin=origin))


def build(
    manager: pluggy.PluginManager,
    found: tuple[Found, ...],
    root: str,
    settings: Settings,
    environment: Mapping[str, str],
    trusted: bool,
    on_change: Callable[[], None],
    meter: Meter | None = None,
) -> Catalog:
    """Ask every loaded plugin what it registers for `root`. Runs foreign code: call it in a thread."""
    meter = Meter() if meter is None else meter
    entries: list[Entry] = []
    states: list[PluginState] = []
    warnings: list[str] = []
    unloaded: dict[str, tuple[Unloaded, ...]] = {}
    for plugin in found:
        if plugin.state != "loaded":
            states.append(PluginState(plugin, (), plugin.seconds))
            if plugin.state == "failed":
                warnings.append(f"plugin {plugin.name} ({plugin.distribution}): {plugin.reason}")
            continue
        scope = scope_of(plugin.name, root, settings, environment, trusted)
        state, mine = _asked(manager, plugin, scope, on_change, meter, unloaded)
        if state.found.state == "failed":
            warnings.append(f"plugin {plugin.name} ({plugin.distribution}): {state.found.reason}")
        states.append(state)
        entries += mine
    named = kept_apart(with_skills(entries, settings.words("skills.disabled")))
    kept = _layered(named, warnings)
    by_hook: dict[str, dict[str, Entry]] = {hook: {} for hook in HOOKS}
    for entry in kept:
        by_hook[entry.hook][entry.name] = entry
    faults = _faults(kept, unloaded)
    return Catalog(tuple(kept), tuple(states), tuple(warnings), by_hook, unloaded, meter, faults)


def _faults(kept: list[Entry], unloaded: Mapping[str, tuple[Unloaded, ...]]) -> tuple[Fault, ...]:
    """What of files was refused, each once."""
    origins = [entry.origin for entry in kept if entry.origin is not None]
    origins += [one.origin for ones in unloaded.values() for one in ones]
    return tuple(dict.fromkeys(fault for origin in origins for fault in origin.refused))


def scope_of(
    plugin: str, root: str, settings: Settings, environment: Mapping[str, str], trusted: bool
) -> Scope:
    """The scope of one plugin at one root."""
    table = settings.table(f"plugins.{plugin}")
    return Scope(
        root=root,
        trusted=trusted,
        settings=cast("Mapping[str, None]", table),
        cache=str(paths.cache() / "plugins" / plugin),
        state=str(Path(paths.state()) / "plugins" / plugin),
        environment=environment,
    )


def _asked(
    manager: pluggy.PluginManager,
    plugin: Found,
    scope: Scope,
    on_change: Callable[[], None],
    meter: Meter,
    unloaded: dict[str, tuple[Unloaded, ...]],
) -> tuple[PluginState, list[Entry]]:
    """What one plugin registers, hook by hook, and what each took."""
    module = manager.get_plugin(plugin.name)
    layer: Layer = "built-in" if plugin.is_ours else "plugin"
    entries: list[Entry] = []
    failures: list[str] = []
    took: dict[str, float] = {}
    trace = ""
    for hook in HOOKS:
        for one in getattr(manager.hook, hook).get_hookimpls():
            if one.plugin is not module:
                continue
            register = _Collector(hook, plugin.name, layer, scope, on_change, meter, entries)
            given = {"register": register, "scope": scope}
            started = time.perf_counter()
            try:
                # What it prints is no part of an answer that somebody reads from stdout.
                with contextlib.redirect_stdout(sys.stderr):
                    _refuse_a_coroutine(one.function(*(given[name] for name in one.argnames)))
            # Foreign code: one hook that raises (also `sys.exit`) leaves the plugin's others and everybody's.
            except (Exception, SystemExit) as error:
                failures.append(f"{hook}: {type(error).__name__}: {error}")
                trace = trace or place_of(error.__traceback__)
            took[hook] = time.perf_counter() - started
            if register.unloaded:
                unloaded[hook] = (*unloaded.get(hook, ()), *register.unloaded)
    if failures:
        plugin = replace(plugin, state="failed", reason="; ".join(failures), trace=trace)
    names = tuple(f"{entry.hook.removeprefix('register_')}: {entry.name}" for entry in entries)
    return PluginState(plugin, names, plugin.seconds + sum(took.values()), took), entries


def _refuse_a_coroutine(answer: object) -> None:
    """A hook that is `async def` has done nothing: nobody awaits it."""
    if inspect.iscoroutine(answer):
        answer.close()
        raise TypeError("it is `async def`; hooks are plain functions, what they register may be async")


def _layered(entries: list[Entry], warnings: list[str]) -> list[Entry]:
    """The entries in force: the first of a layer, the highest of the layers."""
    kept: dict[tuple[str, str], Entry] = {}
    for entry in sorted(entries, key=lambda one: LAYERS.index(one.layer)):
        key = entry.hook, entry.name
        below = kept.get(key)
        if below is not None and below.layer == entry.layer:
            kind = entry.hook.removeprefix("register_")
            both = f"registered by both {below.plugin} and {entry.plugin}; the one of {below.plugin} is used"
            said = f"{both}; switch one of them off in settings"
            if below.plugin == entry.plugin:
                said = f"registered twice by {entry.plugin}; the first is used; rename the other one"
            warnings.append(f"{kind}: {entry.name} is {said}")
            continue
        shadows = f"{below.layer} ({below.plugin})" if below else ""
        hides = entry.origin.shadows if entry.origin else ()
        if below is not None:
            hides = (*hides, *((below.origin.file,) if below.origin else ()), *below.hides)
        kept[key] = replace(entry, shadows=shadows, hides=hides)
    return list(kept.values())
