"""One question to several answerers: the server when it is ready in time, else the index, else the text.

Says in each answer who gave it, whether a better one is on its way, and why.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from cockpit.navigation import text
from cockpit.navigation.contracts import Served, Silent
from cockpit.navigation.joining import by_place, completed, joined, ranked
from cockpit.navigation.languages import language_of, languages_of
from cockpit.navigation.life import Sources
from cockpit.plugin.navigation import Position
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import Ask, Relation, SymbolRow, SymbolRows

# A server that is ready may take this long before another answers; a hung one costs no more.
READY_SECONDS = 1.5
HEAD_START = 0.05
INDEX_SECONDS = 0.22
LATE_SECONDS, LATE_FOR = 0.3, 10.0
SERVER_SECONDS = 30.0
AGAIN = 0.1
# What several servers answer before they have read all files, and then incompletely.
GROWING = ("references", "callers", "implementations", "subtypes")

T = TypeVar("T")
Rows = tuple[SymbolRow, ...]
AskServer = Callable[[float], Awaitable[Served | Silent]]
AskIndex = Callable[[float], Awaitable[Rows]]


def is_ready(live: Sources, path: str = "") -> bool:
    """Whether a server for the file's language (empty: any) answers already."""
    if live.servers is None:
        return False
    names = {one.name for one in languages_of(path, live.languages)}
    return any(row.state == "ready" and (not path or row.language in names) for row in live.servers.rows())


def is_late(live: Sources, path: str) -> bool:
    """Whether a ready server for the file has just left a question unanswered: it may hang."""
    late = live.late.get(_language(live, path))
    return late is not None and asyncio.get_running_loop().time() - late < LATE_FOR


def remember(live: Sources, path: str, was_late: bool) -> None:
    """Keep in mind how a ready server answered for the file."""
    if was_late:
        live.late[_language(live, path)] = asyncio.get_running_loop().time()
    else:
        live.late.pop(_language(live, path), None)


def _language(live: Sources, path: str) -> str:
    language = language_of(path, live.languages)
    return language.name if language else ""


def is_parsed(live: Sources, path: str) -> bool:
    """Whether the index knows the language of a file."""
    if live.index is None:
        return False
    language = language_of(path, live.languages)
    return bool(language and language.grammar)


async def related(
    live: Sources, workspace: Workspace, relation: Relation, at: Position, source: Ask, patience: float
) -> SymbolRows:
    """What stands in `relation` to the symbol at `at`."""

    async def by_server(seconds: float) -> Served | Silent:
        if live.servers is None or relation == "tests":
            return Silent("no language server finds tests" if live.servers else "no language server is there")
        return await live.servers.related(relation, at, seconds)

    async def by_index(seconds: float) -> Rows:
        name = await _name_at(workspace, at)
        if not name:
            return ()
        if live.index is not None and is_parsed(live, at.path):
            # It starts from its cache in less than this: an answer before that would be empty.
            await live.index.whole(max(seconds, INDEX_SECONDS))
            return await live.index.related(relation, at)
        return await _by_text(workspace, relation, at.path, name)

    growing = relation in GROWING
    if source == "lsp":
        return await _only_server(by_server, growing)
    if source == "tree-sitter" or relation == "tests":
        return _by_index(live, await by_index(SERVER_SECONDS if source == "tree-sitter" else patience))
    return await _either(live, at.path, by_server, by_index, patience, growing)


async def outline(live: Sources, workspace: Workspace, path: str, source: Ask) -> SymbolRows:
    """The definitions of a file. Raises what reading it raises."""

    async def by_server(seconds: float) -> Served | Silent:
        if live.servers is None:
            return Silent("no language server is there")
        return await live.servers.outline(path, seconds)

    async def by_index(seconds: float) -> Rows:
        rows = await live.index.outline(path) if live.index is not None else ()
        return rows or (() if is_parsed(live, path) else await text.outline(workspace, path))

    if source == "lsp":
        return await _only_server(by_server, False)
    if source == "tree-sitter" or not is_ready(live, path):
        return SymbolRows(await by_index(0.0))
    return await _either(live, path, by_server, by_index, 0.0, False)


async def symbols(
    live: Sources, workspace: Workspace, query: str, kind: str, source: Ask, patience: float
) -> SymbolRows:
    """Definitions of the workspace by name, the best first."""
    served: Served | Silent = Silent("no language server is there")
    if live.servers is not None and source != "tree-sitter" and (source == "lsp" or is_ready(live)):
        served = await live.servers.symbols(query, SERVER_SECONDS if source == "lsp" else READY_SECONDS)
    found = served.rows if isinstance(served, Served) else ()
    if source == "lsp":
        note = served.reason if isinstance(served, Silent) else ""
        return SymbolRows(_of_kind(found, kind), note=note)
    if live.index is not None and any(one.grammar for one in live.languages):
        await live.index.whole(SERVER_SECONDS if source == "tree-sitter" else patience)
        found = completed(await live.index.symbols(query), found)
    else:
        found = joined(found, await text.symbols(workspace, query))
    done, note = _progress(live)
    return SymbolRows(ranked(query, _of_kind(found, kind)), done, note)


