"""Names that a person types, and the nearest there are.

`cockpit plugins [list] [--json]`: every plugin, what it registers, its state, and what it cost.

`cockpit plugins info NAME [--json]`: where a plugin comes from, what it registers, needs and costs.

`cockpit plugins enable|disable NAME ...`: the list `[plugins] disabled` of your settings.

`cockpit plugins new NAME [--hook tool] [--into DIR]`: a plugin to begin with, its tests and all.
"""

import argparse
import time
from collections.abc import Sequence
from importlib.metadata import Distribution
from pathlib import Path

from cockpit.cli.command import add_options, escape_text, load_catalog, print_json, unknown_name
from cockpit.cli.plugins.probe import describe_entry
from cockpit.core.plugins.catalog import PluginCatalog, PluginState
from cockpit.installing import bundles, plugin_template
from cockpit.installing.environment import find_distributions, find_own_folders, normalize_name
from cockpit.plugin import discovery
from cockpit.plugin.discovery import InstalledPlugin
from cockpit.settings import files


def find_plugins(name: str, catalog: PluginCatalog) -> list[PluginState]:
    """The plugins of that name, or of the distribution of that name. Raises `CockpitError` for none."""
    states = [plugin for plugin in catalog.plugins if plugin.found.name == name]
    states = states or [
        entry for entry in catalog.plugins if normalize_name(entry.found.distribution) == normalize_name(name)
    ]
    if not states:
        names = {item.found.name for item in catalog.plugins} | {
            element.found.distribution for element in catalog.plugins if not element.found.is_ours
        }
        raise unknown_name("plugin", name, names)
    return states


SLOW_SECONDS = 0.05
"""Seconds of loading and registering from which a plugin is named as slow."""


def list_plugins(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}", description="What is plugged in.")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    catalog = load_catalog(str(Path.cwd()))
    if args.json:
        print_json([encode_plugin(entry) for entry in catalog.plugins])
        return 0
    width = max((len(plugin.found.name) for plugin in catalog.plugins), default=0)
    for item in catalog.plugins:
        found = item.found
        what = found.reason or ", ".join(name.partition(": ")[2] for name in item.registers) or "-"
        slow = f"  (slow: {find_slowest_part(item)})" if item.seconds >= SLOW_SECONDS else ""
        print(
            f"{found.name:{width}}  {found.state:8}  {item.seconds * 1000:6.1f} ms  {escape_text(what)}{slow}"
        )
    for name in bundles.list_bundle_names():
        print(f"{name:{width}}  bundle            from {escape_text(bundles.read_source(name))}")
    for warning in catalog.warnings:
        print(f"! {escape_text(warning)}")
    return 0


def encode_plugin(plugin: PluginState) -> dict[str, object]:
    """A plugin as scripts read it; `hooks` are milliseconds by hook, `import` what loading took."""
    return {
        "name": plugin.found.name,
        "distribution": plugin.found.distribution,
        "version": plugin.found.version,
        "registers": list(plugin.registers),
        "state": plugin.found.state,
        "reason": plugin.found.reason,
        "milliseconds": round(plugin.seconds * 1000, 1),
        "hooks": measure_hooks(plugin),
    }


def measure_hooks(plugin: PluginState) -> dict[str, float]:
    """What each part of loading and registering took, in milliseconds."""
    parts = {"import": plugin.found.seconds, **plugin.hooks}
    return {hook: round(seconds * 1000, 2) for hook, seconds in parts.items()}


def find_slowest_part(plugin: PluginState) -> str:
    """The part that took longest."""
    hook, took = max(measure_hooks(plugin).items(), key=lambda pair: pair[1])
    return f"{hook} {took:.0f} ms"


