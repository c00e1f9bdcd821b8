"""Skill files as the agentskills.io standard and Claude Code write them, and where they are found.

A name or description that breaks the standard's rules is corrected and reported, because the skill was
written to be used; a file without any guidance is refused. Bodies are read only when they are used.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from cockpit.formats.fields import FieldReader, add_shadowed, is_tier, parse_model
from cockpit.formats.frontmatter import FrontmatterCache, strip_frontmatter
from cockpit.formats.globs import parse_patterns
from cockpit.formats.search_folders import (
    SearchFolder,
    find_repository_top,
    list_search_folders,
    refuse_outside_link,
)
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded
from cockpit.plugin.values import Skill
from cockpit.settings import file_io

# agentskills.io, specification: `name` and `description`.
NAME_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
MAX_BODY_BYTES = 1_000_000
SKILL_FILE = "SKILL.MD"
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def read_skill(
    path: Path,
    layer: Layer,
    *,
    family: str = "claude",
    prefix: str = "",
    heads: FrontmatterCache | None = None,
) -> Skill | Unloaded:
    """The skill in the file `path`, a `SKILL.md` or a flat `name.md`. Only its head is read. Raises nothing.

    `prefix` is the name of the bundle it belongs to: `bundle:name`. `family` is the agent whose syntax it
    uses: opencode counts arguments from 1.
    """
    called = path.parent.name if is_skill_file(path) else path.stem
    try:
        document = (heads or FrontmatterCache()).read(path)
    except OSError as error:
        fault = FileProblem(
            str(path), 0, f"it cannot be read: {error.strerror or error}", "fix or remove the file"
        )
        return Unloaded(called, Origin(str(path), layer, refused=(fault,)))
    fields = FieldReader(document)
    if document.faults and not document.fields:
        return Unloaded(called, fields.origin(layer))
    name = _read_name(fields, called)
    description = _read_description(fields, is_skill_file(path))
    if not name or not description:
        return Unloaded(name or called, fields.origin(layer))
    return _build_skill(fields, f"{prefix}:{name}" if prefix else name, description, path, layer, family)


def is_skill_file(path: Path) -> bool:
    """Whether the skill consists of the file's whole folder."""
    return path.name.upper() == SKILL_FILE


def find_skill_folder(skill: Skill) -> Path | None:
    """The folder that belongs to the skill, or None for a flat file."""
    path = Path(skill.path)
    return path.parent if skill.path and is_skill_file(path) else None


def _build_skill(
    fields: FieldReader, name: str, description: str, path: Path, layer: Layer, family: str
) -> Skill:
    _note_unused_fields(fields)
    return Skill(
        name=name,
        description=description,
        body=partial(_read_body, path),
        path=str(path),
        allowed_tools=fields.words("allowed-tools"),
        for_model=not fields.flag("disable-model-invocation"),
        for_user=fields.flag("user-invocable", True),
        denied_tools=fields.words("disallowed-tools") or (),
        when=fields.text("when_to_use") or fields.text("when-to-use"),
        hint=_read_hint(fields),
        arguments=_read_arguments(fields),
        paths=_read_paths(fields),
        fork=fields.choice("context", ("fork", "inline"), "inline") == "fork",
        role=fields.text("agent"),
        background=fields.flag("background"),
        model=_read_model(fields, layer, family),
        effort=fields.choice("effort", EFFORTS),
        shell=fields.choice("shell", ("bash", "powershell")),
        dialect="opencode" if family == "opencode" else "claude",
        aliases=fields.words("aliases") or (),
        trigger=_read_trigger(fields),
        keywords=tuple(word.lower() for word in fields.words("keywords") or ()),
        origin=fields.origin(layer),
    )


def _read_body(path: Path) -> str:
    """The text after the head. Raises OSError if the file is gone."""
    return strip_frontmatter(file_io.read_text(path, MAX_BODY_BYTES)).strip("\n")


def _read_name(fields: FieldReader, called: str) -> str:
    """The name the skill is loaded under, or an empty string if none can be derived."""
    written = fields.text("name")
    name = normalize_skill_name(written) or normalize_skill_name(called)
    key = "name" if written else ""
    if not name:
        fields.refuse(key, f"{called!r} is not a valid skill name", "write `name: my-skill`")
    elif written and written != name:
        fields.faults.append(
            _build_name_fault(fields, key, f"`name` is {written!r}", f"write `name: {name}`", name)
        )
    elif not written and called != name:
        fields.faults.append(
            _build_name_fault(fields, key, f"its name is {called!r}", f"rename it to {name}", name)
        )
    return name


