"""Which tools and calls an agent may run: never more than the one that opened it (SAFETY.md G11).

The gates for a tool: it is in the role's list, it is none that a subagent never has, and every agent above
has it too. Decides when a call runs, not when a list is sent. Whether a call may run is judged behind them.
"""

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass

from cockpit.core.rules import Asked, Rule, confined, parse, speaks_of
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Role

OPENING = frozenset({"delegate", "agents"})
PLANNING = frozenset({"propose_plan", "enter_plan_mode"})
ASKING = frozenset({"ask_user"})
# What was set aside must be readable by whoever was given the handle.
WITH_ANY = frozenset({"read_result"})


@dataclass(frozen=True, slots=True)
class Rights:
    """What `role` leaves of what `above` has (None: the main agent, which has all).

    `may_open` is the depth that is left for agents of its own; one in the `background` asks nobody.
    """

    role: Role
    above: "Rights | None" = None
    may_open: bool = False
    background: bool = False

    def withholds(self, tool: Tool) -> str:
        """Why `tool` is not for this agent, or ""."""
        if self.above is not None and (reason := self.above.withholds(tool)):
            return reason
        if tool.name in PLANNING:
            return "a plan is proposed by the main agent; describe it in your report"
        if tool.name in OPENING and not self.may_open:
            return "an agent at this depth opens no agents (`agents.depth` in settings); do the task yourself"
        if tool.name in ASKING and self.background:
            return "an agent in the background asks nobody; take the safest choice and say so"
        role = self.role
        if any(_denies(entry, tool) for entry in role.denied_tools if not _pattern(entry)):
            return f"the role {role.name} denies it"
        if role.tools is not None and not _is_listed(tool, role.tools):
            return f"the role {role.name} has {_list(role.tools)}"
        if role.mcp_servers is not None and (server := _server(tool)) and server not in role.mcp_servers:
            return f"the role {role.name} has the MCP servers {_list(role.mcp_servers)}"
        return ""

    def denies(self) -> tuple[Rule, ...]:
        """The calls it must not make, as rules: `disallowedTools: Bash(rm *)`."""
        own = tuple(
            parse("deny", entry, f"the role {self.role.name}")
            for entry in self.role.denied_tools
            if _pattern(entry)
        )
        return own if self.above is None else (*self.above.denies(), *own)

    def strays(self, asked: Asked) -> str:
        """Why a call is none of those that the role's list means (`Bash(git diff *)`), or ""."""
        if self.above is not None and (reason := self.above.strays(asked)):
            return reason
        entries = [entry for entry in self.role.tools or () if names(entry, asked.tool)]
        if not entries or asked.tool.name in OPENING or any(not _pattern(entry) for entry in entries):
            return ""
        rules = tuple(parse("allow", entry, f"the role {self.role.name}") for entry in entries)
        if confined(rules, asked):
            return ""
        return f"the role {self.role.name} may use {asked.tool.name} only as {_list(entries)}"

    def may_be(self, names_of: Iterable[str]) -> str:
        """Why it may not open a role that goes by these names (`Task(explore)` in its list), or ""."""
        if self.above is not None and (reason := self.above.may_be(names_of)):
            return reason
        said = [
            one for one in self.role.tools or () if one.partition("(")[0] in ("Task", "Agent", "delegate")
        ]
        if not said or any(not _pattern(one) for one in said):
            return ""
        allowed = [word.strip() for one in said for word in _pattern(one).split(",")]
        if any(name in allowed for name in names_of):
            return ""
        return f"the role {self.role.name} may open only {', '.join(allowed)}"


def names(entry: str, tool: Tool) -> bool:
    """Whether an entry of a list (`Bash`, `mcp__github__*`, `Bash(git *)`) means the tool."""
    bare = entry.partition("(")[0].strip()
    own = (tool.name, *(alias.name for alias in tool.aliases))
    if "*" in bare:
        return fnmatch.fnmatchcase(tool.name, bare)
    # `mcp__github` is all of that server, as Claude has it.
    return (
        bare in own
        or bare.lower() == tool.name.lower()
        or _server(tool) == bare.removeprefix("mcp__") != bare
    )


def unknown(entries: Iterable[str], tools: tuple[Tool, ...]) -> tuple[str, ...]:
    """The entries that mean no tool there is. Those of MCP servers come and go and are not among them."""
    return tuple(
        entry
        for entry in entries
        if not entry.startswith("mcp__")
        and "*" not in entry.partition("(")[0]
        and not any(names(entry, tool) for tool in tools)
    )


def _denies(entry: str, tool: Tool) -> bool:
    """As a rule would: who denies `Edit` means every tool that edits."""
    return names(entry, tool) or speaks_of(parse("deny", entry.partition("(")[0], "a role"), tool)


def _is_listed(tool: Tool, entries: tuple[str, ...]) -> bool:
    return any(names(entry, tool) for entry in entries) or (bool(entries) and tool.name in WITH_ANY)


def _pattern(entry: str) -> str:
    """What stands in an entry's parentheses, "" where it means every call."""
    inner = entry.partition("(")[2].strip().removesuffix(")").strip()
    return "" if inner in ("*", "**") else inner


def _server(tool: Tool) -> str:
    return tool.name.removeprefix("mcp__").partition("__")[0] if tool.name.startswith("mcp__") else ""


def _list(entries: Iterable[str]) -> str:
    return ", ".join(entries) or "no tools"
