"""Whether a tool's call is one of those that a list names: `Read, Bash(git *), Edit(src/**), mcp__ci__*`."""

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import replace

from cockpit.builtin.policy import judge_command
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context, RunningCall
from cockpit.plugin.tools import CommandLine, Preview, Tool
from cockpit.protocol.messages import ToolCall
from cockpit.safety.rule_patterns import (
    matches_command,
    matches_path,
    matches_words,
    restricts_path,
    split_commands,
)

PATTERN_FORM = re.compile(r"\s*([\w*:.-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
# As in permission rules: whoever may read may search, whoever may edit may write.
SHELL_NAMES = frozenset({"bash", "powershell", "shell"})
READ_NAMES = frozenset({"read"})
EDIT_NAMES = frozenset({"edit", "write", "multiedit", "notebookedit"})
MATCH_ALL = frozenset({"", "*", "**"})
READ_ONLY_CAPABILITIES = frozenset({"fs.read", "none"})


async def covers_call(patterns: Iterable[str], tool: Tool, call: ToolCall, context: Context) -> bool:
    """Whether the patterns together cover all of the call: each command of a line, each path."""
    named = _matching_arguments(patterns, tool)
    # Whoever may start a command may wait for it.
    if not named or MATCH_ALL & set(named) or tool.name == "job":
        return bool(named)
    preview = await _preview_call(tool, call, context)
    if tool.kind == "execute":
        parts = await _parse_commands(call, preview, context)
        return bool(parts) and all(
            any(matches_words(one, argv, bare=True) for one in named) for argv in parts
        )
    if preview is not None and preview.paths:
        root = context.workspace.root
        return all(any(matches_path(one, path, root) for one in named) for path in preview.paths)
    return _arguments_match(named, tool, call)


async def touches_call(patterns: Iterable[str], tool: Tool, call: ToolCall, context: Context) -> bool:
    """Whether the patterns speak of any part of the call. What cannot be read is spoken of."""
    named = _matching_arguments(patterns, tool)
    if not named or MATCH_ALL & set(named):
        return bool(named)
    preview = await _preview_call(tool, call, context)
    if tool.kind == "execute":
        parts = await _parse_commands(call, preview, context)
        if not parts or any(argv[:1] == (None,) for argv in parts):
            return True
        line = str(call.arguments.get("command", ""))
        coarse = any(matches_command(one, piece) for one in named for piece in split_commands(line))
        return coarse or any(matches_words(one, argv, bare=False) for one in named for argv in parts)
    if preview is not None and preview.paths:
        root = context.workspace.root
        return any(restricts_path(one, path, root) for one in named for path in preview.paths)
    return _arguments_match(named, tool, call)


def matches_tool(pattern: str, tool: Tool) -> bool:
    """Whether the name in `pattern` is one of the tool's, or of what it belongs to."""
    found = PATTERN_FORM.fullmatch(pattern)
    if found is None:
        return False
    name = found[1].lower()
    known = {tool.name.lower(), *(alias.name.lower() for alias in tool.aliases)}
    if name in known or any(fnmatch.fnmatchcase(one, name) for one in known):
        return True
    if name in SHELL_NAMES:
        return tool.name in ("shell", "job")
    if name in READ_NAMES:
        return tool.kind in ("read", "search") and tool.capabilities <= READ_ONLY_CAPABILITIES
    if name in EDIT_NAMES:
        return tool.kind == "edit"
    # A whole server: `mcp__github` means each of its tools.
    return name.startswith("mcp__") and tool.name.lower().startswith(f"{name}__")


def _matching_arguments(patterns: Iterable[str], tool: Tool) -> list[str]:
    """What stands in the parentheses of the patterns that name the tool."""
    found = (PATTERN_FORM.fullmatch(one) for one in patterns if matches_tool(one, tool))
    return [(one[2] or "").strip() for one in found if one is not None]


async def _preview_call(tool: Tool, call: ToolCall, context: Context) -> Preview | None:
    """What the call would do; None where the tool cannot say, or refuses to."""
    if tool.preview is None:
        return None
    running = RunningCall(call, None, lambda text: None)
    try:
        return await tool.preview(call.arguments, replace(context, call=running))
    except (CockpitError, OSError, ValueError):
        return None


async def _parse_commands(
    call: ToolCall, preview: Preview | None, context: Context
) -> list[tuple[str | None, ...]]:
    """The simple commands of a command line as its grammar has them; none where it cannot be read."""
    if preview is None:
        return []
    if preview.line is None:
        return list(preview.argv)
    line = await judge_command(CommandLine(preview.line.text, preview.line.shell, preview.line.cwd), context)
    return [part.argv for part in line.verdict.parts]


def _arguments_match(named: list[str], tool: Tool, call: ToolCall) -> bool:
    """`Task(Explore)`, `Skill(review *)`, `WebFetch(domain:example.org)`: by what it is called with."""
    words = [value for value in call.arguments.values() if isinstance(value, str)]
    for one in named:
        host = one.removeprefix("domain:")
        if host != one:
            if any(re.match(rf"https?://(?:[\w-]+\.)*{re.escape(host)}(?:[/:?#]|$)", word) for word in words):
                return True
        elif any(fnmatch.fnmatchcase(word, one.replace(":*", "*")) for word in words):
            return True
    return False
