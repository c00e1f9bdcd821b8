"""The environment of plugins: whole generations, one of which the record names.

A change is made in a new generation, which is a copy; writing the record is the one step that puts it
in force. Whatever fails before leaves everything as it was, and a running cockpit keeps the files it has
begun with. Refuses to fetch anything.

What distributions need of each other: conflicts with cockpit's own, and what nobody needs any more.
"""

import contextlib
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.errors import CockpitError
from cockpit.plugin import discovery
from cockpit.plugin.discovery import OWN_PATH_FILE, InstalledPlugin, InstalledRecord
from cockpit.settings.file_io import write_atomically

if TYPE_CHECKING:
    from packaging.requirements import Requirement


PREVIOUS_GENERATIONS = 1
"""Generations before the present one that stay: a cockpit that runs imports from them."""
STALE_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class StagedEnvironment:
    """A generation that nobody uses yet. `site` is the folder of its packages, `before` the record that
    it was made from."""

    folder: Path
    site: Path
    before: InstalledRecord

    @property
    def python(self) -> str:
        """The interpreter that sees this generation and, behind it, cockpit's own distributions."""
        scripts, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        return str(self.folder / scripts / name)

    def record(self, plugins: tuple[InstalledPlugin, ...] = ()) -> InstalledRecord:
        """The record that would put it in force."""
        site = self.site.relative_to(self.folder).as_posix()
        past = (self.before.generation, *self.before.past) if self.before.generation else ()
        return InstalledRecord(
            self.folder.name, site, discovery.python_version(), past[:PREVIOUS_GENERATIONS], plugins
        )


@contextlib.contextmanager
def stage_environment(empty: bool = False) -> Iterator[StagedEnvironment]:
    """A copy of the environment in force to change; taken away in the end unless it was `commit`ted.

    `empty` begins with none of its packages.
    """
    before = discovery.read_record()
    home = discovery.plugins_folder()
    home.mkdir(parents=True, exist_ok=True)
    _remove_stale_generations(home, before)
    folder = Path(tempfile.mkdtemp(prefix="gen-", dir=home))
    try:
        venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(folder)
        site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
        old = before.folder()
        if old is not None and old.is_dir() and before.fits and not empty:
            _copy_packages(old, site)
        (site / OWN_PATH_FILE).write_text("\n".join(find_own_folders()) + "\n", encoding="utf-8")
        yield StagedEnvironment(folder, site, before)
    finally:
        if discovery.read_record().generation != folder.name:
            shutil.rmtree(folder, ignore_errors=True)


def commit_environment(staged: StagedEnvironment, plugins: tuple[InstalledPlugin, ...]) -> InstalledRecord:
    """Put a staged generation in force. Raises `CockpitError` when another one was, meanwhile."""
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
    found = []
    for entry in dict.fromkeys(sys.path):
        folder = Path(entry)
        if not entry or not folder.is_dir() or folder.resolve().is_relative_to(beside):
            continue
        if any(folder.glob("*.dist-info")) or any(folder.glob("*.egg-info")):
            found.append(str(folder.resolve()))
    return found


def find_own_distributions() -> dict[str, metadata.Distribution]:
    """What cockpit's own environment holds, by normal name."""
    return find_distributions(find_own_folders())


def find_distributions(folders: list[str]) -> dict[str, metadata.Distribution]:
    """The distributions in `folders`, the first of a name, by normal name."""
    found: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions(path=folders):
        # A folder without a METADATA is a torn uninstall, no distribution.
        if distribution.metadata is not None and distribution.metadata["Name"]:
            found.setdefault(normalize_name(distribution.metadata["Name"]), distribution)
    return found


