"""`cockpit plugins [--json]`: every plugin, what it registers, its state, and what it cost."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.catalogs import catalog_of
from cockpit.core.catalog import PluginState


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins", description="What is plugged in.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(list(argv))
    catalog = catalog_of(str(Path.cwd()))
    if given.json:
        print(json.dumps([_row(one) for one in catalog.plugins], ensure_ascii=False))
        return 0
    width = max((len(one.found.name) for one in catalog.plugins), default=0)
    for one in catalog.plugins:
        found = one.found
        what = found.reason or ", ".join(name.partition(": ")[2] for name in one.registers) or "-"
        print(f"{found.name:{width}}  {found.state:8}  {one.seconds * 1000:6.1f} ms  {what}")
    for warning in catalog.warnings:
        print(f"! {warning}")
    return 0


def _row(one: PluginState) -> dict[str, object]:
    return {
        "name": one.found.name,
        "distribution": one.found.distribution,
        "version": one.found.version,
        "registers": list(one.registers),
        "state": one.found.state,
        "reason": one.found.reason,
        "milliseconds": round(one.seconds * 1000, 1),
    }