def show_plugin(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins info")
    parser.add_argument("name", help="of a plugin, or of its distribution")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    if args.name in bundles.list_bundle_names():
        return _show_bundle(args.name, args.json)
    catalog = load_catalog(str(Path.cwd()))
    rows = [encode_details(plugin, catalog) for plugin in find_plugins(args.name, catalog)]
    if args.json:
        print_json(rows)
        return 0
    for entry in find_plugins(args.name, catalog):
        _print_details(entry, catalog)
    return 0


def _show_bundle(name: str, as_json: bool) -> int:
    """A plugin of Claude Code's, which is files and no Python."""
    folder = discovery.bundles_folder() / name
    source, lines = bundles.read_source(name), bundles.describe_contents(folder)
    if as_json:
        found = {"name": name, "state": "bundle", "source": source, "where": str(folder), "brings": lines}
        print_json([found])
        return 0
    print(escape_text(f"{name}: a bundle from {source}, in {folder}"))
    for line in lines:
        print(f"  {line}")
    return 0


def encode_details(plugin: PluginState, catalog: PluginCatalog) -> dict[str, object]:
    """A row of the listing, and what is known beside it."""
    dist, record = find_distribution(plugin), _find_record(plugin)
    values = [describe_entry(entry) for entry in catalog.entries if entry.plugin == plugin.found.name]
    return {
        **encode_plugin(plugin),
        "module": plugin.found.module,
        "trace": plugin.found.trace,
        "where": describe_location(plugin),
        "source": record.source if record else "",
        "revision": record.revision if record else "",
        "installed": record.time if record else None,
        "requires": list(dist.requires or ()) if dist is not None else [],
        "values": [
            {"kind": value.kind, "name": value.name, "what": value.what, "shadows": value.shadows}
            for value in values
        ],
    }


def describe_location(plugin: PluginState) -> str:
    """In which environment it lies."""
    if plugin.found.is_ours:
        return "part of cockpit"
    return "beside cockpit" if plugin.found.beside else "cockpit's own environment"


def find_distribution(plugin: PluginState) -> Distribution | None:
    """The distribution that a plugin is in."""
    beside = discovery.read_record().folder()
    folders = [str(beside)] if plugin.found.beside and beside is not None else find_own_folders()
    return find_distributions(folders).get(normalize_name(plugin.found.distribution))


def _find_record(plugin: PluginState) -> InstalledPlugin | None:
    if not plugin.found.beside:
        return None
    name = normalize_name(plugin.found.distribution)
    return next(
        (each for each in discovery.read_record().plugins if normalize_name(each.distribution) == name), None
    )


def _print_details(plugin: PluginState, catalog: PluginCatalog) -> None:
    found, dist, record = plugin.found, find_distribution(plugin), _find_record(plugin)
    summary = str(dist.metadata["Summary"] or "") if dist is not None else ""
    print(
        f"{escape_text(found.name)}  {found.state}"
        + (f"  {escape_text(found.reason)}" if found.reason else "")
    )
    if found.trace:
        print(f"  failed at   {escape_text(found.trace)}")
    print(
        f"  comes with  {escape_text(found.distribution)} {escape_text(found.version)}  {escape_text(summary)}".rstrip()
    )
    print(f"  lies        {describe_location(plugin)}")
    if record is not None:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.time))
        revision = f" at {record.revision[:12]}" if record.revision else ""
        print(f"  installed   {day} by {record.installer} from {escape_text(record.source)}{revision}")
    if dist is not None and dist.requires and not found.is_ours:
        print(f"  needs       {escape_text(', '.join(dist.requires))}")
    print(f"  settings    [plugins.{escape_text(found.name)}]")
    took = "  ".join(f"{hook} {spent:.1f}" for hook, spent in measure_hooks(plugin).items())
    print(f"  took (ms)   {plugin.seconds * 1000:.1f}: {took}")
    for entry in catalog.entries:
        if entry.plugin == found.name:
            value = describe_entry(entry)
            hides = f"; hides {value.shadows}" if value.shadows else ""
            print(f"  {value.kind:11} {escape_text(value.name)}  {escape_text(value.what)}{hides}")


def switch_plugins(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}")
    parser.add_argument("name", nargs="+", help="of a plugin, or of its distribution")
    args = parser.parse_args(list(argv))
    catalog = load_catalog(str(Path.cwd()))
    # All names are looked up before one is written.
    chosen = [entry.found.name for word in args.name for entry in find_plugins(word, catalog)]
    for plugin in dict.fromkeys(chosen):
        if name == "disable":
            files.add_user_word(("plugins", "disabled"), plugin)
            print(f"{plugin} is switched off: `[plugins] disabled` in {files.user_file()}")
        elif files.remove_user_word(("plugins", "disabled"), plugin):
            print(f"{plugin} is switched on.")
        else:
            print(f"{plugin} was not switched off in {files.user_file()}.")
    return 0


def create_plugin(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins new")
    parser.add_argument("name", help="words, or cockpit-words")
    parser.add_argument(
        "--hook", choices=plugin_template.list_hooks(), default="tool", help="what it registers"
    )
    parser.add_argument("--into", default=".", metavar="DIR", help="where its folder is made")
    args = parser.parse_args(list(argv))
    folder, *files = plugin_template.write_plugin(args.name, args.hook, Path(args.into))
    print(f"Made {folder}")
    for path in files:
        print(f"  {path.relative_to(folder).as_posix()}")
    print("Next:")
    print(f"  cd {folder}")
    print("  python -m pytest                        # its tests pass")
    print("  cockpit plugins install --editable .    # use it while you work on it")
    return 0
