"""`cockpit plugins list|info|enable|disable|new`: the plugins, what each registers, needs and costs."""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import Distribution
from pathlib import Path

from cockpit.cli.command import (
    add_options,
    escape_text,
    load_catalog,
    print_json,
    select_fields,
    unknown_name,
)
from cockpit.cli.plugins.probe import describe_entry
from cockpit.core.plugins.catalog import PluginCatalog, PluginState
from cockpit.installing import bundles, plugin_template
from cockpit.installing.environment import find_distributions, find_own_folders, normalize_name
from cockpit.plugin import discovery
from cockpit.plugin.discovery import InstalledPlugin
from cockpit.settings import files


def find_plugins(name: str, catalog: PluginCatalog) -> list[PluginState]:
    """The plugins called `name`, or those of that distribution. Raises `CockpitError` if there are none."""
    if plugins := [plugin for plugin in catalog.plugins if plugin.found.name == name]:
        return plugins
    plugins = [
        plugin
        for plugin in catalog.plugins
        if normalize_name(plugin.found.distribution) == normalize_name(name)
    ]
    if not plugins:
        found = [plugin.found for plugin in catalog.plugins]
        distributions = {details.distribution for details in found if not details.is_ours}
        raise unknown_name("plugin", name, distributions | {details.name for details in found})
    return plugins


SLOW_SECONDS = 0.05
"""A plugin that takes longer than this to load and register is marked as slow."""


def list_plugins(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}", description="List the plugins.")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    catalog = load_catalog(str(Path.cwd()))
    if args.json:
        print_json([_encode_plugin(plugin) for plugin in catalog.plugins])
        return 0
    width = max((len(plugin.found.name) for plugin in catalog.plugins), default=0)
    for plugin in catalog.plugins:
        details = plugin.found
        what = details.reason or ", ".join(name.partition(": ")[2] for name in plugin.registers) or "-"
        slow = f"  (slow: {find_slowest_part(plugin)})" if plugin.seconds >= SLOW_SECONDS else ""
        took = f"{plugin.seconds * 1000:6.1f} ms"
        print(f"{details.name:{width}}  {details.state:8}  {took}  {escape_text(what)}{slow}")
    for name in bundles.list_bundle_names():
        print(f"{name:{width}}  bundle            from {escape_text(bundles.read_source(name))}")
    for warning in catalog.warnings:
        print(f"! {escape_text(warning)}")
    return 0


def _encode_plugin(plugin: PluginState) -> dict[str, object]:
    return {
        **select_fields(plugin.found, "name", "distribution", "version", "state", "reason"),
        "registers": plugin.registers,
        "milliseconds": round(plugin.seconds * 1000, 1),
        "hooks": _measure_hooks(plugin),
    }


def _measure_hooks(plugin: PluginState) -> dict[str, float]:
    """The time of loading (`import`) and of each hook, in milliseconds."""
    parts = {"import": plugin.found.seconds, **plugin.hooks}
    return {hook: round(seconds * 1000, 2) for hook, seconds in parts.items()}


def find_slowest_part(plugin: PluginState) -> str:
    """The slowest hook (or `import`) and its time, as text."""
    hook, took = max(_measure_hooks(plugin).items(), key=lambda pair: pair[1])
    return f"{hook} {took:.0f} ms"


