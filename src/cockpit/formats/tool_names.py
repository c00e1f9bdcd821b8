"""Our tools in Claude Code's words, and back: people's hooks ask for `Bash` and `tool_input.file_path`.

Knows the names from the tools' own aliases; what Claude Code has no word for keeps ours.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cockpit.plugin.tools import Arguments, Tool
from cockpit.protocol.messages import Json

# Claude Code's tools and their arguments, as its hooks are given them.
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("command", "description", "timeout", "run_in_background"),
    "Read": ("file_path", "offset", "limit"),
    "Edit": ("file_path", "old_string", "new_string", "replace_all"),
    "MultiEdit": ("file_path", "edits"),
    "Write": ("file_path", "content"),
    "Grep": ("pattern", "path", "glob", "head_limit"),
    "Glob": ("pattern", "path"),
    "LS": ("path",),
    "WebFetch": ("url", "prompt"),
    "WebSearch": ("query",),
    "Task": ("description", "prompt", "subagent_type", "run_in_background"),
    "Agent": ("description", "prompt", "subagent_type", "run_in_background"),
    "TodoWrite": ("todos",),
    "NotebookEdit": ("notebook_path", "new_source"),
    "Skill": ("skill", "args"),
    "AskUserQuestion": ("questions",),
    "ExitPlanMode": ("plan",),
    "EnterPlanMode": (),
    "BashOutput": ("bash_id",),
    "KillShell": ("shell_id",),
    "ToolSearch": ("query",),
}
INNER = {"old": "old_string", "new": "new_string"}
# crush's words for the same, in its hooks' matchers.
CRUSH = {"Read": "view", "WebFetch": "fetch", "Task": "agent"}
MILLISECONDS = "timeout"


@dataclass(frozen=True, slots=True)
class Named:
    """A call in Claude Code's words: `names` are those a matcher may know the tool by, the best first."""

    name: str
    names: tuple[str, ...]
    arguments: Mapping[str, Json]


def named(tool: Tool, arguments: Arguments, root: str, family: str = "claude") -> Named:
    """The call of `tool` as a hook of `family` is told of it. Paths of files are made absolute."""
    name = claude_name(tool)
    theirs = {_theirs(tool, name, ours): _told(ours, value) for ours, value in arguments.items()}
    for one in ("file_path", "notebook_path"):
        path = theirs.get(one)
        if isinstance(path, str) and path:
            base = Path.home() / path[2:] if path.startswith("~/") else Path(root) / path
            theirs[one] = os.path.normpath(base)
    seconds = theirs.get(MILLISECONDS)
    if name == "Bash" and isinstance(seconds, int | float):
        theirs[MILLISECONDS] = int(1000 * seconds)
    also = [tool.name, *(alias.name for alias in tool.aliases)]
    if tool.kind in ("edit", "delete", "move"):
        # Whoever guards `Edit` means whatever changes files.
        also.append("Edit")
    if family == "crush":
        name = CRUSH.get(name, name.lower()) if name in ARGUMENTS else name
    return Named(name, tuple(dict.fromkeys((name, *also))), theirs)


def claude_name(tool: Tool) -> str:
    """Claude Code's name of a tool, ours where it has none."""
    own = {tool.name, *(alias.name for alias in tool.aliases)}
    return next((name for name in ARGUMENTS if name in own), tool.name)


def ours(tool: Tool, updated: Arguments, before: Arguments, root: str) -> dict[str, Json]:
    """`updated`, in Claude Code's words, as arguments of ours; `before` is what the call was. What it did
    not change comes back as it was written."""
    told = named(tool, before, root).arguments
    back = {_theirs(tool, claude_name(tool), one): one for one in before}
    out: dict[str, Json] = {}
    for name, value in updated.items():
        own = back.get(name) or _own(tool, name)
        if own == "":
            continue
        if name in told and told[name] == value and own in before:
            out[own] = before[own]
        else:
            out[own] = _read(name, own, value)
    return out


def _theirs(tool: Tool, name: str, ours: str) -> str:
    known = ARGUMENTS.get(name, ())
    if ours in known:
        return ours
    pairs = [pair for alias in tool.aliases if alias.name == name for pair in alias.arguments]
    return next((theirs for theirs, own in pairs if own == ours and theirs in known), ours)


def _own(tool: Tool, theirs: str) -> str:
    """Our name of an argument; "" for one that is dropped, theirs where nobody knows it."""
    properties = tool.parameters.get("properties")
    if isinstance(properties, Mapping) and theirs in properties:
        return theirs
    pairs = {one: own for alias in tool.aliases for one, own in reversed(alias.arguments)}
    return pairs.get(theirs, theirs)


def _told(ours: str, value: Json) -> Json:
    if ours != "edits" or not isinstance(value, list):
        return value
    return [
        {INNER.get(key, key): one for key, one in edit.items()} if isinstance(edit, dict) else edit
        for edit in value
    ]


def _read(name: str, own: str, value: Json) -> Json:
    """A value of theirs as ours: milliseconds as seconds, the names inside of edits."""
    if name == MILLISECONDS and own == "seconds" and isinstance(value, int | float):
        return value / 1000
    if own != "edits" or not isinstance(value, list):
        return value
    back = {theirs: mine for mine, theirs in INNER.items()}
    return [
        {back.get(key, key): one for key, one in edit.items()} if isinstance(edit, dict) else edit
        for edit in value
    ]
