"""What a hook is told: Claude Code's JSON, with its names for our tools."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.formats.hooks import Hook
from cockpit.formats.tool_names import Named, named
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Guarded
from cockpit.plugin.tools import Tool
from cockpit.protocol.messages import Json, Mode

MODES: Mapping[Mode, str] = {
    "ask": "default",
    "auto-edit": "acceptEdits",
    "plan": "plan",
    "full": "bypassPermissions",
    "deny": "dontAsk",
}


@dataclass(frozen=True, slots=True)
class Scene:
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


def scene_of(context: Context) -> Scene:
    """The scene of a running session."""
    one = context.session
    return Scene(one.id, one.root, one.mode, one.trusted, one.toolbox.tools(), one.agent)


def tool_of(guarded: Guarded, scene: Scene) -> Tool | None:
    """The tool of a call."""
    return next((one for one in scene.tools if one.name == guarded.tool), None)


def call_of(hook: Hook, guarded: Guarded, scene: Scene) -> Named | None:
    """The call in the words of the hook's agent; None where there is none."""
    if guarded.call is None:
        return None
    tool = tool_of(guarded, scene)
    if tool is None:
        return Named(guarded.tool, (guarded.tool,), guarded.call.arguments)
    return named(tool, guarded.call.arguments, scene.root, hook.file.family)


def told(hook: Hook, guarded: Guarded, scene: Scene, call: Named | None) -> dict[str, Json]:
    """All that the hook reads on its stdin, or gets posted."""
    out: dict[str, Json] = {
        "session_id": scene.session,
        "transcript_path": guarded.transcript,
        "cwd": scene.root,
        "permission_mode": MODES[scene.mode],
        "hook_event_name": hook.event.name,
    }
    if not scene.is_main:
        out |= {"agent_id": scene.agent, "agent_type": guarded.role}
    if call is not None and guarded.call is not None:
        out |= {"tool_name": call.name, "tool_input": dict(call.arguments), "tool_use_id": guarded.call.id}
    return out | _of_event(hook.event.name, guarded, call)


def _of_event(name: str, guarded: Guarded, call: Named | None) -> dict[str, Json]:
    facts, text = guarded.facts, guarded.text
    match name:
        case "SessionStart":
            return {"source": facts.get("source", "startup"), "model": facts.get("model", "")}
        case "SessionEnd":
            return {"reason": reason_of(guarded)}
        case "UserPromptSubmit":
            return {"prompt": text}
        case "PermissionRequest":
            return {"permission_suggestions": facts.get("suggestions", [])}
        case "PostToolUse":
            return {"tool_response": _response(call, text)}
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


def _response(call: Named | None, text: str) -> Json:
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


def reason_of(guarded: Guarded) -> str:
    """Why a session ends, in Claude Code's words."""
    return "prompt_input_exit" if guarded.facts.get("reason") == "closed" else "other"


def environment_of(hook: Hook, root: str, variables: str = "") -> dict[str, str]:
    """What a command of a hook finds in its environment besides ours; `variables` is the file it may
    write `export NAME=value` into."""
    out = {"CLAUDE_PROJECT_DIR": root, "COCKPIT_PROJECT_DIR": root}
    if hook.file.root:
        out["CLAUDE_PLUGIN_ROOT"] = hook.file.root
    if variables:
        out["CLAUDE_ENV_FILE"] = os.fspath(variables)
    return out
