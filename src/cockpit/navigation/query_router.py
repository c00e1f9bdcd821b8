"""Routes a question to the backends: a server that is ready in time, else the index, else text search.

Each answer says who gave it, whether a better one is on its way, and why. Also merges and ranks the rows of
several backends.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from cockpit.fuzzy_match import rank_name
from cockpit.navigation import text_search
from cockpit.navigation.answers import NoAnswer, ServerAnswer, find_language, find_languages
from cockpit.navigation.backends import Backends
from cockpit.plugin.navigation import Position
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import Relation, SourceChoice, SymbolRow, SymbolRows

SECONDARY_FOLDERS = ("test", "tests", "vendor", "node_modules", "third_party", "migrations", "examples")
# A ready server may take this long before the index answers; this bounds what a hung one costs.
READY_SECONDS = 1.5
HEAD_START_SECONDS = 0.05
INDEX_SECONDS = 0.22
SERVER_SECONDS = 30.0
RETRY_SECONDS = 0.1
# Some servers answer these incompletely until they have read all files.
GROWING_RELATIONS = ("references", "callers", "implementations", "subtypes")
# How long a server is waited for that was late just now, and how long its lateness counts.
LATE_SECONDS, LATE_MEMORY_SECONDS = 0.3, 10.0
T = TypeVar("T")
Rows = tuple[SymbolRow, ...]
AskServer = Callable[[float], Awaitable[ServerAnswer | NoAnswer]]
AskIndex = Callable[[float], Awaitable[Rows]]


def merge_rows(first: Iterable[SymbolRow], second: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
    """Rows of both, each location once; where both have it, the row of `first` wins."""
    rows: dict[tuple[str, int, int], SymbolRow] = {}
    for row in (*first, *second):
        rows.setdefault((row.path, row.line, row.column), row)
    return tuple(rows.values())


def add_missing_symbols(index: Sequence[SymbolRow], server: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
    """The index's symbols, which know their containers, plus a server's symbols that the index lacks: other
    names of a file, files it left out. Rows outside the root are dropped."""
    known = {(row.path, row.name) for row in index}
    more = (row for row in server if not _is_outside(row.path))
    return merge_rows(index, (row for row in more if (row.path, row.name.rpartition(".")[2]) not in known))


def _is_outside(path: str) -> bool:
    return path.startswith(("/", "\\")) or path[1:2] == ":"


def sort_by_location(rows: Iterable[SymbolRow]) -> tuple[SymbolRow, ...]:
    return tuple(sorted(rows, key=lambda row: (row.path, row.line, row.column)))


def rank_symbols(query: str, rows: Sequence[SymbolRow], limit: int = 200) -> tuple[SymbolRow, ...]:
    """Rows by how well their name matches `query`; tests and vendored code come later. Rows that match
    equally keep their order."""
    owner, _, name = query.rpartition(".")
    matches = [(rank, row) for row in rows if (rank := rank_name(name, row.name)) is not None]
    matches.sort(
        key=lambda item: (_is_in_other_container(owner, item[1]), item[0], _is_secondary(item[1].path))
    )
    return tuple(row for _, row in matches[:limit])


def _is_in_other_container(owner: str, row: SymbolRow) -> bool:
    """Whether a name searched as `owner.name` is defined in something else."""
    return bool(owner) and not f".{row.container}".lower().endswith(f".{owner}".lower())


def _is_secondary(path: str) -> bool:
    parts = path.lower().split("/")
    return any(part in SECONDARY_FOLDERS for part in parts[:-1]) or parts[-1].startswith("test_")


def has_ready_server(live: Backends, path: str = "") -> bool:
    """Whether a server for the file's language (empty path: any server) is ready."""
    if live.servers is None:
        return False
    names = {language.name for language in find_languages(path, live.languages)}
    return any(row.state == "ready" and (not path or row.language in names) for row in live.servers.rows())


def is_server_late(live: Backends, path: str) -> bool:
    """Whether a ready server for the file failed to answer in time just now: it may hang."""
    late = live.late.get(_language_name(live, path))
    return late is not None and asyncio.get_running_loop().time() - late < LATE_MEMORY_SECONDS


