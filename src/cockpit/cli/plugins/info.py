"""`cockpit plugins info NAME [--json]`: where a plugin comes from, what it registers, needs and costs."""

import argparse
import json
import time
from collections.abc import Sequence
from importlib.metadata import Distribution

from cockpit.cli.lines import said
from cockpit.cli.plugins import here
from cockpit.cli.plugins.listing import row, times
from cockpit.cli.plugins.naming import plugins_called
from cockpit.cli.plugins.probing import registered
from cockpit.core.catalog import Catalog, PluginState
from cockpit.installing import bundles
from cockpit.installing.environment import distributions, normal, own_folders
from cockpit.plugin import installed
from cockpit.plugin.installed import Installed


def main(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins info")
    parser.add_argument("name", help="of a plugin, or of its distribution")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(list(argv))
    if given.name in bundles.names():
        return _bundle(given.name, given.json)
    catalog = here()
    rows = [facts(one, catalog) for one in plugins_called(given.name, catalog)]
    if given.json:
        print(json.dumps(rows, ensure_ascii=False))
        return 0
    for one in plugins_called(given.name, catalog):
        _print(one, catalog)
    return 0


def _bundle(name: str, as_json: bool) -> int:
    """A plugin of Claude Code's, which is files and no Python."""
    folder = installed.bundles() / name
    source, lines = bundles.source_of(name), bundles.contents(folder)
    if as_json:
        found = {"name": name, "state": "bundle", "source": source, "where": str(folder), "brings": lines}
        print(json.dumps([found], ensure_ascii=False))
        return 0
    print(said(f"{name}: a bundle from {source}, in {folder}"))
    for line in lines:
        print(f"  {line}")
    return 0


def facts(one: PluginState, catalog: Catalog) -> dict[str, object]:
    """A row of the listing, and what is known beside it."""
    dist, record = distribution_of(one), _record_of(one)
    values = [registered(entry) for entry in catalog.entries if entry.plugin == one.found.name]
    return {
        **row(one),
        "module": one.found.module,
        "trace": one.found.trace,
        "where": where(one),
        "source": record.source if record else "",
        "revision": record.revision if record else "",
        "installed": record.time if record else None,
        "requires": list(dist.requires or ()) if dist is not None else [],
        "values": [
            {"kind": value.kind, "name": value.name, "what": value.what, "shadows": value.shadows}
            for value in values
        ],
    }


def where(one: PluginState) -> str:
    """In which environment it lies."""
    if one.found.is_ours:
        return "part of cockpit"
    return "beside cockpit" if one.found.beside else "cockpit's own environment"


def distribution_of(one: PluginState) -> Distribution | None:
    """The distribution that a plugin is in."""
    beside = installed.read().folder()
    folders = [str(beside)] if one.found.beside and beside is not None else own_folders()
    return distributions(folders).get(normal(one.found.distribution))


def _record_of(one: PluginState) -> Installed | None:
    if not one.found.beside:
        return None
    name = normal(one.found.distribution)
    return next((each for each in installed.read().plugins if normal(each.distribution) == name), None)


def _print(one: PluginState, catalog: Catalog) -> None:
    found, dist, record = one.found, distribution_of(one), _record_of(one)
    summary = str(dist.metadata["Summary"] or "") if dist is not None else ""
    print(f"{said(found.name)}  {found.state}" + (f"  {said(found.reason)}" if found.reason else ""))
    if found.trace:
        print(f"  failed at   {said(found.trace)}")
    print(f"  comes with  {said(found.distribution)} {said(found.version)}  {said(summary)}".rstrip())
    print(f"  lies        {where(one)}")
    if record is not None:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.time))
        revision = f" at {record.revision[:12]}" if record.revision else ""
        print(f"  installed   {day} by {record.installer} from {said(record.source)}{revision}")
    if dist is not None and dist.requires and not found.is_ours:
        print(f"  needs       {said(', '.join(dist.requires))}")
    print(f"  settings    [plugins.{said(found.name)}]")
    took = "  ".join(f"{hook} {spent:.1f}" for hook, spent in times(one).items())
    print(f"  took (ms)   {one.seconds * 1000:.1f}: {took}")
    for entry in catalog.entries:
        if entry.plugin == found.name:
            value = registered(entry)
            hides = f"; hides {value.shadows}" if value.shadows else ""
            print(f"  {value.kind:11} {said(value.name)}  {said(value.what)}{hides}")
