"""Claude Code plugins ("bundles"): folders with `.claude-plugin/plugin.json`, copied to a folder of
cockpit's own.

A bundle holds definition files (skills, agents, commands, hooks, MCP servers), no Python; `cockpit.formats`
reads them. Nothing in a bundle is run here.
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
from cockpit.formats import command_files, roles, skills
from cockpit.formats.bundles import BundleKind, read_bundle
from cockpit.formats.config_files import parse_config
from cockpit.formats.hook_files import read_hook_files
from cockpit.installing.sources import PluginSource
from cockpit.plugin import discovery
from cockpit.plugin.origin import FileProblem, Unloaded
from cockpit.protocol.safe_text import escape_json
from cockpit.settings import file_io
from cockpit.settings.file_io import write_atomically

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
SOURCE_NOTE = ".cockpit-source.json"
MAX_FILES = 20_000
"""Maximum number of files in a bundle."""


@dataclass(frozen=True, slots=True)
class StagedBundle:
    """A copied bundle that is not in force yet. `lines` list its contents and what it would run."""

    name: str
    lines: tuple[str, ...]
    folder: Path

    def commit(self) -> None:
        """Move it to where bundles are read, replacing an installed bundle of the same name."""
        target = discovery.bundles_folder() / self.name
        old = target.with_name(f".old-{self.folder.name}")
        if target.exists():
            target.rename(old)
        self.folder.rename(target)
        shutil.rmtree(old, ignore_errors=True)


def stage_bundle(source: PluginSource) -> StagedBundle:
    """Copy the bundle at `source.place` next to the installed ones. Raises `CockpitError` if it is malformed
    or has links that point outside."""
    place = Path(source.place)
    name = _read_name(place)
    for count, path in enumerate(place.rglob("*"), 1):
        if count > MAX_FILES:
            reason = f"{place} contains more than {MAX_FILES:,} files"
            raise CockpitError(reason, "name the folder of the bundle itself")
        if path.is_symlink() and not path.resolve().is_relative_to(place.resolve()):
            reason = f"{path} is a link that leads out of the bundle"
            raise CockpitError(reason, "replace the link by the file")
    home = discovery.bundles_folder()
    home.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
    shutil.copytree(place, folder, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    note = {"source": source.named, "kind": source.kind, "revision": source.revision, "time": time.time()}
    write_atomically(folder / SOURCE_NOTE, json.dumps(note).encode())
    return StagedBundle(name, describe_contents(folder), folder)


def discard_bundle(staged: StagedBundle) -> None:
    shutil.rmtree(staged.folder, ignore_errors=True)


def list_bundle_names() -> list[str]:
    """The names of the installed bundles."""
    home = discovery.bundles_folder()
    if not home.is_dir():
        return []
    return sorted(path.name for path in home.iterdir() if path.is_dir() and NAME_PATTERN.fullmatch(path.name))


def read_source(name: str) -> str:
    """The source the user named when installing the bundle."""
    return str(_read_json(discovery.bundles_folder() / name / SOURCE_NOTE).get("source") or "?")


def remove_bundle(name: str) -> None:
    """Delete an installed bundle."""
    target = discovery.bundles_folder() / name
    trash = Path(tempfile.mkdtemp(prefix=".gone-", dir=discovery.bundles_folder()))
    target.rename(trash / name)
    shutil.rmtree(trash, ignore_errors=True)


def _read_name(place: Path) -> str:
    file = place / ".claude-plugin" / "plugin.json"
    try:
        raw = json.loads(file_io.read_text(file))
    except (OSError, ValueError) as error:
        raise CockpitError(f"{file} cannot be read: {error}", 'write {"name": "..."}') from error
    name = raw.get("name") if isinstance(raw, dict) else None
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        reason = f"{file}: `name` is {name!r}"
        raise CockpitError(reason, "use letters, digits, `-`, `_` and `.`, at most 64 characters")
    return name


def describe_contents(folder: Path) -> tuple[str, ...]:
    """What a bundle brings, and each command line it would run, one safe line each.

    Uses the same readers that load the bundle later, so nothing can run that was not shown here. Raises
    `CockpitError` for an unreadable manifest.
    """
    return tuple(escape_json(" ".join(line.split("\n"))) for line in _describe_contents(folder))


def _describe_contents(folder: Path) -> Iterator[str]:
    bundle = read_bundle(folder)
    if isinstance(bundle, Unloaded):
        raise CockpitError(_format_faults(bundle.origin.refused), "fix the manifest")
    for kind in ("skills", "agents", "commands"):
        for place in bundle.places[kind]:
            yield from (f"{kind[:-1]:8} {name}" for name in _list_names(place, kind))
    hook_set = read_hook_files(bundle.hooks)
    for hook in hook_set.hooks:
        matcher = " or ".join(condition.matcher or "*" for condition in hook.conditions)
        event = hook.event.name if matcher == "*" else f"{hook.event.name} {matcher}"
        yield f"hook     {event}: runs {hook.text}"
    for file, key in (
        *((server, "mcpServers") for server in bundle.servers),
        *((language, "lspServers") for language in bundle.languages),
    ):
        yield from (f"server   {line}" for line in _describe_servers(file, key, whole=file != bundle.file))
    for unloaded in hook_set.unloaded:
        yield f"left out {_format_faults(unloaded.origin.refused)}"
    yield from (f"left out {_format_faults((fault,))}" for fault in bundle.faults)


def _format_faults(faults: tuple[FileProblem, ...]) -> str:
    return "; ".join(f"{Path(fault.file).name}:{fault.line}: {fault.reason}" for fault in faults)


def _list_names(place: Path, kind: BundleKind) -> Iterator[str]:
    if kind == "skills":
        own = place / "SKILL.md"
        files = [own] if own.is_file() else [*skills.find_skill_files(place)] if place.is_dir() else [place]
        yield from (file.parent.name if file.name.upper() == "SKILL.MD" else file.stem for file in files)
    elif not place.is_dir():
        yield place.stem
    elif kind == "agents":
        yield from (entry.stem for entry in roles.find_role_files(place, ".md"))
    else:
        yield from (name for _, name in command_files.find_command_files(place, "claude"))


def _describe_servers(file: Path, key: str, whole: bool) -> Iterator[str]:
    """The command lines in a file of servers. With `whole` the file may be the table itself."""
    try:
        table = parse_config(file_io.read_text(file), str(file)).table()
    except OSError:
        return
    inner = table.get(key, table if whole else {})
    for name, server in inner.items() if isinstance(inner, dict) else ():
        if isinstance(server, dict):
            args = server.get("args")
            words = [server.get("command") or server.get("url"), *(args if isinstance(args, list) else [])]
            yield f"{name}: {' '.join(str(word) for word in words)}"


def _read_json(file: Path) -> dict[str, object]:
    try:
        raw = json.loads(file_io.read_text(file))
    except (OSError, ValueError):
        return {}
    return raw if isinstance(raw, dict) else {}
