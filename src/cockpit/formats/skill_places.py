"""Finding skill files: in our folders and those of other agents, each name once per layer."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from cockpit.formats.fields import hiding
from cockpit.formats.heads import Heads
from cockpit.formats.places import Place, places, top_of
from cockpit.formats.skills import FILE, read_skill
from cockpit.plugin.origin import Fault, Origin, Unloaded
from cockpit.plugin.values import Skill

# The strongest first.
PROJECT = (
    ("cockpit", ".cockpit/skills"),
    ("claude", ".claude/skills"),
    ("agents", ".agents/skills"),
    ("opencode", ".opencode/skills"),
    ("opencode", ".opencode/skill"),
    ("gemini", ".gemini/skills"),
    ("codex", ".codex/skills"),
)
USER = (
    ("cockpit", "skills"),
    ("claude", ".claude/skills"),
    ("agents", ".agents/skills"),
    ("agents", ".config/agents/skills"),
    ("opencode", ".config/opencode/skills"),
    ("opencode", ".config/opencode/skill"),
    ("gemini", ".gemini/skills"),
    ("codex", ".codex/skills"),
)
# Files that people keep beside flat skills and that are none.
NONE = frozenset({"readme", "changelog", "license", "licence", "contributing", "agents", "claude", "index"})
DRAFTS = frozenset({"drafts", "node_modules", "__pycache__"})
DEEPEST = 3
MOST = 1_000


def find(root: Path, trusted: bool, home: Path, heads: Heads | None = None) -> tuple[Skill | Unloaded, ...]:
    """The skills of the project (where it is trusted) and of the user: of each layer one of a name, the
    strongest, which tells which files it hides."""
    heads = heads or Heads()
    found = in_places(places(root, trusted, home, PROJECT, USER), heads, top_of(root, home))
    heads.save()
    return found


def in_places(those: Iterable[Place], heads: Heads, top: Path | None = None) -> tuple[Skill | Unloaded, ...]:
    """The skills in `those` folders, the strongest first. A project's file lies beneath `top`, also where
    a link leads to it."""
    kept: dict[tuple[str, str], Skill | Unloaded] = {}
    seen: set[str] = set()
    for place in those:
        for path in files_in(place.folder):
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            _take(kept, _read(path, real, place, heads, top))
    return tuple(kept.values())


def files_in(folder: Path) -> Iterator[Path]:
    """The skill files of a folder in the order of their names: `NAME/SKILL.md` (also two folders further
    down), then flat `NAME.md`."""
    entries = _entries(folder)
    for entry in entries:
        if _is_folder(entry) and _is_read(entry.name):
            yield from _below(Path(entry.path), DEEPEST)
    for entry in entries:
        path = Path(entry.path)
        if path.suffix.lower() == ".md" and path.stem.lower() not in NONE and _is_read(entry.name):
            yield path


def _below(folder: Path, depth: int) -> Iterator[Path]:
    """The skill of `folder`, or those of its folders where it is none itself."""
    entries = _entries(folder)
    own = next((entry for entry in entries if entry.name.upper() == FILE), None)
    if own is not None:
        yield Path(own.path)
        return
    for entry in entries if depth > 1 else ():
        if _is_folder(entry) and _is_read(entry.name):
            yield from _below(Path(entry.path), depth - 1)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)[:MOST]
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_read(name: str) -> bool:
    return not name.startswith(".") and name.lower() not in DRAFTS and name.upper() != FILE


def _read(path: Path, real: str, place: Place, heads: Heads, top: Path | None) -> Skill | Unloaded:
    is_outside = top is not None and not Path(real).is_relative_to(os.path.realpath(top))
    if place.layer == "project" and is_outside:
        reason = f"it is a link to {real}, outside of the project"
        fault = Fault(str(path), 0, reason, "copy the file here, or keep the skill in ~/.claude/skills")
        name = path.parent.name if path.name.upper() == FILE else path.stem
        return Unloaded(name, Origin(str(path), place.layer, refused=(fault,)))
    return read_skill(path, place.layer, family=place.family, heads=heads)


def _take(kept: dict[tuple[str, str], Skill | Unloaded], one: Skill | Unloaded) -> None:
    """Keep the first of a name; one that could not be read hides nothing."""
    if isinstance(one, Unloaded):
        kept[one.origin.file, ""] = one
        return
    assert one.origin is not None
    stronger = kept.get((one.name, one.origin.layer))
    if isinstance(stronger, Skill) and stronger.origin is not None:
        hidden = replace(stronger, origin=hiding(stronger.origin, one.origin))
        kept[one.name, one.origin.layer] = hidden
        return
    kept[one.name, one.origin.layer] = one