def normalize_skill_name(text: str) -> str:
    """`text` as a name that the standard allows: `PDF_Tools` becomes `pdf-tools`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_NAME].rstrip("-")


def _build_name_fault(fields: FieldReader, key: str, reason: str, remedy: str, name: str) -> FileProblem:
    rule = f"{reason}; a name has at most {MAX_NAME} characters: a-z, digits and single -"
    return fields.document.fault(key, f"{rule}; it is loaded as {name}", remedy)


def _read_description(fields: FieldReader, is_whole_folder: bool) -> str:
    """When the skill is useful. A `SKILL.md` without a description uses its first paragraph, as in Claude."""
    text = " ".join(fields.text("description").split())
    document = fields.document
    if text:
        if len(text) > MAX_DESCRIPTION:
            reason = f"`description` has {len(text):,} characters, the standard allows {MAX_DESCRIPTION:,}"
            fields.faults.append(
                document.fault("description", f"{reason}; the rest is cut off", "shorten it")
            )
        return text[:MAX_DESCRIPTION]
    remedy = "write `description: ...` to say when it is useful"
    if not is_whole_folder and not document.fields:
        reason = "it does not start with `---`, so it is plain text and not a skill"
        fields.faults.append(FileProblem(document.file, 1, reason, f"{remedy}, or move it to another folder"))
    elif not is_whole_folder or not document.body:
        fields.faults.append(FileProblem(document.file, 1, "it has no description", remedy))
    else:
        reason = "it has no description; its first paragraph is used"
        fields.faults.append(FileProblem(document.file, 1, reason, remedy))
        return document.body[:MAX_DESCRIPTION]
    return ""


def _read_hint(fields: FieldReader) -> str:
    """`argument-hint`: text, or the list that YAML makes of `[issue] [priority]`."""
    value = fields.document.fields.get("argument-hint")
    if isinstance(value, list):
        fields.understood["argument-hint"] = hint = " ".join(f"[{item}]" for item in value)
        return hint
    return fields.text("argument-hint")


def _read_arguments(fields: FieldReader) -> tuple[str, ...]:
    """The names of the words after `/name`. Some files write `- name: x` and describe it further."""
    value = fields.document.fields.get("arguments")
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        names = [str(item.get("name", "")) if isinstance(item, dict) else str(item) for item in value]
        fields.understood["arguments"] = list(names)
        return tuple(names)
    return fields.words("arguments") or ()


def _read_paths(fields: FieldReader) -> tuple[str, ...]:
    value = fields.document.fields.get("paths")
    if value is None:
        return ()
    patterns = parse_patterns(value)
    if not patterns:
        fields.refuse("paths", f"`paths` is {value!r}", "write globs: `paths: src/**/*.ts, *.md`")
        return ()
    fields.understood["paths"] = list(patterns)
    return patterns


def _read_model(fields: FieldReader, layer: Layer, family: str) -> str:
    """A tier, `provider:model`, or an empty string for the current model.

    A project's skill may only name a tier: a folder must not decide which provider reads the user's words,
    or what that costs (docs/adr/0008).
    """
    model = parse_model(fields.text("model"), family)
    if layer == "project" and not is_tier(model):
        remedy = "name fast, medium or strong, which your settings define"
        fields.refuse("model", "a project's skill may only name a model tier", remedy)
        return ""
    return model


def _read_trigger(fields: FieldReader) -> Literal["", "auto", "match"]:
    """smallcode's field: `auto` is always in force, `match` if a prompt contains a keyword."""
    match fields.choice("trigger", ("auto", "match", "manual")):
        case "auto":
            return "auto"
        case "match":
            return "match"
        case _:
            return ""


def _note_unused_fields(fields: FieldReader) -> None:
    """Record fields that have no effect here but are shown in listings."""
    fields.text("license")
    fields.table("metadata")
    compatibility = fields.text("compatibility")
    if len(compatibility) > MAX_COMPATIBILITY:
        reason = f"`compatibility` has {len(compatibility):,} characters"
        remedy = f"shorten it to {MAX_COMPATIBILITY}"
        fields.faults.append(fields.document.fault("compatibility", reason, remedy))
    if fields.document.fields.get("hooks"):
        remedy = "put them into .cockpit/hooks.json; `cockpit hooks list` shows them"
        fields.refuse("hooks", "the hooks of a skill are listed but never run", remedy)


