"""Role files, which say who a subagent is: those of Claude Code, Codex, opencode, Gemini and cockpit.

    role = read_role(Path(".claude/agents/reviewer.md"), "project", "claude")

A field can only restrict. One that would allow more than the parent may do is refused with the reason, and
the rest of the file is used.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from cockpit import paths
from cockpit.formats.config_files import parse_config
from cockpit.formats.fields import FieldReader, parse_model, select_strongest
from cockpit.formats.frontmatter import (
    FrontmatterCache,
    FrontmatterDocument,
    parse_frontmatter,
    strip_frontmatter,
)
from cockpit.formats.role_tools import CHANGING_TOOLS, read_tools
from cockpit.formats.search_folders import (
    SearchFolder,
    find_repository_top,
    list_search_folders,
    project_folders,
    read_definitions,
    refuse_file,
    scan_folder,
    user_folders,
)
from cockpit.plugin.agents import USUAL_STEPS, Quota, Role
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded
from cockpit.protocol.messages import Json, Mode
from cockpit.settings import file_io

# From the loosest to the strictest.
MODES: tuple[Mode, ...] = ("full", "auto-edit", "ask", "plan", "deny")
PERMISSION_MODES: Mapping[str, Mode | None] = {
    "default": None,
    "manual": "ask",
    "acceptEdits": "auto-edit",
    "auto": "auto-edit",
    "dontAsk": "deny",
    "bypassPermissions": "full",
    "plan": "plan",
    **{mode: mode for mode in MODES},
}
SANDBOX_MODES: Mapping[str, Mode | None] = {
    "read-only": "plan",
    "workspace-write": None,
    "danger-full-access": "full",
}
NAME_PATTERN = re.compile(r"[A-Za-z0-9][\w.:/-]{0,63}")
STEPS_KEYS = ("maxTurns", "max_turns", "steps", "maxSteps", "max-steps")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
MEMORIES = ("user", "project", "local")


@dataclass(frozen=True, slots=True)
class RoleBounds:
    """The most a role may have: the mode that sessions start with, and the step limit of the settings."""

    mode: Mode = "ask"
    steps: int = 100


def read_role(
    path: Path,
    layer: Layer,
    family: str,
    bounds: RoleBounds | None = None,
    heads: FrontmatterCache | None = None,
) -> Role | Unloaded:
    """The role in a file. Raises nothing: what cannot be read is `Unloaded`."""
    bounds = bounds or RoleBounds()
    try:
        if path.suffix == ".toml":
            document = _read_toml(file_io.read_text(path), str(path))
        else:
            document = _read_markdown(path, heads)
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        return refuse_file(path, path.stem, layer, reason, "fix or remove it")
    return build_role(document, path.stem, layer, family, bounds)


def parse_role(text: str, file: str, name: str, layer: Layer, family: str = "cockpit") -> Role | Unloaded:
    """The role in a file's text, for roles that are not in a folder of their own."""
    return build_role(parse_frontmatter(text, file), name, layer, family, RoleBounds())


def build_role(
    document: FrontmatterDocument, name: str, layer: Layer, family: str, bounds: RoleBounds
) -> Role | Unloaded:
    """The role that a file's fields describe; `name` is used if they have none."""
    fields = FieldReader(document)
    named = _read_name(fields, name, family)
    instructions = document.body.strip() or fields.text("developer_instructions") or fields.text("prompt")
    if not instructions.strip():
        what = "developer_instructions" if family == "codex" else "the text below the frontmatter"
        reason = f"it has no instructions: {what} is empty"
        fields.faults.append(document.fault("name", reason, f"write {what}"))
        return Unloaded(named, fields.origin(layer))
    if not document.fields and family != "codex":
        remedy = "start with `---`, `name:`, `description:`, `---`"
        fault = FileProblem(document.file, 1, "it has no frontmatter", remedy)
        return Unloaded(named, Origin(document.file, layer, refused=(*document.faults, fault)))
    if fields.flag("disable"):
        fields.refuse("disable", "the file says `disable`", "remove `disable` to use it")
        return Unloaded(named, fields.origin(layer))
    tools, denied = read_tools(fields, family)
    effort_key = "model_reasoning_effort" if "model_reasoning_effort" in document.fields else "effort"
    role = Role(
        name=named,
        description=_read_description(fields, instructions),
        instructions=instructions,
        tools=tools,
        model=parse_model(fields.text("model"), family),
        max_steps=_read_steps(fields, bounds),
        mode=_read_mode(fields, bounds),
        denied_tools=denied,
        skills=fields.words("skills") or () if not isinstance(document.fields.get("skills"), dict) else (),
        mcp_servers=_read_servers(fields),
        background=fields.flag("background"),
        isolation="worktree" if fields.choice("isolation", ("worktree", "none")) == "worktree" else "none",
        effort=fields.choice(effort_key, ("none", *EFFORTS)),
        color=fields.text("color"),
        memory=_read_memory(fields),
        prompt=fields.text("initialPrompt"),
        quota=_read_quota(fields, bounds),
        explores=fields.flag("explores") or _is_read_only(tools),
        aliases=fields.words("aliases") or (),
    )
    if "hooks" in document.fields:
        fields.refuse("hooks", "hooks of a role are listed but never run", "put them into a hooks file")
    return replace(role, origin=fields.origin(layer))


