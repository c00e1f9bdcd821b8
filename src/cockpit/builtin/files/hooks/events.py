"""A session event as hooks see it: which hooks it selects, and the JSON they receive.

The payload is Claude Code's, with its names for cockpit's tools. A hook is selected by its matcher and by
the permission rule in its `if`.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

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
# A rule that names the first tool also covers the others.
TOOL_FAMILIES = {
    "Bash": ("Bash", "PowerShell"),
    "Read": ("Read", "Grep", "Glob", "LS"),
    "Edit": ("Edit", "Write", "MultiEdit", "NotebookEdit"),
}
MAIN_AGENT_EVENTS = frozenset({"UserPromptSubmit", "Stop"})
PATH_ARGUMENTS = ("file_path", "notebook_path", "path")


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What a hook needs to know of the session. `agent` is a path: `main` or below it."""

    session: str
    root: str
    mode: Mode
    trusted: bool
    tools: tuple[Tool, ...]
    agent: str = "main"


def get_session_facts(context: Context) -> SessionFacts:
    session = context.session
    return SessionFacts(
        session.id, session.root, session.mode, session.trusted, session.toolbox.tools(), session.agent
    )


def find_tool(guarded: Guarded, session: SessionFacts) -> Tool | None:
    """Find the tool that an event's call is for."""
    return next((tool for tool in session.tools if tool.name == guarded.tool), None)


def translate_call(hook: Hook, guarded: Guarded, session: SessionFacts) -> ClaudeCall | None:
    """Translate an event's call to the tool and argument names of the hook's agent; None without a call."""
    if guarded.call is None:
        return None
    tool = find_tool(guarded, session)
    if tool is None:
        return ClaudeCall(guarded.tool, (guarded.tool,), guarded.call.arguments)
    return to_claude_call(tool, guarded.call.arguments, session.root, hook.file.family)


def build_payload(
    hook: Hook, guarded: Guarded, session: SessionFacts, call: ClaudeCall | None
) -> dict[str, Json]:
    """Build the JSON that a hook reads on its stdin or receives as a request body."""
    payload: dict[str, Json] = {
        "session_id": session.session,
        "transcript_path": guarded.transcript,
        "cwd": session.root,
        "permission_mode": PERMISSION_MODES[session.mode],
        "hook_event_name": hook.event.name,
    }
    if session.agent != "main":
        payload |= {"agent_id": session.agent, "agent_type": guarded.role}
    if call is not None and guarded.call is not None:
        payload |= {"tool_name": call.name, "tool_input": dict(call.arguments)}
        payload["tool_use_id"] = guarded.call.id
    return payload | _event_fields(hook.event.name, guarded, call)


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
        case "Stop" | "SubagentStop":
            fields: dict[str, Json] = {"stop_hook_active": bool(facts.get("continued"))}
            if name == "SubagentStop":
                fields["agent_transcript_path"] = guarded.transcript
            return {**fields, "last_assistant_message": text}
        case "PreCompact":
            focus = facts.get("focus") or ""
            return {"trigger": facts.get("trigger", "auto"), "custom_instructions": focus}
        case "PostCompact":
            return {"trigger": facts.get("trigger", "auto"), "compact_summary": text}
        case _:
            return {}


def _tool_response(call: ClaudeCall | None, text: str) -> Json:
    """Shape a result as Claude Code's tool of that name returns it."""
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
    """Return Claude Code's name for the reason a session ends."""
    return "prompt_input_exit" if guarded.facts.get("reason") == "closed" else "other"


def build_environment(hook: Hook, root: str, variables: str = "") -> dict[str, str]:
    """Build the environment variables added for a hook's command. `variables` is the file it may write
    `export NAME=value` lines to."""
    environment = {"CLAUDE_PROJECT_DIR": root, "COCKPIT_PROJECT_DIR": root}
    if hook.file.root:
        environment["CLAUDE_PLUGIN_ROOT"] = hook.file.root
    if variables:
        environment["CLAUDE_ENV_FILE"] = os.fspath(variables)
    return environment


async def is_selected(hook: Hook, guarded: Guarded, session: SessionFacts, call: ClaudeCall | None) -> bool:
    """Whether the event selects the hook. A hook declared in several files runs once."""
    if hook.event.name in MAIN_AGENT_EVENTS and session.agent != "main":
        return False
    if hook.event.name == "PostToolUse" and guarded.facts.get("is_error"):
        return False
    names = _matcher_subjects(hook, guarded, call)

    async def any_matches(conditions: Iterable[HookCondition]) -> bool:
        for condition in conditions:
            if names is not None and not hooks.matches_name(condition.matcher, names):
                continue
            if not condition.when or call is None or await _rule_matches(condition.when, session, call):
                return True
        return False

    return not await any_matches(hook.elsewhere) and await any_matches(hook.conditions)


def _matcher_subjects(hook: Hook, guarded: Guarded, call: ClaudeCall | None) -> tuple[str, ...] | None:
    """Return what the matcher is compared with, or None for an event without a matcher."""
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


async def _rule_matches(when: str, session: SessionFacts, call: ClaudeCall) -> bool:
    """Whether the call matches a permission rule. This saves hooks from running needlessly; it is not a
    safeguard. When it is unclear what a command runs, the hook runs."""
    tool, pattern = hooks.parse_tool_rule(when) or ("*", "")
    family = TOOL_FAMILIES.get(tool, (tool,))
    is_glob = "*" in tool and any(matches_command(tool, name) for name in call.names)
    if not is_glob and not {*family} & {*call.names}:
        return False
    if pattern in ("", "*", "**"):
        return True
    command = call.arguments.get("command")
    if isinstance(command, str):
        return await _command_matches(pattern, command, session)
    if pattern.startswith("domain:"):
        domain, url = pattern.removeprefix("domain:"), call.arguments.get("url")
        host = urlsplit(url).hostname or "" if isinstance(url, str) else ""
        return host == domain or host.endswith(f".{domain}")
    root = session.root
    paths = (call.arguments.get(name) for name in PATH_ARGUMENTS)
    absolute = (path if path.startswith("/") else f"{root}/{path}" for path in paths if isinstance(path, str))
    return any(restricts_path(pattern, path, root) for path in absolute)


async def _command_matches(pattern: str, command: str, session: SessionFacts) -> bool:
    line = CommandLine(command, "bash", session.root)
    judged = await asyncio.to_thread(judge_command_line, line, session.root, session.trusted, False)
    parts = judged.verdict.parts
    if not parts or any(word is None for part in parts for word in part.argv[:1]):
        return True
    if any(matches_words(pattern, part.argv, bare=False) for part in parts):
        return True
    return any(matches_command(pattern, part) for part in split_commands(command))
