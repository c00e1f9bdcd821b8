"""Command files of Claude Code, opencode, Gemini, Codex, crush and our own: one file to one `CommandFile`.

Only its head is read here (a Gemini file is all head); the template is read when the command is used.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cockpit.formats.fields import Fields, hiding
from cockpit.formats.frontmatter import Document, body_of
from cockpit.formats.heads import Heads
from cockpit.formats.model_names import is_tier, model_of
from cockpit.formats.quoting import Shell, split
from cockpit.formats.substitution import Dialect, Values
from cockpit.plugin.origin import Fault, Layer, Origin, Unloaded
from cockpit.protocol.messages import Json
from cockpit.settings import plain, toml_lines

Family = Literal["cockpit", "claude", "agents", "opencode", "gemini", "codex", "crush"]
DIALECTS: Mapping[str, Dialect] = {"opencode": "opencode", "codex": "opencode", "gemini": "gemini"}
LARGEST = 1_000_000
LONGEST = 1_024
EFFORTS = ("low", "medium", "high", "xhigh", "max")
# `$FILE` of Codex and crush; their other placeholders are not in capitals, or are numbers.
CAPITALS = re.compile(r"\$([A-Z][A-Z0-9_]*)\b")
GIVEN = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)
# What opencode calls its own main agent: such a command runs where it was typed.
MAIN = frozenset({"build", "main", "default"})


@dataclass(frozen=True, slots=True)
class CommandFile:
    """A prompt with placeholders. `text` is the template where it stands in a table of another file; else
    it is read from `path`. `fork` runs it in a subagent of `role`. `shell` and `effort` as in skills."""

    name: str
    description: str
    path: Path
    family: Family
    origin: Origin
    hint: str = ""
    model: str = ""
    effort: str = ""
    role: str = ""
    fork: bool = False
    background: bool = False
    for_person: bool = True
    allowed_tools: tuple[str, ...] | None = None
    denied_tools: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    shell: Shell = "bash"
    text: str | None = None

    def template(self) -> str:
        """The text with its placeholders. Raises OSError where the file is gone."""
        if self.text is not None:
            return self.text
        text = plain.read_text(self.path, LARGEST, "utf-8-sig")
        if self.family == "gemini":
            return str(tomllib.loads(text).get("prompt", ""))
        return body_of(text).strip("\n")

    def values(self, typed: str, template: str, variables: Mapping[str, str]) -> Values:
        """What is put into `template` for the arguments `typed`."""
        names = self.arguments
        if self.family in ("codex", "crush"):
            names = tuple(dict.fromkeys(one for one in CAPITALS.findall(template) if one != "ARGUMENTS"))
        dialect = DIALECTS.get(self.family, "claude")
        given = _given(names, typed) if self.family in ("codex", "crush") else {}
        doubled = self.family == "codex"
        return Values(typed, names, variables, dialect, self.name, self.shell, given, doubled)


def _given(names: tuple[str, ...], typed: str) -> dict[str, str]:
    """What `NAME=value` words say of `names`; where there are some, the others get the words that are
    left, in order."""
    given: dict[str, str] = {}
    left: list[str] = []
    for word in split(typed):
        found = GIVEN.fullmatch(word)
        if found is not None and found[1] in names:
            given[found[1]] = found[2]
        else:
            left.append(word)
    if not given:
        return {}
    missing = [one for one in names if one not in given]
    return given | dict(zip(missing, [*left, *[""] * len(missing)], strict=False))


def read_command(
    path: Path, name: str, layer: Layer, family: Family, heads: Heads | None = None
) -> CommandFile | Unloaded:
    """The command in the file `path`. Raises nothing."""
    try:
        document = _toml(path) if path.suffix == ".toml" else (heads or Heads()).read(path)
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}"
        fault = Fault(str(path), 0, reason, "mend or remove the file")
        return Unloaded(name, Origin(str(path), layer, refused=(fault,)))
    fields = Fields(document)
    if path.suffix == ".toml" and not fields.text("prompt").strip():
        if not document.faults:
            fields.refuse("prompt", "it has no `prompt`", 'write prompt = """..."""')
        return Unloaded(name, fields.origin(layer))
    if path.suffix == ".md" and not document.body and not document.faults:
        fault = Fault(str(path), 0, "it says nothing", "write the prompt below the frontmatter")
        return Unloaded(name, Origin(str(path), layer, refused=(fault,)))
    fields.understood.pop("prompt", None)
    return _command(fields, name, path, layer, family)


def of_table(
    name: str, table: Mapping[str, object], document: Document, layer: Layer
) -> CommandFile | Unloaded:
    """A command of opencode's own settings: `command.NAME` with template, description, agent, subtask."""
    fields = Fields(document)
    template = fields.text("template")
    if not template:
        fields.refuse("template", "it has no `template`", "write the prompt there")
        return Unloaded(name, fields.origin(layer))
    fields.understood.pop("template", None)
    return replace(_command(fields, name, Path(document.file), layer, "opencode"), text=template)


