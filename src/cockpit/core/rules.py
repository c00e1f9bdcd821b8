"""Permission rules as people write them: `Bash(git *)`, `Edit(src/**)`, `mcp__srv__*`.

Reads rules and says which one covers a call. A deny or ask rule bites when any part of the call
fits; an allow rule only when every part does. Knows no person and no mode. Of a command line that is
more than one plain program it takes every piece between operators for a command, for deny and ask
only: that can only tighten (docs/adr/0004).
"""

import difflib
import fnmatch
import re
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Literal

from cockpit.errors import SettingsInvalid
from cockpit.plugin.safety import Judged
from cockpit.plugin.tools import Tool

FORM = re.compile(r"^\s*([\w*-]+)\s*(?:\((.*)\))?\s*$", re.DOTALL)
OPERATORS = re.compile(r"[;&|\n(){}`<>]+|\$\(|\b(?:do|then|else|exec|sudo|env|command|nohup|time|xargs)\b")
ASSIGNED = re.compile(r"^(?:\w+=\S*\s+)+")
BLANK = " \t\r\"'"
SHELL = frozenset({"Bash", "bash", "Shell", "PowerShell"})
READING = frozenset({"Read", "Grep", "Glob", "LS"})
WRITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a rules list. `source` says where it stands, for people."""

    level: Literal["allow", "ask", "deny"]
    tool: str
    pattern: str
    source: str

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


def parse(level: Literal["allow", "ask", "deny"], text: str, source: str) -> Rule:
    """A rule from `Tool` or `Tool(pattern)`. Raises `SettingsInvalid`."""
    found = FORM.match(text)
    if found is None:
        raise SettingsInvalid(
            f"{source}: {text!r} is no permission rule", "write Tool or Tool(pattern), as Bash(git *)"
        )
    return Rule(level, found[1], (found[2] or "").strip(), source)


def unknown(rules: tuple[Rule, ...], tools: tuple[Tool, ...]) -> tuple[str, ...]:
    """A sentence for each rule that names no tool there is: a misspelt deny forbids nothing. MCP's
    tools may come later."""
    names = {*(tool.name for tool in tools), *(alias.name for tool in tools for alias in tool.aliases)}
    names |= SHELL | READING | WRITING
    strange = (rule for rule in rules if not rule.tool.startswith("mcp__") and rule.tool not in names)
    strange = (rule for rule in strange if not any(fnmatch.fnmatchcase(one, rule.tool) for one in names))
    return tuple(_stranger(rule, names) for rule in strange)


def _stranger(rule: Rule, names: set[str]) -> str:
    near = difflib.get_close_matches(rule.tool, sorted(names), 1, 0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"the {rule.level} rule {rule} ({rule.source}) names no tool and has no effect{hint}"


def covering(rules: tuple[Rule, ...], judged: Judged) -> Rule | None:
    """The rule that decides: the first deny, else the first ask, else the first allow that fits."""
    for level in ("deny", "ask", "allow"):
        for rule in rules:
            if rule.level == level and _fits(rule, judged):
                return rule
    return None


def _fits(rule: Rule, judged: Judged) -> bool:
    if not _names(rule.tool, judged):
        return False
    pattern = rule.pattern
    if pattern in ("", "*", "**"):
        return True
    preview = judged.preview
    if preview is None:
        return False
    every = all if rule.level == "allow" else any
    if judged.tool.kind == "execute":
        commands = [" ".join(argv) for argv in preview.argv]
        if not commands and rule.level != "allow":
            commands = pieces(str(judged.call.arguments.get("command", "")))
        return bool(commands) and every(_command_fits(pattern, command) for command in commands)
    if preview.paths:
        root = judged.context.workspace.root
        return every(_path_fits(pattern, path, root) for path in preview.paths)
    return bool(preview.destination) and fnmatch.fnmatchcase(preview.destination, pattern)


def pieces(line: str) -> list[str]:
    """What may be a command in `line`, read coarsely: too many rather than too few."""
    found = (ASSIGNED.sub("", piece.strip(BLANK)) for piece in OPERATORS.split(line))
    return [" ".join(piece.split()) for piece in found if piece.strip(BLANK)]


def _names(name: str, judged: Judged) -> bool:
    tool = judged.tool
    if name == tool.name or any(alias.name == name for alias in tool.aliases):
        return True
    if name in SHELL:
        return tool.kind == "execute"
    if name in READING:
        return tool.kind in ("read", "search")
    if name in WRITING:
        return tool.kind in ("edit", "delete", "move")
    return "*" in name and fnmatch.fnmatchcase(tool.name, name)


def _command_fits(pattern: str, command: str) -> bool:
    """`git *` and `git:*` cover `git` alone and with anything behind it, but not `gitk`."""
    if pattern.endswith(":*"):
        pattern = f"{pattern[:-2]} *"
    if pattern.endswith(" *") and command == pattern[:-2]:
        return True
    return fnmatch.fnmatchcase(command, pattern)


def _path_fits(pattern: str, path: str, root: str) -> bool:
    if pattern.startswith("~/"):
        from pathlib import Path

        pattern = str(Path.home()) + pattern[1:]
    elif pattern.startswith("//"):
        pattern = pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"{root}/{pattern.removeprefix('./')}"
    return _glob(pattern).match(str(PurePosixPath(path))) is not None


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    """`**` crosses folders, `*` and `?` do not; a bare folder covers what is below it."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return re.compile("".join(out) + r"(?:/.*)?\Z", re.DOTALL)
