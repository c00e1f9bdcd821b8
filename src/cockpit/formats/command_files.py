"""Command files of Claude Code, opencode, Gemini, Codex, crush and cockpit, and where they are found.

Only the head of a file is read (a Gemini file is all head); the template is read when the command is used.
`git/commit.md` is `git:commit`. Codex's prompts are `prompts:NAME`, as in Codex.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from cockpit.formats.config_files import parse_config
from cockpit.formats.fields import FieldReader, add_shadowed, is_tier, parse_model
from cockpit.formats.frontmatter import FrontmatterCache, FrontmatterDocument, strip_frontmatter
from cockpit.formats.search_folders import (
    SearchFolder,
    find_repository_top,
    list_folders_upward,
    list_search_folders,
    refuse_outside_link,
)
from cockpit.formats.substitution import Dialect, Shell, TemplateValues, split_arguments
from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

CommandFamily = Literal["cockpit", "claude", "agents", "opencode", "gemini", "codex", "crush"]
DIALECTS: Mapping[str, Dialect] = {"opencode": "opencode", "codex": "opencode", "gemini": "gemini"}
MAX_FILE_BYTES = 1_000_000
MAX_DESCRIPTION = 1_024
EFFORTS = ("low", "medium", "high", "xhigh", "max")
# `$FILE` of Codex and crush; their other placeholders are lower case or numbers.
CAPITAL_PLACEHOLDER = re.compile(r"\$([A-Z][A-Z0-9_]*)\b")
NAMED_ARGUMENT = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)
# opencode's names of its main agent: such a command runs in the session itself.
MAIN_AGENT_NAMES = frozenset({"build", "main", "default"})


@dataclass(frozen=True, slots=True)
class CommandFile:
    """A prompt with placeholders. `text` is the template if it comes from a table of another file, else it
    is read from `path`. With `fork` it runs in a subagent of `role`. `shell` and `effort` are as in skills.
    """

    name: str
    description: str
    path: Path
    family: CommandFamily
    origin: Origin
    hint: str = ""
    model: str = ""
    effort: str = ""
    role: str = ""
    fork: bool = False
    background: bool = False
    for_user: bool = True
    allowed_tools: tuple[str, ...] | None = None
    denied_tools: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    shell: Shell = "bash"
    text: str | None = None

    def template(self) -> str:
        """The text with its placeholders. Raises OSError if the file is gone."""
        if self.text is not None:
            return self.text
        text = file_io.read_text(self.path, MAX_FILE_BYTES, "utf-8-sig")
        if self.family == "gemini":
            return str(tomllib.loads(text).get("prompt", ""))
        return strip_frontmatter(text).strip("\n")

    def values(self, typed: str, template: str, variables: Mapping[str, str]) -> TemplateValues:
        """The values to fill into `template` for the typed arguments."""
        names = self.arguments
        if self.family in ("codex", "crush"):
            names = tuple(
                dict.fromkeys(item for item in CAPITAL_PLACEHOLDER.findall(template) if item != "ARGUMENTS")
            )
        dialect = DIALECTS.get(self.family, "claude")
        named = _parse_named_arguments(names, typed) if self.family in ("codex", "crush") else {}
        doubled = self.family == "codex"
        return TemplateValues(typed, names, variables, dialect, self.name, self.shell, named, doubled)


def _parse_named_arguments(names: tuple[str, ...], typed: str) -> dict[str, str]:
    """The values of `names` given as `NAME=value` words. If there are any, the other names get the remaining
    words in order."""
    values: dict[str, str] = {}
    remaining: list[str] = []
    for word in split_arguments(typed):
        match = NAMED_ARGUMENT.fullmatch(word)
        if match is not None and match[1] in names:
            values[match[1]] = match[2]
        else:
            remaining.append(word)
    if not values:
        return {}
    missing = [name for name in names if name not in values]
    return values | dict(zip(missing, [*remaining, *[""] * len(missing)], strict=False))


def read_command(
    path: Path, name: str, layer: Layer, family: CommandFamily, heads: FrontmatterCache | None = None
) -> CommandFile | Unloaded:
    """The command in the file `path`. Raises nothing."""
    try:
        document = _read_toml(path) if path.suffix == ".toml" else (heads or FrontmatterCache()).read(path)
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        fault = FileProblem(str(path), 0, reason, "fix or remove the file")
        return Unloaded(name, Origin(str(path), layer, refused=(fault,)))
    fields = FieldReader(document)
    if path.suffix == ".toml" and not fields.text("prompt").strip():
        if not document.faults:
            fields.refuse("prompt", "it has no `prompt`", 'write prompt = """..."""')
        return Unloaded(name, fields.origin(layer))
    if path.suffix == ".md" and not document.body and not document.faults:
        fault = FileProblem(str(path), 0, "it has no text", "write the prompt below the frontmatter")
        return Unloaded(name, Origin(str(path), layer, refused=(fault,)))
    fields.understood.pop("prompt", None)
    return _build_command(fields, name, path, layer, family)


def read_command_table(
    name: str, table: Mapping[str, object], document: FrontmatterDocument, layer: Layer
) -> CommandFile | Unloaded:
    """A command of opencode's settings: `command.NAME` with template, description, agent and subtask."""
    fields = FieldReader(document)
    template = fields.text("template")
    if not template:
        fields.refuse("template", "it has no `template`", "write the prompt there")
        return Unloaded(name, fields.origin(layer))
    fields.understood.pop("template", None)
    return replace(_build_command(fields, name, Path(document.file), layer, "opencode"), text=template)


