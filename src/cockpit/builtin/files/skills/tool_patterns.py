"""Matches tool calls against a skill's tool list: `Read, Bash(git *), Edit(src/**), mcp__ci__*`."""

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import replace

from cockpit.builtin.policy import judge_command
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context, RunningCall
from cockpit.plugin.tools import CommandLine, Preview, Tool
from cockpit.protocol.mcp_names import is_mcp_name
from cockpit.protocol.messages import ToolCall
from cockpit.safety.rule_patterns import (
    matches_command,
    matches_path,
    matches_words,
    restricts_path,
    split_commands,
)

PATTERN_FORM = re.compile(r"\s*([\w*:.-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
# As in permission rules, a name for reading includes searching and a name for editing includes writing.
SHELL_NAMES = frozenset({"bash", "powershell", "shell"})
READ_NAMES = frozenset({"read"})
EDIT_NAMES = frozenset({"edit", "write", "multiedit", "notebookedit"})
MATCH_ALL = frozenset({"", "*", "**"})
READ_ONLY_CAPABILITIES = frozenset({"fs.read", "none"})


async def covers_call(patterns: Iterable[str], tool: Tool, call: ToolCall, context: Context) -> bool:
    """Whether the patterns together cover the whole call: every command of a line, every path."""
    arguments = _matching_arguments(patterns, tool)
    # `job` waits for commands that the shell was allowed to start.
    if not arguments or MATCH_ALL & set(arguments) or tool.name == "job":
        return bool(arguments)
    preview = await _preview_call(tool, call, context)
    if tool.kind == "execute":
        commands = await _parse_commands(preview, context)
        return bool(commands) and all(
            any(matches_words(pattern, argv, bare=True) for pattern in arguments) for argv in commands
        )
    if preview is not None and preview.paths:
        root = context.workspace.root
        return all(any(matches_path(pattern, path, root) for pattern in arguments) for path in preview.paths)
    return _matches_argument(arguments, call)


async def touches_call(patterns: Iterable[str], tool: Tool, call: ToolCall, context: Context) -> bool:
    """Whether the patterns match any part of the call. A command that cannot be parsed counts as matched."""
    arguments = _matching_arguments(patterns, tool)
    if not arguments or MATCH_ALL & set(arguments):
        return bool(arguments)
    preview = await _preview_call(tool, call, context)
    if tool.kind == "execute":
        commands = await _parse_commands(preview, context)
        if not commands or any(argv[:1] == (None,) for argv in commands):
            return True
        texts = split_commands(str(call.arguments.get("command", "")))
        return any(
            any(matches_command(pattern, text) for text in texts)
            or any(matches_words(pattern, argv, bare=False) for argv in commands)
            for pattern in arguments
        )
    if preview is not None and preview.paths:
        root = context.workspace.root
        return any(restricts_path(pattern, path, root) for pattern in arguments for path in preview.paths)
    return _matches_argument(arguments, call)


def matches_tool(pattern: str, tool: Tool) -> bool:
    """Whether the name in `pattern` is the tool's, an alias of it, or that of a group it belongs to."""
    match = PATTERN_FORM.fullmatch(pattern)
    if match is None:
        return False
    name = match[1].lower()
    known = {tool.name.lower(), *(alias.name.lower() for alias in tool.aliases)}
    if name in known or any(fnmatch.fnmatchcase(known_name, name) for known_name in known):
        return True
    if name in SHELL_NAMES:
        return tool.name in ("shell", "job")
    if name in READ_NAMES:
        return tool.kind in ("read", "search") and tool.capabilities <= READ_ONLY_CAPABILITIES
    if name in EDIT_NAMES:
        return tool.kind == "edit"
    # `mcp__github` means every tool of that server.
    return is_mcp_name(name) and tool.name.lower().startswith(f"{name}__")


def _matching_arguments(patterns: Iterable[str], tool: Tool) -> list[str]:
    """Return the text in parentheses in each pattern that names the tool."""
    matches = (PATTERN_FORM.fullmatch(pattern) for pattern in patterns if matches_tool(pattern, tool))
    return [(match[2] or "").strip() for match in matches if match is not None]


async def _preview_call(tool: Tool, call: ToolCall, context: Context) -> Preview | None:
    """Preview the call; None if the tool has no preview or refuses the call."""
    if tool.preview is None:
        return None
    running = RunningCall(call, None, lambda text: None)
    try:
        return await tool.preview(call.arguments, replace(context, call=running))
    except (CockpitError, OSError, ValueError):
        return None


async def _parse_commands(preview: Preview | None, context: Context) -> list[tuple[str | None, ...]]:
    """Parse the previewed command line into simple commands; an empty list if it cannot be parsed."""
    if preview is None:
        return []
    if preview.line is None:
        return list(preview.argv)
    line = CommandLine(preview.line.text, preview.line.shell, preview.line.cwd)
    return [part.argv for part in (await judge_command(line, context)).verdict.parts]


def _matches_argument(patterns: list[str], call: ToolCall) -> bool:
    """Whether any argument matches, as in `Task(Explore)`, `Skill(review *)`, `WebFetch(domain:a.org)`."""
    values = [value for value in call.arguments.values() if isinstance(value, str)]
    for pattern in patterns:
        host = pattern.removeprefix("domain:")
        if host != pattern:
            url = re.compile(rf"https?://(?:[\w-]+\.)*{re.escape(host)}(?:[/:?#]|$)")
            if any(url.match(value) for value in values):
                return True
        elif any(fnmatch.fnmatchcase(value, pattern.replace(":*", "*")) for value in values):
            return True
    return False
