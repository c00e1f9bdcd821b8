"""Finds and loads plugins by entry point: those in cockpit's environment, and those of `cockpit plugins
install`.

The latter have a separate environment, after cockpit's on the path, so that they cannot replace a part of
cockpit; `cockpit.installing` changes it. Plugins are loaded one at a time, so that a broken plugin does not
affect the others. Registration, per root, belongs to the catalog (core/plugins).
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar, cast

import pluggy

from cockpit import paths
from cockpit.plugin import hookspecs
from cockpit.settings import file_io
from cockpit.suggestions import closest_names, did_you_mean

T = TypeVar("T")
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
    """The version on which compiled packages depend: `3.11`."""
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
    """The record that `encode_record` wrote; values of another type are left out."""
    rows = raw.get("plugins")
    decoded = [_decode_fields(InstalledPlugin, row) for row in rows] if isinstance(rows, list) else []
    plugins = tuple(plugin for plugin in decoded if plugin.distribution)
    record = replace(_decode_fields(InstalledRecord, raw), plugins=plugins)
    # A name only: the record must not lead out of its folder.
    is_inside = Path(record.generation).name == record.generation and ".." not in Path(record.site).parts
    return record if is_inside else InstalledRecord()


def _decode_fields(cls: type[T], raw: object) -> T:
    values: dict[str, Any] = {}
    for field in fields(cast("Any", cls)):
        value = raw.get(field.name) if isinstance(raw, dict) else None
        if field.type is str:
            values[field.name] = value if isinstance(value, str) else ""
        elif field.type is float:
            values[field.name] = float(value) if isinstance(value, int | float) else 0.0
        else:
            items = value if isinstance(value, list) else ()
            values[field.name] = tuple(item for item in items if isinstance(item, str))
    return cls(**values)


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
    targets: list[Path] = []
    for path in sorted(folder.glob("*.pth")):
        lines: list[str] = []
        with contextlib.suppress(OSError):
            lines = file_io.read_text(path).splitlines() if path.name != OWN_PATH_FILE else []
        for line in lines:
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                targets.append(folder / line.strip())
    return [str(target) for target in targets if target.is_dir()]


ENTRY_POINT_GROUP = "cockpit"
OWN_DISTRIBUTION = "cockpit-agent"


@dataclass(frozen=True, slots=True)
class DiscoveredPlugin:
    """A plugin with an entry point.

    `seconds` is the time to load it. `module` is the value of the entry point, `trace` the last place in its
    code before it failed (`file:line in function`); `beside`: it was installed by `cockpit plugins install`.
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
    """Load every plugin that is not disabled. `record` lists the installed plugins; None reads the file.

    The environment variable `COCKPIT_PLUGINS`, if set, is a comma-separated list of the third-party plugins
    to load; empty loads only cockpit's own.
    """
    manager = pluggy.PluginManager("cockpit")
    manager.add_hookspecs(hookspecs)
    named = os.environ.get("COCKPIT_PLUGINS")
    wanted = None if named is None else {name.strip() for name in named.split(",")} - {""}
    if record is None:
        record = InstalledRecord() if wanted == set() else read_record()
    add_to_path(record)
    plugins: list[DiscoveredPlugin] = []
    distributions: dict[str, str] = {}
    points = sorted(
        _find_entry_points(record), key=lambda row: (not row[1].is_ours, row[1].name, row[1].distribution)
    )
    for point, plugin in points:
        name = plugin.name
        if not plugin.is_ours and wanted is not None and name not in wanted:
            plugins.append(replace(plugin, reason="not named in COCKPIT_PLUGINS"))
        elif name in disabled:
            plugins.append(replace(plugin, reason="switched off in settings ([plugins] disabled)"))
        elif name in distributions:
            reason = f"the name {name} is already used by {distributions[name]}"
            plugins.append(replace(plugin, state="failed", reason=reason))
        else:
            distributions[name] = plugin.distribution
            plugins.append(_load_plugin(manager, point, plugin))
    return manager, (*plugins, *_outdated_plugins(record, disabled))


def _find_entry_points(record: InstalledRecord) -> list[tuple[metadata.EntryPoint, DiscoveredPlugin]]:
    """Every entry point, as a plugin that is not loaded yet."""
    rows: list[tuple[metadata.EntryPoint, DiscoveredPlugin]] = []
    # Name and version each parse the whole METADATA, so they are read once per distribution.
    known: dict[int, tuple[str, str, bool]] = {}
    folder = record.folder()
    for point in metadata.entry_points(group=ENTRY_POINT_GROUP):
        dist = point.dist
        if dist is not None and id(dist) not in known:
            beside = folder is not None and Path(str(dist.locate_file(""))) == folder
            known[id(dist)] = dist.name, dist.version, beside
        name, version, beside = known.get(id(dist), ("unknown", "", False))
        plugin = DiscoveredPlugin(point.name, name, version, "disabled", module=point.value, beside=beside)
        rows.append((point, plugin))
    return rows


def _outdated_plugins(record: InstalledRecord, disabled: Collection[str]) -> list[DiscoveredPlugin]:
    """The plugins that were installed for another Python: their compiled parts would not load."""
    if record.fits:
        return []
    reason = f"installed for Python {record.python}, this is {python_version()}; `cockpit plugins upgrade`"
    return [
        DiscoveredPlugin(name, plugin.distribution, plugin.version, "failed", reason, beside=True)
        for plugin in record.plugins
        for name in plugin.names
        if name not in disabled
    ]


def _load_plugin(
    manager: pluggy.PluginManager, point: metadata.EntryPoint, plugin: DiscoveredPlugin
) -> DiscoveredPlugin:
    started = time.perf_counter()
    try:
        # Other programs read cockpit's stdout, so output of a plugin must not reach it.
        with contextlib.redirect_stdout(sys.stderr):
            manager.register(point.load(), name=point.name)
        _refuse_unknown_hooks(manager, point.name)
    # Third-party code: whatever it raises at import (even `sys.exit`) must not affect other plugins.
    except (Exception, SystemExit) as error:
        if manager.has_plugin(point.name):
            manager.unregister(name=point.name)
        reason = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - started
        trace = place_of(error.__traceback__)
        if isinstance(error, SyntaxError) and error.filename:
            trace = f"{error.filename}:{error.lineno}"
        return replace(plugin, state="failed", reason=reason, seconds=seconds, trace=trace)
    return replace(plugin, state="loaded", seconds=time.perf_counter() - started)


def place_of(traceback: TracebackType | None) -> str:
    """The place where third-party code raised: the last frame that is neither cockpit's nor the importer's
    (`file:line in function`), or empty."""
    place = ""
    ours = str(Path(__file__).parents[1])
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(("<frozen", ours)) and "importlib" not in code.co_filename:
            place = f"{code.co_filename}:{traceback.tb_lineno} in {code.co_name}"
        traceback = traceback.tb_next
    return place


def _refuse_unknown_hooks(manager: pluggy.PluginManager, name: str) -> None:
    for caller in manager.get_hookcallers(manager.get_plugin(name)) or ():
        if not caller.has_spec():
            hint = did_you_mean(closest_names(caller.name, hookspecs.HOOKS))
            hint = f"{hint} see docs/extend/hooks.md".lstrip()
            raise AttributeError(f"unknown hook {caller.name}; {hint}")
