"""Which files a `glob` names: gitignore's patterns with `{a,b}`, `!` before one for all others.

Hits as lines: `path:line: text`, long lines cut around the match, totals said.

One search: which files, which engine, what is told. Loaded with the first call.

`search`: a regular expression over the files of the workspace, by ripgrep where it is there and by
Python where it is not, with the same answer from both. What searches is loaded with the first call.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.tools.search import dialect, engines
from cockpit.builtin.tools.search.engines import FileHits, HitLine, RipgrepUnavailable, SearchRequest
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.messages import Json

BRACES = re.compile(r"\{([^{}]*)\}")
MAX_PATTERNS = 256


def compile_globs(glob: str) -> Callable[[str], bool]:
    """Whether a path relative to the root is meant. An empty glob means every file.

    `*.py` matches at any depth, `src/*.py` below the root only, `src/` all that is in it.
    """
    wanted = [part for part in split_globs(glob) if not part.startswith("!")]
    unwanted = [part[1:] for part in split_globs(glob) if part.startswith("!")]
    takes, leaves = _compile_patterns(wanted), _compile_patterns(unwanted)
    return lambda path: (not wanted or takes(path)) and not leaves(path)


def split_globs(glob: str) -> list[str]:
    """The patterns in `glob`: separated by commas or blanks outside of braces, braces spelled out."""
    parts = [part for part in re.split(r"[,\s]+(?![^{}]*\})", glob.strip()) if part]
    return [spelled for part in parts for spelled in _expand_braces(part)]


def _expand_braces(part: str) -> list[str]:
    todo, done = [part], list[str]()
    while todo and len(todo) + len(done) < MAX_PATTERNS:
        one = todo.pop(0)
        found = BRACES.search(one)
        if found:
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        else:
            done.append(one)
    return done + todo


def _compile_patterns(patterns: list[str]) -> Callable[[str], bool]:
    # Imported late: only a search with a glob needs it.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns).match_file if patterns else lambda path: False


MAX_LINE_WIDTH = 240


def format_hits(hits: Sequence[FileHits], limit: int, notes: Sequence[str] = ()) -> str:
    """The first `limit` matches of `hits`; the first line counts all of them."""
    total = sum(one.count for one in hits)
    if not total:
        return "\n".join(["no matches", *notes])
    head = f"{total} match{'es' if total > 1 else ''} in {len(hits)} file{'s' if len(hits) > 1 else ''}"
    if total > limit:
        head += f", first {limit} of {total}; narrow the `pattern`, `path` or `glob` to see the others"
    lines = [head, *notes]
    left = limit
    for one in hits:
        if left <= 0:
            break
        lines += _format_file(one, left, is_first=left == limit)
        left -= one.count
    return "\n".join(lines)


def _format_file(hits: FileHits, most: int, is_first: bool) -> list[str]:
    has_context = any(row.column < 0 for row in hits.rows)
    lines: list[str] = [] if is_first or not has_context else ["--"]
    shown, last = 0, 0
    for row in hits.rows:
        if row.column >= 0:
            shown += 1
        if shown > most:
            break
        if has_context and last and row.line > last + 1:
            lines.append("--")
        mark = ":" if row.column >= 0 else "-"
        lines.append(f"{hits.path}{mark}{row.line}{mark} {shorten_line(row)}")
        last = row.line
    return lines


def shorten_line(row: HitLine, width: int = MAX_LINE_WIDTH) -> str:
    """The line, or where it is longer than `width` the part of it around the match."""
    text = row.text
    if len(text) <= width:
        return text
    start = max(0, min(row.column - width // 3, len(text) - width)) if row.column > 0 else 0
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


MAX_FILE_BYTES = 10_000_000


MAX_MATCHES = 2_000


@dataclass(frozen=True, slots=True)
class SearchArguments:
    pattern: Annotated[str, "regular expression, matched line by line"]
    path: str = "."
    glob: Annotated[str, "only these files: *.py, src/**/*.{ts,tsx}, !tests/"] = ""
    case: Annotated[
        Literal["smart", "sensitive", "ignore"], "smart: ignored unless pattern has a capital"
    ] = "smart"
    context: Annotated[int, "lines around each match"] = 0
    limit: int = 200
    literal: Annotated[bool, "pattern is plain text"] = False


async def run_search(arguments: SearchArguments, context: Context) -> Done:
    wanted = (
        dialect.escape_literal(arguments.pattern)
        if arguments.literal
        else dialect.translate_pattern(arguments.pattern)
    )
    if not arguments.pattern:
        raise ToolFailed("`pattern` is empty; write what to look for")
    limit = max(1, min(arguments.limit, MAX_MATCHES))
    files, large = await _select_files(arguments, context)
    ignore_case = arguments.case == "ignore" or (arguments.case == "smart" and not wanted.has_upper)
    width = max(0, min(arguments.context, 20))
    asked = SearchRequest(wanted, ignore_case, width, limit, context.workspace.root, files)
    hits, is_whole = await _run_engine(asked, context)
    hits = [one for one in hits if _is_readable(one.path, context)]
    notes = _build_notes(arguments, files, large, is_whole)
    return Done(
        format_hits(hits, limit, notes), data=_hits_as_json(hits, limit), is_error=not is_whole and not hits
    )


async def _select_files(arguments: SearchArguments, context: Context) -> tuple[tuple[str, ...], int]:
    """The files to look at in order, and how many are too large for that."""
    files = context.workspace.files
    takes = compile_globs(arguments.glob)
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
            large += entry.size > MAX_FILE_BYTES
            if entry.size <= MAX_FILE_BYTES:
                found.append(entry.path)
    return tuple(found), large


async def _run_engine(asked: SearchRequest, context: Context) -> tuple[list[FileHits], bool]:
    if not asked.files:
        return [], True
    processes = context.workspace.processes
    if context.settings.get("engine", "auto") != "python":
        try:
            return await engines.run_ripgrep(asked, processes), True
        except RipgrepUnavailable:
            pass
    return await engines.run_python(asked, processes)


def _is_readable(path: str, context: Context) -> bool:
    # A file that must not be read is left out without a word: that it matched is itself a secret.
    try:
        context.workspace.resolve(path, "read")
    except PathRefused:
        return False
    return True


def _build_notes(arguments: SearchArguments, files: Sequence[str], large: int, is_whole: bool) -> list[str]:
    notes: list[str] = []
    if not files and arguments.glob:
        notes.append(f"no file matches the glob {arguments.glob}")
    if large:
        notes.append(
            f"{large} file{'s' if large > 1 else ''} over {MAX_FILE_BYTES // 1_000_000} MB not searched"
        )
    if not is_whole:
        notes.append(
            f"stopped after {engines.SEARCH_SECONDS:.0f} s, the rest was not searched; the pattern may backtrack "
            "without end (nested repeats): make it simpler, or name a smaller `path`"
        )
    return notes


def _hits_as_json(hits: Sequence[FileHits], limit: int) -> Json:
    rows: list[Json] = [
        {"path": one.path, "line": row.line, "column": row.column + 1, "text": row.text[:500]}
        for one in hits
        for row in one.rows
        if row.column >= 0
    ]
    return {"total": sum(one.count for one in hits), "matches": rows[:limit]}


async def search(arguments: SearchArguments, context: Context) -> Done:

    return await run_search(arguments, context)


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(SearchArguments, arguments).path.strip() or "."
    return Preview(title=f"search in {path}", paths=(context.workspace.resolve(path, "read"),))


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
            parameters=schema(SearchArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(SearchArguments, search),
            title=lambda arguments: f"search {arguments.get('pattern', '')}",
            preview=preview,
            is_concurrent=lambda arguments: True,
            cap=Cap(entries=MAX_MATCHES * 3),
            aliases=ALIASES,
            keywords=("grep", "find", "regex", "text"),
        )
    )
