"""Claude's plugin bundles: folders with `.claude-plugin/plugin.json`, copied to a folder of cockpit's own.

A bundle holds files (skills, agents, commands, hooks, MCP servers), no Python; `cockpit.formats` reads
them. Refuses to run anything in it.
"""

import json
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.formats import command_places, role_places, skill_places
from cockpit.formats.bundles import Kind, read_bundle
from cockpit.formats.hook_files import read_files
from cockpit.formats.jsons import load
from cockpit.installing.sources import Source
from cockpit.plugin import installed
from cockpit.plugin.origin import Fault, Unloaded
from cockpit.protocol.clean import escaped
from cockpit.settings import plain
from cockpit.settings.atomic import write_atomically

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NOTE = ".cockpit-source.json"
LARGEST = 20_000
"""Files that a bundle may have: it is text that somebody wrote."""


@dataclass(frozen=True, slots=True)
class StagedBundle:
    """A bundle that was copied and is not in force yet. `lines` say what it brings and what it would run."""

    name: str
    lines: tuple[str, ...]
    folder: Path

    def commit(self) -> None:
        """Put it where bundles are read, in the place of one of its name."""
        target = installed.bundles() / self.name
        old = target.with_name(f".old-{self.folder.name}")
        if target.exists():
            target.rename(old)
        self.folder.rename(target)
        shutil.rmtree(old, ignore_errors=True)


def add_bundle(source: Source) -> StagedBundle:
    """Copy the bundle at `source.place` beside the installed ones. Raises `CockpitError` for one that is
    not well formed, or holds links that lead out of it."""
    place = Path(source.place)
    name = _name(place)
    for count, path in enumerate(place.rglob("*"), 1):
        if count > LARGEST:
            raise CockpitError(
                f"{place} holds more than {LARGEST:,} files", "name the folder of the bundle itself"
            )
        if path.is_symlink() and not path.resolve().is_relative_to(place.resolve()):
            raise CockpitError(f"{path} is a link out of the bundle", "a bundle holds its files itself")
    home = installed.bundles()
    home.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
    shutil.copytree(place, folder, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    note = {"source": source.named, "kind": source.kind, "revision": source.revision, "time": time.time()}
    write_atomically(folder / NOTE, json.dumps(note).encode())
    return StagedBundle(name, contents(folder), folder)


def discard(staged: StagedBundle) -> None:
    shutil.rmtree(staged.folder, ignore_errors=True)


def names() -> list[str]:
    """The bundles that are installed."""
    home = installed.bundles()
    if not home.is_dir():
        return []
    return sorted(one.name for one in home.iterdir() if one.is_dir() and NAME.fullmatch(one.name))


def source_of(name: str) -> str:
    """What a person named when they installed it."""
    return str(_json(installed.bundles() / name / NOTE).get("source") or "?")


def remove(name: str) -> None:
    """Take an installed bundle away."""
    target = installed.bundles() / name
    gone = Path(tempfile.mkdtemp(prefix=".gone-", dir=installed.bundles()))
    target.rename(gone / name)
    shutil.rmtree(gone, ignore_errors=True)


def _name(place: Path) -> str:
    file = place / ".claude-plugin" / "plugin.json"
    try:
        raw = json.loads(plain.read_text(file))
    except (OSError, ValueError) as error:
        raise CockpitError(f"{file} cannot be read: {error}", 'it is {"name": "..."}') from error
    name = raw.get("name") if isinstance(raw, dict) else None
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise CockpitError(f"{file}: `name` is {name!r}", "letters, digits, `-`, `_` and `.`, at most 64")
    return name


def contents(folder: Path) -> tuple[str, ...]:
    """What a bundle brings, and each command line that it would run, a safe line each: found by the readers
    that load it, so that nothing runs later that was not shown here. Raises `CockpitError` for a manifest
    that cannot be read."""
    return tuple(escaped(" ".join(line.split("\n"))) for line in _contents(folder))


def _contents(folder: Path) -> Iterator[str]:
    bundle = read_bundle(folder)
    if isinstance(bundle, Unloaded):
        raise CockpitError(_faults(bundle.origin.refused), "mend the manifest")
    for kind in ("skills", "agents", "commands"):
        for place in bundle.places[kind]:
            yield from (f"{kind[:-1]:8} {name}" for name in _named(place, kind))
    found = read_files(bundle.hooks)
    for hook in found.hooks:
        matcher = " or ".join(one.matcher or "*" for one in hook.conditions)
        event = hook.event.name if matcher == "*" else f"{hook.event.name} {matcher}"
        yield f"hook     {event}: runs {hook.text}"
    for file, key in (
        *((one, "mcpServers") for one in bundle.servers),
        *((one, "lspServers") for one in bundle.languages),
    ):
        yield from (f"server   {line}" for line in _servers(file, key, whole=file != bundle.file))
    for unloaded in found.unloaded:
        yield f"left out {_faults(unloaded.origin.refused)}"
    yield from (f"left out {_faults((one,))}" for one in bundle.faults)


def _faults(faults: tuple[Fault, ...]) -> str:
    return "; ".join(f"{Path(one.file).name}:{one.line}: {one.reason}" for one in faults)


def _named(place: Path, kind: Kind) -> Iterator[str]:
    """The names of the skills, agents or commands in a folder, or of the one that is a file."""
    if kind == "skills":
        own = place / "SKILL.md"
        files = [own] if own.is_file() else [*skill_places.files_in(place)] if place.is_dir() else [place]
        yield from (one.parent.name if one.name.upper() == "SKILL.MD" else one.stem for one in files)
    elif not place.is_dir():
        yield place.stem
    elif kind == "agents":
        yield from (one.stem for one in role_places.files_in(place, ".md"))
    else:
        yield from (name for _, name in command_places.files_in(place, "claude"))


def _servers(file: Path, key: str, whole: bool) -> Iterator[str]:
    """The command lines of a file of servers; the table may be the `whole` file."""
    try:
        table = load(plain.read_text(file), str(file)).table()
    except OSError:
        return
    inner = table.get(key, table if whole else {})
    for name, server in inner.items() if isinstance(inner, dict) else ():
        if isinstance(server, dict):
            args = server.get("args")
            words = [server.get("command") or server.get("url"), *(args if isinstance(args, list) else [])]
            yield f"{name}: {' '.join(str(word) for word in words)}"


def _json(file: Path) -> dict[str, object]:
    try:
        raw = json.loads(plain.read_text(file))
    except (OSError, ValueError):
        return {}
    return raw if isinstance(raw, dict) else {}
