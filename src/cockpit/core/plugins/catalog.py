"""What plugins registered for one root, layered and shadowed, and what their hooks cost.

Within one layer the same name twice is an error that names both plugins; a higher layer (built-in < plugin <
user < project) hides a lower one. A file's command never takes the name of a command registered in code,
because users may type secrets after such names; it is renamed to `/layer:name`. Every skill that a user may
use gets a command. Plugin code runs here in a worker thread.
"""

import contextlib
import inspect
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import pluggy

from cockpit import paths
from cockpit.plugin.context import Context
from cockpit.plugin.discovery import DiscoveredPlugin, place_of
from cockpit.plugin.hookspecs import HOOKS
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded
from cockpit.plugin.safety import Decider, Guard
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import (
    Command,
    CommandAnswer,
    ContextSource,
    Invoked,
    Observer,
    Scope,
    Skill,
    Source,
    name_of,
)
from cockpit.settings.files import EffectiveSettings

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class HookCost:
    """Wall time in seconds, waiting included; `longest` is the slowest of the `calls`."""

    calls: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def add(self, seconds: float) -> None:
        self.calls += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)


@dataclass(slots=True)
class PluginMeter:
    """The costs of one deck, kept when its catalogs are built again."""

    spent: dict[tuple[str, str], HookCost] = field(default_factory=dict)

    def of(self, plugin: str) -> dict[str, HookCost]:
        """What the hooks of a plugin have cost."""
        return {hook: spent for (name, hook), spent in self.spent.items() if name == plugin}

    def metered(self, value: object, plugin: str, hook: str) -> object:
        """`value` with its function timed, for kinds that are called for every request, call or event."""
        match value:
            case Guard():
                return replace(value, check=self._timed(value.check, plugin, hook))
            case Decider():
                return replace(value, decide=self._timed(value.decide, plugin, hook))
            case ContextSource():
                return replace(value, collect=self._timed(value.collect, plugin, hook))
            case Observer():
                return replace(value, see=self._timed(value.see, plugin, hook))
            case _:
                return value

    def _timed(
        self, function: Callable[P, Awaitable[R]], plugin: str, hook: str
    ) -> Callable[P, Awaitable[R]]:
        spent = self.spent.setdefault((plugin, hook), HookCost())

        async def timed(*given: P.args, **named: P.kwargs) -> R:
            started = time.perf_counter()
            try:
                return await function(*given, **named)
            finally:
                spent.add(time.perf_counter() - started)

        return timed


T = TypeVar("T")
LAYERS: tuple[Layer, ...] = ("built-in", "plugin", "user", "project", "flags", "managed")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A registered value: who registered it, in which layer, and the files it hides (`hides`)."""

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
    """A plugin after registration. `found.state` is failed when one of its hooks raised. `hooks` are the
    seconds each hook took, in addition to `found.seconds` for loading it."""

    found: DiscoveredPlugin
    registers: tuple[str, ...] = ()
    seconds: float = 0.0
    hooks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PluginCatalog:
    """Everything registered for a root. Never changed: a reload builds another catalog.

    `unloaded` are, by hook, the files that gave no value; `faults` are the rejected parts of files. `meter`
    counts what calls cost from now on.
    """

    entries: tuple[CatalogEntry, ...]
    plugins: tuple[PluginState, ...]
    warnings: tuple[str, ...]
    by_hook: Mapping[str, Mapping[str, CatalogEntry]] = field(default_factory=dict)
    unloaded: Mapping[str, tuple[Unloaded, ...]] = field(default_factory=dict)
    meter: PluginMeter = field(default_factory=PluginMeter)
    faults: tuple[FileProblem, ...] = ()

    def all(self, cls: type[T]) -> tuple[T, ...]:
        """Every value of a class that no higher layer hides, in the order of registration."""
        hook = _HOOK_OF[cls]
        return tuple(cast("T", entry.value) for entry in self.by_hook.get(hook, {}).values())

    def get(self, cls: type[T], name: str) -> T | None:
        entry = self.by_hook.get(_HOOK_OF[cls], {}).get(name)
        return None if entry is None else cast("T", entry.value)

    def owner(self, cls: type, name: str) -> str:
        """The plugin that registered `name`, or an empty string."""
        entry = self.by_hook.get(_HOOK_OF[cls], {}).get(name)
        return "" if entry is None else entry.plugin


_HOOK_OF: dict[type, str] = {cls: hook for hook, cls in HOOKS.items()}


@dataclass(slots=True)
class _Registrar:
    """The `register` argument of one plugin's hook."""

    hook: str
    plugin: str
    layer: Layer
    scope: Scope
    on_change: Callable[[], None]
    meter: PluginMeter
    entries: list[CatalogEntry] = field(default_factory=list)
    unloaded: list[Unloaded] = field(default_factory=list)

    def __call__(self, value: object) -> None:
        if not isinstance(value, Source):
            self._take(value, self.layer)
            return
        for found in cast("Iterable[object]", value.find(self.scope)):
            if isinstance(found, Unloaded):
                self.unloaded.append(found)
            else:
                self._take(found, value.layer)

    def changed(self) -> None:
        self.on_change()

    def _take(self, value: object, layer: Layer) -> None:
        expected = HOOKS[self.hook]
        if not isinstance(value, expected):
            raise TypeError(f"{self.hook} takes a {expected.__name__}, not a {type(value).__name__}")
        if isinstance(value, Tool) and not value.capabilities:
            raise ValueError(f"tool {value.name} names no capabilities, so it is not exposed")
        origin = getattr(value, "origin", None)
        origin = origin if isinstance(origin, Origin) else None
        layer = origin.layer if origin is not None else layer
        name, value = name_of(value), self.meter.metered(value, self.plugin, self.hook)
        self.entries.append(CatalogEntry(self.hook, name, value, self.plugin, layer, origin=origin))


