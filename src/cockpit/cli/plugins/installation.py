"""`cockpit plugins install|upgrade|remove`: fetches a plugin, shows what it registers, asks, and installs it.

Everything happens in a staged generation that nothing uses yet: after a refusal, a fault or Ctrl+C nothing
has changed.
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
    """What an installation would change: the plugins `requested` by the user with their probes (`plugins`),
    the packages they `needed`, and those `removed` as no longer needed."""

    requested: tuple[InstalledPlugin, ...]
    needed: tuple[Distribution, ...]
    removed: tuple[str, ...]
    plugins: tuple[PluginProbe, ...]


def install_plugins(subcommand: str, argv: Sequence[str]) -> int:
    """Exit code 0 if installed, 1 if the user declines."""
    args = _build_parser(subcommand).parse_args(list(argv))
    if subcommand == "upgrade":
        return _upgrade_plugins(args)
    requested = [sources.parse_source(text, args.editable) for text in args.source]
    return _install_sources(requested, args, upgrade=args.upgrade)


def _build_parser(subcommand: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {subcommand}")
    if subcommand == "install":
        parser.add_argument("source", nargs="+", metavar="NAME|PATH|git+URL")
        parser.add_argument("-e", "--editable", action="store_true", help="install a folder in editable mode")
        parser.add_argument("--upgrade", action="store_true", help="also upgrade its dependencies")
    else:
        parser.add_argument("name", nargs="*", help="plugins to upgrade (default: all)")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--no-index", action="store_true", help="do not use a package index")
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
    known |= {name: plugin for plugin in record.plugins for name in plugin.names}
    for name in args.name:
        if normalize_name(name) not in known and name not in known:
            raise unknown_name("installed plugin", name, known)
    chosen = [known.get(name) or known[normalize_name(name)] for name in args.name] or list(record.plugins)
    if not chosen:
        print("No plugins are installed.")
        return 0
    # An environment made for another Python version is installed again as a whole.
    outdated = record.plugins if not record.fits else tuple(chosen)
    requested = [
        sources.parse_source(item.source, item.kind == "editable") for item in dict.fromkeys(outdated)
    ]
    return _install_sources(requested, args, upgrade=True)


def _install_sources(requested: list[PluginSource], args: argparse.Namespace, upgrade: bool) -> int:
    options = InstallOptions(args.installer, not args.no_index, not args.no_build_isolation, upgrade)
    with tempfile.TemporaryDirectory(prefix="cockpit-fetch-") as folder:
        fetched = [sources.fetch_source(source, Path(folder, str(at))) for at, source in enumerate(requested)]
        packages = [source for source in fetched if not _is_bundle(source)]
        for source in fetched:
            if source not in packages and not _add_bundle(source, args.yes):
                return 1
        return _add_packages(packages, options, args.yes) if packages else 0


def _is_bundle(source: PluginSource) -> bool:
    local = source.kind in ("folder", "editable", "git")
    return local and sources.is_bundle(source.place) and not sources.is_project(source.place)


def _add_bundle(source: PluginSource, yes: bool) -> bool:
    staged = bundles.stage_bundle(source)
    try:
        print(escape_text(f"The bundle {staged.name} from {source.named} contains:"))
        for line in staged.lines:
            print(escape_text(f"  {line}"))
        if not _confirm_install(yes):
            return False
        staged.commit()
    finally:
        bundles.discard_bundle(staged)
    print(escape_text(f"Installed the bundle {staged.name}; to remove: cockpit plugins remove {staged.name}"))
    return True


def _add_packages(packages: list[PluginSource], options: InstallOptions, yes: bool) -> int:
    record = discovery.read_record()
    addresses = {package.named for package in packages}
    if not record.fits and any(plugin.source not in addresses for plugin in record.plugins):
        raise CockpitError(
            f"the installed plugins are for Python {record.python}",
            "run `cockpit plugins upgrade` to install them again for this Python version",
        )
    with stage_environment() as staged:
        # Read the versions now: a replaced distribution can no longer be read.
        before = {name: value.version for name, value in find_distributions([str(staged.site)]).items()}
        installer = install_packages(staged, packages, options)
        requested = _find_requested(staged, packages, installer)
        preview = _prune_and_preview(staged, requested, before)
        _print_preview(preview)
        if not _confirm_install(yes):
            return 1
        names = {normalize_name(plugin.distribution) for plugin in requested}
        others = [
            plugin for plugin in staged.before.plugins if normalize_name(plugin.distribution) not in names
        ]
        commit_environment(staged, (*requested, *others))
    _print_installed(requested)
    return 0


def _find_requested(
    staged: StagedEnvironment, packages: list[PluginSource], installer: str
) -> list[InstalledPlugin]:
    """The distributions installed from `packages`. Raises `CockpitError` if one is not a plugin."""
    installed = find_distributions([str(staged.site)])
    requested = []
    for source in packages:
        name = _find_distribution_name(source, installed)
        if name is None or name not in installed:
            if name in find_own_distributions():
                reason = f"{name} is already in cockpit's own environment"
                raise CockpitError(reason, f"`cockpit plugins` lists it; {UNCHANGED}")
            raise CockpitError(f"{source.named} did not install a package of that name", UNCHANGED)
        dist = installed[name]
        points = tuple(point.name for point in dist.entry_points.select(group=ENTRY_POINT_GROUP))
        if not points:
            reason = f"{dist.name} has no entry point in `{ENTRY_POINT_GROUP}`, so it is not a plugin"
            raise CockpitError(reason, UNCHANGED)
        requested.append(
            InstalledPlugin(
                dist.name,
                dist.version,
                source.named,
                source.kind,
                time.time(),
                points,
                source.revision,
                installer,
            )
        )
    return requested


def _find_distribution_name(source: PluginSource, installed: dict[str, Distribution]) -> str | None:
    """The normalized name of the distribution installed from `source`."""
    if source.kind == "index":
        from packaging.requirements import Requirement

        return normalize_name(Requirement(source.named).name)
    return next((name for name, value in installed.items() if sources.is_built_from(value, source)), None)


def _prune_and_preview(
    staged: StagedEnvironment, requested: list[InstalledPlugin], before: dict[str, str]
) -> InstallPreview:
    """Remove packages that the staged environment no longer needs, then inspect it. Raises `CockpitError` if
    a package conflicts with cockpit or a plugin does not load."""
    names = {normalize_name(plugin.distribution) for plugin in requested}
    if staged.before.fits:
        others = {normalize_name(plugin.distribution) for plugin in staged.before.plugins}
        orphans = environment.find_orphans(find_distributions([str(staged.site)]), names | others)
        remove_distributions(staged, orphans)
    after = find_distributions([str(staged.site)])
    if faults := environment.find_conflicts(after, find_own_distributions()):
        raise CockpitError(
            "the packages conflict with those of cockpit:\n  " + "\n  ".join(faults), UNCHANGED
        )
    probes = [
        probe
        for probe in probe_plugins(staged.folder, staged.site)
        if normalize_name(probe.distribution) in names
    ]
    for probe in probes:
        if probe.state == "failed":
            where = f" ({probe.trace})" if probe.trace else ""
            raise CockpitError(f"the plugin {probe.name} cannot be loaded: {probe.reason}{where}", UNCHANGED)
    needed = [dist for name, dist in after.items() if name not in names and before.get(name) != dist.version]
    removed = tuple(f"{name} {version}" for name, version in before.items() if name not in after)
    return InstallPreview(tuple(requested), tuple(needed), removed, tuple(probes))


def _print_preview(preview: InstallPreview) -> None:
    for plugin in preview.requested:
        revision = f" at {plugin.revision[:12]}" if plugin.revision else ""
        print(escape_text(f"{plugin.distribution} {plugin.version}  from {plugin.source}{revision}"))
        for probe in preview.plugins:
            if probe.distribution == plugin.distribution:
                _print_probe(probe)
    if preview.needed:
        print("Also installs:")
        for dist in preview.needed:
            print(escape_text(f"  {dist.name} {dist.version}"))
    if preview.removed:
        print(escape_text(f"Also removes (no longer needed): {', '.join(preview.removed)}"))


def _print_probe(probe: PluginProbe) -> None:
    milliseconds = probe.importing + sum(probe.hooks.values())
    print(escape_text(f"  plugin {probe.name} ({milliseconds:.0f} ms) registers:"))
    for value in probe.registers:
        hides = f"; replaces the {value.kind} of {value.shadows}" if value.shadows else ""
        print(escape_text(f"    {value.kind:12} {value.name}  {value.what}{hides}"))
    if not probe.registers:
        print("    nothing (tried in an empty folder without settings)")


def _confirm_install(yes: bool) -> bool:
    if not yes:
        print("A plugin runs its own code with your permissions.")
    if confirm("Install and enable it?", yes):
        return True
    print(f"Not installed; {UNCHANGED}.")
    return False


def _print_installed(plugins: list[InstalledPlugin]) -> None:
    disabled = files.load_settings(str(Path.cwd()), False).words("plugins.disabled")
    for plugin in plugins:
        print(
            escape_text(
                f"Installed {plugin.distribution} {plugin.version}; it is loaded when cockpit next starts."
            )
        )
        for name in plugin.names:
            if name in disabled:
                print(escape_text(f"{name} is disabled in your settings: cockpit plugins enable {name}"))


def remove_plugins(name: str, argv: Sequence[str]) -> int:
    """Remove plugins and bundles, and what only they needed."""
    parser = argparse.ArgumentParser(prog="cockpit plugins remove")
    parser.add_argument("name", nargs="+", help="name of a plugin, its distribution or a bundle")
    args = parser.parse_args(list(argv))
    record = discovery.read_record()
    bundle_names = [name for name in args.name if name in bundles.list_bundle_names()]
    plugins = [_find_installed(name, record) for name in args.name if name not in bundle_names]
    for name in bundle_names:
        bundles.remove_bundle(name)
        print(f"Removed the bundle {name}.")
    if plugins:
        _remove_packages(plugins)
    return 0


def _find_installed(name: str, record: InstalledRecord) -> InstalledPlugin:
    for plugin in record.plugins:
        if name in plugin.names or normalize_name(name) == normalize_name(plugin.distribution):
            return plugin
    own = find_own_distributions()
    if normalize_name(name) == OWN_DISTRIBUTION or name in own[OWN_DISTRIBUTION].entry_points.names:
        raise CockpitError(
            f"{name} is part of cockpit", f"to disable it, run `cockpit plugins disable {name}`"
        )
    for dist in own.values():
        names = dist.entry_points.select(group=ENTRY_POINT_GROUP).names
        if names and (normalize_name(name) == normalize_name(dist.name) or name in names):
            raise CockpitError(
                f"{name} is in cockpit's own environment", f"to remove it, run `pip uninstall {dist.name}`"
            )
    known = {text for plugin in record.plugins for text in (plugin.distribution, *plugin.names)}
    raise unknown_name("installed plugin", name, {*known, *bundles.list_bundle_names()})


def _remove_packages(chosen: list[InstalledPlugin]) -> None:
    with stage_environment() as staged:
        remaining = tuple(plugin for plugin in staged.before.plugins if plugin not in chosen)
        present = find_distributions([str(staged.site)])
        needed = {normalize_name(plugin.distribution) for plugin in remaining}
        orphans = environment.find_orphans(present, needed)
        # Read the versions now: distributions are read lazily.
        labels = {name: f"{name} {present[name].version}" for name in orphans}
        remove_distributions(staged, orphans)
        commit_environment(staged, remaining)
    for plugin in chosen:
        print(f"Removed {plugin.distribution} {plugin.version}.")
    names = {normalize_name(plugin.distribution) for plugin in chosen}
    others = sorted(label for name, label in labels.items() if name not in names)
    if others:
        print(f"Also removed (no longer needed): {', '.join(others)}")
