"""Files that say who a subagent is: Claude Code's, Codex', opencode's, Gemini's and our own.

role = read_role(Path(".claude/agents/reviewer.md"), "project", "claude")

A field only narrows. One that would widen what the opener may do is refused, with the reason, and all else
of the file is taken.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from cockpit.formats.fields import Fields
from cockpit.formats.frontmatter import FENCE, Document, parse
from cockpit.formats.heads import Heads
from cockpit.formats.model_names import model_of
from cockpit.formats.role_tools import CHANGING, tools_of
from cockpit.plugin.agents import USUAL_STEPS, Isolation, Quota, Role
from cockpit.plugin.origin import Fault, Layer, Origin, Unloaded
from cockpit.protocol.messages import Json, Mode
from cockpit.settings import plain, toml_lines

# From the loosest to the tightest.
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
SANDBOXES: Mapping[str, Mode | None] = {
    "read-only": "plan",
    "workspace-write": None,
    "danger-full-access": "full",
}
NAME = re.compile(r"[A-Za-z0-9][\w.:/-]{0,63}")
STEPS = ("maxTurns", "max_turns", "steps", "maxSteps", "max-steps")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
MEMORIES = ("user", "project", "local")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a role may at most have: the mode that sessions begin with, and the steps of settings."""

    mode: Mode = "ask"
    steps: int = 100


def read_role(
    path: Path, layer: Layer, family: str, bounds: Bounds | None = None, heads: Heads | None = None
) -> Role | Unloaded:
    """The role of one file. Raises nothing: what cannot be read is `Unloaded`."""
    bounds = bounds or Bounds()
    try:
        if path.suffix == ".toml":
            document = _toml(plain.read_text(path), str(path))
        else:
            document = _markdown(path, heads)
    except OSError as error:
        fault = Fault(str(path), 0, f"it cannot be read: {error.strerror or error}", "mend or remove it")
        return Unloaded(path.stem, Origin(str(path), layer, refused=(fault,)))
    return role_of(document, path.stem, layer, family, bounds)


def read_text(text: str, file: str, name: str, layer: Layer, family: str = "cockpit") -> Role | Unloaded:
    """The role of a file's text, for what does not lie in a folder of its own."""
    return role_of(parse(text, file), name, layer, family, Bounds())


def role_of(document: Document, name: str, layer: Layer, family: str, bounds: Bounds) -> Role | Unloaded:
    """The role that a file's fields say; `name` is used where they say none."""
    fields = Fields(document)
    named = _name(fields, name, family)
    instructions = document.body.strip() or fields.text("developer_instructions") or fields.text("prompt")
    if not instructions.strip():
        what = "developer_instructions" if family == "codex" else "the text below the frontmatter"
        fields.faults.append(
            document.fault("name", f"it has no instructions: {what} is empty", f"write {what}")
        )
        return Unloaded(named, fields.origin(layer))
    if not document.fields and family != "codex":
        fault = Fault(
            document.file, 1, "it has no frontmatter", "begin with `---`, `name:`, `description:`, `---`"
        )
        return Unloaded(named, Origin(document.file, layer, refused=(*document.faults, fault)))
    if fields.flag("disable"):
        fields.refuse("disable", "the file says that it is switched off", "take `disable` out to use it")
        return Unloaded(named, fields.origin(layer))
    tools, denied = tools_of(fields, family)
    role = Role(
        name=named,
        description=_description(fields, instructions),
        instructions=instructions,
        tools=tools,
        model=_model(fields, family),
        max_steps=_steps(fields, bounds),
        mode=_mode(fields, bounds),
        denied_tools=denied,
        skills=fields.words("skills") or () if not isinstance(document.fields.get("skills"), dict) else (),
        mcp_servers=_servers(fields),
        background=fields.flag("background"),
        isolation=_isolation(fields),
        effort=_effort(fields),
        color=fields.text("color"),
        memory=_memory(fields),
        prompt=fields.text("initialPrompt"),
        quota=_quota(fields, bounds),
        explores=fields.flag("explores") or _only_looks(tools),
        aliases=fields.words("aliases") or (),
    )
    if "hooks" in document.fields:
        fields.refuse("hooks", "hooks of a role are shown and not run", "put them into a hooks file")
    return replace(role, origin=fields.origin(layer))


def _markdown(path: Path, heads: Heads | None) -> Document:
    """A Markdown file; its frontmatter out of `heads` where it was read before, its body whole."""
    text = plain.read_text(path)
    if heads is None:
        return parse(text, str(path))
    lines = text.removeprefix("\ufeff").split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if FENCE.match(line)), 0)
    if not FENCE.match(lines[0]) or not end:
        return parse(text, str(path))
    return replace(heads.read(path), body="\n".join(lines[end + 1 :]), body_line=end + 2)


