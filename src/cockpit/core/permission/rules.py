"""Permission rules such as `Bash(git *)`, `Edit(src/**)` or `mcp__srv__*`, and the rights of roles.

A deny or ask rule applies when any part of a call matches; an allow rule only when the rules together cover
every part that would be asked about, and never a part that may not be remembered. In a command line that
could not be parsed, every piece between operators counts as a command, for deny and ask rules only, because
these only tighten (docs/adr/0004). A role never has more rights than the agent that opened it. Knows no user
and no mode.
"""

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cockpit.errors import SettingsInvalid
from cockpit.plugin.safety import CommandPart
from cockpit.plugin.tools import Preview, Tool
from cockpit.plugin.values import Role
from cockpit.protocol.mcp_names import MCP_PREFIX, is_mcp_name, mcp_server_of
from cockpit.safety.rule_patterns import (
    matches_command,
    matches_destination,
    matches_path,
    matches_words,
    restricts_path,
    split_commands,
)
from cockpit.settings.permissions import RULE_FORM
from cockpit.suggestions import closest_names, did_you_mean

SHELL_NAMES = frozenset({"Bash", "bash", "Shell", "PowerShell"})
READ_NAMES = frozenset({"Read", "Grep", "Glob", "LS"})
WRITE_NAMES = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
MATCH_ALL = frozenset({"", "*", "**"})


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """One rule. `source` says where it comes from, for display."""

    level: Literal["allow", "ask", "deny"]
    tool: str
    pattern: str
    source: str

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call as rules see it. `parts` are the commands of a command line as a decider parsed them."""

    tool: Tool
    preview: Preview | None
    root: str
    parts: tuple[CommandPart, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """The rules that match a call: `by` decide, `shadowed` match too and lose."""

    level: Literal["allow", "ask", "deny"]
    by: tuple[PermissionRule, ...]
    shadowed: tuple[PermissionRule, ...] = ()

    def __str__(self) -> str:
        return ", ".join(f"{rule} ({rule.source})" for rule in self.by)


def parse_rule(level: Literal["allow", "ask", "deny"], text: str, source: str) -> PermissionRule:
    """Parse `Tool` or `Tool(pattern)`. Raises `SettingsInvalid`."""
    match = RULE_FORM.match(text)
    if match is None:
        raise SettingsInvalid(
            f"{source}: {text!r} is not a permission rule", "write Tool or Tool(pattern), like Bash(git *)"
        )
    return PermissionRule(level, match[1], (match[2] or "").strip(), source)


def describe_unknown_rules(rules: tuple[PermissionRule, ...], tools: tuple[Tool, ...]) -> tuple[str, ...]:
    """A sentence for each rule that names no tool: a misspelt deny forbids nothing. MCP tools may
    come later."""
    names = {*(tool.name for tool in tools), *(alias.name for tool in tools for alias in tool.aliases)}
    names |= SHELL_NAMES | READ_NAMES | WRITE_NAMES
    return tuple(
        _describe_unknown_rule(rule, names)
        for rule in rules
        if not is_mcp_name(rule.tool) and not any(fnmatch.fnmatchcase(name, rule.tool) for name in names)
    )


def _describe_unknown_rule(rule: PermissionRule, names: set[str]) -> str:
    text = f"the {rule.level} rule {rule} ({rule.source}) names no tool and has no effect"
    hint = did_you_mean(closest_names(rule.tool, names, cutoff=0.5))
    return f"{text}; {hint}" if hint else text


def match_rules(rules: tuple[PermissionRule, ...], facts: CallFacts) -> RuleMatch | None:
    """The rules that decide: a deny that matches, else an ask, else the allow rules if they cover the whole
    call."""
    named = tuple(rule for rule in rules if names_tool(rule, facts.tool))
    denies = tuple(rule for rule in named if rule.level == "deny" and _matches_any_part(rule, facts))
    asks = tuple(rule for rule in named if rule.level == "ask" and _matches_any_part(rule, facts))
    allows = _matching_allows(tuple(rule for rule in named if rule.level == "allow"), facts)
    if denies:
        return RuleMatch("deny", denies[:1], (*denies[1:], *asks, *allows))
    if asks:
        return RuleMatch("ask", asks[:1], (*asks[1:], *allows))
    return RuleMatch("allow", allows) if allows else None


def covers_every_part(rules: tuple[PermissionRule, ...], facts: CallFacts) -> bool:
    """Whether every part of a call matches one of the rules, harmless parts included."""
    preview = facts.preview
    if any(rule.pattern in MATCH_ALL for rule in rules):
        return True
    if preview is None:
        return False
    if facts.parts or facts.tool.kind == "execute":
        lines = [part.argv for part in facts.parts] or list(preview.argv)
        return bool(lines) and all(_rule_for_words(rules, tuple(argv)) is not None for argv in lines)
    if preview.paths:
        return all(
            any(matches_path(rule.pattern, path, facts.root) for rule in rules) for path in preview.paths
        )
    return any(matches_destination(rule.pattern, preview.destination) for rule in rules)


def _matches_any_part(rule: PermissionRule, facts: CallFacts) -> bool:
    preview = facts.preview
    if rule.pattern in MATCH_ALL:
        return True
    if preview is None:
        return False
    if facts.tool.kind == "execute":
        lines = [" ".join(argv) for argv in preview.argv]
        lines += split_commands(preview.line.text if preview.line is not None else "")
        known = any(matches_words(rule.pattern, part.argv, bare=False) for part in facts.parts)
        return known or any(matches_command(rule.pattern, line) for line in lines)
    if preview.paths:
        return any(restricts_path(rule.pattern, path, facts.root) for path in preview.paths)
    return matches_destination(rule.pattern, preview.destination)


def _matching_allows(rules: tuple[PermissionRule, ...], facts: CallFacts) -> tuple[PermissionRule, ...]:
    """The rules that cover the whole call together, or none."""
    preview = facts.preview
    lift = preview.lift if preview is not None else ""
    if lift and (same := tuple(rule for rule in rules if rule.pattern == lift)):
        return same[:1]
    if facts.parts:
        return _all_or_none([_rule_for_part(rules, part) for part in facts.parts if part.level != "allow"])
    whole = tuple(rule for rule in rules if rule.pattern in MATCH_ALL)
    if whole or preview is None:
        return whole[:1]
    if facts.tool.kind == "execute":
        # The line was not parsed: only plain words can be compared.
        return _all_or_none([_rule_for_words(rules, argv) for argv in preview.argv])
    if preview.paths:
        matches = [
            next((rule for rule in rules if matches_path(rule.pattern, path, facts.root)), None)
            for path in preview.paths
        ]
        return _all_or_none(matches)
    return tuple(rule for rule in rules if matches_destination(rule.pattern, preview.destination))[:1]


def _rule_for_part(rules: tuple[PermissionRule, ...], part: CommandPart) -> PermissionRule | None:
    """The allow rule that covers a part. A part that is denied or may not be remembered has none."""
    if part.level == "deny" or not part.shape:
        return None
    return _rule_for_words(rules, part.argv)


def _rule_for_words(rules: tuple[PermissionRule, ...], argv: tuple[str | None, ...]) -> PermissionRule | None:
    for rule in rules:
        if rule.pattern in MATCH_ALL or matches_words(rule.pattern, argv, bare=True):
            return rule
    return None


def _all_or_none(matches: list[PermissionRule | None]) -> tuple[PermissionRule, ...]:
    rules = tuple(dict.fromkeys(rule for rule in matches if rule is not None))
    return rules if matches and None not in matches else ()


def names_tool(rule: PermissionRule, tool: Tool) -> bool:
    """Whether a rule means the tool: by its name, an alias, or its kind (`Edit`, `Bash`). An allow rule for
    edits does not allow deletions."""
    name = rule.tool
    if name == tool.name or any(alias.name == name for alias in tool.aliases):
        return True
    if name in SHELL_NAMES:
        return tool.kind == "execute"
    if rule.level != "allow" and name in READ_NAMES | WRITE_NAMES and is_mcp_name(tool.name):
        # What it does with a path is unknown: a path that may not be read or written may not be passed to it.
        return rule.pattern not in MATCH_ALL
    if name in READ_NAMES:
        return tool.kind in ("read", "search")
    if name in WRITE_NAMES:
        return tool.kind in (("edit",) if rule.level == "allow" else ("edit", "delete", "move"))
    return "*" in name and fnmatch.fnmatchcase(tool.name, name)


OPENING_TOOLS = frozenset({"delegate", "agents"})
PLANNING_TOOLS = frozenset({"propose_plan", "enter_plan_mode"})
ASKING_TOOLS = frozenset({"ask_user"})
# A stored result must be readable by every agent that gets its handle.
ALWAYS_ALLOWED = frozenset({"read_result"})


@dataclass(frozen=True, slots=True)
class RoleRights:
    """The rights of an agent of `role`, opened by an agent with the rights `above` (None: the main agent,
    which has all).

    `may_open`: it may open subagents. An agent in the `background` asks no questions.
    """

    role: Role
    above: "RoleRights | None" = None
    may_open: bool = False
    background: bool = False

    def withholds(self, tool: Tool) -> str:
        """Why `tool` is not available to this agent, or an empty string."""
        if self.above is not None and (reason := self.above.withholds(tool)):
            return reason
        if tool.name in PLANNING_TOOLS:
            return "only the main agent proposes a plan; describe yours in your report"
        if tool.name in OPENING_TOOLS and not self.may_open:
            return (
                "an agent at this depth cannot open agents (`agents.depth` in settings); do the task yourself"
            )
        if tool.name in ASKING_TOOLS and self.background:
            return "an agent in the background cannot ask the user; take the safest choice and say so"
        role = self.role
        if any(_denies_tool(entry, tool) for entry in role.denied_tools if not _entry_pattern(entry)):
            return f"the role {role.name} denies it"
        if role.tools is not None and not _is_listed(tool, role.tools):
            return f"the role {role.name} has only {_join_entries(role.tools)}"
        server = mcp_server_of(tool.name)
        if role.mcp_servers is not None and server and server not in role.mcp_servers:
            return f"the role {role.name} has only the MCP servers {', '.join(role.mcp_servers) or 'none'}"
        return ""

    def denies(self) -> tuple[PermissionRule, ...]:
        """Deny rules for the calls it must not make: `disallowedTools: Bash(rm *)`."""
        own = tuple(
            parse_rule("deny", entry, f"the role {self.role.name}")
            for entry in self.role.denied_tools
            if _entry_pattern(entry)
        )
        return own if self.above is None else (*self.above.denies(), *own)

    def denial_reason(self, facts: CallFacts) -> str:
        """Why a call is outside the role's list of tools (`Bash(git diff *)`), or an empty string."""
        if self.above is not None and (reason := self.above.denial_reason(facts)):
            return reason
        entries = [entry for entry in self.role.tools or () if entry_names_tool(entry, facts.tool)]
        if not entries or facts.tool.name in OPENING_TOOLS or not all(map(_entry_pattern, entries)):
            return ""
        rules = tuple(parse_rule("allow", entry, f"the role {self.role.name}") for entry in entries)
        if covers_every_part(rules, facts):
            return ""
        return f"the role {self.role.name} may use {facts.tool.name} only as {_join_entries(entries)}"

    def opening_problem(self, names: Iterable[str]) -> str:
        """Why it may not open a role with these names (`Task(explore)` in its list), or an empty string."""
        if self.above is not None and (reason := self.above.opening_problem(names)):
            return reason
        entries = [
            tool for tool in self.role.tools or () if _entry_name(tool) in ("Task", "Agent", "delegate")
        ]
        if not entries or not all(map(_entry_pattern, entries)):
            return ""
        allowed = [word.strip() for entry in entries for word in _entry_pattern(entry).split(",")]
        if any(name in allowed for name in names):
            return ""
        return f"the role {self.role.name} may open only {', '.join(allowed)}"