def _read_markdown(path: Path, heads: FrontmatterCache | None) -> FrontmatterDocument:
    """A Markdown file: its frontmatter from the cache if given, its body in full."""
    text = file_io.read_text(path)
    if heads is None or (body := strip_frontmatter(text)) == text:
        return parse_frontmatter(text, str(path))
    return replace(heads.read(path), body=body, body_line=text.count("\n") - body.count("\n") + 1)


def _read_toml(text: str, file: str) -> FrontmatterDocument:
    config = parse_config(text, file)
    return FrontmatterDocument(file, config.table(), faults=config.faults, config=config)


def _read_name(fields: FieldReader, stem: str, family: str) -> str:
    written = fields.text("name")
    if not written and family != "opencode" and fields.document.fields:
        remedy = f"add `name: {stem}`; {stem} is used"
        fields.faults.append(FileProblem(fields.document.file, 1, "it has no `name`", remedy))
    written = written or stem
    if NAME_PATTERN.fullmatch(written):
        return written
    usable = re.sub(r"[^\w.:/-]+", "-", written.strip()).strip("-").lower()[:64] or stem
    remedy = f"use letters, digits and `-`; {usable} is used"
    fields.refuse("name", f"{written!r} is not a valid name", remedy)
    return usable


def _read_description(fields: FieldReader, instructions: str) -> str:
    """The description in one line, without Claude's `<example>` blocks, which would cost tokens."""
    text = fields.text("description")
    if not text:
        fields.refuse("description", "it has no description, so no model knows when to use it", "add a line")
        text = next((line.strip("# ") for line in instructions.splitlines() if line.strip("# ")), "")
    return " ".join(re.split(r"<example>|\\n", text)[0].split())


def _read_steps(fields: FieldReader, bounds: RoleBounds) -> int:
    for key in STEPS_KEYS:
        steps = fields.number(key, 1)
        if steps is None:
            continue
        if steps > bounds.steps:
            reason = f"`{key}: {steps:g}` is more than the {bounds.steps} steps that settings allow"
            remedy = f"write at most {bounds.steps}, or raise `agents.steps` in your settings"
            fields.refuse(key, reason, remedy)
        return min(int(steps), bounds.steps)
    return min(USUAL_STEPS, bounds.steps)


def _read_mode(fields: FieldReader, bounds: RoleBounds) -> Mode | None:
    key, table = "permissionMode", PERMISSION_MODES
    if "sandbox_mode" in fields.document.fields:
        key, table = "sandbox_mode", SANDBOX_MODES
    elif "permission-mode" in fields.document.fields:
        key = "permission-mode"
    written = fields.choice(key, tuple(table))
    mode = table.get(written)
    if mode is not None and MODES.index(mode) < MODES.index(bounds.mode):
        reason = (
            f"`{key}: {written}` allows more than the mode {bounds.mode} of sessions; a role only restricts"
        )
        fields.refuse(key, reason, f"remove it; to use {mode}, choose that mode for the session")
        return None
    return mode


def _read_servers(fields: FieldReader) -> tuple[str, ...] | None:
    key = "mcp_servers" if "mcp_servers" in fields.document.fields else "mcpServers"
    value = fields.document.fields.get(key)
    if value is None:
        return None
    names: list[str] = []
    defined: list[str] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            defined += [str(name) for name, definition in item.items() if isinstance(definition, dict)]
            names += [str(name) for name in item]
        else:
            names += str(item).replace(",", " ").split()
    fields.understood[key] = cast("Json", list(names))
    if defined:
        reason = f"it would start a server of its own: {', '.join(defined)}; a role can only restrict"
        remedy = "put the server into .mcp.json, where it needs your approval once, and name it here"
        fields.faults.append(fields.document.fault(key, reason, remedy))
    return tuple(dict.fromkeys(names))