def _build_command(
    fields: FieldReader, name: str, path: Path, layer: Layer, family: CommandFamily
) -> CommandFile:
    description = " ".join((fields.text("description") or fields.document.body).split())
    role = fields.text("agent") if family in ("claude", "cockpit", "agents", "opencode") else ""
    fork = fields.choice("context", ("fork", "inline"), "inline") == "fork"
    if family == "opencode":
        role = "" if role in MAIN_AGENT_NAMES else role
        fork = fields.flag("subtask", bool(role))
    if fields.document.fields.get("hooks"):
        remedy = "put them into .cockpit/hooks.json; `cockpit hooks list` shows them"
        fields.refuse("hooks", "the hooks of a command are listed but never run", remedy)
    model = parse_model(fields.text("model"), family)
    if layer == "project" and not is_tier(model):
        # A folder must not decide which provider reads the user's words (docs/adr/0008).
        remedy = "name fast, medium or strong, which your settings define"
        fields.refuse("model", "a project's file may only name a model tier", remedy)
        model = ""
    return CommandFile(
        name=name,
        description=description[:MAX_DESCRIPTION] or f"the prompt in {path.name}",
        path=path,
        family=family,
        hint=_read_hint(fields),
        model=model,
        effort=fields.choice("effort", EFFORTS),
        role=role,
        fork=fork,
        background=fields.flag("background"),
        for_user=fields.flag("user-invocable", True),
        allowed_tools=fields.words("allowed-tools"),
        denied_tools=fields.words("disallowed-tools") or (),
        arguments=fields.words("arguments") or (),
        shell="powershell" if fields.choice("shell", ("bash", "powershell")) == "powershell" else "bash",
        origin=fields.origin(layer),
    )


def _read_hint(fields: FieldReader) -> str:
    """`argument-hint`: text, or the list that YAML makes of `[issue] [priority]`."""
    for key in ("argument-hint", "argument_hint"):
        value = fields.document.fields.get(key)
        if isinstance(value, list):
            fields.understood[key] = hint = " ".join(f"[{item}]" for item in value)
            return hint
        if value is not None:
            return fields.text(key)
    return ""


def _read_toml(path: Path) -> FrontmatterDocument:
    """A Gemini file as a document: its keys with their lines. Raises OSError."""
    text = file_io.read_text(path, MAX_FILE_BYTES, "utf-8-sig")
    config = parse_config(text, str(path))
    if config.faults:
        return FrontmatterDocument(str(path), faults=config.faults)
    table = config.table()
    lines = {key: config.line(key) for key in table}
    faults: list[FileProblem] = []
    fields: dict[str, Json] = {}
    for key in ("prompt", "description"):
        if key in table and not isinstance(table[key], str):
            faults.append(FileProblem(str(path), lines[key], f"`{key}` is not text", f'write {key} = "..."'))
        elif key in table:
            fields[key] = table[key]
    return FrontmatterDocument(str(path), fields, lines, faults=tuple(faults))


def select_strongest(files: Iterable[CommandFile | Unloaded]) -> tuple[CommandFile | Unloaded, ...]:
    """The first of each name and layer, which records the files it shadows, and everything that gave no
    command."""
    strongest: dict[tuple[str, str], CommandFile | Unloaded] = {}
    for item in files:
        if isinstance(item, Unloaded):
            strongest[item.origin.file, item.name] = item
            continue
        stronger = strongest.get((item.name, item.origin.layer))
        if isinstance(stronger, CommandFile):
            hidden = replace(stronger, origin=add_shadowed(stronger.origin, item.origin))
            strongest[item.name, item.origin.layer] = hidden
        else:
            strongest[item.name, item.origin.layer] = item
    return tuple(strongest.values())


