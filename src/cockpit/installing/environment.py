"""The environment of installed plugins: a folder of packages per generation; a record names the current one.

A change is made in a copy of the current generation, which nothing uses. Writing the record puts the copy in
force, so whatever fails before that leaves everything as it was, and a running cockpit keeps the files it
started with. Also answers what the distributions need of each other. Fetches nothing.
"""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.errors import CockpitError
from cockpit.plugin import discovery
from cockpit.plugin.discovery import InstalledPlugin, InstalledRecord
from cockpit.settings.file_io import write_atomically

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Distributions = Mapping[str, Distribution]
PREVIOUS_GENERATIONS = 1
"""How many earlier generations are kept: a running cockpit still imports from them."""
STALE_SECONDS = 24 * 3600.0
SITE = "site-packages"


@dataclass(frozen=True, slots=True)
class StagedEnvironment:
    """A generation that is not in force yet. `site` holds its packages, `before` is the record that was in
    force when it was made."""

    folder: Path
    site: Path
    before: InstalledRecord

    def record(self, plugins: tuple[InstalledPlugin, ...] = ()) -> InstalledRecord:
        """The record that would put this generation in force."""
        past = (self.before.generation, *self.before.past) if self.before.generation else ()
        version = discovery.python_version()
        return InstalledRecord(self.folder.name, SITE, version, past[:PREVIOUS_GENERATIONS], plugins)


@contextlib.contextmanager
def stage_environment() -> Iterator[StagedEnvironment]:
    """A copy of the current environment to change; deleted at the end unless it was committed."""
    before = discovery.read_record()
    home = discovery.plugins_folder()
    home.mkdir(parents=True, exist_ok=True)
    _remove_stale_generations(home, before)
    folder = Path(tempfile.mkdtemp(prefix="gen-", dir=home))
    site = folder / SITE
    try:
        current = before.folder()
        if current is not None and current.is_dir() and before.fits:
            shutil.copytree(current, site, symlinks=True)
        else:
            site.mkdir()
        yield StagedEnvironment(folder, site, before)
    finally:
        if discovery.read_record().generation != folder.name:
            shutil.rmtree(folder, ignore_errors=True)


def commit_environment(staged: StagedEnvironment, plugins: tuple[InstalledPlugin, ...]) -> InstalledRecord:
    """Put a staged generation in force. Raises `CockpitError` if another one was put in force meanwhile."""
    if discovery.read_record() != staged.before:
        raise CockpitError("plugins were changed by another cockpit meanwhile", "run the command again")
    record = staged.record(tuple(sorted(plugins, key=lambda item: item.distribution)))
    if not plugins:
        record = replace(record, generation="", site="")
    write_atomically(discovery.record_path(), discovery.encode_record(record))
    for name in staged.before.past:
        if name and name not in record.past:
            shutil.rmtree(discovery.plugins_folder() / name, ignore_errors=True)
    return record


def find_own_folders() -> list[str]:
    """The folders on the path that hold cockpit's own distributions."""
    beside = discovery.plugins_folder().resolve()
    folders = []
    for entry in dict.fromkeys(sys.path):
        folder = Path(entry)
        if not entry or not folder.is_dir() or folder.resolve().is_relative_to(beside):
            continue
        if any(folder.glob("*.dist-info")) or any(folder.glob("*.egg-info")):
            folders.append(str(folder.resolve()))
    return folders


def find_own_distributions() -> dict[str, Distribution]:
    """The distributions of cockpit's own environment, by normalized name."""
    return find_distributions(find_own_folders())


def find_distributions(folders: list[str]) -> dict[str, Distribution]:
    """The distributions in `folders` by normalized name; the first of a name wins."""
    distributions: dict[str, Distribution] = {}
    for distribution in metadata.distributions(path=folders):
        # A folder without METADATA is left over from an interrupted uninstall.
        if distribution.metadata is not None and distribution.metadata["Name"]:
            distributions.setdefault(normalize_name(distribution.metadata["Name"]), distribution)
    return distributions


