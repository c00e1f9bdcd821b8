"""Whether a tool's call is one of those that a list names: `Read, Bash(git *), Edit(src/**), mcp__ci__*`."""

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import replace

from cockpit.builtin.judging import judged
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context, Running
from cockpit.plugin.tools import CommandLine, Preview, Tool
from cockpit.protocol.messages import ToolCall
from cockpit.safety.matching import command_fits, path_bites, path_fits, pieces, words_fit

FORM = re.compile(r"\s*([\w*:.-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
# As in permission rules: whoever may read may search, whoever may edit may write.
SHELLS = frozenset({"bash", "powershell", "shell"})
READING = frozenset({"read"})
WRITING = frozenset({"edit", "write", "multiedit", "notebookedit"})
ANYTHING = frozenset({"", "*", "**"})
HARMLESS = frozenset({"fs.read", "none"})


async def covers(patterns: Iterable[str], tool: Tool, call: ToolCall, context: Context) -> bool:
    """Whether the patterns together cover all of the call: each command of a line, each path."""
    named = _named(patterns, tool)
    # Whoever may start a command may wait for it.
    if not named or ANYTHING & set(named) or tool.name == "job":
        return bool(named)
    preview = await _preview(tool, call, context)
    if tool.kind == "execute":
        parts = await _parts(call, preview, context)
        return bool(parts) and all(any(words_fit(one, argv, bare=True) for one in named) for argv in parts)
    if preview is not None and preview.paths:
        root = context.workspace.root
        return all(any(path_fits(one, path, root) for one in named) for path in preview.paths)
    return _is_spoken_of(named, tool, call)


async def touches(patterns: Iterable[str], tool: Tool, call: ToolCall, context: Context) -> bool:
    """Whether the patterns speak of any part of the call. What cannot be read is spoken of."""
    named = _named(patterns, tool)
    if not named or ANYTHING & set(named):
        return bool(named)
    preview = await _preview(tool, call, context)
    if tool.kind == "execute":
        parts = await _parts(call, preview, context)
        if not parts or any(argv[:1] == (None,) for argv in parts):
            return True
        line = str(call.arguments.get("command", ""))
        coarse = any(command_fits(one, piece) for one in named for piece in pieces(line))
        return coarse or any(words_fit(one, argv, bare=False) for one in named for argv in parts)
    if preview is not None and preview.paths:
        root = context.workspace.root
        return any(path_bites(one, path, root) for one in named for path in preview.paths)
    return _is_spoken_of(named, tool, call)


def names(pattern: str, tool: Tool) -> bool:
    """Whether the name in `pattern` is one of the tool's, or of what it belongs to."""
    found = FORM.fullmatch(pattern)
    if found is None:
        return False
    name = found[1].lower()
    known = {tool.name.lower(), *(alias.name.lower() for alias in tool.aliases)}
    if name in known or any(fnmatch.fnmatchcase(one, name) for one in known):
        return True
    if name in SHELLS:
        return tool.name in ("shell", "job")
    if name in READING:
        return tool.kind in ("read", "search") and tool.capabilities <= HARMLESS
    if name in WRITING:
        return tool.kind == "edit"
    # A whole server: `mcp__github` means each of its tools.
    return name.startswith("mcp__") and tool.name.lower().startswith(f"{name}__")


def _named(patterns: Iterable[str], tool: Tool) -> list[str]:
    """What stands in the parentheses of the patterns that name the tool."""
    found = (FORM.fullmatch(one) for one in patterns if names(one, tool))
    return [(one[2] or "").strip() for one in found if one is not None]


async def _preview(tool: Tool, call: ToolCall, context: Context) -> Preview | None:
    """What the call would do; None where the tool cannot say, or refuses to."""
    if tool.preview is None:
        return None
    running = Running(call, None, lambda text: None)
    try:
        return await tool.preview(call.arguments, replace(context, call=running))
    except (CockpitError, OSError, ValueError):
        return None


async def _parts(call: ToolCall, preview: Preview | None, context: Context) -> list[tuple[str | None, ...]]:
    """The simple commands of a command line as its grammar has them; none where it cannot be read."""
    if preview is None:
        return []
    if preview.line is None:
        return list(preview.argv)
    line = await judged(CommandLine(preview.line.text, preview.line.shell, preview.line.cwd), context)
    return [part.argv for part in line.verdict.parts]


def _is_spoken_of(named: list[str], tool: Tool, call: ToolCall) -> bool:
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