def record_lateness(live: Backends, path: str, was_late: bool) -> None:
    """Record whether a ready server for the file answered in time."""
    if was_late:
        live.late[_language_name(live, path)] = asyncio.get_running_loop().time()
    else:
        live.late.pop(_language_name(live, path), None)


def _language_name(live: Backends, path: str) -> str:
    language = find_language(path, live.languages)
    return language.name if language else ""


def has_grammar(live: Backends, path: str) -> bool:
    """Whether the index can parse the language of a file."""
    if live.index is None:
        return False
    language = find_language(path, live.languages)
    return bool(language and language.grammar)


async def find_related(
    live: Backends,
    workspace: Workspace,
    relation: Relation,
    at: Position,
    source: SourceChoice,
    patience: float,
) -> SymbolRows:
    """Find what is in `relation` to the symbol at `at`."""

    async def by_server(seconds: float) -> ServerAnswer | NoAnswer:
        if live.servers is None:
            return NoAnswer("no language server is available")
        if relation == "tests":
            return NoAnswer("no language server finds tests")
        return await live.servers.related(relation, at, seconds)

    async def by_index(seconds: float) -> Rows:
        name = await _read_name_at(workspace, at)
        if not name:
            return ()
        if live.index is not None and has_grammar(live, at.path):
            # The index loads its cache in less time than this: an earlier answer would be empty.
            await live.index.whole(max(seconds, INDEX_SECONDS))
            return await live.index.related(relation, at)
        if relation == "references":
            return await text_search.find_references(workspace, name)
        return await text_search.find_named(workspace, name, at.path) if relation == "definition" else ()

    is_growing = relation in GROWING_RELATIONS
    if source == "lsp":
        return await _ask_server_only(by_server, is_growing)
    if source == "tree-sitter" or relation == "tests":
        return _index_answer(live, await by_index(SERVER_SECONDS if source == "tree-sitter" else patience))
    return await _ask_both(live, at.path, by_server, by_index, patience, is_growing)


async def find_outline(live: Backends, workspace: Workspace, path: str, source: SourceChoice) -> SymbolRows:
    """The definitions of a file. Raises what reading the file raises."""

    async def by_server(seconds: float) -> ServerAnswer | NoAnswer:
        if live.servers is None:
            return NoAnswer("no language server is available")
        return await live.servers.outline(path, seconds)

    async def by_index(seconds: float) -> Rows:
        rows = await live.index.outline(path) if live.index is not None else ()
        return rows or (() if has_grammar(live, path) else await text_search.find_outline(workspace, path))

    if source == "lsp":
        return await _ask_server_only(by_server, False)
    if source == "tree-sitter" or not has_ready_server(live, path):
        return SymbolRows(await by_index(0.0))
    return await _ask_both(live, path, by_server, by_index, 0.0, False)


async def find_symbols(
    live: Backends, workspace: Workspace, query: str, kind: str, source: SourceChoice, patience: float
) -> SymbolRows:
    """Definitions of the workspace by name, the best first."""
    answer: ServerAnswer | NoAnswer = NoAnswer("no language server is available")
    if live.servers is not None and source != "tree-sitter" and (source == "lsp" or has_ready_server(live)):
        answer = await live.servers.symbols(query, SERVER_SECONDS if source == "lsp" else READY_SECONDS)
    rows = answer.rows if isinstance(answer, ServerAnswer) else ()
    if source == "lsp":
        note = answer.reason if isinstance(answer, NoAnswer) else ""
        return SymbolRows(_filter_kind(rows, kind), note=note)
    if live.index is not None and any(language.grammar for language in live.languages):
        await live.index.whole(SERVER_SECONDS if source == "tree-sitter" else patience)
        rows = add_missing_symbols(await live.index.symbols(query), rows)
    else:
        rows = merge_rows(rows, await text_search.find_symbols(workspace, query))
    done, note = _describe_progress(live)
    return SymbolRows(rank_symbols(query, _filter_kind(rows, kind)), done, note)


def _filter_kind(rows: Rows, kind: str) -> Rows:
    return tuple(row for row in rows if row.kind == kind) if kind else rows