def show_plugin(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins info")
    parser.add_argument("name", help="name of a plugin or of its distribution")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    if args.name in bundles.list_bundle_names():
        return _show_bundle(args.name, args.json)
    catalog = load_catalog(str(Path.cwd()))
    plugins = find_plugins(args.name, catalog)
    if args.json:
        print_json([_encode_details(plugin, catalog) for plugin in plugins])
        return 0
    for plugin in plugins:
        _print_details(plugin, catalog)
    return 0


def _show_bundle(name: str, as_json: bool) -> int:
    """Show a Claude Code plugin, which has files and no Python."""
    folder = discovery.bundles_folder() / name
    source, lines = bundles.read_source(name), bundles.describe_contents(folder)
    if as_json:
        encoded = {"name": name, "state": "bundle", "source": source, "where": str(folder), "brings": lines}
        print_json([encoded])
        return 0
    print(escape_text(f"{name}: a bundle from {source}, in {folder}"))
    for line in lines:
        print(f"  {line}")
    return 0


def _encode_details(plugin: PluginState, catalog: PluginCatalog) -> dict[str, object]:
    dist, record = find_distribution(plugin), _find_record(plugin)
    return {
        **_encode_plugin(plugin),
        "module": plugin.found.module,
        "trace": plugin.found.trace,
        "where": _describe_location(plugin),
        "source": record.source if record else "",
        "revision": record.revision if record else "",
        "installed": record.time if record else None,
        "requires": list(dist.requires or ()) if dist is not None else [],
        "values": [
            asdict(describe_entry(entry)) for entry in catalog.entries if entry.plugin == plugin.found.name
        ],
    }


def _describe_location(plugin: PluginState) -> str:
    if plugin.found.is_ours:
        return "part of cockpit"
    return "the plugin environment" if plugin.found.beside else "cockpit's own environment"


def find_distribution(plugin: PluginState) -> Distribution | None:
    """The distribution that contains the plugin."""
    beside = discovery.read_record().folder()
    folders = [str(beside)] if plugin.found.beside and beside is not None else find_own_folders()
    return find_distributions(folders).get(normalize_name(plugin.found.distribution))


def _find_record(plugin: PluginState) -> InstalledPlugin | None:
    if not plugin.found.beside:
        return None
    name = normalize_name(plugin.found.distribution)
    installed = discovery.read_record().plugins
    return next((item for item in installed if normalize_name(item.distribution) == name), None)


def _print_details(plugin: PluginState, catalog: PluginCatalog) -> None:
    details, dist, record = plugin.found, find_distribution(plugin), _find_record(plugin)
    # keyring replaces the finder of distributions with one that raises KeyError for a missing field.
    summary = str(dist.metadata["Summary"]) if dist is not None and "Summary" in dist.metadata else ""
    print(escape_text(f"{details.name}  {details.state}  {details.reason}").rstrip())
    if details.trace:
        print(escape_text(f"  failed at   {details.trace}"))
    print(escape_text(f"  package     {details.distribution} {details.version}  {summary}").rstrip())
    print(f"  location    {_describe_location(plugin)}")
    if record is not None:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.time))
        revision = f" at {record.revision[:12]}" if record.revision else ""
        print(escape_text(f"  installed   {day} by {record.installer} from {record.source}{revision}"))
    if dist is not None and dist.requires and not details.is_ours:
        print(escape_text(f"  needs       {', '.join(dist.requires)}"))
    print(escape_text(f"  settings    [plugins.{details.name}]"))
    took = "  ".join(f"{hook} {spent:.1f}" for hook, spent in _measure_hooks(plugin).items())
    print(f"  took (ms)   {plugin.seconds * 1000:.1f}: {took}")
    for value in (describe_entry(entry) for entry in catalog.entries if entry.plugin == details.name):
        hides = f"; hides {value.shadows}" if value.shadows else ""
        print(escape_text(f"  {value.kind:11} {value.name}  {value.what}{hides}"))


def switch_plugins(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}")
    parser.add_argument("name", nargs="+", help="name of a plugin or of its distribution")
    args = parser.parse_args(list(argv))
    catalog = load_catalog(str(Path.cwd()))
    # Look up all names before changing any setting.
    chosen = [plugin.found.name for word in args.name for plugin in find_plugins(word, catalog)]
    for plugin in dict.fromkeys(chosen):
        if name == "disable":
            files.add_user_word(("plugins", "disabled"), plugin)
            print(f"disabled {plugin}: `[plugins] disabled` in {files.user_file()}")
        elif files.remove_user_word(("plugins", "disabled"), plugin):
            print(f"enabled {plugin}")
        else:
            print(f"{plugin} was not disabled in {files.user_file()}")
    return 0


def create_plugin(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins new")
    parser.add_argument("name", help="name of the plugin: words, or cockpit-words")
    parser.add_argument(
        "--hook", choices=plugin_template.list_hooks(), default="tool", help="what it registers"
    )
    parser.add_argument("--into", default=".", metavar="DIR", help="where to create its folder")
    args = parser.parse_args(list(argv))
    folder, *files = plugin_template.write_plugin(args.name, args.hook, Path(args.into))
    print(f"Created {folder}")
    for path in files:
        print(f"  {path.relative_to(folder).as_posix()}")
    print("Next:")
    print(f"  cd {folder}")
    print("  python -m pytest                        # its tests pass")
    print("  cockpit plugins install --editable .    # use it while you work on it")
    return 0
