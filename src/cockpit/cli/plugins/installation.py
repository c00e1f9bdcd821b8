"""`cockpit plugins install|upgrade|remove`: fetch, show what a plugin registers, ask, and put it in force.

Everything happens in a staged generation that nothing uses: a refusal, a fault or Ctrl+C leaves all as it
was.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from cockpit.cli.command import confirm, escape_text, unknown_name
from cockpit.cli.plugins.probe import PluginProbe, probe_plugins
from cockpit.errors import CockpitError
from cockpit.installing import bundles, environment, sources
from cockpit.installing.environment import (
    StagedEnvironment,
    commit_environment,
    find_distributions,
    find_own_distributions,
    normalize_name,
    remove_distributions,
    stage_environment,
)
from cockpit.installing.installer import InstallOptions, install_packages
from cockpit.installing.sources import PluginSource
from cockpit.plugin import discovery
from cockpit.plugin.discovery import ENTRY_POINT_GROUP, OWN_DISTRIBUTION, InstalledPlugin, InstalledRecord
from cockpit.settings import files

UNCHANGED = "nothing was changed"


@dataclass(frozen=True, slots=True)
class InstallPreview:
    """What an installation would bring: `requested` by the user, `needed` by those, `removed` from before."""

    requested: tuple[InstalledPlugin, ...]
    needed: tuple[Distribution, ...]
    removed: tuple[str, ...]
    plugins: tuple[PluginProbe, ...]


def install_plugins(name: str, argv: Sequence[str]) -> int:
    """Exit code 0 if installed, 1 if the user declines."""
    args = _build_parser(name).parse_args(list(argv))
    if name == "upgrade":
        return _upgrade_plugins(args)
    named = [sources.parse_source(text, args.editable) for text in args.source]
    return _install_sources(named, args, upgrade=args.upgrade)


def _build_parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}")
    if name == "install":
        parser.add_argument("source", nargs="+", metavar="NAME|PATH|git+URL")
        parser.add_argument("-e", "--editable", action="store_true", help="use a folder in place")
        parser.add_argument("--upgrade", action="store_true", help="also upgrade what it needs")
    else:
        parser.add_argument("name", nargs="*", help="plugins to upgrade (default: all)")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--no-index", action="store_true", help="use no package index")
    parser.add_argument(
        "--no-build-isolation", action="store_true", help="build with the installed build tools"
    )
    parser.add_argument(
        "--installer", choices=("pip", "uv"), default="", help="default: uv if present, else pip"
    )
    return parser


def _upgrade_plugins(args: argparse.Namespace) -> int:
    record = discovery.read_record()
    known = {normalize_name(plugin.distribution): plugin for plugin in record.plugins}
    known |= {name: entry for entry in record.plugins for name in entry.names}
    for name in args.name:
        if normalize_name(name) not in known and name not in known:
            raise unknown_name("installed plugin", name, known)
    chosen = [known.get(name) or known[normalize_name(name)] for name in args.name] or list(record.plugins)
    if not chosen:
        print("No plugin is installed.")
        return 0
    # An environment made for another Python version is installed again as a whole.
    whole = record.plugins if not record.fits else tuple(chosen)
    named = [sources.parse_source(item.source, item.kind == "editable") for item in dict.fromkeys(whole)]
    return _install_sources(named, args, upgrade=True)


def _install_sources(named: list[PluginSource], args: argparse.Namespace, upgrade: bool) -> int:
    wishes = InstallOptions(args.installer, not args.no_index, not args.no_build_isolation, upgrade)
    with tempfile.TemporaryDirectory(prefix="cockpit-fetch-") as folder:
        fetched = [
            sources.fetch_source(each_item, Path(folder) / str(at)) for at, each_item in enumerate(named)
        ]
        folders = [item for item in fetched if _is_bundle(item)]
        packages = [entry for entry in fetched if entry not in folders]
        for element in folders:
            if not _add_bundle(element, args.yes):
                return 1
        return _add_packages(packages, wishes, args.yes) if packages else 0


def _is_bundle(source: PluginSource) -> bool:
    local = source.kind in ("folder", "editable", "git")
    return local and sources.is_bundle(source.place) and not sources.is_project(source.place)


def _add_bundle(source: PluginSource, yes: bool) -> bool:
    staged = bundles.stage_bundle(source)
    try:
        print(f"The bundle {escape_text(staged.name)} from {escape_text(source.named)} brings:")
        for line in staged.lines:
            print(f"  {escape_text(line)}")
        if not _confirm_install(yes):
            print(f"Left out; {UNCHANGED}.")
            return False
        staged.commit()
    finally:
        bundles.discard_bundle(staged)
    name = escape_text(staged.name)
    print(f"Installed the bundle {name}; `cockpit plugins remove {name}` removes it.")
    return True


def _add_packages(packages: list[PluginSource], wishes: InstallOptions, yes: bool) -> int:
    record = discovery.read_record()
    named = {package.named for package in packages}
    if not record.fits and any(entry.source not in named for entry in record.plugins):
        raise CockpitError(
            f"the plugins here were installed for Python {record.python}", "cockpit plugins upgrade"
        )
    with stage_environment() as staged:
        # Read the versions now: a replaced distribution can no longer be read.
        before = {name: value.version for name, value in find_distributions([str(staged.site)]).items()}
        installer = install_packages(staged, packages, wishes)
        requested = _find_requested(staged, packages, installer)
        brought = _preview_install(staged, requested, before)
        _print_preview(brought)
        if not _confirm_install(yes):
            print(f"Left out; {UNCHANGED}.")
            return 1
        names = {normalize_name(item.distribution) for item in brought.requested}
        others = [
            plugin for plugin in staged.before.plugins if normalize_name(plugin.distribution) not in names
        ]
        commit_environment(staged, (*brought.requested, *others))
    _print_installed(brought)
    return 0


def _find_requested(
    staged: StagedEnvironment, packages: list[PluginSource], installer: str
) -> list[InstalledPlugin]:
    """The distributions that `packages` became. Raises `CockpitError` for one that is not a plugin."""
    installed = find_distributions([str(staged.site)])
    requested = []
    for source in packages:
        name = _find_distribution_name(source, installed)
        if name is None or name not in installed:
            if name in find_own_distributions():
                raise CockpitError(
                    f"{name} is already in cockpit's own environment",
                    f"`cockpit plugins` lists it; {UNCHANGED}",
                )
            raise CockpitError(f"{source.named} installed nothing under its name", UNCHANGED)
        distribution = installed[name]
        entry_points = distribution.entry_points.select(group=ENTRY_POINT_GROUP)
        points = tuple(point.name for point in entry_points)
        if not points:
            raise CockpitError(
                f"{distribution.name} has no entry point in `{ENTRY_POINT_GROUP}`, so it is not a plugin",
                UNCHANGED,
            )
        now = time.time()
        requested.append(
            InstalledPlugin(
                distribution.name,
                distribution.version,
                source.named,
                source.kind,
                now,
                points,
                source.revision,
                installer,
            )
        )
    return requested


def _find_distribution_name(source: PluginSource, installed: dict[str, Distribution]) -> str | None:
    """The normalized name of the distribution that a source became."""
    if source.kind == "index":
        from packaging.requirements import Requirement

        return normalize_name(Requirement(source.named).name)
    return next((name for name, value in installed.items() if sources.is_built_from(value, source)), None)


def _preview_install(
    staged: StagedEnvironment, requested: list[InstalledPlugin], before: dict[str, str]
) -> InstallPreview:
    """Inspect the staged environment, and drop what is no longer needed. Raises `CockpitError` if something
    does not fit cockpit or does not load."""
    own = find_own_distributions()
    names = {normalize_name(item.distribution) for item in requested}
    if staged.before.fits:
        others = {normalize_name(entry.distribution) for entry in staged.before.plugins}
        remove_distributions(
            staged, environment.find_orphans(find_distributions([str(staged.site)]), names | others)
        )
    after = find_distributions([str(staged.site)])
    if faults := environment.find_conflicts(after, own):
        raise CockpitError("it does not fit:\n  " + "\n  ".join(faults), UNCHANGED)
    plugins = [
        plugin
        for plugin in probe_plugins(staged.folder, staged.site)
        if normalize_name(plugin.distribution) in names
    ]
    for element in plugins:
        if element.state == "failed":
            where = f" ({element.trace})" if element.trace else ""
            raise CockpitError(f"the plugin {element.name} does not load: {element.reason}{where}", UNCHANGED)
    fresh = {
        name: value
        for name, value in after.items()
        if name not in names and (name not in before or before[name] != value.version)
    }
    removed = tuple(f"{name} {version}" for name, version in before.items() if name not in after)
    return InstallPreview(tuple(requested), tuple(fresh.values()), removed, tuple(plugins))


def _print_preview(brought: InstallPreview) -> None:
    for item in brought.requested:
        revision = f" at {item.revision[:12]}" if item.revision else ""
        print(escape_text(f"{item.distribution} {item.version}  from {item.source}{revision}"))
        for plugin in brought.plugins:
            if plugin.distribution == item.distribution:
                _print_plugin(plugin)
    if brought.needed:
        print("It needs, and brings:")
        for dist in brought.needed:
            print(f"  {escape_text(dist.name)} {escape_text(dist.version)}")
    if brought.removed:
        print(f"No longer needed: {escape_text(', '.join(brought.removed))}")


def _print_plugin(plugin: PluginProbe) -> None:
    took = plugin.importing + sum(plugin.hooks.values())
    print(f"  plugin {escape_text(plugin.name)} ({took:.0f} ms) registers:")
    for value in plugin.registers:
        hides = f"; hides that of {value.shadows}" if value.shadows else ""
        print(f"    {value.kind:12} {escape_text(value.name)}  {escape_text(value.what)}{hides}")
    if not plugin.registers:
        print("    nothing in an empty folder without settings")


def _confirm_install(yes: bool) -> bool:
    if not yes:
        print("A plugin is code that runs with your rights.")
    return confirm("Install and enable it?", yes)


def _print_installed(brought: InstallPreview) -> None:
    off = set(files.load_settings(str(Path.cwd()), False).words("plugins.disabled"))
    for item in brought.requested:
        installed = escape_text(f"{item.distribution} {item.version}")
        print(f"Installed {installed}; a cockpit that starts now has it.")
        for name in item.names:
            if name in off:
                plugin = escape_text(name)
                print(f"{plugin} is disabled in your settings: cockpit plugins enable {plugin}")


def remove_plugins(name: str, argv: Sequence[str]) -> int:
    """Remove plugins and bundles, and what only they needed."""
    parser = argparse.ArgumentParser(prog="cockpit plugins remove")
    parser.add_argument("name", nargs="+", help="of a plugin, its distribution or a bundle")
    args = parser.parse_args(list(argv))
    record = discovery.read_record()
    leaving = [item for item in args.name if item not in bundles.list_bundle_names()]
    chosen = [_find_installed(entry, record) for entry in leaving]
    for element in args.name:
        if element not in leaving:
            bundles.remove_bundle(element)
            print(f"Removed the bundle {element}.")
    if chosen:
        _remove_packages(chosen)
    return 0


def _find_installed(name: str, record: InstalledRecord) -> InstalledPlugin:
    for entry in record.plugins:
        if name in entry.names or normalize_name(name) == normalize_name(entry.distribution):
            return entry
    own = find_own_distributions()
    if normalize_name(name) == OWN_DISTRIBUTION or any(
        name == point.name for point in own[OWN_DISTRIBUTION].entry_points
    ):
        raise CockpitError(f"{name} is part of cockpit", f"to disable it run cockpit plugins disable {name}")
    for dist in own.values():
        names = [point.name for point in dist.entry_points if point.group == ENTRY_POINT_GROUP]
        if names and (normalize_name(name) == normalize_name(dist.name) or name in names):
            raise CockpitError(f"{name} is in cockpit's own environment", f"pip uninstall {dist.name}")
    known = {each for plugin in record.plugins for each in (plugin.distribution, *plugin.names)}
    raise unknown_name("installed plugin", name, {*known, *bundles.list_bundle_names()})


def _remove_packages(chosen: list[InstalledPlugin]) -> None:
    with stage_environment() as staged:
        remaining = tuple(plugin for plugin in staged.before.plugins if plugin not in chosen)
        present = find_distributions([str(staged.site)])
        orphans = environment.find_orphans(
            present, {normalize_name(entry.distribution) for entry in remaining}
        )
        # Read the versions now: distributions are read lazily.
        labels = {name: f"{name} {present[name].version}" for name in orphans}
        remove_distributions(staged, orphans)
        commit_environment(staged, remaining)
    for element in chosen:
        print(f"Removed {element.distribution} {element.version}.")
    names = {normalize_name(item.distribution) for item in chosen}
    others = sorted(label for name, label in labels.items() if name not in names)
    if others:
        print(f"No longer needed: {', '.join(others)}")