def _command(fields: Fields, name: str, path: Path, layer: Layer, family: Family) -> CommandFile:
    description = " ".join((fields.text("description") or fields.document.body).split())
    role = fields.text("agent") if family in ("claude", "cockpit", "agents", "opencode") else ""
    fork = fields.choice("context", ("fork", "inline"), "inline") == "fork"
    if family == "opencode":
        role = "" if role in MAIN else role
        fork = fields.flag("subtask", bool(role))
    if fields.document.fields.get("hooks"):
        remedy = "put them into .cockpit/hooks.json, where `cockpit hooks list` shows them"
        fields.refuse("hooks", "the hooks of a command are shown and never run", remedy)
    model = model_of(fields.text("model"), family)
    if layer == "project" and not is_tier(model):
        # A folder does not say who reads a person's words, and what it costs (docs/adr/0008).
        remedy = "name fast, medium or strong: what they mean stands in your settings"
        fields.refuse("model", "a project's file names no model but a tier", remedy)
        model = ""
    return CommandFile(
        name=name,
        description=description[:LONGEST] or f"the prompt in {path.name}",
        path=path,
        family=family,
        hint=_hint(fields),
        model=model,
        effort=fields.choice("effort", EFFORTS),
        role=role,
        fork=fork,
        background=fields.flag("background"),
        for_person=fields.flag("user-invocable", True),
        allowed_tools=fields.words("allowed-tools"),
        denied_tools=fields.words("disallowed-tools") or (),
        arguments=fields.words("arguments") or (),
        shell="powershell" if fields.choice("shell", ("bash", "powershell")) == "powershell" else "bash",
        origin=fields.origin(layer),
    )


def _hint(fields: Fields) -> str:
    """`argument-hint`: text, or the list that YAML makes of `[issue] [priority]`."""
    for key in ("argument-hint", "argument_hint"):
        value = fields.document.fields.get(key)
        if isinstance(value, list):
            fields.understood[key] = hint = " ".join(f"[{one}]" for one in value)
            return hint
        if value is not None:
            return fields.text(key)
    return ""


def _toml(path: Path) -> Document:
    """A Gemini file as a document: its keys with their lines. Raises OSError."""
    text = plain.read_text(path, LARGEST, "utf-8-sig")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = toml_lines.broken_line(error, text)
        return Document(str(path), faults=(Fault(str(path), line, f"this is no TOML: {error}", "mend it"),))
    lines = {str(at[0]): line for at, line in toml_lines.lines(text).items() if len(at) == 1}
    faults: list[Fault] = []
    fields: dict[str, Json] = {}
    for key in ("prompt", "description"):
        if key in table and not isinstance(table[key], str):
            faults.append(Fault(str(path), lines[key], f"`{key}` is no text", f'write {key} = "..."'))
        elif key in table:
            fields[key] = table[key]
    return Document(str(path), fields, lines, faults=tuple(faults))


def first_of_each(found: Iterable[CommandFile | Unloaded]) -> tuple[CommandFile | Unloaded, ...]:
    """Of each name and layer the first, which tells which files it hides; what gave no command, too."""
    kept: dict[tuple[str, str], CommandFile | Unloaded] = {}
    for one in found:
        if isinstance(one, Unloaded):
            kept[one.origin.file, one.name] = one
            continue
        stronger = kept.get((one.name, one.origin.layer))
        if isinstance(stronger, CommandFile):
            hidden = replace(stronger, origin=hiding(stronger.origin, one.origin))
            kept[one.name, one.origin.layer] = hidden
        else:
            kept[one.name, one.origin.layer] = one
    return tuple(kept.values())