def normalize_name(name: str) -> str:
    """A distribution's name as all spellings of it are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def remove_distributions(staged: StagedEnvironment, names: set[str]) -> None:
    """Take the distributions of these normal names out of a staged generation, file by file."""
    inside = staged.folder.resolve()
    for name, value in find_distributions([str(staged.site)]).items():
        if name not in names:
            continue
        folders = set()
        for file in value.files or ():
            path = Path(os.path.normpath(staged.site / file))
            # The list of files is the distribution's own word.
            if path.is_relative_to(inside) and path.parent.resolve().is_relative_to(inside):
                path.unlink(missing_ok=True)
                folders.add(path.parent)
        for folder in sorted(folders, key=lambda value: len(value.parts), reverse=True):
            _remove_empty_folders(folder, staged.site)


def _remove_empty_folders(folder: Path, top: Path) -> None:
    """Remove a folder with nothing but compiled modules in it, and those above it that are empty then."""
    while folder != top and folder.is_relative_to(top) and folder.is_dir():
        if any(path.name != "__pycache__" for path in folder.iterdir()):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder = folder.parent


def _copy_packages(old: Path, new: Path) -> None:
    """The packages of a generation, linked where they can be: nobody writes into an installed file, an
    installer replaces it. What describes them is copied."""

    def link(source: str, target: str) -> str:
        if Path(source).parent.name.endswith(".dist-info"):
            return str(shutil.copy2(source, target))
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)
        return target

    shutil.copytree(old, new, symlinks=True, copy_function=link, dirs_exist_ok=True)


def _remove_stale_generations(home: Path, record: InstalledRecord) -> None:
    """Take away what a crash left: generations nobody names, a day old."""
    for folder in home.glob("gen-*"):
        named = folder.name in (record.generation, *record.past)
        if not named and time.time() - folder.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


Distributions = Mapping[str, Distribution]


def find_conflicts(beside: Distributions, own: Distributions) -> list[str]:
    """What does not fit, a sentence each: a need that nothing meets, and a distribution that would stand
    behind cockpit's own of the same name."""
    found = []
    for name, value in beside.items():
        if name in own:
            found.append(
                f"{name} {value.version} stands behind cockpit's own {own[name].version}, which would be used"
            )
        found += find_unmet_needs(value, beside, own)
    return found


def find_unmet_needs(distribution: Distribution, beside: Distributions, own: Distributions) -> list[str]:
    """The needs of one distribution that nothing meets."""
    found = []
    for requirement in _list_requirements(distribution, frozenset()):
        name = normalize_name(requirement.name)
        # cockpit's own comes first on the path: it is what would be imported.
        met = own.get(name) or beside.get(name)
        wanted = f"{distribution.metadata['Name']} {distribution.version} needs {requirement}"
        if met is None:
            found.append(f"{wanted}, which is not installed")
        elif not requirement.specifier.contains(met.version, prereleases=True):
            whose = "cockpit has" if name in own else "there is"
            found.append(f"{wanted}, {whose} {met.version}")
    return found


def find_orphans(beside: Distributions, asked_for: set[str]) -> set[str]:
    """The names in `beside` that nothing needs which a person asked for."""
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
    """By distribution beside, its modules that cockpit's own environment or Python itself hides."""
    taken = set(sys.stdlib_module_names)
    for item in own.values():
        taken |= list_modules(item)
    found = {name: sorted(list_modules(value) & taken) for name, value in beside.items() if name not in own}
    return {name: modules for name, modules in found.items() if modules}


def list_modules(distribution: Distribution) -> set[str]:
    """The names that a distribution can be imported by."""
    found = set()
    for file in distribution.files or ():
        top = file.parts[0]
        if (
            len(file.parts) > 1
            and not top.endswith((".dist-info", ".data"))
            and top not in ("..", "__pycache__")
        ):
            # A folder without an `__init__` is a namespace, which several may share.
            if len(file.parts) == 2 and file.parts[1] == "__init__.py":
                found.add(top)
        elif len(file.parts) == 1 and file.suffix == ".py":
            found.add(file.stem)
    return found


def _list_requirements(distribution: Distribution, extras: frozenset[str]) -> "Iterator[Requirement]":
    """The requirements of a distribution that count here, with these extras of it."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in distribution.requires or ():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement
