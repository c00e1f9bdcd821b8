"""`cockpit plugins doctor [NAME] [--json]`: what is wrong with plugins, where, and what mends it."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cockpit.cli.lines import said
from cockpit.cli.plugins.faults import Finding, findings
from cockpit.cli.plugins.naming import plugins_called
from cockpit.core.catalog import build
from cockpit.plugin.discovery import load
from cockpit.settings import files, trust

SIGNS = {"fault": "FAULT", "note": "note "}


def main(name: str, argv: Sequence[str]) -> int:
    """0 when no plugin has a fault, else 1; notes are none."""
    parser = argparse.ArgumentParser(prog="cockpit plugins doctor")
    parser.add_argument("name", nargs="?", default="", help="of one plugin, or of its distribution")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(list(argv))
    root = str(Path.cwd())
    trusted = trust.is_trusted(root) is True
    settings = files.load(root, trusted)
    manager, found = load(settings.words("plugins.disabled"))
    environment = files.environment(root, trusted)
    catalog = build(manager, found, root, settings, environment, trusted, lambda: None)
    rows = findings(manager, catalog, settings)
    if given.name:
        names = {one.found.name for one in plugins_called(given.name, catalog)}
        rows = [one for one in rows if one.plugin in names]
    if given.json:
        print(json.dumps([asdict(one) for one in rows], ensure_ascii=False))
    else:
        foreign = sum(not one.found.is_ours for one in catalog.plugins)
        _print(rows, len(catalog.plugins), foreign)
    return 1 if any(one.level == "fault" for one in rows) else 0


def _print(rows: list[Finding], plugins: int, foreign: int) -> None:
    print(f"{plugins} plugins, {foreign} of them installed; {len(rows) or 'no'} findings")
    for one in rows:
        print(f"{SIGNS[one.level]} {said(one.plugin)}: {said(one.what)}")
        if one.place:
            print(f"      at {said(one.place)}")
        if one.mend:
            print(f"      -> {said(one.mend)}")
