"""What a hook is told: Claude Code's JSON, with its names for our tools.

Whether a hook is meant by what passes: its matcher, and the rule in its `if`.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.builtin.policy import judge_command_line
from cockpit.formats import hooks
from cockpit.formats.hook_protocol import ClaudeCall, to_claude_call
from cockpit.formats.hooks import Hook, HookCondition
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Guarded
from cockpit.plugin.tools import CommandLine, Tool
from cockpit.protocol.messages import Json, Mode
from cockpit.safety.rule_patterns import matches_command, matches_words, restricts_path, split_commands

PERMISSION_MODES: Mapping[Mode, str] = {
    "ask": "default",
    "auto-edit": "acceptEdits",
    "plan": "plan",
    "full": "bypassPermissions",
    "deny": "dontAsk",
}


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Where a hook is asked: what of the session matters to it. `agent` is a path, `main` or below it."""

    session: str
    root: str
    mode: Mode
    trusted: bool
    tools: tuple[Tool, ...]
    agent: str = "main"

    @property
    def is_main(self) -> bool:
        return self.agent == "main"


def get_session_facts(context: Context) -> SessionFacts:
    """The scene of a running session."""
    one = context.session
    return SessionFacts(one.id, one.root, one.mode, one.trusted, one.toolbox.tools(), one.agent)


def find_tool(guarded: Guarded, scene: SessionFacts) -> Tool | None:
    """The tool of a call."""
    return next((one for one in scene.tools if one.name == guarded.tool), None)


def translate_call(hook: Hook, guarded: Guarded, scene: SessionFacts) -> ClaudeCall | None:
    """The call in the words of the hook's agent; None where there is none."""
    if guarded.call is None:
        return None
    tool = find_tool(guarded, scene)
    if tool is None:
        return ClaudeCall(guarded.tool, (guarded.tool,), guarded.call.arguments)
    return to_claude_call(tool, guarded.call.arguments, scene.root, hook.file.family)


def build_payload(
    hook: Hook, guarded: Guarded, scene: SessionFacts, call: ClaudeCall | None
) -> dict[str, Json]:
    """All that the hook reads on its stdin, or gets posted."""
    out: dict[str, Json] = {
        "session_id": scene.session,
        "transcript_path": guarded.transcript,
        "cwd": scene.root,
        "permission_mode": PERMISSION_MODES[scene.mode],
        "hook_event_name": hook.event.name,
    }
    if not scene.is_main:
        out |= {"agent_id": scene.agent, "agent_type": guarded.role}
    if call is not None and guarded.call is not None:
        out |= {"tool_name": call.name, "tool_input": dict(call.arguments), "tool_use_id": guarded.call.id}
    return out | _event_fields(hook.event.name, guarded, call)


def _event_fields(name: str, guarded: Guarded, call: ClaudeCall | None) -> dict[str, Json]:
    facts, text = guarded.facts, guarded.text
    match name:
        case "SessionStart":
            return {"source": facts.get("source", "startup"), "model": facts.get("model", "")}
        case "SessionEnd":
            return {"reason": session_end_reason(guarded)}
        case "UserPromptSubmit":
            return {"prompt": text}
        case "PermissionRequest":
            return {"permission_suggestions": facts.get("suggestions", [])}
        case "PostToolUse":
            return {"tool_response": _tool_response(call, text)}
        case "PostToolUseFailure":
            return {"error": text, "is_interrupt": False}
        case "Notification":
            return {"message": text, "title": "cockpit", "notification_type": facts.get("kind", "")}
        case "SubagentStop":
            active, path = bool(facts.get("continued")), guarded.transcript
            more: dict[str, Json] = {"stop_hook_active": active, "agent_transcript_path": path}
            return {**more, "last_assistant_message": text}
        case "Stop":
            return {"stop_hook_active": bool(facts.get("continued")), "last_assistant_message": text}
        case "PreCompact":
            trigger = facts.get("trigger", "auto")
            return {"trigger": trigger, "custom_instructions": facts.get("focus") or ""}
        case "PostCompact":
            return {"trigger": facts.get("trigger", "auto"), "compact_summary": text}
        case _:
            return {}


def _tool_response(call: ClaudeCall | None, text: str) -> Json:
    """The result in the shape that Claude Code's own tool gives it."""
    path = call.arguments.get("file_path") if call is not None else None
    match call.name if call is not None else "":
        case "Bash":
            return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        case "Write" | "Edit" | "MultiEdit":
            return {"filePath": path, "success": True}
        case "Read":
            return {"type": "text", "file": {"filePath": path, "content": text}}
        case _:
            return {"content": [{"type": "text", "text": text}]}


