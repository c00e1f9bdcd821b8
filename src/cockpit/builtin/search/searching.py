"""One search: which files, which engine, what is told. Loaded with the first call."""

from collections.abc import Sequence

from cockpit.builtin.search import MOST, Search, dialect, engines, globs
from cockpit.builtin.search.engines import Asked, FileHits, RipgrepRefused
from cockpit.builtin.search.listing import listing
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import Done, ToolFailed
from cockpit.protocol.messages import Json

LARGEST = 10_000_000


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