# The strongest first.
PROJECT_FOLDERS = (
    ("cockpit", ".cockpit/skills"),
    ("claude", ".claude/skills"),
    ("agents", ".agents/skills"),
    ("opencode", ".opencode/skills"),
    ("opencode", ".opencode/skill"),
    ("gemini", ".gemini/skills"),
    ("codex", ".codex/skills"),
)
USER_FOLDERS = (
    ("cockpit", "skills"),
    ("claude", ".claude/skills"),
    ("agents", ".agents/skills"),
    ("agents", ".config/agents/skills"),
    ("opencode", ".config/opencode/skills"),
    ("opencode", ".config/opencode/skill"),
    ("gemini", ".gemini/skills"),
    ("codex", ".codex/skills"),
)
# Files that are often found next to flat skills but are not skills.
NOT_SKILLS = frozenset(
    {"readme", "changelog", "license", "licence", "contributing", "agents", "claude", "index"}
)
IGNORED_FOLDERS = frozenset({"drafts", "node_modules", "__pycache__"})
MAX_DEPTH = 3
MAX_ENTRIES = 1_000


def find_skills(
    root: Path, trusted: bool, home: Path, heads: FrontmatterCache | None = None
) -> tuple[Skill | Unloaded, ...]:
    """The skills of the project (if trusted) and of the user; the strongest of a name per layer, which
    records the files it shadows."""
    heads = heads or FrontmatterCache()
    skills = find_skills_in(
        list_search_folders(root, trusted, home, PROJECT_FOLDERS, USER_FOLDERS),
        heads,
        find_repository_top(root, home),
    )
    heads.save()
    return skills


def find_skills_in(
    folders: Iterable[SearchFolder], heads: FrontmatterCache, top: Path | None = None
) -> tuple[Skill | Unloaded, ...]:
    """The skills in `folders`, strongest first. A project's file must be below `top`, even as a link."""
    skills: dict[tuple[str, str], Skill | Unloaded] = {}
    visited: set[str] = set()
    for place in folders:
        for path in find_skill_files(place.folder):
            real = os.path.realpath(path)
            if real in visited:
                continue
            visited.add(real)
            _add_skill(skills, _read_skill_file(path, place, heads, top))
    return tuple(skills.values())


def find_skill_files(folder: Path) -> Iterator[Path]:
    """The skill files of a folder sorted by name: `NAME/SKILL.md` (up to two folders deeper), then flat
    `NAME.md`."""
    entries = _scan_entries(folder)
    for entry in entries:
        if _is_folder(entry) and _is_candidate(entry.name):
            yield from _find_nested_skills(Path(entry.path), MAX_DEPTH)
    for entry in entries:
        path = Path(entry.path)
        if path.suffix.lower() == ".md" and path.stem.lower() not in NOT_SKILLS and _is_candidate(entry.name):
            yield path


def _find_nested_skills(folder: Path, depth: int) -> Iterator[Path]:
    """The skill of `folder`, or those of its subfolders if it is not a skill itself."""
    entries = _scan_entries(folder)
    own = next((entry for entry in entries if entry.name.upper() == SKILL_FILE), None)
    if own is not None:
        yield Path(own.path)
        return
    for entry in entries if depth > 1 else ():
        if _is_folder(entry) and _is_candidate(entry.name):
            yield from _find_nested_skills(Path(entry.path), depth - 1)


def _scan_entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)[:MAX_ENTRIES]
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_candidate(name: str) -> bool:
    return not name.startswith(".") and name.lower() not in IGNORED_FOLDERS and name.upper() != SKILL_FILE


def _read_skill_file(
    path: Path, place: SearchFolder, heads: FrontmatterCache, top: Path | None
) -> Skill | Unloaded:
    name = path.parent.name if is_skill_file(path) else path.stem
    refused = refuse_outside_link(path, name, place, top, "skills")
    return refused or read_skill(path, place.layer, family=place.family, heads=heads)


def _add_skill(skills: dict[tuple[str, str], Skill | Unloaded], item: Skill | Unloaded) -> None:
    """Keep the first skill of a name; a file that could not be read shadows nothing."""
    if isinstance(item, Unloaded):
        skills[item.origin.file, ""] = item
        return
    assert item.origin is not None
    stronger = skills.get((item.name, item.origin.layer))
    if isinstance(stronger, Skill) and stronger.origin is not None:
        hidden = replace(stronger, origin=add_shadowed(stronger.origin, item.origin))
        skills[item.name, item.origin.layer] = hidden
        return
    skills[item.name, item.origin.layer] = item
