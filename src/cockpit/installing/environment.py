"""The environment of plugins: whole generations, one of which the record names.

A change is made in a new generation, which is a copy; writing the record is the one step that puts it
in force. Whatever fails before leaves everything as it was, and a running cockpit keeps the files it has
begun with. Refuses to fetch anything.
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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.plugin import installed
from cockpit.plugin.installed import OWN, Installed, Record
from cockpit.settings.atomic import write_atomically

KEPT = 1
"""Generations before the present one that stay: a cockpit that runs imports from them."""
STALE_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Staged:
    """A generation that nobody uses yet. `site` is the folder of its packages, `before` the record that
    it was made from."""

    folder: Path
    site: Path
    before: Record

    @property
    def python(self) -> str:
        """The interpreter that sees this generation and, behind it, cockpit's own distributions."""
        scripts, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        return str(self.folder / scripts / name)

    def record(self, plugins: tuple[Installed, ...] = ()) -> Record:
        """The record that would put it in force."""
        site = self.site.relative_to(self.folder).as_posix()
        past = (self.before.generation, *self.before.past) if self.before.generation else ()
        return Record(self.folder.name, site, installed.python(), past[:KEPT], plugins)


@contextlib.contextmanager
def staging(empty: bool = False) -> Iterator[Staged]:
    """A copy of the environment in force to change; taken away in the end unless it was `commit`ted.

    `empty` begins with none of its packages.
    """
    before = installed.read()
    home = installed.home()
    home.mkdir(parents=True, exist_ok=True)
    _sweep(home, before)
    folder = Path(tempfile.mkdtemp(prefix="gen-", dir=home))
    try:
        venv.EnvBuilder(with_pip=False, symlinks=os.name != "nt").create(folder)
        site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
        old = before.folder()
        if old is not None and old.is_dir() and before.fits and not empty:
            _copy(old, site)
        (site / OWN).write_text("\n".join(own_folders()) + "\n", encoding="utf-8")
        yield Staged(folder, site, before)
    finally:
        if installed.read().generation != folder.name:
            shutil.rmtree(folder, ignore_errors=True)


def commit(staged: Staged, plugins: tuple[Installed, ...]) -> Record:
    """Put a staged generation in force. Raises `CockpitError` when another one was, meanwhile."""
    if installed.read() != staged.before:
        raise CockpitError("plugins were changed by another cockpit meanwhile", "run the command again")
    record = staged.record(tuple(sorted(plugins, key=lambda one: one.distribution)))
    if not plugins:
        record = replace(record, generation="", site="")
    write_atomically(installed.file(), installed.encoded(record))
    for name in staged.before.past:
        if name and name not in record.past:
            shutil.rmtree(installed.home() / name, ignore_errors=True)
    return record


def own_folders() -> list[str]:
    """The folders on the path that hold cockpit's own distributions."""
    beside = installed.home().resolve()
    found = []
    for entry in dict.fromkeys(sys.path):
        folder = Path(entry)
        if not entry or not folder.is_dir() or folder.resolve().is_relative_to(beside):
            continue
        if any(folder.glob("*.dist-info")) or any(folder.glob("*.egg-info")):
            found.append(str(folder.resolve()))
    return found


def own_distributions() -> dict[str, metadata.Distribution]:
    """What cockpit's own environment holds, by normal name."""
    return distributions(own_folders())


def distributions(folders: list[str]) -> dict[str, metadata.Distribution]:
    """The distributions in `folders`, the first of a name, by normal name."""
    found: dict[str, metadata.Distribution] = {}
    for one in metadata.distributions(path=folders):
        # A folder without a METADATA is a torn uninstall, no distribution.
        if one.metadata is not None and one.metadata["Name"]:
            found.setdefault(normal(one.metadata["Name"]), one)
    return found


def normal(name: str) -> str:
    """A distribution's name as all spellings of it are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def drop(staged: Staged, names: set[str]) -> None:
    """Take the distributions of these normal names out of a staged generation, file by file."""
    inside = staged.folder.resolve()
    for name, one in distributions([str(staged.site)]).items():
        if name not in names:
            continue
        folders = set()
        for file in one.files or ():
            path = Path(os.path.normpath(staged.site / file))
            # The list of files is the distribution's own word.
            if path.is_relative_to(inside) and path.parent.resolve().is_relative_to(inside):
                path.unlink(missing_ok=True)
                folders.add(path.parent)
        for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
            _drop_empty(folder, staged.site)


def _drop_empty(folder: Path, top: Path) -> None:
    """Remove a folder with nothing but compiled modules in it, and those above it that are empty then."""
    while folder != top and folder.is_relative_to(top) and folder.is_dir():
        if any(one.name != "__pycache__" for one in folder.iterdir()):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder = folder.parent


def _copy(old: Path, new: Path) -> None:
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


def _sweep(home: Path, record: Record) -> None:
    """Take away what a crash left: generations nobody names, a day old."""
    for folder in home.glob("gen-*"):
        named = folder.name in (record.generation, *record.past)
        if not named and time.time() - folder.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
