"""Finding and loading plugins by entry point, those of cockpit's own environment and those of the one
beside it (plugin/installed.py). Loads them one by one, so that one bad plugin is one bad plugin.
Refuses to register anything: that is the catalog's part, per root (core/catalog.py).
"""

import contextlib
import os
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Literal

import pluggy

from cockpit.plugin import hookspecs, installed
from cockpit.plugin.installed import Record

GROUP = "cockpit"
OURS = "cockpit-agent"


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin that has an entry point. `seconds` is what loading took. `module` is what the entry point
    names, `trace` the last place in its code before it failed (`file:line in function`), `beside` says
    that it lies in the environment of `cockpit plugins install`."""

    name: str
    distribution: str
    version: str
    state: Literal["loaded", "failed", "disabled"]
    reason: str = ""
    seconds: float = 0.0
    module: str = ""
    trace: str = ""
    beside: bool = False

    @property
    def is_ours(self) -> bool:
        return self.distribution == OURS


def load(
    disabled: Collection[str] = (), record: Record | None = None
) -> tuple[pluggy.PluginManager, tuple[Found, ...]]:
    """Load every plugin that is not disabled. `record` None: what is installed beside, as it is now.

    The environment's `COCKPIT_PLUGINS`, where set, is a comma-separated list of the foreign plugins
    to load; empty loads ours only.
    """
    manager = pluggy.PluginManager("cockpit")
    manager.add_hookspecs(hookspecs)
    wanted = _wanted()
    if record is None:
        record = Record() if wanted == frozenset() else installed.read()
    installed.use(record)
    found: list[Found] = []
    taken: dict[str, str] = {}
    points = sorted(_points(record), key=lambda one: (not one[1].is_ours, one[1].name, one[1].distribution))
    for point, plugin in points:
        name = plugin.name
        if not plugin.is_ours and wanted is not None and name not in wanted:
            found.append(replace(plugin, reason="not named in COCKPIT_PLUGINS"))
        elif name in disabled:
            found.append(replace(plugin, reason="switched off in settings ([plugins] disabled)"))
        elif name in taken:
            reason = f"the name {name} is taken by {taken[name]}"
            found.append(replace(plugin, state="failed", reason=reason))
        else:
            taken[name] = plugin.distribution
            found.append(_load(manager, point, plugin))
    return manager, (*found, *_out_of_date(record, disabled))


def _wanted() -> frozenset[str] | None:
    named = os.environ.get("COCKPIT_PLUGINS")
    if named is None:
        return None
    return frozenset(name.strip() for name in named.split(",") if name.strip())


def _points(record: Record) -> list[tuple[metadata.EntryPoint, Found]]:
    """Every entry point, as a plugin that nobody has loaded yet."""
    found: list[tuple[metadata.EntryPoint, Found]] = []
    # Name and version each parse the whole METADATA, and the points of one distribution share it.
    known: dict[int, tuple[str, str, bool]] = {}
    folder = record.folder()
    for point in metadata.entry_points(group=GROUP):
        dist = point.dist
        if dist is not None and id(dist) not in known:
            beside = folder is not None and Path(str(dist.locate_file(""))) == folder
            known[id(dist)] = dist.name, dist.version, beside
        name, version, beside = known.get(id(dist), ("unknown", "", False))
        found.append((point, Found(point.name, name, version, "disabled", module=point.value, beside=beside)))
    return found


def _out_of_date(record: Record, disabled: Collection[str]) -> list[Found]:
    """What was installed for another Python: its compiled parts would not load."""
    if record.fits:
        return []
    reason = f"installed for Python {record.python}, this is {installed.python()}; `cockpit plugins upgrade`"
    return [
        Found(name, one.distribution, one.version, "failed", reason, beside=True)
        for one in record.plugins
        for name in one.names
        if name not in disabled
    ]


def _load(manager: pluggy.PluginManager, point: metadata.EntryPoint, plugin: Found) -> Found:
    started = time.perf_counter()
    try:
        # What it prints is no part of an answer that somebody reads from stdout.
        with contextlib.redirect_stdout(sys.stderr):
            manager.register(point.load(), name=point.name)
        _refuse_unknown_hooks(manager, point.name)
    # Foreign code: whatever it raises at import (also `sys.exit`) must not take the others with it.
    except (Exception, SystemExit) as error:
        if manager.has_plugin(point.name):
            manager.unregister(name=point.name)
        reason = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - started
        return replace(plugin, state="failed", reason=reason, seconds=seconds, trace=_place_of_failure(error))
    return replace(plugin, state="loaded", seconds=time.perf_counter() - started)


def _place_of_failure(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    return place_of(error.__traceback__)


def place_of(traceback: TracebackType | None) -> str:
    """Where foreign code stood when it raised: the last frame that is neither cockpit's nor an
    importer's (`file:line in function`), empty where there is none."""
    found = ""
    ours = str(Path(__file__).parents[1])
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(("<frozen", ours)) and "importlib" not in code.co_filename:
            found = f"{code.co_filename}:{traceback.tb_lineno} in {code.co_name}"
        traceback = traceback.tb_next
    return found


def _refuse_unknown_hooks(manager: pluggy.PluginManager, name: str) -> None:
    for caller in manager.get_hookcallers(manager.get_plugin(name)) or ():
        if not caller.has_spec():
            import difflib

            near = difflib.get_close_matches(caller.name, hookspecs.HOOKS, 1)
            said = f"; did you mean {near[0]}?" if near else ";"
            raise AttributeError(f"there is no hook {caller.name}{said} see docs/hooks.md")