def session_end_reason(guarded: Guarded) -> str:
    """Why a session ends, in Claude Code's words."""
    return "prompt_input_exit" if guarded.facts.get("reason") == "closed" else "other"


def build_environment(hook: Hook, root: str, variables: str = "") -> dict[str, str]:
    """What a command of a hook finds in its environment besides ours; `variables` is the file it may
    write `export NAME=value` into."""
    out = {"CLAUDE_PROJECT_DIR": root, "COCKPIT_PROJECT_DIR": root}
    if hook.file.root:
        out["CLAUDE_PLUGIN_ROOT"] = hook.file.root
    if variables:
        out["CLAUDE_ENV_FILE"] = os.fspath(variables)
    return out


# Whom a rule of this name speaks of besides the tool of that name.
TOOL_FAMILIES = {
    "Bash": ("Bash", "PowerShell"),
    "Read": ("Read", "Grep", "Glob", "LS"),
    "Edit": ("Edit", "Write", "MultiEdit", "NotebookEdit"),
}
MAIN_AGENT_EVENTS = frozenset({"UserPromptSubmit", "Stop"})
PATH_ARGUMENTS = ("file_path", "notebook_path", "path")


async def is_selected(hook: Hook, guarded: Guarded, scene: SessionFacts, call: ClaudeCall | None) -> bool:
    """Whether the hook runs now. One that stands in several places runs once."""
    if hook.event.name in MAIN_AGENT_EVENTS and not scene.is_main:
        return False
    if hook.event.name == "PostToolUse" and guarded.facts.get("is_error"):
        return False
    names = _matcher_subjects(hook, guarded, call)
    for condition in hook.elsewhere:
        if await _condition_matches(condition, scene, call, names):
            return False
    for condition in hook.conditions:
        if await _condition_matches(condition, scene, call, names):
            return True
    return False


def _matcher_subjects(hook: Hook, guarded: Guarded, call: ClaudeCall | None) -> tuple[str, ...] | None:
    """What the matcher is compared with; None where the event has no matcher."""
    match hook.event.looks_at:
        case "":
            return None
        case "tool":
            return call.names if call is not None else (guarded.tool,)
        case "role":
            return (guarded.role,)
        case "reason":
            return (session_end_reason(guarded),)
        case fact:
            return (str(guarded.facts.get(fact, "")),)


async def _condition_matches(
    condition: HookCondition,
    scene: SessionFacts,
    call: ClaudeCall | None,
    names: tuple[str, ...] | None,
) -> bool:
    if names is not None and not hooks.matches_name(condition.matcher, names):
        return False
    return not condition.when or call is None or await _rule_matches(condition.when, scene, call)


async def _rule_matches(when: str, scene: SessionFacts, call: ClaudeCall) -> bool:
    """Whether the call fits a permission rule. A filter to save a hook's time, no lock: where it cannot
    be known what runs, the hook runs."""
    tool, pattern = hooks.parse_tool_rule(when) or ("*", "")
    family = TOOL_FAMILIES.get(tool, (tool,))
    if not {*family} & {*call.names} and not _glob_matches(tool, call.names):
        return False
    if pattern in ("", "*", "**"):
        return True
    command = call.arguments.get("command")
    if isinstance(command, str):
        return await _command_matches(pattern, command, scene)
    if pattern.startswith("domain:"):
        return _host_matches(pattern.removeprefix("domain:"), call.arguments.get("url"))
    named = [value for name in PATH_ARGUMENTS if isinstance(value := call.arguments.get(name), str)]
    root = scene.root
    return any(
        restricts_path(pattern, one if one.startswith("/") else f"{root}/{one}", root) for one in named
    )


async def _command_matches(pattern: str, command: str, scene: SessionFacts) -> bool:
    asked = CommandLine(command, "bash", scene.root)
    line = await asyncio.to_thread(judge_command_line, asked, scene.root, scene.trusted, False)
    parts = line.verdict.parts
    if not parts or any(word is None for part in parts for word in part.argv[:1]):
        return True
    if any(matches_words(pattern, part.argv, bare=False) for part in parts):
        return True
    return any(matches_command(pattern, piece) for piece in split_commands(command))


def _host_matches(wanted: str, url: Json) -> bool:
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or "" if isinstance(url, str) else ""
    return host == wanted or host.endswith(f".{wanted}")


def _glob_matches(tool: str, names: tuple[str, ...]) -> bool:
    return "*" in tool and any(matches_command(tool, name) for name in names)
