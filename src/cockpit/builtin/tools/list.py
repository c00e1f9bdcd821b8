"""The `list` tool: lists a folder."""

from dataclasses import dataclass

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context, FileEntry
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope

MAX_ENTRIES = 500
KIND_SUFFIXES = {"folder": "/", "link": "@", "file": "", "other": "?"}


@dataclass(frozen=True, slots=True)
class ListArguments:
    path: str = "."
    depth: int = 1
    hidden: bool = False


async def list_folder(arguments: ListArguments, context: Context) -> Done:
    path = arguments.path.strip() or "."
    rows: list[tuple[int, FileEntry]] = []
    try:
        omitted = await _collect(rows, path, 0, arguments, context)
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; `list` the folder above it") from error
    except OSError as error:
        raise ToolFailed(f"{path} cannot be listed: {error.strerror or error}") from error
    if not rows:
        note = "" if arguments.hidden else " (not counting hidden and ignored files)"
        return Done(f"{path} is empty{note}")
    lines = [
        f"{'  ' * level}{_printable(entry.path.rsplit('/', 1)[-1])}{KIND_SUFFIXES[entry.kind]}"
        for level, entry in rows
    ]
    if omitted:
        lines.append(f"[{omitted} more entries; list a folder in it, or use glob]")
    return Done("\n".join(lines), data={"paths": [_printable(entry.path) for _, entry in rows]})


async def _collect(
    rows: list[tuple[int, FileEntry]], path: str, level: int, parsed: ListArguments, context: Context
) -> int:
    """Add the entries of `path` with their depth to `rows`; returns how many are over the limit."""
    omitted = 0
    for entry in await context.workspace.files.entries(path, parsed.hidden):
        if len(rows) >= MAX_ENTRIES:
            omitted += 1
            continue
        rows.append((level, entry))
        if entry.kind == "folder" and level + 1 < min(parsed.depth, 20):
            omitted += await _collect(rows, entry.path, level + 1, parsed, context)
    return omitted


def _printable(path: str) -> str:
    """Replace the lone surrogates of a name that is not UTF-8: they cannot be encoded."""
    return path.encode("utf-8", "replace").decode()


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(ListArguments, arguments).path.strip() or "."
    return Preview(title=f"list {path}", paths=(context.workspace.resolve(path, "read"),))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (("dir_path", "path"), ("directory", "path"), ("ignore", ""), ("recursive", ""))
    names = ("LS", "list_dir", "ls", "list_directory", "ListDir")
    register(
        Tool(
            name="list",
            kind="read",
            description="List a folder, ignored files left out.",
            parameters=schema(ListArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(ListArguments, list_folder),
            title=lambda arguments: f"list {arguments.get('path', '.')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(entries=MAX_ENTRIES + 2),
            aliases=tuple(Alias(name, renamed) for name in names),
            keywords=("directory", "folder", "files", "ls"),
        )
    )