def normalize_name(name: str) -> str:
    """The normalized name of a distribution (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def remove_distributions(staged: StagedEnvironment, names: set[str]) -> None:
    """Remove the distributions with these normalized names from a staged generation, file by file."""
    inside = staged.folder.resolve()
    for name, value in find_distributions([str(staged.site)]).items():
        if name not in names:
            continue
        folders = set()
        for file in value.files or ():
            path = Path(os.path.normpath(staged.site / file))
            # The list of files comes from the distribution and may point anywhere.
            if path.is_relative_to(inside) and path.parent.resolve().is_relative_to(inside):
                path.unlink(missing_ok=True)
                folders.add(path.parent)
        for folder in sorted(folders, key=lambda value: len(value.parts), reverse=True):
            _remove_empty_folders(folder, staged.site)


def _remove_empty_folders(folder: Path, top: Path) -> None:
    """Remove a folder that holds nothing but compiled modules, and then its parents that became empty."""
    while folder != top and folder.is_relative_to(top) and folder.is_dir():
        if any(path.name != "__pycache__" for path in folder.iterdir()):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder = folder.parent


def _remove_stale_generations(home: Path, record: InstalledRecord) -> None:
    """Delete generations left by a crash: a day old and not named by the record."""
    for folder in home.glob("gen-*"):
        named = folder.name in (record.generation, *record.past)
        if not named and time.time() - folder.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def find_conflicts(beside: Distributions, own: Distributions) -> list[str]:
    """The conflicts, one sentence each: unmet needs, and distributions hidden by cockpit's own."""
    faults = []
    for name, value in beside.items():
        if name in own:
            faults.append(
                f"{name} {value.version} is hidden by cockpit's own {own[name].version}, which would be used"
            )
        faults += find_unmet_needs(value, beside, own)
    return faults


def find_unmet_needs(distribution: Distribution, beside: Distributions, own: Distributions) -> list[str]:
    """The requirements of a distribution that nothing satisfies, one sentence each."""
    faults = []
    for requirement in _list_requirements(distribution, frozenset()):
        name = normalize_name(requirement.name)
        # cockpit's own distributions come first on the path, so they are what is imported.
        met = own.get(name) or beside.get(name)
        need = f"{distribution.metadata['Name']} {distribution.version} needs {requirement}"
        if met is None:
            faults.append(f"{need}, which is not installed")
        elif not requirement.specifier.contains(met.version, prereleases=True):
            whose = "cockpit has" if name in own else "there is"
            faults.append(f"{need}, {whose} {met.version}")
    return faults


def find_orphans(beside: Distributions, asked_for: set[str]) -> set[str]:
    """The names in `beside` that no requested distribution needs."""
    needed: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset[str]()) for name in asked_for]
    while waiting:
        node = waiting.pop()
        if node in needed or node[0] not in beside:
            continue
        needed.add(node)
        for requirement in _list_requirements(beside[node[0]], node[1]):
            waiting.append((normalize_name(requirement.name), frozenset(requirement.extras)))
    return set(beside) - {name for name, _ in needed}


def find_hidden_modules(beside: Distributions, own: Distributions) -> dict[str, list[str]]:
    """By distribution, its modules that cockpit's own environment or the standard library hides."""
    own_modules = set(sys.stdlib_module_names)
    for item in own.values():
        own_modules |= list_modules(item)
    hidden = {
        name: sorted(list_modules(value) & own_modules) for name, value in beside.items() if name not in own
    }
    return {name: modules for name, modules in hidden.items() if modules}


def list_modules(distribution: Distribution) -> set[str]:
    """The top-level names that a distribution can be imported by."""
    modules = set()
    for file in distribution.files or ():
        top = file.parts[0]
        if (
            len(file.parts) > 1
            and not top.endswith((".dist-info", ".data"))
            and top not in ("..", "__pycache__")
        ):
            # A folder without `__init__.py` is a namespace package that several distributions may share.
            if len(file.parts) == 2 and file.parts[1] == "__init__.py":
                modules.add(top)
        elif len(file.parts) == 1 and file.suffix == ".py":
            modules.add(file.stem)
    return modules


def _list_requirements(distribution: Distribution, extras: frozenset[str]) -> "Iterator[Requirement]":
    """The requirements of a distribution that apply here, with these extras."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in distribution.requires or ():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement
