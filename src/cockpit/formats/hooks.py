"""Hooks as values: their events in Claude Code's words, their matchers, and merging those of several files.

    {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "..."}]}]}}

`hook_files` reads them; Codex and crush share this shape.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

from cockpit.plugin.origin import FileProblem, Layer, Origin, Unloaded
from cockpit.plugin.safety import Point
from cockpit.protocol.messages import Json
from cockpit.suggestions import closest_names, did_you_mean

HookKind = Literal["command", "http", "prompt", "agent", "mcp_tool", "block"]
HOOK_KINDS: tuple[HookKind, ...] = ("command", "http", "mcp_tool", "prompt", "agent", "block")
DEFAULT_SECONDS: Mapping[HookKind, float] = {
    **dict.fromkeys(("command", "http", "mcp_tool"), 600.0),
    "prompt": 30.0,
    "agent": 60.0,
    "block": 1.0,
}


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event. `looks_at` is what its matcher is compared with (`tool`, `role` or a fact of the guard),
    empty if it has no matcher; `seconds` limits its commands if their kind does not."""

    name: str
    point: Point
    looks_at: str = ""
    seconds: float | None = None


EVENTS: Mapping[str, HookEvent] = {
    item.name: item
    for item in (
        HookEvent("SessionStart", "session_start", "source"),
        HookEvent("UserPromptSubmit", "prompt", seconds=30.0),
        HookEvent("PreToolUse", "tool_call", "tool"),
        HookEvent("PermissionRequest", "permission", "tool"),
        HookEvent("PostToolUse", "tool_result", "tool"),
        HookEvent("PostToolUseFailure", "tool_failure", "tool"),
        HookEvent("Notification", "notification", "kind"),
        HookEvent("SubagentStart", "subagent_start", "role"),
        HookEvent("SubagentStop", "subagent_stop", "role"),
        HookEvent("Stop", "stop"),
        HookEvent("PreCompact", "compaction", "trigger"),
        HookEvent("PostCompact", "compacted", "trigger"),
        HookEvent("SessionEnd", "session_end", "reason", seconds=1.5),
    )
}
# Other names of the same events.
EVENT_ALIASES = {
    "turnstart": "UserPromptSubmit",
    "turnend": "Stop",
    "beforetool": "PreToolUse",
    "aftertool": "PostToolUse",
}
# Events of other agents that never occur in cockpit.
UNSUPPORTED_EVENTS = """
    Setup UserPromptExpansion PermissionDenied PermissionResult PostToolBatch MessageDisplay TaskCreated
    TaskCompleted StopFailure TeammateIdle InstructionsLoaded ConfigChange CwdChanged DirectoryAdded
    FileChanged WorktreeCreate WorktreeRemove PreModelSwitch PostModelSwitch Elicitation ElicitationResult
    Interrupt QueryEnd
"""


def find_event(name: str) -> HookEvent | None:
    """The event called `name`, in any case and with or without underscores, as crush writes it."""
    folded = _fold_name(name)
    known = {_fold_name(event): event for event in EVENTS} | EVENT_ALIASES
    return EVENTS[known[folded]] if folded in known else None


def explain_unknown_event(name: str) -> tuple[str, str]:
    """Why the event is not supported, and what to write instead."""
    if _fold_name(name) in {_fold_name(word) for word in UNSUPPORTED_EVENTS.split()}:
        return f"{name} never occurs in cockpit", f"use one of {', '.join(EVENTS)}"
    near = closest_names(name, EVENTS, cutoff=0.5)
    return f"there is no event {name}", did_you_mean(near, f"use one of {', '.join(EVENTS)}")


def _fold_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


