"""Finds and loads plugins by entry point: those in cockpit's own environment, and those of `cockpit plugins
install`.

The latter are in an environment of their own, after cockpit's on the path, so that nothing in it can replace
a part of cockpit; `cockpit.installing` changes it. Plugins are loaded one by one, so that a bad one does not
affect the others. Registration, per root, belongs to the catalog (core/plugins).
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Literal, cast

import pluggy

from cockpit import paths
from cockpit.plugin import hookspecs
from cockpit.settings import file_io
from cockpit.suggestions import closest_names, did_you_mean

OWN_PATH_FILE = "cockpit-own.pth"
"""The path file that shows cockpit's own distributions to an installer. Not read here."""
RECORD_VERSION = 1


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """One distribution that the user installed.

    `source` is what they named, `kind` says what that was (index, folder, editable, archive, git). `revision`
    is the commit of a git source. `time` is seconds since the epoch. `names` are its entry points,
    `installer` is what installed it (pip or uv).
    """

    distribution: str
    version: str
    source: str
    kind: str
    time: float
    names: tuple[str, ...] = ()
    revision: str = ""
    installer: str = ""


@dataclass(frozen=True, slots=True)
class InstalledRecord:
    """What is installed. `generation` is the folder that contains it, `site` the folder with the packages
    (relative to it), `past` the earlier generations, `python` the version it was made for (`3.11`)."""

    generation: str = ""
    site: str = ""
    python: str = ""
    past: tuple[str, ...] = ()
    plugins: tuple[InstalledPlugin, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether it was made for the running Python."""
        return self.python in ("", python_version())

    def folder(self) -> Path | None:
        """The folder with the packages, None if nothing is installed."""
        return plugins_folder() / self.generation / self.site if self.generation else None


def python_version() -> str:
    """The version on which compiled packages depend."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def plugins_folder() -> Path:
    return paths.data() / "plugins"


def bundles_folder() -> Path:
    """The folder of Claude plugin bundles that `cockpit plugins install` copied, one folder each."""
    return paths.data() / "bundles"


def record_path() -> Path:
    return plugins_folder() / "installed.json"


def read_record() -> InstalledRecord:
    """The record; an empty one if there is none. An unreadable record counts as none: the distributions that
    it names must be installed again."""
    try:
        raw = json.loads(file_io.read_bytes(record_path()))
    except (OSError, ValueError):
        return InstalledRecord()
    return decode_record(raw) if isinstance(raw, dict) else InstalledRecord()


def decode_record(raw: Mapping[str, object]) -> InstalledRecord:
    """The record that `encode_record` wrote; values of another shape are left out."""

    def word(table: Mapping[str, object], key: str) -> str:
        value = table.get(key)
        return value if isinstance(value, str) else ""

    def words(table: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = table.get(key)
        return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

    rows = raw.get("plugins")
    plugins = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and word(row, "distribution"):
            table = cast("Mapping[str, object]", row)
            time = table.get("time")
            plugins.append(
                InstalledPlugin(
                    word(table, "distribution"),
                    word(table, "version"),
                    word(table, "source"),
                    word(table, "kind"),
                    float(time) if isinstance(time, int | float) else 0.0,
                    words(table, "names"),
                    word(table, "revision"),
                    word(table, "installer"),
                )
            )
    generation = word(raw, "generation")
    # A name only: the record must not lead out of its folder.
    if Path(generation).name != generation or ".." in Path(word(raw, "site")).parts:
        return InstalledRecord()
    return InstalledRecord(
        generation, word(raw, "site"), word(raw, "python"), words(raw, "past"), tuple(plugins)
    )


def encode_record(record: InstalledRecord) -> bytes:
    return json.dumps({"v": RECORD_VERSION, **asdict(record)}, indent=1).encode()


def add_to_path(record: InstalledRecord) -> None:
    """Put the installed packages on the path, after everything else."""
    for entry in path_entries(record):
        if entry not in sys.path:
            sys.path.append(entry)


def path_entries(record: InstalledRecord) -> list[str]:
    """The folders to put on the path: the environment's, and those that its path files name."""
    folder = record.folder()
    if folder is None or not record.fits or not folder.is_dir():
        return []
    return [str(folder), *linked_folders(folder)]


def linked_folders(folder: Path) -> list[str]:
    """The folders that path files in `folder` name: plugins installed in editable mode. Lines with code are
    not run."""
    found = []
    for path in sorted(folder.glob("*.pth")):
        if path.name == OWN_PATH_FILE:
            continue
        try:
            lines = file_io.read_text(path).splitlines()
        except OSError:
            continue
        for line in lines:
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                target = folder / line.strip()
                if target.is_dir():
                    found.append(str(target))
    return found


ENTRY_POINT_GROUP = "cockpit"
OWN_DISTRIBUTION = "cockpit-agent"


@dataclass(frozen=True, slots=True)
class DiscoveredPlugin:
    """A plugin with an entry point.

    `seconds` is the time to load it. `module` is what the entry point names, `trace` the last place in its
    code before it failed (`file:line in function`); `beside`: it is in the environment of `cockpit plugins
    install`.
    """

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
        return self.distribution == OWN_DISTRIBUTION


def load_plugins(
    disabled: Collection[str] = (), record: InstalledRecord | None = None
) -> tuple[pluggy.PluginManager, tuple[DiscoveredPlugin, ...]]:
    """Load every plugin that is not disabled. `record` None: what `cockpit plugins install` has installed.

    The environment variable `COCKPIT_PLUGINS`, if set, is a comma-separated list of the third-party plugins
    to load; empty loads only cockpit's own.
    """
    manager = pluggy.PluginManager("cockpit")
    manager.add_hookspecs(hookspecs)
    wanted = _requested_plugins()
    if record is None:
        record = InstalledRecord() if wanted == frozenset() else read_record()
    add_to_path(record)
    plugins: list[DiscoveredPlugin] = []
    taken: dict[str, str] = {}
    points = sorted(
        _find_entry_points(record), key=lambda one: (not one[1].is_ours, one[1].name, one[1].distribution)
    )
    for point, plugin in points:
        name = plugin.name
        if not plugin.is_ours and wanted is not None and name not in wanted:
            plugins.append(replace(plugin, reason="not named in COCKPIT_PLUGINS"))
        elif name in disabled:
            plugins.append(replace(plugin, reason="switched off in settings ([plugins] disabled)"))
        elif name in taken:
            reason = f"the name {name} is already used by {taken[name]}"
            plugins.append(replace(plugin, state="failed", reason=reason))
        else:
            taken[name] = plugin.distribution
            plugins.append(_load_plugin(manager, point, plugin))
    return manager, (*plugins, *_outdated_plugins(record, disabled))


def _requested_plugins() -> frozenset[str] | None:
    named = os.environ.get("COCKPIT_PLUGINS")
    if named is None:
        return None
    return frozenset(name.strip() for name in named.split(",") if name.strip())


def _find_entry_points(record: InstalledRecord) -> list[tuple[metadata.EntryPoint, DiscoveredPlugin]]:
    """Every entry point, as a plugin that is not loaded yet."""
    found: list[tuple[metadata.EntryPoint, DiscoveredPlugin]] = []
    # Name and version each parse the whole METADATA, so they are read once per distribution.
    known: dict[int, tuple[str, str, bool]] = {}
    folder = record.folder()
    for point in metadata.entry_points(group=ENTRY_POINT_GROUP):
        dist = point.dist
        if dist is not None and id(dist) not in known:
            beside = folder is not None and Path(str(dist.locate_file(""))) == folder
            known[id(dist)] = dist.name, dist.version, beside
        name, version, beside = known.get(id(dist), ("unknown", "", False))
        found.append(
            (
                point,
                DiscoveredPlugin(point.name, name, version, "disabled", module=point.value, beside=beside),
            )
        )
    return found


def _outdated_plugins(record: InstalledRecord, disabled: Collection[str]) -> list[DiscoveredPlugin]:
    """What was installed for another Python: its compiled parts would not load."""
    if record.fits:
        return []
    reason = f"installed for Python {record.python}, this is {python_version()}; `cockpit plugins upgrade`"
    return [
        DiscoveredPlugin(name, one.distribution, one.version, "failed", reason, beside=True)
        for one in record.plugins
        for name in one.names
        if name not in disabled
    ]


def _load_plugin(
    manager: pluggy.PluginManager, point: metadata.EntryPoint, plugin: DiscoveredPlugin
) -> DiscoveredPlugin:
    started = time.perf_counter()
    try:
        # What a plugin prints must not get into output that is read from stdout.
        with contextlib.redirect_stdout(sys.stderr):
            manager.register(point.load(), name=point.name)
        _refuse_unknown_hooks(manager, point.name)
    # Third-party code: whatever it raises at import (even `sys.exit`) must not affect other plugins.
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
    """The place where third-party code raised: the last frame that is neither cockpit's nor the importer's
    (`file:line in function`), or empty."""
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
            hint = did_you_mean(closest_names(caller.name, hookspecs.HOOKS))
            hint = f"{hint} see docs/extend/hooks.md".lstrip()
            raise AttributeError(f"unknown hook {caller.name}; {hint}")