async def _ask_both(
    live: Backends, path: str, by_server: AskServer, by_index: AskIndex, patience: float, is_growing: bool
) -> SymbolRows:
    """The server's answer if it comes in time; the index works in parallel once the server is late."""
    ready = has_ready_server(live, path)
    seconds = patience
    if ready:
        seconds = min(patience, LATE_SECONDS) if is_server_late(live, path) else max(patience, READY_SECONDS)
    server_task = asyncio.ensure_future(ask_with_deadline(by_server, seconds))
    index_task: asyncio.Future[Rows] | None = None
    try:
        await asyncio.wait((server_task,), timeout=HEAD_START_SECONDS if ready else 0.0)
        if not server_task.done():
            index_task = asyncio.ensure_future(by_index(min(patience, seconds)))
        answer = await server_task
        if ready:
            record_lateness(live, path, isinstance(answer, NoAnswer) and answer.soon)
        if isinstance(answer, ServerAnswer) and answer.rows and (answer.settled or not is_growing):
            return SymbolRows(answer.rows)
        return _combine_answers(live, answer, await (index_task or by_index(patience)))
    finally:
        server_task.cancel()
        if index_task is not None:
            index_task.cancel()


def _combine_answers(live: Backends, server_answer: ServerAnswer | NoAnswer, index_rows: Rows) -> SymbolRows:
    answer = _index_answer(live, index_rows)
    if isinstance(server_answer, NoAnswer):
        note = "; ".join(note for note in (server_answer.reason, answer.note) if note)
        return SymbolRows(index_rows, answer.complete and not server_answer.soon, note)
    if server_answer.settled:
        return answer if index_rows else SymbolRows(server_answer.rows)
    name = server_answer.server or "the server"
    rows = sort_by_location(merge_rows(server_answer.rows, index_rows)) if index_rows else server_answer.rows
    return SymbolRows(rows, False, f"{name} is still reading files; tree-sitter's rows are added")


def _index_answer(live: Backends, rows: Rows) -> SymbolRows:
    if rows and rows[0].source == "text":
        return SymbolRows(rows)
    if rows and live.index is not None and live.index.is_cut:
        return SymbolRows(rows, False, f"the index stopped after {len(rows)}: too many files to search")
    done, note = _describe_progress(live)
    return SymbolRows(rows, done, note)


def _describe_progress(live: Backends) -> tuple[bool, str]:
    """Whether the index is complete, and a note on how far it is."""
    done, known = live.index.progress if live.index is not None else (0, 0)
    return (True, "") if done >= known else (False, f"the index has read {done} of {known} files")


async def _ask_server_only(by_server: AskServer, is_growing: bool) -> SymbolRows:
    """The server's answer alone, waiting until it is complete."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SERVER_SECONDS
    while True:
        answer = await by_server(max(until - loop.time(), RETRY_SECONDS))
        is_overdue = loop.time() >= until
        if isinstance(answer, NoAnswer):
            if not answer.soon or is_overdue:
                return SymbolRows((), not answer.soon, answer.reason)
        elif answer.settled or not is_growing or is_overdue:
            note = "" if answer.settled or not is_growing else f"{answer.server} is still reading files"
            return SymbolRows(answer.rows, not note, note)
        await asyncio.sleep(RETRY_SECONDS)


async def ask_with_deadline(ask: Callable[[float], Awaitable[T | NoAnswer]], seconds: float) -> T | NoAnswer:
    """Ask with a time limit; a server that exceeds it is abandoned. `soon` is set when the limit was used up:
    the server works on the answer or hangs, so asking again is worthwhile."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        async with asyncio.timeout(seconds + 0.1):
            answer = await ask(seconds)
    except TimeoutError:
        return NoAnswer(f"no server answered within {seconds:g} s", soon=True)
    if isinstance(answer, NoAnswer) and loop.time() - started > seconds - 0.02:
        return replace(answer, soon=True)
    return answer


async def _read_name_at(workspace: Workspace, at: Position) -> str:
    """The name at a position; empty if there is none. (Servers find it themselves.)"""
    try:
        raw = await workspace.files.read(at.path)
    except (PathRefused, OSError):
        return ""
    lines = raw.decode("utf-8", "replace").split("\n")
    return text_search.word_at(lines[at.line - 1], at.column) if at.line <= len(lines) else ""
