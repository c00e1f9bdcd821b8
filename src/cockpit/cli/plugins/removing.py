"""`cockpit plugins remove NAME ...`: a plugin, and what it brought that nothing else needs."""

import argparse
from collections.abc import Sequence

from cockpit.cli.plugins.naming import unknown
from cockpit.errors import CockpitError
from cockpit.installing import bundles, needs
from cockpit.installing.environment import commit, distributions, drop, normal, own_distributions, staging
from cockpit.plugin import installed
from cockpit.plugin.discovery import GROUP, OURS
from cockpit.plugin.installed import Installed, Record


def main(name: str, argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit plugins remove")
    parser.add_argument("name", nargs="+", help="of a plugin, its distribution or a bundle")
    given = parser.parse_args(list(argv))
    record = installed.read()
    leaving = [one for one in given.name if one not in bundles.names()]
    chosen = [_called(one, record) for one in leaving]
    for one in given.name:
        if one not in leaving:
            bundles.remove(one)
            print(f"Removed the bundle {one}.")
    if chosen:
        _remove(chosen)
    return 0


def _called(name: str, record: Record) -> Installed:
    for one in record.plugins:
        if name in one.names or normal(name) == normal(one.distribution):
            return one
    own = own_distributions()
    if normal(name) == OURS or any(name == point.name for point in own[OURS].entry_points):
        raise CockpitError(f"{name} is a part of cockpit", f"switch it off: cockpit plugins disable {name}")
    for dist in own.values():
        names = [point.name for point in dist.entry_points if point.group == GROUP]
        if names and (normal(name) == normal(dist.name) or name in names):
            raise CockpitError(f"{name} is in cockpit's own environment", f"pip uninstall {dist.name}")
    known = {each for one in record.plugins for each in (one.distribution, *one.names)}
    raise unknown("installed plugin", name, {*known, *bundles.names()})


def _remove(chosen: list[Installed]) -> None:
    with staging() as staged:
        kept = tuple(one for one in staged.before.plugins if one not in chosen)
        present = distributions([str(staged.site)])
        gone = needs.orphans(present, {normal(one.distribution) for one in kept})
        # A distribution is read lazily: what is gone has no version any more.
        labels = {name: f"{name} {present[name].version}" for name in gone}
        drop(staged, gone)
        commit(staged, kept)
    for one in chosen:
        print(f"Removed {one.distribution} {one.version}.")
    names = {normal(one.distribution) for one in chosen}
    others = sorted(label for name, label in labels.items() if name not in names)
    if others:
        print(f"Nothing else needed: {', '.join(others)}")