def _toml(text: str, file: str) -> Document:
    try:
        table = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        line = toml_lines.broken_line(error, text)
        return Document(file, faults=(Fault(file, line, f"this is no TOML: {error}", "mend it"),))
    where = {str(path[0]): line for path, line in toml_lines.lines(text).items() if len(path) == 1}
    return Document(file, cast("Mapping[str, Json]", table), where)


def _name(fields: Fields, stem: str, family: str) -> str:
    said = fields.text("name")
    if not said and family != "opencode" and fields.document.fields:
        fault = Fault(
            fields.document.file, 1, "it has no `name`", f"add `name: {stem}`; it is called {stem} here"
        )
        fields.faults.append(fault)
    said = said or stem
    if NAME.fullmatch(said):
        return said
    mended = re.sub(r"[^\w.:/-]+", "-", said.strip()).strip("-").lower()[:64] or stem
    fields.refuse("name", f"{said!r} is no name", f"letters, digits and `-`; it is called {mended} here")
    return mended


def _description(fields: Fields, instructions: str) -> str:
    """One line; Claude's examples behind it are for its own model and cost every request."""
    said = fields.text("description")
    if not said:
        fields.refuse(
            "description", "it has no description, so no model knows when to use it", "add one line"
        )
        said = next((line.strip("# ") for line in instructions.splitlines() if line.strip("# ")), "")
    return " ".join(re.split(r"<example>|\\n", said)[0].split())


def _model(fields: Fields, family: str) -> str:
    """A tier, or `provider:model`; "" for the opener's."""
    return model_of(fields.text("model"), family)


def _steps(fields: Fields, bounds: Bounds) -> int:
    for key in STEPS:
        said = fields.number(key, 1)
        if said is None:
            continue
        if said > bounds.steps:
            fields.refuse(
                key,
                f"`{key}: {said:g}` is more than the {bounds.steps} steps that settings allow",
                f"at most {bounds.steps}, or raise `agents.steps` in your settings",
            )
        return min(int(said), bounds.steps)
    return min(USUAL_STEPS, bounds.steps)


def _mode(fields: Fields, bounds: Bounds) -> Mode | None:
    key, table = "permissionMode", PERMISSION_MODES
    if "sandbox_mode" in fields.document.fields:
        key, table = "sandbox_mode", SANDBOXES
    elif "permission-mode" in fields.document.fields:
        key = "permission-mode"
    said = fields.choice(key, tuple(table))
    mode = table.get(said)
    if mode is not None and MODES.index(mode) < MODES.index(bounds.mode):
        fields.refuse(
            key,
            f"`{key}: {said}` allows more than the mode {bounds.mode} of your sessions; a role only narrows",
            f"take it out; who wants {mode} chooses that mode for the session",
        )
        return None
    return mode


def _servers(fields: Fields) -> tuple[str, ...] | None:
    key = "mcp_servers" if "mcp_servers" in fields.document.fields else "mcpServers"
    value = fields.document.fields.get(key)
    if value is None:
        return None
    names: list[str] = []
    defined: list[str] = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            defined += [str(name) for name, said in one.items() if isinstance(said, dict)]
            names += [str(name) for name in one]
        else:
            names += str(one).replace(",", " ").split()
    fields.understood[key] = cast("Json", list(names))
    if defined:
        fields.faults.append(
            fields.document.fault(
                key,
                f"it would start a server of its own: {', '.join(defined)}; a role only narrows",
                "put the server into .mcp.json, where you are asked once, and name it here",
            )
        )
    return tuple(dict.fromkeys(names))


def _isolation(fields: Fields) -> Isolation:
    said = fields.choice("isolation", ("worktree", "none"))
    return "worktree" if said == "worktree" else "none"


def _effort(fields: Fields) -> str:
    key = "model_reasoning_effort" if "model_reasoning_effort" in fields.document.fields else "effort"
    return fields.choice(key, ("none", *EFFORTS))


def _memory(fields: Fields) -> str:
    said = fields.choice("memory", MEMORIES)
    if said:
        fields.refuse(
            "memory", "a role's memory is not kept yet", "leave it; it takes effect when memory does"
        )
    return said


def _quota(fields: Fields, bounds: Bounds) -> Quota:
    table = fields.table("quota")
    numbers: dict[str, float] = {}
    for key, value in table.items():
        if key in ("steps", "tokens", "seconds", "output") and isinstance(value, int | float) and value > 0:
            numbers[key] = float(value)
        else:
            fields.refuse("quota", f"`quota.{key}: {value!r}` is none", "steps, tokens, seconds and output")
    if minutes := fields.number("timeout_mins"):
        numbers.setdefault("seconds", 60 * minutes)
    whole = {key: int(value) for key, value in numbers.items() if key != "seconds"}
    return Quota(
        steps=min(whole["steps"], bounds.steps) if "steps" in whole else None,
        tokens=whole.get("tokens"),
        seconds=numbers.get("seconds"),
        output=whole.get("output"),
    )


def _only_looks(tools: tuple[str, ...] | None) -> bool:
    if not tools:
        return False
    return not any(name.partition("(")[0] in CHANGING or "*" in name for name in tools)
