"""Whether a hook is meant by what passes: its matcher, and the rule in its `if`."""

import asyncio

from cockpit.builtin.hooks.telling import Scene, reason_of
from cockpit.builtin.judging import judged_line
from cockpit.formats import hook_matching
from cockpit.formats.hooks import Condition, Hook
from cockpit.formats.tool_names import Named
from cockpit.plugin.safety import Guarded
from cockpit.plugin.tools import CommandLine
from cockpit.protocol.messages import Json
from cockpit.safety.matching import command_fits, path_bites, pieces, words_fit

# Whom a rule of this name speaks of besides the tool of that name.
FAMILIES = {
    "Bash": ("Bash", "PowerShell"),
    "Read": ("Read", "Grep", "Glob", "LS"),
    "Edit": ("Edit", "Write", "MultiEdit", "NotebookEdit"),
}
MAIN_ONLY = frozenset({"UserPromptSubmit", "Stop"})
PATHS = ("file_path", "notebook_path", "path")


async def is_meant(hook: Hook, guarded: Guarded, scene: Scene, call: Named | None) -> bool:
    """Whether the hook runs now. One that stands in several places runs once."""
    if hook.event.name in MAIN_ONLY and not scene.is_main:
        return False
    if hook.event.name == "PostToolUse" and guarded.facts.get("is_error"):
        return False
    names = _names(hook, guarded, call)
    for condition in hook.elsewhere:
        if await _fits(condition, scene, call, names):
            return False
    for condition in hook.conditions:
        if await _fits(condition, scene, call, names):
            return True
    return False


def _names(hook: Hook, guarded: Guarded, call: Named | None) -> tuple[str, ...] | None:
    """What the matcher is compared with; None where the event has no matcher."""
    match hook.event.looks_at:
        case "":
            return None
        case "tool":
            return call.names if call is not None else (guarded.tool,)
        case "role":
            return (guarded.role,)
        case "reason":
            return (reason_of(guarded),)
        case fact:
            return (str(guarded.facts.get(fact, "")),)


async def _fits(
    condition: Condition,
    scene: Scene,
    call: Named | None,
    names: tuple[str, ...] | None,
) -> bool:
    if names is not None and not hook_matching.fits(condition.matcher, names):
        return False
    return not condition.when or call is None or await _rule_fits(condition.when, scene, call)


async def _rule_fits(when: str, scene: Scene, call: Named) -> bool:
    """Whether the call fits a permission rule. A filter to save a hook's time, no lock: where it cannot
    be known what runs, the hook runs."""
    tool, pattern = hook_matching.rule_of(when) or ("*", "")
    family = FAMILIES.get(tool, (tool,))
    if not {*family} & {*call.names} and not _globs(tool, call.names):
        return False
    if pattern in ("", "*", "**"):
        return True
    command = call.arguments.get("command")
    if isinstance(command, str):
        return await _command_fits(pattern, command, scene)
    if pattern.startswith("domain:"):
        return _host_fits(pattern.removeprefix("domain:"), call.arguments.get("url"))
    named = [value for name in PATHS if isinstance(value := call.arguments.get(name), str)]
    root = scene.root
    return any(path_bites(pattern, one if one.startswith("/") else f"{root}/{one}", root) for one in named)


async def _command_fits(pattern: str, command: str, scene: Scene) -> bool:
    asked = CommandLine(command, "bash", scene.root)
    line = await asyncio.to_thread(judged_line, asked, scene.root, scene.trusted, False)
    parts = line.verdict.parts
    if not parts or any(word is None for part in parts for word in part.argv[:1]):
        return True
    if any(words_fit(pattern, part.argv, bare=False) for part in parts):
        return True
    return any(command_fits(pattern, piece) for piece in pieces(command))


def _host_fits(wanted: str, url: Json) -> bool:
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or "" if isinstance(url, str) else ""
    return host == wanted or host.endswith(f".{wanted}")


def _globs(tool: str, names: tuple[str, ...]) -> bool:
    return "*" in tool and any(command_fits(tool, name) for name in names)