# The strongest first.
PROJECT_FOLDERS = (
    ("cockpit", ".cockpit/commands"),
    ("claude", ".claude/commands"),
    ("agents", ".agents/commands"),
    ("opencode", ".opencode/commands"),
    ("opencode", ".opencode/command"),
    ("gemini", ".gemini/commands"),
    ("crush", ".crush/commands"),
)
USER_FOLDERS = (
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
OPENCODE_FILES = ("opencode.json", "opencode.jsonc")
NOT_COMMANDS = frozenset({"readme", "changelog", "license", "licence", "contributing", "index"})
MAX_DEPTH = 5
MAX_ENTRIES = 1_000


def find_commands(
    root: Path, trusted: bool, home: Path, heads: FrontmatterCache | None = None
) -> tuple[CommandFile | Unloaded, ...]:
    """The commands of the project (if trusted) and of the user."""
    heads = heads or FrontmatterCache()
    commands: list[CommandFile | Unloaded] = []
    visited: set[str] = set()
    top = find_repository_top(root, home)
    for place in list_search_folders(root, trusted, home, PROJECT_FOLDERS, USER_FOLDERS):
        commands += _read_folder(place, heads, top, visited)
    for folder in list_folders_upward(root, home) if trusted else ():
        for base in (folder, folder / ".opencode"):
            commands += _read_opencode_settings(base, "project")
    commands += _read_opencode_settings(home / ".config/opencode", "user")
    heads.save()
    return select_strongest(commands)


def find_commands_in(
    folder: Path, layer: Layer, prefix: str, heads: FrontmatterCache | None = None
) -> tuple[CommandFile | Unloaded, ...]:
    """The commands of a bundle's folder, each named `prefix:NAME`."""
    heads = heads or FrontmatterCache()
    commands = [
        read_command(path, f"{prefix}:{name}", layer, "claude", heads)
        for path, name in find_command_files(folder, "claude")
    ]
    return select_strongest(commands)


def find_command_files(folder: Path, family: str) -> Iterator[tuple[Path, str]]:
    """Every command file below a folder with its name, sorted by path."""
    ending = ".toml" if family == "gemini" else ".md"
    deepest = 0 if family == "codex" else MAX_DEPTH
    left = MAX_ENTRIES
    for here, folders, names in os.walk(folder, followlinks=True):
        parts = Path(here).relative_to(folder).parts
        folders[:] = sorted(entry for entry in folders if entry[0] != "." and len(parts) < deepest)
        for name in sorted(names):
            path = Path(here, name)
            if path.suffix.lower() != ending or path.stem.lower() in NOT_COMMANDS or name[0] == ".":
                continue
            left -= 1
            if left < 0:
                return
            base = ("prompts", path.stem) if family == "codex" else (*parts, path.stem)
            yield path, ":".join("-".join(item.split()) for item in base)


def _read_folder(
    place: SearchFolder, heads: FrontmatterCache, top: Path, visited: set[str]
) -> Iterator[CommandFile | Unloaded]:
    family = cast("CommandFamily", place.family)
    for path, name in find_command_files(place.folder, family):
        real = os.path.realpath(path)
        if real in visited:
            continue
        visited.add(real)
        refused = refuse_outside_link(path, name, place, top, "commands")
        yield refused or read_command(path, name, place.layer, family, heads)


def _read_opencode_settings(folder: Path, layer: Layer) -> Iterator[CommandFile | Unloaded]:
    """The commands defined in opencode's own settings."""
    for name in OPENCODE_FILES:
        file = folder / name
        try:
            text = file_io.read_text(file, encoding="utf-8-sig")
        except OSError:
            continue
        located = parse_config(text, str(file))
        for key in ("command", "commands"):
            for command, table in located.table(key).items():
                lines = (
                    {item: located.line(key, command, item) for item in table}
                    if isinstance(table, dict)
                    else {}
                )
                fields = table if isinstance(table, dict) else {}
                lines |= {"template": lines.get("template", located.line(key, command))}
                document = FrontmatterDocument(str(file), fields, lines)
                yield read_command_table(":".join(command.split("/")), fields, document, layer)