def _of_kind(rows: Rows, kind: str) -> Rows:
    return tuple(row for row in rows if row.kind == kind) if kind else rows


async def _either(
    live: Sources, path: str, by_server: AskServer, by_index: AskIndex, patience: float, growing: bool
) -> SymbolRows:
    """The server's answer when it comes in time; the index works beside it, once it is late."""
    ready = is_ready(live, path)
    seconds = patience
    if ready:
        seconds = min(patience, LATE_SECONDS) if is_late(live, path) else max(patience, READY_SECONDS)
    asked = asyncio.ensure_future(in_time(by_server, seconds))
    beside: asyncio.Future[Rows] | None = None
    try:
        await asyncio.wait((asked,), timeout=HEAD_START if ready else 0.0)
        if not asked.done():
            beside = asyncio.ensure_future(by_index(min(patience, seconds)))
        served = await asked
        if ready:
            remember(live, path, isinstance(served, Silent) and served.soon)
        if isinstance(served, Served) and served.rows and (served.settled or not growing):
            return SymbolRows(served.rows)
        rows = await (beside or by_index(patience))
        return _both(live, served, rows)
    finally:
        asked.cancel()
        if beside is not None:
            beside.cancel()


def _both(live: Sources, served: Served | Silent, rows: Rows) -> SymbolRows:
    answer = _by_index(live, rows)
    if isinstance(served, Silent):
        note = "; ".join(one for one in (served.reason, answer.note) if one)
        return SymbolRows(rows, answer.complete and not served.soon, note)
    if served.settled:
        return answer if rows else SymbolRows(served.rows)
    name = served.server or "the server"
    both = by_place(joined(served.rows, rows)) if rows else served.rows
    return SymbolRows(both, False, f"{name} is still reading files; tree-sitter's rows are joined")


def _by_index(live: Sources, rows: Rows) -> SymbolRows:
    if rows and rows[0].source == "text":
        return SymbolRows(rows)
    if rows and live.index is not None and live.index.is_cut:
        return SymbolRows(rows, False, f"the index stopped after {len(rows)}: too many files to look into")
    done, note = _progress(live)
    return SymbolRows(rows, done, note)


def _progress(live: Sources) -> tuple[bool, str]:
    """Whether the index is whole, and in words how far it is."""
    done, known = live.index.progress if live.index is not None else (0, 0)
    return (True, "") if done >= known else (False, f"the index has read {done} of {known} files")


async def _only_server(by_server: AskServer, growing: bool) -> SymbolRows:
    """The server's answer alone, waited for until it is whole."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SERVER_SECONDS
    while True:
        served = await by_server(max(until - loop.time(), AGAIN))
        late = loop.time() >= until
        if isinstance(served, Silent):
            if not served.soon or late:
                return SymbolRows((), not served.soon, served.reason)
        elif served.settled or not growing or late:
            note = "" if served.settled or not growing else f"{served.server} is still reading files"
            return SymbolRows(served.rows, not note, note)
        await asyncio.sleep(AGAIN)


async def in_time(asked: Callable[[float], Awaitable[T | Silent]], seconds: float) -> T | Silent:
    """An answer within its bound; a server that does not keep it is not waited for. One that took all of
    it works on the answer, or hangs: asking again is worth it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        async with asyncio.timeout(seconds + 0.1):
            answer = await asked(seconds)
    except TimeoutError:
        return Silent(f"no server answered within {seconds:g} s", soon=True)
    if isinstance(answer, Silent) and loop.time() - began > seconds - 0.02:
        return replace(answer, soon=True)
    return answer


async def _name_at(workspace: Workspace, at: Position) -> str:
    """The name that stands at a position; empty between names. (A server says so itself.)"""
    try:
        raw = await workspace.files.read(at.path)
    except (PathRefused, OSError):
        return ""
    lines = raw.decode("utf-8", "replace").split("\n")
    return text.word_at(lines[at.line - 1], at.column) if at.line <= len(lines) else ""


async def _by_text(workspace: Workspace, relation: Relation, path: str, name: str) -> Rows:
    match relation:
        case "references":
            return await text.references(workspace, name)
        case "definition":
            return await text.named(workspace, name, path)
        case _:
            return ()
