"""Finding the files of roles: in our folders and those of other agents, each name once per layer."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from cockpit import paths
from cockpit.formats.fields import hiding
from cockpit.formats.frontmatter import Document
from cockpit.formats.heads import Heads
from cockpit.formats.places import Place, places, top_of
from cockpit.formats.roles import Bounds, read_role, role_of
from cockpit.plugin.agents import Role
from cockpit.plugin.origin import Fault, Origin, Unloaded
from cockpit.protocol.messages import Json

# The strongest first.
PROJECT = (
    ("cockpit", ".cockpit/agents"),
    ("claude", ".claude/agents"),
    ("agents", ".agents/agents"),
    ("opencode", ".opencode/agents"),
    ("opencode", ".opencode/agent"),
    ("gemini", ".gemini/agents"),
    ("codex", ".codex/agents"),
)
USER = (
    ("cockpit", "agents"),
    ("claude", ".claude/agents"),
    ("agents", ".agents/agents"),
    ("agents", ".config/agents/agents"),
    ("opencode", ".config/opencode/agents"),
    ("opencode", ".config/opencode/agent"),
    ("gemini", ".gemini/agents"),
    ("codex", ".codex/agents"),
)
NONE = frozenset({"readme", "changelog", "license", "licence", "contributing", "agents", "claude", "gemini"})
DEEPEST = 3
MOST = 1_000


def find(
    root: Path, trusted: bool, home: Path, bounds: Bounds, managed: Path | None = None
) -> tuple[Role | Unloaded, ...]:
    """The roles of the machine, of the project (where it is trusted) and of the user: of each layer one of a
    name, the strongest, which tells which files it hides."""
    heads = Heads(paths.cache() / "role-heads.json")
    those = list(places(root, trusted, home, PROJECT, USER))
    if managed is not None:
        those.insert(0, Place(managed, "managed", "cockpit"))
    found = in_places(those, bounds, heads, top_of(root, home))
    heads.save()
    return found


def in_places(
    those: Iterable[Place], bounds: Bounds, heads: Heads | None = None, top: Path | None = None
) -> tuple[Role | Unloaded, ...]:
    """The roles in `those` folders, the strongest first. A project's file lies beneath `top`, also where a
    link leads to it."""
    kept: dict[tuple[str, str], Role | Unloaded] = {}
    seen: set[str] = set()
    for place in those:
        for path in files_in(place.folder, ".toml" if place.family == "codex" else ".md"):
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            outside = top is not None and not Path(real).is_relative_to(os.path.realpath(top))
            if place.layer == "project" and outside:
                reason = f"it is a link to {real}, outside of the project"
                fault = Fault(str(path), 0, reason, "copy the file here, or keep it in ~/.claude/agents")
                _take(kept, Unloaded(path.stem, Origin(str(path), place.layer, refused=(fault,))))
                continue
            _take(kept, read_role(path, place.layer, place.family, bounds, heads))
    return tuple(kept.values())


def from_flag(table: Mapping[str, Json], bounds: Bounds) -> tuple[Role | Unloaded, ...]:
    """The roles of `--agents`: Claude Code's table of names, each with its fields and a `prompt`."""
    made: list[Role | Unloaded] = []
    for name, fields in table.items():
        if not isinstance(fields, dict):
            fault = Fault(
                "--agents", 0, f"`{name}` is {fields!r}", 'write {"description": ..., "prompt": ...}'
            )
            made.append(Unloaded(name, Origin("--agents", "flags", refused=(fault,))))
            continue
        document = Document("--agents", {"name": name, **fields})
        made.append(role_of(document, name, "flags", "claude", bounds))
    return tuple(made)


def files_in(folder: Path, suffix: str, depth: int = DEEPEST) -> Iterator[Path]:
    """The files of a folder and of those in it, in the order of their names."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)[:MOST]
    except OSError:
        return
    for entry in found:
        if entry.name.startswith(".") or entry.name.lower() in ("drafts", "node_modules"):
            continue
        path = Path(entry.path)
        if path.suffix.lower() == suffix and path.stem.lower() not in NONE:
            yield path
        elif depth > 1 and path.suffix == "" and path.is_dir():
            yield from files_in(path, suffix, depth - 1)


def _take(kept: dict[tuple[str, str], Role | Unloaded], one: Role | Unloaded) -> None:
    """Keep the first of a name; one that could not be read hides nothing."""
    if isinstance(one, Unloaded):
        kept[one.origin.file, ""] = one
        return
    assert one.origin is not None
    key = one.name, one.origin.layer
    stronger = kept.get(key)
    if isinstance(stronger, Role) and stronger.origin is not None:
        kept[key] = replace(stronger, origin=hiding(stronger.origin, one.origin))
    else:
        kept[key] = one
