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
from cockpit.installing.sources import Source
from cockpit.plugin import installed
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
    return StagedBundle(name, tuple(_contents(folder)), folder)


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


def _contents(folder: Path) -> Iterator[str]:
    """What a bundle brings, and each command line that it would run."""
    for kind, pattern in (
        ("skill", "skills/*/SKILL.md"),
        ("agent", "agents/*.md"),
        ("command", "commands/**/*.md"),
    ):
        for path in sorted(folder.glob(pattern)):
            yield f"{kind:8} {path.parent.name if kind == 'skill' else path.stem}"
    for event, hook in _hooks(folder):
        yield f"hook     {event}: runs {hook}"
    for file, key in ((".mcp.json", "mcpServers"), (".lsp.json", "")):
        table = _json(folder / file)
        inner = table.get(key, table) if key else table
        for name, server in inner.items() if isinstance(inner, dict) else ():
            if isinstance(server, dict):
                words = [server.get("command") or server.get("url"), *(server.get("args") or ())]
                yield f"server   {name}: {' '.join(str(word) for word in words)}"


def _hooks(folder: Path) -> Iterator[tuple[str, str]]:
    events = _json(folder / "hooks" / "hooks.json").get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for hook in hooks if isinstance(hooks, list) else ():
                if isinstance(hook, dict):
                    yield str(event), str(hook.get("command") or hook.get("url") or hook.get("prompt") or "?")


def _json(file: Path) -> dict[str, object]:
    try:
        raw = json.loads(plain.read_text(file))
    except (OSError, ValueError):
        return {}
    return raw if isinstance(raw, dict) else {}