def build_catalog(
    manager: pluggy.PluginManager,
    found: tuple[DiscoveredPlugin, ...],
    root: str,
    settings: EffectiveSettings,
    environment: Mapping[str, str],
    trusted: bool,
    on_change: Callable[[], None],
    meter: PluginMeter | None = None,
) -> PluginCatalog:
    """Ask every loaded plugin what it registers for `root`. Runs plugin code: call it in a thread."""
    meter = PluginMeter() if meter is None else meter
    entries: list[CatalogEntry] = []
    states: list[PluginState] = []
    warnings: list[str] = []
    unloaded: dict[str, tuple[Unloaded, ...]] = {}
    for plugin in found:
        if plugin.state != "loaded":
            states.append(PluginState(plugin, (), plugin.seconds))
            if plugin.state == "failed":
                warnings.append(f"plugin {plugin.name} ({plugin.distribution}): {plugin.reason}")
            continue
        scope = plugin_scope(plugin.name, root, settings, environment, trusted)
        state, own = _run_hooks(manager, plugin, scope, on_change, meter, unloaded)
        if state.found.state == "failed":
            warnings.append(f"plugin {plugin.name} ({plugin.distribution}): {state.found.reason}")
        states.append(state)
        entries += own
    in_force = _resolve_layers(_add_commands(entries, settings.words("skills.disabled")), warnings)
    by_hook: dict[str, dict[str, CatalogEntry]] = {hook: {} for hook in HOOKS}
    for entry in in_force:
        by_hook[entry.hook][entry.name] = entry
    origins = [entry.origin for entry in in_force if entry.origin is not None]
    origins += [file.origin for files in unloaded.values() for file in files]
    faults = tuple(dict.fromkeys(fault for origin in origins for fault in origin.refused))
    return PluginCatalog(tuple(in_force), tuple(states), tuple(warnings), by_hook, unloaded, meter, faults)


