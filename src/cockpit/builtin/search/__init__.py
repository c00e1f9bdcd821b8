"""`search`: a regular expression over the files of the workspace, by ripgrep where it is there and by
Python where it is not, with the same answer from both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.search import dialect, engines, globs
from cockpit.builtin.search.engines import Asked, FileHits, RipgrepRefused
from cockpit.builtin.search.listing import listing
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.messages import Json

LARGEST = 10_000_000
MOST = 2_000


@dataclass(frozen=True, slots=True)
class Search:
    pattern: Annotated[str, "regular expression, matched line by line"]
    path: str = "."
    glob: Annotated[str, "only these files: *.py, src/**/*.{ts,tsx}, !tests/"] = ""
    case: Annotated[
        Literal["smart", "sensitive", "ignore"], "smart: ignored unless pattern has a capital"
    ] = "smart"
    context: Annotated[int, "lines around each match"] = 0
    limit: int = 200
    literal: Annotated[bool, "pattern is plain text"] = False


async def search(arguments: Search, context: Context) -> Done:
    wanted = dialect.literal(arguments.pattern) if arguments.literal else dialect.translate(arguments.pattern)
    if not arguments.pattern:
        raise ToolFailed("`pattern` is empty; write what to look for")
    limit = max(1, min(arguments.limit, MOST))
    files, large = await _files(arguments, context)
    ignore_case = arguments.case == "ignore" or (arguments.case == "smart" and not wanted.has_upper)
    width = max(0, min(arguments.context, 20))
    asked = Asked(wanted, ignore_case, width, limit, context.workspace.root, files)
    hits, is_whole = await _hits(asked, context)
    hits = [one for one in hits if _is_readable(one.path, context)]
    notes = _notes(arguments, files, large, is_whole)
    return Done(listing(hits, limit, notes), data=_as_json(hits, limit), is_error=not is_whole and not hits)


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(Search, arguments).path.strip() or "."
    return Preview(title=f"search in {path}", paths=(context.workspace.resolve(path, "read"),))


async def _files(arguments: Search, context: Context) -> tuple[tuple[str, ...], int]:
    """The files to look at in order, and how many are too large for that."""
    files = context.workspace.files
    takes = globs.matcher(arguments.glob)
    path = arguments.path.strip() or "."
    try:
        start = await files.stat(path)
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; `glob` or `list` shows what does") from error
    if start.kind == "file":
        return (start.path,), 0
    found: list[str] = []
    large = 0
    async for entry in files.walk(path):
        if entry.kind == "file" and takes(entry.path):
            large += entry.size > LARGEST
            if entry.size <= LARGEST:
                found.append(entry.path)
    return tuple(found), large


async def _hits(asked: Asked, context: Context) -> tuple[list[FileHits], bool]:
    if not asked.files:
        return [], True
    processes = context.workspace.processes
    if context.settings.get("engine", "auto") != "python":
        try:
            return await engines.ripgrep(asked, processes), True
        except RipgrepRefused:
            pass
    return await engines.python(asked, processes)


def _is_readable(path: str, context: Context) -> bool:
    # A file that must not be read is left out without a word: that it matched is itself a secret.
    try:
        context.workspace.resolve(path, "read")
    except PathRefused:
        return False
    return True


def _notes(arguments: Search, files: Sequence[str], large: int, is_whole: bool) -> list[str]:
    notes: list[str] = []
    if not files and arguments.glob:
        notes.append(f"no file matches the glob {arguments.glob}")
    if large:
        notes.append(f"{large} file{'s' if large > 1 else ''} over {LARGEST // 1_000_000} MB not searched")
    if not is_whole:
        notes.append(
            f"stopped after {engines.SECONDS:.0f} s, the rest was not searched; the pattern may backtrack "
            "without end (nested repeats): make it simpler, or name a smaller `path`"
        )
    return notes


def _as_json(hits: Sequence[FileHits], limit: int) -> Json:
    rows: list[Json] = [
        {"path": one.path, "line": row.line, "column": row.column + 1, "text": row.text[:500]}
        for one in hits
        for row in one.rows
        if row.column >= 0
    ]
    return {"total": sum(one.count for one in hits), "matches": rows[:limit]}


ALIASES = (
    Alias(
        "Grep",
        (
            ("-C", "context"),
            ("-A", "context"),
            ("-B", "context"),
            ("-n", ""),
            ("-i", ""),
            ("output_mode", ""),
            ("head_limit", "limit"),
            ("multiline", ""),
            ("type", ""),
        ),
    ),
    Alias("grep", (("include", "glob"), ("max_results", "limit"), ("query", "pattern"))),
    Alias(
        "grep_files",
        (("include", "glob"), ("max_results", "limit"), ("before", "context"), ("after", "context")),
    ),
    Alias("search_text", (("query", "pattern"), ("include", "glob"), ("max_results", "limit"))),
    Alias("search_files", (("regex", "pattern"), ("query", "pattern"), ("file_pattern", "glob"))),
    Alias("search_file_content", (("include", "glob"),)),
)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="search",
            kind="search",
            description="Search file contents (not ignored or binary files). Lines as path:line: text.",
            parameters=schema(Search),
            capabilities=frozenset({"fs.read"}),
            run=typed(Search, search),
            title=lambda arguments: f"search {arguments.get('pattern', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(entries=MOST * 3),
            aliases=ALIASES,
            keywords=("grep", "find", "regex", "text"),
        )
    )
