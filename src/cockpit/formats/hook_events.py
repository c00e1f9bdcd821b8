"""The events of hooks in Claude Code's words: when each comes, what its matcher looks at, how long a hook
of it may take unless its file says so."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cockpit.plugin.safety import Point

Kind = Literal["command", "http", "prompt", "agent", "mcp_tool", "block"]
KINDS: tuple[Kind, ...] = ("command", "http", "mcp_tool", "prompt", "agent", "block")
SECONDS: Mapping[Kind, float] = {
    "command": 600.0,
    "http": 600.0,
    "mcp_tool": 600.0,
    "prompt": 30.0,
    "agent": 60.0,
    "block": 1.0,
}


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `looks_at` is what its matcher is compared with (`tool`, a fact of the guard, `role`),
    empty where it has no matcher; `seconds` bounds its commands where their kind does not."""

    name: str
    point: Point
    looks_at: str = ""
    seconds: float | None = None


EVENTS: Mapping[str, Event] = {
    one.name: one
    for one in (
        Event("SessionStart", "session_start", "source"),
        Event("UserPromptSubmit", "prompt", seconds=30.0),
        Event("PreToolUse", "tool_call", "tool"),
        Event("PermissionRequest", "permission", "tool"),
        Event("PostToolUse", "tool_result", "tool"),
        Event("PostToolUseFailure", "tool_failure", "tool"),
        Event("Notification", "notification", "kind"),
        Event("SubagentStart", "subagent_start", "role"),
        Event("SubagentStop", "subagent_stop", "role"),
        Event("Stop", "stop"),
        Event("PreCompact", "compaction", "trigger"),
        Event("PostCompact", "compacted", "trigger"),
        Event("SessionEnd", "session_end", "reason", seconds=1.5),
    )
}
# What others call them: S0's hooks and crush's turns.
ALSO = {
    "turnstart": "UserPromptSubmit",
    "turnend": "Stop",
    "beforetool": "PreToolUse",
    "aftertool": "PostToolUse",
}
# Events of other agents that nothing here brings about.
ABSENT = """
    Setup UserPromptExpansion PermissionDenied PermissionResult PostToolBatch MessageDisplay TaskCreated
    TaskCompleted StopFailure TeammateIdle InstructionsLoaded ConfigChange CwdChanged DirectoryAdded
    FileChanged WorktreeCreate WorktreeRemove PreModelSwitch PostModelSwitch Elicitation ElicitationResult
    Interrupt QueryEnd
"""


def event_of(name: str) -> Event | None:
    """The event of a name, in any case and with or without underscores, as crush and S0 write it."""
    folded = _folded(name)
    known = {_folded(one): one for one in EVENTS} | ALSO
    return EVENTS[known[folded]] if folded in known else None


def strange(name: str) -> tuple[str, str]:
    """Why an event is not taken, and what to write instead."""
    if _folded(name) in {_folded(one) for one in ABSENT.split()}:
        return f"nothing here brings about {name}", f"there are {', '.join(EVENTS)}"
    near = difflib.get_close_matches(name, EVENTS, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(EVENTS)}"
    return f"there is no event {name}", hint


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