def plugin_scope(
    plugin: str, root: str, settings: EffectiveSettings, environment: Mapping[str, str], trusted: bool
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


def _run_hooks(
    manager: pluggy.PluginManager,
    plugin: DiscoveredPlugin,
    scope: Scope,
    on_change: Callable[[], None],
    meter: PluginMeter,
    unloaded: dict[str, tuple[Unloaded, ...]],
) -> tuple[PluginState, list[CatalogEntry]]:
    """What one plugin registers, and how long each hook took."""
    module = manager.get_plugin(plugin.name)
    layer: Layer = "built-in" if plugin.is_ours else "plugin"
    entries: list[CatalogEntry] = []
    failures: list[str] = []
    seconds: dict[str, float] = {}
    trace = ""
    for hook in HOOKS:
        for implementation in getattr(manager.hook, hook).get_hookimpls():
            if implementation.plugin is not module:
                continue
            register = _Registrar(hook, plugin.name, layer, scope, on_change, meter, entries)
            arguments = {"register": register, "scope": scope}
            started = time.perf_counter()
            try:
                # What a plugin prints must not get into an answer on stdout.
                with contextlib.redirect_stdout(sys.stderr):
                    answer = implementation.function(*(arguments[name] for name in implementation.argnames))
                if inspect.iscoroutine(answer):
                    answer.close()
                    raise TypeError(
                        "it is `async def`; hooks must be plain functions, what they register may be async"
                    )
            # Plugin code: a hook that raises (also `sys.exit`) does not affect other hooks.
            except (Exception, SystemExit) as error:
                failures.append(f"{hook}: {type(error).__name__}: {error}")
                trace = trace or place_of(error.__traceback__)
            seconds[hook] = time.perf_counter() - started
            if register.unloaded:
                unloaded[hook] = (*unloaded.get(hook, ()), *register.unloaded)
    if failures:
        plugin = replace(plugin, state="failed", reason="; ".join(failures), trace=trace)
    names = tuple(f"{entry.hook.removeprefix('register_')}: {entry.name}" for entry in entries)
    return PluginState(plugin, names, plugin.seconds + sum(seconds.values()), seconds), entries


def _resolve_layers(entries: list[CatalogEntry], warnings: list[str]) -> list[CatalogEntry]:
    """The entries in force: the first of each layer, the highest of the layers."""
    in_force: dict[tuple[str, str], CatalogEntry] = {}
    for entry in sorted(entries, key=lambda entry: LAYERS.index(entry.layer)):
        key = entry.hook, entry.name
        lower = in_force.get(key)
        if lower is not None and lower.layer == entry.layer:
            kind = entry.hook.removeprefix("register_")
            if lower.plugin == entry.plugin:
                fault = f"registered twice by {entry.plugin}; the first is used; rename the other"
            else:
                first = lower.plugin
                fault = (
                    f"registered by both {first} and {entry.plugin}; the one of {first} is used; "
                    "switch one of them off in settings"
                )
            warnings.append(f"{kind}: {entry.name} is {fault}")
            continue
        shadows = f"{lower.layer} ({lower.plugin})" if lower else ""
        hides = entry.origin.shadows if entry.origin else ()
        if lower is not None:
            hides = (*hides, *((lower.origin.file,) if lower.origin else ()), *lower.hides)
        in_force[key] = replace(entry, shadows=shadows, hides=hides)
    return list(in_force.values())


def _add_commands(entries: list[CatalogEntry], disabled: Collection[str]) -> list[CatalogEntry]:
    """`entries` with a command for each skill, in which a file's command with the name of a command in code
    is renamed: `/project:connect`."""
    entries = _add_skill_commands(entries, disabled)
    reserved = {
        name
        for entry in entries
        if isinstance(entry.value, Command) and entry.origin is None
        for name in (entry.name, *entry.value.aliases)
    }
    return [_qualify_command(entry, reserved) for entry in entries]


def _qualify_command(entry: CatalogEntry, reserved: set[str]) -> CatalogEntry:
    command, origin = entry.value, entry.origin
    if not isinstance(command, Command) or origin is None:
        return entry
    command = replace(command, aliases=tuple(alias for alias in command.aliases if alias not in reserved))
    if entry.name not in reserved:
        return replace(entry, value=command)
    name = f"{entry.layer}:{entry.name}"
    reason = f"/{entry.name} is one of cockpit's commands, so this file's command is /{name}"
    fault = FileProblem(origin.file, 0, reason, "rename the file")
    origin = replace(origin, refused=(*origin.refused, fault))
    return replace(entry, name=name, value=replace(command, name=name, origin=origin), origin=origin)


SKILL_COMMAND = "skill"


def _add_skill_commands(entries: list[CatalogEntry], disabled: Collection[str]) -> list[CatalogEntry]:
    """`entries` with a command for each skill the user may use. A skill replaces a command file of its name
    and layer; a command registered in code keeps its name."""
    entries = [_disable_skill(entry) if entry.name in disabled else entry for entry in entries]
    commands = [entry for entry in entries if isinstance(entry.value, Command)]
    using = next((entry.value for entry in commands if entry.name == SKILL_COMMAND), None)
    if not isinstance(using, Command):
        return entries
    reserved = {(entry.name, entry.layer) for entry in commands if entry.origin is None}
    added = {
        (entry.name, entry.layer): replace(
            entry, hook="register_commands", value=_skill_command(entry.value, using)
        )
        for entry in entries
        if isinstance(entry.value, Skill) and entry.value.for_user
    }
    added = {key: entry for key, entry in added.items() if key not in reserved}
    kept = (
        entry
        for entry in entries
        if not isinstance(entry.value, Command) or (entry.name, entry.layer) not in added
    )
    return [*kept, *added.values()]


def _disable_skill(entry: CatalogEntry) -> CatalogEntry:
    """The same skill, listed but not used."""
    skill = entry.value
    if not isinstance(skill, Skill):
        return entry
    origin = skill.origin
    if origin is not None:
        origin = replace(origin, fields={**origin.fields, "enabled": False})
    off = replace(skill, for_model=False, for_user=False, origin=origin)
    return replace(entry, value=off, origin=origin)


def _skill_command(skill: Skill, using: Command) -> Command:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return await using.run(Invoked(f"{skill.name} {invoked.text}", invoked.arguments), context)

    return Command(skill.name, skill.description, run, skill.hint, skill.aliases, origin=skill.origin)
