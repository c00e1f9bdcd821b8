"""`cockpit plugins [list] [--json]`: every plugin, what it registers, its state, and what it cost."""

import argparse
import json
from collections.abc import Sequence

from cockpit.cli.lines import said
from cockpit.cli.plugins import here
from cockpit.core.catalog import PluginState
from cockpit.installing import bundles

SLOW = 0.05
"""Seconds of loading and registering from which a plugin is named as slow."""


def main(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}", description="What is plugged in.")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(list(argv))
    catalog = here()
    if given.json:
        print(json.dumps([row(one) for one in catalog.plugins], ensure_ascii=False))
        return 0
    width = max((len(one.found.name) for one in catalog.plugins), default=0)
    for one in catalog.plugins:
        found = one.found
        what = found.reason or ", ".join(name.partition(": ")[2] for name in one.registers) or "-"
        slow = f"  (slow: {slowest(one)})" if one.seconds >= SLOW else ""
        print(f"{found.name:{width}}  {found.state:8}  {one.seconds * 1000:6.1f} ms  {said(what)}{slow}")
    for name in bundles.names():
        print(f"{name:{width}}  bundle            from {said(bundles.source_of(name))}")
    for warning in catalog.warnings:
        print(f"! {said(warning)}")
    return 0


def row(one: PluginState) -> dict[str, object]:
    """A plugin as scripts read it; `hooks` are milliseconds by hook, `import` what loading took."""
    return {
        "name": one.found.name,
        "distribution": one.found.distribution,
        "version": one.found.version,
        "registers": list(one.registers),
        "state": one.found.state,
        "reason": one.found.reason,
        "milliseconds": round(one.seconds * 1000, 1),
        "hooks": times(one),
    }


def times(one: PluginState) -> dict[str, float]:
    """What each part of loading and registering took, in milliseconds."""
    parts = {"import": one.found.seconds, **one.hooks}
    return {hook: round(seconds * 1000, 2) for hook, seconds in parts.items()}


def slowest(one: PluginState) -> str:
    """The part that took longest."""
    hook, took = max(times(one).items(), key=lambda pair: pair[1])
    return f"{hook} {took:.0f} ms"
