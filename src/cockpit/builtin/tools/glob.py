"""`glob`: files by the shape of their path."""

import re
from dataclasses import dataclass
from typing import Annotated

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

MAX_FILES = 500
MAX_ALTERNATIVES = 128
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


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
        found = [one.path async for one in walk if matches.match(one.path.removeprefix(inside))]
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; `list` shows what does") from error
    if not found:
        return Done(
            f"no file matches {arguments.pattern} in {path} (ignored files are not looked at)", data=[]
        )
    shown = [one.encode("utf-8", "replace").decode() for one in found[:MAX_FILES]]
    lines = list(shown)
    if len(found) > MAX_FILES:
        lines.append(f"[{len(found) - MAX_FILES} more files; narrow the pattern or the path]")
    return Done("\n".join(lines), data=[*shown])


def compile_glob(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression over paths with `/`.

    `*` and `?` stay within a name, `**` crosses folders, `{a,b}` are choices, `[...]` one character.
    A pattern without `/` is looked for at any depth.
    """
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    shapes = "|".join(_glob_regex(one.lstrip("/")) for one in _expand_braces(pattern))
    try:
        return re.compile(rf"(?:{shapes})\Z", re.DOTALL)
    except re.error as error:
        raise ToolFailed(f"`pattern` {pattern!r} cannot be read: {error}") from error


def _expand_braces(pattern: str) -> list[str]:
    todo, done = [pattern], list[str]()
    while todo and len(todo) + len(done) < MAX_ALTERNATIVES:
        one = todo.pop(0)
        braces = BRACES.search(one)
        if braces is None:
            done.append(one)
            continue
        todo += [one[: braces.start()] + choice + one[braces.end() :] for choice in braces[1].split(",")]
    return done + todo


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
    wanted = parse(GlobArguments, arguments)
    path = wanted.path.strip() or "."
    return Preview(title=f"glob {wanted.pattern}", paths=(context.workspace.resolve(path, "read"),))


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
