"""Permission rules as people write them: `Bash(git *)`, `Edit(src/**)`, `mcp__srv__*`.

Reads rules and says which ones cover a call. A deny or ask rule bites when any part of the call fits; an
allow only when every part that would be asked about is covered, and never a part that may not be
remembered. Knows no person and no mode. Of a line whose grammar could not be read it takes every piece
between operators for a command, for deny and ask only: that can only tighten (docs/adr/0004).
"""

import difflib
import fnmatch
from dataclasses import dataclass
from typing import Literal

from cockpit.errors import SettingsInvalid
from cockpit.plugin.safety import CommandPart
from cockpit.plugin.tools import Preview, Tool
from cockpit.safety.matching import (
    command_fits,
    destination_fits,
    path_bites,
    path_fits,
    pieces,
    words_fit,
)
from cockpit.settings.permissions import FORM

SHELL = frozenset({"Bash", "bash", "Shell", "PowerShell"})
READING = frozenset({"Read", "Grep", "Glob", "LS"})
WRITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
ANYTHING = frozenset({"", "*", "**"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a rules list. `source` says where it stands, for people."""

    level: Literal["allow", "ask", "deny"]
    tool: str
    pattern: str
    source: str

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as rules see it. `parts` are the commands of a command line as a decider read them."""

    tool: Tool
    preview: Preview | None
    root: str
    parts: tuple[CommandPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Covered:
    """What the rules say of a call: `by` are those that decide, `shadowed` those that fit too and lose."""

    level: Literal["allow", "ask", "deny"]
    by: tuple[Rule, ...]
    shadowed: tuple[Rule, ...] = ()

    def __str__(self) -> str:
        return ", ".join(f"{rule} ({rule.source})" for rule in self.by)


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


def covering(rules: tuple[Rule, ...], asked: Asked) -> Covered | None:
    """What decides: a deny that fits, else an ask, else the allow rules if together they cover the call."""
    named = tuple(rule for rule in rules if _names(rule, asked.tool))
    denies = tuple(rule for rule in named if rule.level == "deny" and _bites(rule, asked))
    asks = tuple(rule for rule in named if rule.level == "ask" and _bites(rule, asked))
    allows = _allowing(tuple(rule for rule in named if rule.level == "allow"), asked)
    if denies:
        return Covered("deny", denies[:1], (*denies[1:], *asks, *allows))
    if asks:
        return Covered("ask", asks[:1], (*asks[1:], *allows))
    return Covered("allow", allows) if allows else None


def speaks_of(rule: Rule, tool: Tool) -> bool:
    """Whether a rule means the tool at all: by its name, another agent's, or its kind (`Edit`, `Bash`)."""
    return _names(rule, tool)


def confined(rules: tuple[Rule, ...], asked: Asked) -> bool:
    """Whether every part of a call has one of these shapes, however harmless it is besides."""
    preview = asked.preview
    if any(rule.pattern in ANYTHING for rule in rules):
        return True
    if preview is None:
        return False
    if asked.parts or asked.tool.kind == "execute":
        lines = [part.argv for part in asked.parts] or list(preview.argv)
        return bool(lines) and all(_fitting(rules, tuple(argv)) is not None for argv in lines)
    if preview.paths:
        return all(any(path_fits(rule.pattern, path, asked.root) for rule in rules) for path in preview.paths)
    return any(destination_fits(rule.pattern, preview.destination) for rule in rules)


def _bites(rule: Rule, asked: Asked) -> bool:
    """Whether any part of the call fits."""
    preview = asked.preview
    if rule.pattern in ANYTHING:
        return True
    if preview is None:
        return False
    if asked.tool.kind == "execute":
        lines = [" ".join(argv) for argv in preview.argv]
        lines += pieces(preview.line.text if preview.line is not None else "")
        known = any(words_fit(rule.pattern, part.argv, bare=False) for part in asked.parts)
        return known or any(command_fits(rule.pattern, line) for line in lines)
    if preview.paths:
        return any(path_bites(rule.pattern, path, asked.root) for path in preview.paths)
    return destination_fits(rule.pattern, preview.destination)


def _allowing(rules: tuple[Rule, ...], asked: Asked) -> tuple[Rule, ...]:
    """The rules that cover all of the call together, or none."""
    preview = asked.preview
    lift = preview.lift if preview is not None else ""
    if lift and (same := tuple(rule for rule in rules if rule.pattern == lift)):
        return same[:1]
    if asked.parts:
        return _together([_first(rules, part) for part in asked.parts if part.level != "allow"])
    whole = tuple(rule for rule in rules if rule.pattern in ANYTHING)
    if whole or preview is None:
        return whole[:1]
    if asked.tool.kind == "execute":
        # Nobody has read its grammar: only words that are plain words can be compared.
        return _together([_fitting(rules, argv) for argv in preview.argv])
    if preview.paths:
        found = [
            next((rule for rule in rules if path_fits(rule.pattern, path, asked.root)), None)
            for path in preview.paths
        ]
        return _together(found)
    return tuple(rule for rule in rules if destination_fits(rule.pattern, preview.destination))[:1]


def _first(rules: tuple[Rule, ...], part: CommandPart) -> Rule | None:
    """The allow rule that covers a part. One that may not be remembered is covered by none, nor is one
    that is blocked."""
    if part.level == "deny" or not part.shape:
        return None
    return _fitting(rules, part.argv)


def _fitting(rules: tuple[Rule, ...], argv: tuple[str | None, ...]) -> Rule | None:
    fitting = (rule for rule in rules if rule.pattern in ANYTHING or words_fit(rule.pattern, argv, bare=True))
    return next(fitting, None)


def _together(found: list[Rule | None]) -> tuple[Rule, ...]:
    rules = tuple(dict.fromkeys(rule for rule in found if rule is not None))
    return rules if found and None not in found else ()


def _names(rule: Rule, tool: Tool) -> bool:
    """Whether the rule speaks of the tool. Leave to edit is no leave to delete."""
    name = rule.tool
    if name == tool.name or any(alias.name == name for alias in tool.aliases):
        return True
    if name in SHELL:
        return tool.kind == "execute"
    if rule.level != "allow" and name in READING | WRITING and tool.name.startswith("mcp__"):
        # Nobody knows what it does with a path: what may not be read or written may not be named to it.
        return rule.pattern not in ANYTHING
    if name in READING:
        return tool.kind in ("read", "search")
    if name in WRITING:
        return tool.kind in (("edit",) if rule.level == "allow" else ("edit", "delete", "move"))
    return "*" in name and fnmatch.fnmatchcase(tool.name, name)
