"""Finding command files: in our folders and those of other agents, each name once per layer.

`git/commit.md` is `git:commit`. Codex's prompts are `prompts:NAME`, as in Codex.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from cockpit.formats import jsons
from cockpit.formats.command_files import CommandFile, Family, first_of_each, of_table, read_command
from cockpit.formats.frontmatter import Document
from cockpit.formats.heads import Heads
from cockpit.formats.places import Place, places, top_of, upward
from cockpit.plugin.origin import Fault, Layer, Origin, Unloaded
from cockpit.settings import plain

# The strongest first.
PROJECT = (
    ("cockpit", ".cockpit/commands"),
    ("claude", ".claude/commands"),
    ("agents", ".agents/commands"),
    ("opencode", ".opencode/commands"),
    ("opencode", ".opencode/command"),
    ("gemini", ".gemini/commands"),
    ("crush", ".crush/commands"),
)
USER = (
    ("cockpit", "commands"),
    ("claude", ".claude/commands"),
    ("agents", ".agents/commands"),
    ("opencode", ".config/opencode/commands"),
    ("opencode", ".config/opencode/command"),
    ("gemini", ".gemini/commands"),
    ("codex", ".codex/prompts"),
    ("crush", ".config/crush/commands"),
    ("crush", ".crush/commands"),
)
OPENCODE = ("opencode.json", "opencode.jsonc")
NONE = frozenset({"readme", "changelog", "license", "licence", "contributing", "index"})
DEEPEST = 5
MOST = 1_000


def find(
    root: Path, trusted: bool, home: Path, heads: Heads | None = None
) -> tuple[CommandFile | Unloaded, ...]:
    """The commands of the project (where it is trusted) and of the user."""
    heads = heads or Heads()
    found: list[CommandFile | Unloaded] = []
    seen: set[str] = set()
    top = top_of(root, home)
    for place in places(root, trusted, home, PROJECT, USER):
        found += _in_place(place, heads, top, seen)
    for folder in upward(root, home) if trusted else ():
        for base in (folder, folder / ".opencode"):
            found += _of_opencode(base, "project")
    found += _of_opencode(home / ".config/opencode", "user")
    heads.save()
    return first_of_each(found)


def in_folder(
    folder: Path, layer: Layer, prefix: str, heads: Heads | None = None
) -> tuple[CommandFile | Unloaded, ...]:
    """The commands of a bundle's folder, each under `prefix:NAME`."""
    heads = heads or Heads()
    found = [
        read_command(path, f"{prefix}:{name}", layer, "claude", heads)
        for path, name in files_in(folder, "claude")
    ]
    return first_of_each(found)


def files_in(folder: Path, family: str) -> Iterator[tuple[Path, str]]:
    """Every command file below a folder with its name, in the order of their paths."""
    ending = ".toml" if family == "gemini" else ".md"
    deepest = 0 if family == "codex" else DEEPEST
    left = MOST
    for here, folders, names in os.walk(folder, followlinks=True):
        parts = Path(here).relative_to(folder).parts
        folders[:] = sorted(one for one in folders if one[0] != "." and len(parts) < deepest)
        for name in sorted(names):
            path = Path(here, name)
            if path.suffix.lower() != ending or path.stem.lower() in NONE or name[0] == ".":
                continue
            left -= 1
            if left < 0:
                return
            base = ("prompts", path.stem) if family == "codex" else (*parts, path.stem)
            yield path, ":".join("-".join(one.split()) for one in base)


def _in_place(place: Place, heads: Heads, top: Path, seen: set[str]) -> Iterator[CommandFile | Unloaded]:
    family = cast("Family", place.family)
    for path, name in files_in(place.folder, family):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        if place.layer == "project" and not Path(real).is_relative_to(os.path.realpath(top)):
            reason = f"it is a link to {real}, outside of the project"
            fault = Fault(str(path), 0, reason, "copy the file here, or keep it in ~/.claude/commands")
            yield Unloaded(name, Origin(str(path), place.layer, refused=(fault,)))
            continue
        yield read_command(path, name, place.layer, family, heads)


def _of_opencode(folder: Path, layer: Layer) -> Iterator[CommandFile | Unloaded]:
    """The commands that stand in opencode's own settings."""
    for name in OPENCODE:
        file = folder / name
        try:
            text = plain.read_text(file, encoding="utf-8-sig")
        except OSError:
            continue
        located = jsons.load(text, str(file))
        for key in ("command", "commands"):
            for command, table in located.table(key).items():
                lines = (
                    {one: located.line(key, command, one) for one in table} if isinstance(table, dict) else {}
                )
                fields = table if isinstance(table, dict) else {}
                lines |= {"template": lines.get("template", located.line(key, command))}
                document = Document(str(file), fields, lines)
                yield of_table(":".join(command.split("/")), fields, document, layer)