def _read_memory(fields: FieldReader) -> str:
    value = fields.choice("memory", MEMORIES)
    if value:
        remedy = "leave it; it takes effect once it is supported"
        fields.refuse("memory", "memory for roles is not supported yet", remedy)
    return value


def _read_quota(fields: FieldReader, bounds: RoleBounds) -> Quota:
    table = fields.table("quota")
    numbers: dict[str, float] = {}
    for key, value in table.items():
        if key in ("steps", "tokens", "seconds", "output") and isinstance(value, int | float) and value > 0:
            numbers[key] = float(value)
        else:
            remedy = "use positive numbers for steps, tokens, seconds and output"
            fields.refuse("quota", f"`quota.{key}: {value!r}` is not a quota", remedy)
    if minutes := fields.number("timeout_mins"):
        numbers.setdefault("seconds", 60 * minutes)
    whole = {key: int(value) for key, value in numbers.items() if key != "seconds"}
    return Quota(
        steps=min(whole["steps"], bounds.steps) if "steps" in whole else None,
        tokens=whole.get("tokens"),
        seconds=numbers.get("seconds"),
        output=whole.get("output"),
    )


def _is_read_only(tools: tuple[str, ...] | None) -> bool:
    if not tools:
        return False
    return not any(name.partition("(")[0] in CHANGING_TOOLS or "*" in name for name in tools)


# The strongest first.
PROJECT_FOLDERS = (*project_folders("agents"), ("codex", ".codex/agents"))
USER_FOLDERS = (*user_folders("agents"), ("codex", ".codex/agents"))
NOT_ROLES = frozenset(
    {"readme", "changelog", "license", "licence", "contributing", "agents", "claude", "gemini"}
)
MAX_DEPTH = 3


def find_roles(
    root: Path, trusted: bool, home: Path, bounds: RoleBounds, managed: Path | None = None
) -> tuple[Role | Unloaded, ...]:
    """The roles of the machine, of the project (if trusted) and of the user; the strongest of a name per
    layer, which records the files it shadows."""
    heads = FrontmatterCache(paths.cache() / "role-heads.json")
    folders = list(list_search_folders(root, trusted, home, PROJECT_FOLDERS, USER_FOLDERS))
    if managed is not None:
        folders.insert(0, SearchFolder(managed, "managed", "cockpit"))
    roles = find_roles_in(folders, bounds, heads, find_repository_top(root, home))
    heads.save()
    return roles


def find_roles_in(
    folders: Iterable[SearchFolder],
    bounds: RoleBounds,
    heads: FrontmatterCache | None = None,
    top: Path | None = None,
) -> tuple[Role | Unloaded, ...]:
    """The roles in `folders`, strongest first. A project's file must be below `top`, also if it is a link."""

    def find(place: SearchFolder) -> Iterator[tuple[Path, str]]:
        suffix = ".toml" if place.family == "codex" else ".md"
        return ((path, path.stem) for path in find_role_files(place.folder, suffix))

    def read(path: Path, _: str, place: SearchFolder) -> Role | Unloaded:
        return read_role(path, place.layer, place.family, bounds, heads)

    return select_strongest(read_definitions(folders, find, read, top, "agents"))


def read_roles_flag(table: Mapping[str, Json], bounds: RoleBounds) -> tuple[Role | Unloaded, ...]:
    """The roles of `--agents`: Claude Code's table of names, each with its fields and a `prompt`."""
    made: list[Role | Unloaded] = []
    for name, fields in table.items():
        if not isinstance(fields, dict):
            remedy = 'write {"description": ..., "prompt": ...}'
            made.append(refuse_file("--agents", name, "flags", f"`{name}` is {fields!r}", remedy))
            continue
        document = FrontmatterDocument("--agents", {"name": name, **fields})
        made.append(build_role(document, name, "flags", "claude", bounds))
    return tuple(made)


def find_role_files(folder: Path, suffix: str, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """The files in a folder and its subfolders, sorted by name."""
    for entry in scan_folder(folder):
        if entry.name.startswith(".") or entry.name.lower() in ("drafts", "node_modules"):
            continue
        path = Path(entry.path)
        if path.suffix.lower() == suffix and path.stem.lower() not in NOT_ROLES:
            yield path
        elif depth > 1 and path.suffix == "" and path.is_dir():
            yield from find_role_files(path, suffix, depth - 1)