def entry_names_tool(entry: str, tool: Tool) -> bool:
    """Whether an entry of a tool list (`Bash`, `mcp__github__*`, `Bash(git *)`) means the tool."""
    bare = _entry_name(entry)
    own = (tool.name, *(alias.name for alias in tool.aliases))
    if "*" in bare:
        return fnmatch.fnmatchcase(tool.name, bare)
    if bare in own or bare.lower() == tool.name.lower():
        return True
    # `mcp__github` means all tools of that server, as in Claude Code. A bare `mcp__` names no server.
    server = mcp_server_of(tool.name)
    return bool(server) and bare == f"{MCP_PREFIX}{server}"


def unknown_entries(entries: Iterable[str], tools: tuple[Tool, ...]) -> tuple[str, ...]:
    """The entries that mean no existing tool. Tools of MCP servers come and go and are not reported."""
    return tuple(
        entry
        for entry in entries
        if not mcp_server_of(_entry_name(entry))
        and "*" not in _entry_name(entry)
        and not any(entry_names_tool(entry, tool) for tool in tools)
    )


def _denies_tool(entry: str, tool: Tool) -> bool:
    """Whether an entry denies the tool like a rule: `Edit` means every tool that edits."""
    rule = parse_rule("deny", entry.partition("(")[0], "a role")
    return entry_names_tool(entry, tool) or names_tool(rule, tool)


def _is_listed(tool: Tool, entries: tuple[str, ...]) -> bool:
    return any(entry_names_tool(entry, tool) for entry in entries) or (
        bool(entries) and tool.name in ALWAYS_ALLOWED
    )


def _entry_name(entry: str) -> str:
    return entry.partition("(")[0].strip()


def _entry_pattern(entry: str) -> str:
    """The pattern in an entry's parentheses, empty when it means every call."""
    inner = entry.partition("(")[2].strip().removesuffix(")").strip()
    return "" if inner in ("*", "**") else inner


def _join_entries(entries: Iterable[str]) -> str:
    return ", ".join(entries) or "no tools"
