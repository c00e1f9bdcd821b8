"""What a model would get of a skill: its text with the arguments in it, the commands in it as they are
written. Nothing is run."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from cockpit.builtin.skills.rendering import expansion, framed
from cockpit.cli.listing import fault_text, shown
from cockpit.errors import CockpitError
from cockpit.formats.frontmatter import parse
from cockpit.formats.skills import folder_of
from cockpit.formats.substitution import Expanded
from cockpit.installing.skills import note_of, programs
from cockpit.plugin.values import Skill
from cockpit.protocol.messages import Json
from cockpit.settings import plain
from cockpit.workspace.resolver import Resolver

LARGEST = 50_000


def show(skill: Skill, arguments: str, root: str, as_json: bool) -> int:
    """Print the text on stdout, and what there is to know of it on stderr; or all of it as JSON."""
    expanded = expansion(skill, arguments, root, "")
    contents = {path: text for path in expanded.files if (text := _content(path, skill, root)) is not None}
    text = framed(skill, expanded.filled({}, contents))
    if as_json:
        print(json.dumps(_told(skill, expanded, contents, text), ensure_ascii=False, indent=1))
        return 0
    print(text)
    for line in _lines(skill, expanded, root):
        print(line, file=sys.stderr)
    return 0


def _told(skill: Skill, expanded: Expanded, contents: Mapping[str, str], text: str) -> dict[str, object]:
    origin = skill.origin
    refused = origin.refused if origin is not None else ()
    return {
        "name": skill.name,
        "file": skill.path,
        "layer": origin.layer if origin is not None else "plugin",
        "fields": dict(origin.fields) if origin is not None else {},
        "shadows": list(origin.shadows) if origin is not None else [],
        "refused": [
            {"file": one.file, "line": one.line, "reason": one.reason, "remedy": one.remedy}
            for one in refused
        ],
        "text": text,
        "commands": list(expanded.commands),
        "files": list(contents),
        "hooks": _hooks(skill),
        "from": note_of(skill),
    }


def _lines(skill: Skill, expanded: Expanded, root: str) -> list[str]:
    """What a person should know beside the text."""
    origin = skill.origin
    lines = [f"{shown(skill.path, root)} ({origin.layer if origin is not None else 'plugin'})"]
    if note := note_of(skill):
        lines.append(f"installed from {note}")
    for name, value in (origin.fields if origin is not None else {}).items():
        if name not in ("name", "description"):
            lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}")
    lines += [f"would run: {command}" for command in expanded.commands]
    if (folder := folder_of(skill)) is not None:
        files = tuple(
            one.relative_to(folder).as_posix() for one in sorted(folder.rglob("*")) if one.is_file()
        )
        lines += [f"program: {one}" for one in programs(files, folder)]
    if skill.effort and not skill.fork:
        lines.append("effort is of no effect unless it runs in a subagent (context: fork)")
    if skill.model and not skill.fork:
        lines.append(
            f"/{skill.name} is answered by {skill.model}; a turn that uses it goes on with its model"
        )
    lines += [f"hides {shown(one, root)}" for one in (origin.shadows if origin is not None else ())]
    lines += [f"refused {fault_text(one, root)}" for one in (origin.refused if origin is not None else ())]
    if hooks := _hooks(skill):
        lines.append(f"its hooks, which are not run: {json.dumps(hooks, ensure_ascii=False)}")
    return lines


def _hooks(skill: Skill) -> Json:
    """What stands under `hooks:` in its file."""
    try:
        return parse(plain.read_text(skill.path), skill.path).fields.get("hooks") if skill.path else None
    except OSError:
        return None


def _content(path: str, skill: Skill, root: str) -> str | None:
    """The file that `@path` names, None where it is none or may not be read."""
    resolver = Resolver(root)
    folder = folder_of(skill)
    try:
        real = resolver.resolve(path, "read")
        return plain.read_text(real, LARGEST) if resolver.is_inside(real) else None
    except (CockpitError, OSError, ValueError):
        pass
    if folder is None:
        return None
    try:
        real = str((folder / path).resolve())
        return plain.read_text(real, LARGEST) if Path(real).is_relative_to(folder.resolve()) else None
    except (OSError, ValueError):
        return None