EXACT_NAMES = re.compile(r"[\w\-,| ]*\Z", re.ASCII)
RULE_PATTERN = re.compile(r"\s*([\w*-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
# A negated pattern is compared with the first name only: an alias of the same tool would fit it.
NEGATIONS = ("(?!", "[^", "(?<!")


def find_matcher_fault(matcher: str) -> str:
    """Why a matcher cannot be used, or an empty string."""
    if matcher == "*" or EXACT_NAMES.match(matcher):
        return ""
    try:
        re.compile(_to_python_regex(matcher))
    except re.error as error:
        return f"the matcher {matcher!r} is not a regular expression: {error.msg}"
    return ""


def matches_name(matcher: str, names: tuple[str, ...]) -> bool:
    """Whether the matcher fits one of `names`, the best known name first.

    Empty or `*` fits everything; letters, digits, `_-,|` and blanks are a list of exact names; anything else
    is a regular expression searched anywhere in the name.
    """
    if matcher in ("", "*"):
        return True
    if EXACT_NAMES.match(matcher):
        return bool(_split_names(matcher) & {*names})
    if any(sign in matcher for sign in NEGATIONS):
        names = names[:1]
    pattern = _compile_matcher(matcher)
    return pattern is not None and any(pattern.search(name) for name in names)


def parse_tool_rule(when: str) -> tuple[str, str] | None:
    """The tool and pattern of `Bash(git *)`, or None if it is not a permission rule."""
    match = RULE_PATTERN.fullmatch(when)
    return (match[1], (match[2] or "").strip()) if match else None


@lru_cache(maxsize=256)
def _split_names(matcher: str) -> frozenset[str]:
    return frozenset(part.strip() for part in re.split(r"[|,]", matcher) if part.strip())


@lru_cache(maxsize=256)
def _compile_matcher(matcher: str) -> re.Pattern[str] | None:
    try:
        return re.compile(_to_python_regex(matcher))
    except re.error:
        return None


def _to_python_regex(matcher: str) -> str:
    """JavaScript's named groups in Python's syntax."""
    return re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", matcher)


REQUIRED_FIELDS: Mapping[HookKind, tuple[str, ...]] = {
    "command": ("command",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "block": (),
}
ALLOW_NOTE = "it can deny and ask; an allow from it has no effect"
DECIDING_EVENTS = frozenset({"PreToolUse", "PermissionRequest"})


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file that may contain hooks. `seconds` is its own default timeout for commands, `family` the agent
    it belongs to; `root` is the folder of its bundle and `prefix` the bundle's name."""

    path: Path
    layer: Layer
    family: str = "claude"
    seconds: float | None = None
    root: str = ""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class HookCondition:
    """When a hook runs: the event's matcher, and `when`, a permission rule that the call must fit."""

    matcher: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook. `action` are the fields that say what it does (`command`, `url`, `prompt`, ...). It runs if
    one of `conditions` fits; the same hook twice in a layer becomes one hook with two conditions. If one of
    `elsewhere` fits, the same hook of another layer runs instead. `also` lists its other locations. With
    `fails_closed` a failure counts as a refusal."""

    event: HookEvent
    kind: HookKind
    action: Mapping[str, Json]
    conditions: tuple[HookCondition, ...]
    seconds: float
    file: HookFile
    line: int
    once: bool = False
    in_background: bool = False
    fails_closed: bool = False
    also: tuple[str, ...] = ()
    elsewhere: tuple[HookCondition, ...] = ()
    refused: tuple[FileProblem, ...] = ()
    nth: int = 1

    @property
    def text(self) -> str:
        """What it does, in a line."""
        named = [self.action.get(name) for name in (*REQUIRED_FIELDS[self.kind], "reason")]
        args = self.action.get("args")
        words = [str(item) for item in (*named, *(args if isinstance(args, list) else ())) if item]
        return " ".join(" ".join(words).split())

    def name(self, root: str) -> str:
        """Its name in messages and settings: `PreToolUse .claude/settings.json:4`."""
        file, where = self.file.path, self.file.path.as_posix()
        for base, sign in ((Path(root), ""), (Path.home(), "~/")):
            if file.is_relative_to(base):
                where = f"{sign}{file.relative_to(base).as_posix()}"
                break
        nth = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.event.name} {where}:{self.line}{nth}"

    def action_text(self, name: str) -> str:
        """A text field of the action, or an empty string."""
        value = self.action.get(name)
        return value if isinstance(value, str) else ""

    def digest(self) -> str:
        """The sha256 (hex) of everything it does and when: an approval is for exactly this."""
        conditions = [[condition.matcher, condition.when] for condition in self.conditions]
        facts = [self.event.name, self.kind, dict(self.action), conditions]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def origin(self) -> Origin:
        """Its origin with the fields a listing shows."""
        condition = self.conditions[0]
        fields: dict[str, Json] = {"event": self.event.name, "type": self.kind, "line": self.line}
        fields |= {"matcher": condition.matcher} if condition.matcher else {}
        fields |= {"if": condition.when} if condition.when else {}
        if more := [[c.matcher, c.when] for c in self.conditions[1:]]:
            fields["or"] = cast("Json", more)
        fields |= {**self.action, "timeout": self.seconds}
        flags = {"once": self.once, "async": self.in_background, "onFailure block": self.fails_closed}
        fields |= {name: True for name, on in flags.items() if on}
        fields |= {"decides": ALLOW_NOTE} if self.event.name in DECIDING_EVENTS else {}
        return Origin(str(self.file.path), self.file.layer, fields, self.also, self.refused)


@dataclass(frozen=True, slots=True)
class HookSet:
    """The hooks of a folder's files."""

    hooks: tuple[Hook, ...] = ()
    unloaded: tuple[Unloaded, ...] = ()

    def without(self, off: tuple[str, ...], root: str) -> "HookSet":
        """All hooks except those named in `off`; a name without a line (`PreToolUse .claude/settings.json`,
        or the file alone) means all hooks there."""
        remaining = tuple(
            hook for hook in self.hooks if not any(_is_hook_name(word, hook.name(root)) for word in off)
        )
        return HookSet(remaining, self.unloaded)


def _is_hook_name(word: str, name: str) -> bool:
    return word == name or name.startswith(f"{word}:") or name.partition(" ")[2].startswith(f"{word}:")


def merge_hooks(hooks: list[Hook]) -> tuple[Hook, ...]:
    """Each hook once. Those of a layer that do the same at the same event are merged into the first; one
    that another layer has too runs only where that one does not."""
    merged: dict[tuple[str, Layer], Hook] = {}
    for hook in hooks:
        same, layer = _build_identity(hook), hook.file.layer
        others = [key for key in merged if key[0] == same and key[1] != layer]
        whole = next((key for key in others if {*hook.conditions} <= {*merged[key].conditions}), None)
        if whole is not None:
            merged[whole] = _add_location(merged[whole], hook)
        elif (first := merged.get((same, layer))) is not None:
            conditions = tuple(dict.fromkeys((*first.conditions, *hook.conditions)))
            merged[same, layer] = replace(_add_location(first, hook), conditions=conditions)
        else:
            elsewhere = tuple(condition for key in others for condition in merged[key].conditions)
            merged[same, layer] = replace(hook, elsewhere=elsewhere)
    return tuple(merged.values())


def _add_location(first: Hook, hook: Hook) -> Hook:
    return replace(first, also=(*first.also, f"{hook.file.path}:{hook.line}"))


def _build_identity(hook: Hook) -> str:
    """What is equal for two hooks that do the same. Bundles in different folders stay apart."""
    return json.dumps([hook.event.name, hook.kind, dict(hook.action), hook.file.root], sort_keys=True)


def number_hooks(hooks: list[Hook]) -> tuple[Hook, ...]:
    """Number hooks that share a line."""
    counts: dict[int, int] = {}
    numbered: list[Hook] = []
    for hook in hooks:
        counts[hook.line] = counts.get(hook.line, 0) + 1
        numbered.append(replace(hook, nth=counts[hook.line]))
    return tuple(numbered)
