"""The `glob` tool: finds files by a path pattern."""

import re
from dataclasses import dataclass
from typing import Annotated

from cockpit.builtin.tools.text_reads import expand_braces
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

MAX_FILES = 500
MAX_ALTERNATIVES = 128
ALTERNATIVES = re.compile(r"\{([^{}]*,[^{}]*)\}")


@dataclass(frozen=True, slots=True)
class GlobArguments:
    pattern: Annotated[str, "*.py finds at any depth; src/**/*.{ts,tsx} from path"]
    path: str = "."


async def find_files(arguments: GlobArguments, context: Context) -> Done:
    path = arguments.path.strip() or "."
    pattern = arguments.pattern.strip().removeprefix("./")
    if not pattern:
        raise ToolFailed("`pattern` is empty; write *.py, or src/**/*.ts")
    root = context.workspace.root.rstrip("/") + "/"
    matches = compile_glob(pattern.removeprefix(root))
    folder = context.workspace.resolve(path, "read").replace("\\", "/").rstrip("/") + "/"
    inside = folder.removeprefix(root) if folder.startswith(root) else folder
    hidden = any(part.startswith(".") for part in pattern.split("/"))
    try:
        walk = context.workspace.files.walk(path, hidden)
        paths = [entry.path async for entry in walk if matches.match(entry.path.removeprefix(inside))]
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; use `list` to see what does") from error
    if not paths:
        text = f"no file matches {arguments.pattern} in {path} (ignored files are not searched)"
        return Done(text, data=[])
    shown = [path.encode("utf-8", "replace").decode() for path in paths[:MAX_FILES]]
    more = len(paths) - MAX_FILES
    note = [f"[{more} more files; narrow the pattern or the path]"] if more > 0 else []
    return Done("\n".join([*shown, *note]), data=[*shown])


def compile_glob(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression for paths with `/`. `*` and `?` match within a name, `**` crosses
    folders, `{a,b}` are alternatives, `[...]` is one character. A pattern without `/` matches at any
    depth."""
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    shapes = "|".join(
        _glob_regex(choice.lstrip("/")) for choice in expand_braces(pattern, MAX_ALTERNATIVES, ALTERNATIVES)
    )
    try:
        return re.compile(rf"(?:{shapes})\Z", re.DOTALL)
    except re.error as error:
        raise ToolFailed(f"invalid `pattern` {pattern!r}: {error}; write *.py, or src/**/*.ts") from error


def _glob_regex(pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            out.append(".*")
            at += 2
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\")
            out.append("[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]")
            at = end + 1
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return "".join(out)


async def preview(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(GlobArguments, arguments)
    path = parsed.path.strip() or "."
    return Preview(title=f"glob {parsed.pattern}", paths=(context.workspace.resolve(path, "read"),))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("glob_pattern", "pattern"), ("query", "pattern"), ("target_directory", "path"))
    names = ("Glob", "file_search", "find_files", "GlobTool")
    register(
        Tool(
            name="glob",
            kind="search",
            description="Find files by path pattern, sorted.",
            parameters=schema(GlobArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(GlobArguments, find_files),
            title=lambda arguments: f"glob {arguments.get('pattern', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(entries=MAX_FILES + 2),
            aliases=tuple(Alias(name, renamed) for name in names),
            keywords=("find", "files", "pattern"),
        )
    )
