"""The `search` tool: a regular expression over the workspace, with the same result from ripgrep and from
Python.

Start here: this module selects the files, runs an engine and formats the hits. `dialect` and `engines` are
imported with the first call, because registering the tool needs neither.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cockpit.builtin.tools.text_reads import expand_braces, is_readable
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    from cockpit.builtin.tools.search.engines import FileHits, HitLine, SearchRequest

MAX_PATTERNS = 256
MAX_LINE_WIDTH = 240
MAX_FILE_BYTES = 10_000_000
MAX_MATCHES = 2_000
MAX_CONTEXT_LINES = 20


@dataclass(frozen=True, slots=True)
class SearchArguments:
    pattern: Annotated[str, "regular expression, matched line by line"]
    path: str = "."
    glob: Annotated[str, "only these files: *.py, src/**/*.{ts,tsx}, !tests/"] = ""
    case: Annotated[
        Literal["smart", "sensitive", "ignore"], "smart: ignore case unless pattern has a capital"
    ] = "smart"
    context: Annotated[int, "lines around each match"] = 0
    limit: int = 200
    literal: Annotated[bool, "pattern is plain text"] = False


async def search(arguments: SearchArguments, context: Context) -> Done:
    from cockpit.builtin.tools.search.dialect import escape_literal, translate_pattern
    from cockpit.builtin.tools.search.engines import SearchRequest

    pattern = escape_literal(arguments.pattern) if arguments.literal else translate_pattern(arguments.pattern)
    limit = max(1, min(arguments.limit, MAX_MATCHES))
    files, large = await _select_files(arguments, context)
    request = SearchRequest(
        pattern,
        ignore_case=arguments.case == "ignore" or (arguments.case == "smart" and not pattern.has_upper),
        context=max(0, min(arguments.context, MAX_CONTEXT_LINES)),
        limit=limit,
        root=context.workspace.root,
        files=files,
    )
    hits, is_complete = await _run_engine(request, context)
    # A file that must not be read is left out silently: even that it matched would reveal something.
    hits = [file for file in hits if is_readable(file.path, context)]
    notes = _build_notes(arguments, files, large, is_complete)
    text = format_hits(hits, limit, notes)
    return Done(text, data=_hits_as_json(hits, limit), is_error=not is_complete and not hits)


async def _select_files(arguments: SearchArguments, context: Context) -> tuple[tuple[str, ...], int]:
    """The files to search, in order, and how many were left out because they are too large."""
    files = context.workspace.files
    matches = compile_globs(arguments.glob)
    path = arguments.path.strip() or "."
    try:
        start = await files.stat(path)
    except FileNotFoundError as error:
        raise ToolFailed(f"{path} does not exist; use `glob` or `list` to see what does") from error
    if start.kind == "file":
        return (start.path,), 0
    selected: list[str] = []
    large = 0
    async for entry in files.walk(path):
        if entry.kind == "file" and matches(entry.path):
            if entry.size > MAX_FILE_BYTES:
                large += 1
            else:
                selected.append(entry.path)
    return tuple(selected), large


async def _run_engine(request: "SearchRequest", context: Context) -> "tuple[list[FileHits], bool]":
    from cockpit.builtin.tools.search import engines

    if not request.files:
        return [], True
    processes = context.workspace.processes
    if context.settings.get("engine", "auto") != "python":
        try:
            return await engines.run_ripgrep(request, processes), True
        except engines.RipgrepUnavailable:
            pass
    return await engines.run_python(request, processes)


def _build_notes(
    arguments: SearchArguments, files: Sequence[str], large: int, is_complete: bool
) -> list[str]:
    notes: list[str] = []
    if not files and arguments.glob:
        notes.append(f"no file matches the glob {arguments.glob}")
    if large:
        plural = "s" if large > 1 else ""
        notes.append(f"{large} file{plural} over {MAX_FILE_BYTES // 1_000_000} MB not searched")
    if not is_complete:
        from cockpit.builtin.tools.search.engines import SEARCH_SECONDS

        notes.append(
            f"stopped after {SEARCH_SECONDS:.0f} s, the rest was not searched; the pattern may backtrack "
            "without end (nested repeats): simplify it, or name a smaller `path`"
        )
    return notes


def compile_globs(glob: str) -> Callable[[str], bool]:
    """A predicate for paths relative to the root. An empty glob matches every file. Patterns are gitignore's,
    with `{a,b}`: `*.py` matches at any depth, `src/*.py` only in `src`, `src/` everything below it. A pattern
    after `!` excludes."""
    patterns = split_globs(glob)
    included = [pattern for pattern in patterns if not pattern.startswith("!")]
    is_included = _compile_patterns(included)
    is_excluded = _compile_patterns([pattern[1:] for pattern in patterns if pattern.startswith("!")])
    return lambda path: (not included or is_included(path)) and not is_excluded(path)


def split_globs(glob: str) -> list[str]:
    """The patterns in `glob`, separated by commas or blanks outside braces, with the braces expanded."""
    parts = [part for part in re.split(r"[,\s]+(?![^{}]*\})", glob.strip()) if part]
    return [pattern for part in parts for pattern in expand_braces(part, MAX_PATTERNS)]


def _compile_patterns(patterns: list[str]) -> Callable[[str], bool]:
    # Imported late: only a search with a glob needs it.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns).match_file if patterns else lambda path: False


def format_hits(hits: "Sequence[FileHits]", limit: int, notes: Sequence[str] = ()) -> str:
    """The first `limit` matches as `path:line: text`; the first line counts all of them."""
    total = sum(file.count for file in hits)
    if not total:
        return "\n".join(["no matches", *notes])
    head = f"{total} match{'es' if total > 1 else ''} in {len(hits)} file{'s' if len(hits) > 1 else ''}"
    if total > limit:
        head += f", first {limit} of {total}; narrow the `pattern`, `path` or `glob` to see the others"
    lines = [head, *notes]
    remaining = limit
    for file in hits:
        if remaining <= 0:
            break
        lines += _format_file(file, remaining, is_first=remaining == limit)
        remaining -= file.count
    return "\n".join(lines)


def _format_file(hits: "FileHits", limit: int, is_first: bool) -> list[str]:
    has_context = any(row.column < 0 for row in hits.rows)
    lines: list[str] = [] if is_first or not has_context else ["--"]
    matches, last = 0, 0
    for row in hits.rows:
        is_match = row.column >= 0
        matches += is_match
        if matches > limit:
            break
        if has_context and last and row.line > last + 1:
            lines.append("--")
        mark = ":" if is_match else "-"
        lines.append(f"{hits.path}{mark}{row.line}{mark} {shorten_line(row)}")
        last = row.line
    return lines


def shorten_line(row: "HitLine", width: int = MAX_LINE_WIDTH) -> str:
    """The text of a line; where it is longer than `width`, the part around the match."""
    text = row.text
    if len(text) <= width:
        return text
    start = max(0, min(row.column - width // 3, len(text) - width)) if row.column > 0 else 0
    end = start + width
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _hits_as_json(hits: "Sequence[FileHits]", limit: int) -> Json:
    matches: list[Json] = [
        {"path": file.path, "line": row.line, "column": row.column + 1, "text": row.text[:500]}
        for file in hits
        for row in file.rows
        if row.column >= 0
    ]
    return {"total": sum(file.count for file in hits), "matches": matches[:limit]}


async def preview(arguments: Arguments, context: Context) -> Preview:
    path = parse(SearchArguments, arguments).path.strip() or "."
    return Preview(title=f"search in {path}", paths=(context.workspace.resolve(path, "read"),))


# The names other agents use for this tool and its arguments.
GREP_CONTEXT = (("-C", "context"), ("-A", "context"), ("-B", "context"))
GREP_IGNORED = ("-n", "-i", "output_mode", "multiline", "type")
INCLUDE = (("include", "glob"), ("max_results", "limit"))
ALIASES = (
    Alias("Grep", (*GREP_CONTEXT, ("head_limit", "limit"), *((name, "") for name in GREP_IGNORED))),
    Alias("grep", (*INCLUDE, ("query", "pattern"))),
    Alias("grep_files", (*INCLUDE, ("before", "context"), ("after", "context"))),
    Alias("search_text", (*INCLUDE, ("query", "pattern"))),
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
