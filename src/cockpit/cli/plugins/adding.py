"""`cockpit plugins install` and `upgrade`: fetch, look at what it registers, ask, put it in force.

Everything happens in a generation that nobody uses; a no, a fault or Ctrl+C leaves all as it was.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from cockpit.cli.lines import said
from cockpit.cli.plugins.naming import unknown
from cockpit.cli.plugins.probing import Probed, probe
from cockpit.errors import CockpitError
from cockpit.installing import bundles, needs, sources
from cockpit.installing.environment import (
    Staged,
    commit,
    distributions,
    drop,
    normal,
    own_distributions,
    staging,
)
from cockpit.installing.installers import Wishes, install
from cockpit.installing.sources import Source
from cockpit.plugin import installed
from cockpit.plugin.discovery import GROUP
from cockpit.plugin.installed import Installed
from cockpit.settings import files

NOTHING = "nothing was changed"


@dataclass(frozen=True, slots=True)
class Brought:
    """What an installation would bring: `asked` for by a person, `needed` by those, `gone` from before."""

    asked: tuple[Installed, ...]
    needed: tuple[Distribution, ...]
    gone: tuple[str, ...]
    plugins: tuple[Probed, ...]


def main(name: str, argv: Sequence[str]) -> int:
    """0 when it is installed, 1 when the person says no."""
    given = _parser(name).parse_args(list(argv))
    if name == "upgrade":
        return _upgrade(given)
    named = [sources.parse(text, given.editable) for text in given.source]
    return _install(named, given, upgrade=given.upgrade)


def _parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"cockpit plugins {name}")
    if name == "install":
        parser.add_argument("source", nargs="+", metavar="NAME|PATH|git+URL")
        parser.add_argument("-e", "--editable", action="store_true", help="a folder, used where it stands")
        parser.add_argument("--upgrade", action="store_true", help="newer versions of what it needs, too")
    else:
        parser.add_argument("name", nargs="*", help="all of them where none is named")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    parser.add_argument("--no-index", action="store_true", help="fetch nothing")
    parser.add_argument(
        "--no-build-isolation", action="store_true", help="build with the tools that are here"
    )
    parser.add_argument("--installer", choices=("pip", "uv"), default="", help="pip where it is, else uv")
    return parser


def _upgrade(given: argparse.Namespace) -> int:
    record = installed.read()
    known = {normal(one.distribution): one for one in record.plugins}
    known |= {name: one for one in record.plugins for name in one.names}
    for name in given.name:
        if normal(name) not in known and name not in known:
            raise unknown("installed plugin", name, known)
    chosen = [known.get(name) or known[normal(name)] for name in given.name] or list(record.plugins)
    if not chosen:
        print("No plugin is installed.")
        return 0
    # What was made for another Python is made anew as a whole.
    whole = record.plugins if not record.fits else tuple(chosen)
    named = [sources.parse(one.source, one.kind == "editable") for one in dict.fromkeys(whole)]
    return _install(named, given, upgrade=True)


def _install(named: list[Source], given: argparse.Namespace, upgrade: bool) -> int:
    wishes = Wishes(given.installer, not given.no_index, not given.no_build_isolation, upgrade)
    with tempfile.TemporaryDirectory(prefix="cockpit-fetch-") as folder:
        fetched = [sources.fetched(one, Path(folder) / str(at)) for at, one in enumerate(named)]
        folders = [one for one in fetched if _is_bundle(one)]
        packages = [one for one in fetched if one not in folders]
        for one in folders:
            if not _add_bundle(one, given.yes):
                return 1
        return _add_packages(packages, wishes, given.yes) if packages else 0


def _is_bundle(source: Source) -> bool:
    local = source.kind in ("folder", "editable", "git")
    return local and sources.is_bundle(source.place) and not sources.is_project(source.place)


def _add_bundle(source: Source, yes: bool) -> bool:
    staged = bundles.add_bundle(source)
    try:
        print(f"The bundle {said(staged.name)} from {said(source.named)} brings:")
        for line in staged.lines:
            print(f"  {said(line)}")
        if not _agreed(yes):
            print(f"Left out; {NOTHING}.")
            return False
        staged.commit()
    finally:
        bundles.discard(staged)
    print(f"Installed the bundle {said(staged.name)}; `cockpit plugins remove {staged.name}` takes it away.")
    return True


def _add_packages(packages: list[Source], wishes: Wishes, yes: bool) -> int:
    record = installed.read()
    named = {one.named for one in packages}
    if not record.fits and any(one.source not in named for one in record.plugins):
        raise CockpitError(
            f"the plugins here were installed for Python {record.python}", "cockpit plugins upgrade"
        )
    with staging() as staged:
        # Read now: a distribution that is replaced has no version any more.
        before = {name: one.version for name, one in distributions([str(staged.site)]).items()}
        installer = install(staged, packages, wishes)
        asked = _asked_for(staged, packages, installer)
        brought = _brought(staged, asked, before)
        _show(brought)
        if not _agreed(yes):
            print(f"Left out; {NOTHING}.")
            return 1
        names = {normal(one.distribution) for one in brought.asked}
        kept = [one for one in staged.before.plugins if normal(one.distribution) not in names]
        commit(staged, (*brought.asked, *kept))
    _tell(brought)
    return 0


def _asked_for(staged: Staged, packages: list[Source], installer: str) -> list[Installed]:
    """The distributions that `packages` became. Raises `CockpitError` for one that is no plugin."""
    found = distributions([str(staged.site)])
    asked = []
    for source in packages:
        name = _name_of(source, found)
        if name is None or name not in found:
            if name in own_distributions():
                raise CockpitError(
                    f"{name} is already in cockpit's own environment",
                    f"`cockpit plugins` lists it; {NOTHING}",
                )
            raise CockpitError(f"{source.named} installed nothing under its name", NOTHING)
        one = found[name]
        points = tuple(point.name for point in one.entry_points if point.group == GROUP)
        if not points:
            raise CockpitError(
                f"{one.name} has no entry point in the group `{GROUP}`, so it is no plugin of cockpit's",
                NOTHING,
            )
        now = time.time()
        asked.append(
            Installed(
                one.name, one.version, source.named, source.kind, now, points, source.revision, installer
            )
        )
    return asked


def _name_of(source: Source, found: dict[str, Distribution]) -> str | None:
    """The normal name of the distribution that a source became."""
    if source.kind == "index":
        from packaging.requirements import Requirement

        return normal(Requirement(source.named).name)
    return next((name for name, one in found.items() if sources.came_from(one, source)), None)


def _brought(staged: Staged, asked: list[Installed], before: dict[str, str]) -> Brought:
    """What is in the staged environment now, without what nothing needs any more. Raises `CockpitError`
    where it does not fit cockpit, or does not load."""
    own = own_distributions()
    names = {normal(one.distribution) for one in asked}
    if staged.before.fits:
        kept = {normal(one.distribution) for one in staged.before.plugins}
        drop(staged, needs.orphans(distributions([str(staged.site)]), names | kept))
    after = distributions([str(staged.site)])
    if faults := needs.conflicts(after, own):
        raise CockpitError("it does not fit:\n  " + "\n  ".join(faults), NOTHING)
    plugins = [one for one in probe(staged.folder, staged.site) if normal(one.distribution) in names]
    for one in plugins:
        if one.state == "failed":
            where = f" ({one.trace})" if one.trace else ""
            raise CockpitError(f"the plugin {one.name} does not load: {one.reason}{where}", NOTHING)
    fresh = {
        name: one
        for name, one in after.items()
        if name not in names and (name not in before or before[name] != one.version)
    }
    gone = tuple(f"{name} {version}" for name, version in before.items() if name not in after)
    return Brought(tuple(asked), tuple(fresh.values()), gone, tuple(plugins))


def _show(brought: Brought) -> None:
    for one in brought.asked:
        revision = f" at {one.revision[:12]}" if one.revision else ""
        print(f"{said(one.distribution)} {said(one.version)}  from {said(one.source)}{revision}")
        for plugin in brought.plugins:
            if plugin.distribution == one.distribution:
                _show_plugin(plugin)
    if brought.needed:
        print("It needs, and brings:")
        for dist in brought.needed:
            print(f"  {said(dist.name)} {said(dist.version)}")
    if brought.gone:
        print(f"No longer needed: {said(', '.join(brought.gone))}")


def _show_plugin(plugin: Probed) -> None:
    took = plugin.importing + sum(plugin.hooks.values())
    print(f"  plugin {said(plugin.name)} ({took:.0f} ms) registers:")
    for value in plugin.registers:
        hides = f"; hides that of {value.shadows}" if value.shadows else ""
        print(f"    {value.kind:12} {said(value.name)}  {said(value.what)}{hides}")
    if not plugin.registers:
        print("    nothing in an empty folder without settings")


def _agreed(yes: bool) -> bool:
    """A person's yes. Raises `CockpitError` where nobody can be asked."""
    if yes:
        return True
    print("A plugin is code that runs with your rights.")
    if not sys.stdin.isatty():
        raise CockpitError("nobody is there to agree", f"look at the list above and add --yes; {NOTHING}")
    try:
        return input("Install and enable it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _tell(brought: Brought) -> None:
    off = set(files.load(str(Path.cwd()), False).words("plugins.disabled"))
    for one in brought.asked:
        print(f"Installed {said(one.distribution)} {said(one.version)}; a cockpit that starts now has it.")
        for name in one.names:
            if name in off:
                print(f"{said(name)} is switched off in your settings: cockpit plugins enable {said(name)}")
