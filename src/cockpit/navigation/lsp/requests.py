"""Questions to one running server about one file. Each raises `ServerFault` or `Misshapen`; the caller bounds
its time. Positions and rows are ours, see `positions` and `reading`.

The problems of a file that belong to its present text: pulled from servers that offer it, waited for from
those that push. And the same for texts that are nowhere on disk. Raises as `questions` does.

Telling a running server what changed on disk, and asking anew what that did to its problems.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from cockpit.navigation.backends import ServerAnswer, ServerRelation
from cockpit.navigation.lsp import response_rows
from cockpit.navigation.lsp.documents import DocumentText, OpenDocument
from cockpit.navigation.lsp.protocol import (
    LspError,
    LspNotSupported,
    LspRequestRefused,
    LspServerGone,
    MalformedMessage,
    as_list,
    as_object,
    column_to_offset,
    get_nested,
    path_to_uri,
    uri_to_path,
)
from cockpit.navigation.lsp.server_process import LspServer
from cockpit.navigation.lsp.workspace_edits import convert_workspace_edit
from cockpit.plugin.changes import Edit
from cockpit.protocol.code import ProblemRow, SymbolRow

# Relation: what the server must offer, what it is asked, and how that is said.
LOCATION_RELATIONS: Mapping[ServerRelation, tuple[str, str, str]] = {
    "definition": ("definitionProvider", "textDocument/definition", "find definitions"),
    "implementations": ("implementationProvider", "textDocument/implementation", "find implementations"),
    "references": ("referencesProvider", "textDocument/references", "find references"),
}
# Relation: the same, then the hierarchy's preparation and the key its calls are under.
HIERARCHY_RELATIONS: Mapping[ServerRelation, tuple[str, str, str, str]] = {
    "callers": ("callHierarchyProvider", "prepareCallHierarchy", "callHierarchy/incomingCalls", "from"),
    "callees": ("callHierarchyProvider", "prepareCallHierarchy", "callHierarchy/outgoingCalls", "to"),
    "supertypes": ("typeHierarchyProvider", "prepareTypeHierarchy", "typeHierarchy/supertypes", ""),
    "subtypes": ("typeHierarchyProvider", "prepareTypeHierarchy", "typeHierarchy/subtypes", ""),
}
CHANGED_EVENT = 2
NAME = re.compile(r"[^\W\d]\w*")
WHOLE_PROJECT = ("references", "implementations", "callers", "subtypes")
# Rows, and whether to ask again.
LookupResult: TypeAlias = tuple[tuple[SymbolRow, ...], bool]
FORMAT_OPTIONS = {
    "tabSize": 4,
    "insertSpaces": True,
    "trimTrailingWhitespace": True,
    "insertFinalNewline": True,
}


async def open_document(server: LspServer, path: str) -> OpenDocument:
    """The document of `path` (absolute), with the text that is on disk now."""
    (document,) = await server.documents.refresh(path)
    if document is None:
        raise LspNotSupported(f"{path} is no file that can be read, or a very large one")
    return document


def position_params(server: LspServer, document: OpenDocument, line: int, column: int) -> dict[str, object]:
    """The parameters that name a position; one past the end is the end."""
    last = document.text.last
    line, column = (line, column) if line <= last else (last, len(document.text.line(last)) + 1)
    offset = column_to_offset(document.text.line(line), column, server.encoding)
    return {
        "textDocument": {"uri": document.uri},
        "position": {"line": max(line, 1) - 1, "character": offset},
    }


def row_reader(server: LspServer) -> response_rows.RowReader:
    return response_rows.RowReader(server.root, server.texts, server.encoding)


async def request_outline(server: LspServer, path: str) -> ServerAnswer:
    server.must("documentSymbolProvider", "outline a file")
    async with server.lease.shared():
        document = await open_document(server, path)
        answer = await server.ask("textDocument/documentSymbol", {"textDocument": {"uri": document.uri}})
    rows = await asyncio.to_thread(response_rows.outline_rows, row_reader(server), path, answer)
    return ServerAnswer(rows, True, server.spec.name)


async def request_symbols(server: LspServer, query: str) -> ServerAnswer:
    server.must("workspaceSymbolProvider", "look for symbols")
    async with server.lease.shared():
        await server.documents.refresh()
        answer = await server.ask("workspace/symbol", {"query": query})
    rows = await asyncio.to_thread(response_rows.symbol_rows, row_reader(server), answer, query)
    return ServerAnswer(rows, server.settled, server.spec.name)


async def request_related(
    server: LspServer, relation: ServerRelation, path: str, line: int, column: int
) -> ServerAnswer:
    plain = LOCATION_RELATIONS.get(relation)

    async def once() -> LookupResult:
        if plain is not None:
            return await _request_locations(server, relation, plain, path, line, column)
        return await _request_hierarchy(server, relation, path, line, column)

    async with server.lease.shared():
        rows, again = await once()
        while again:
            rows, again = await once()
    if relation not in WHOLE_PROJECT:
        return ServerAnswer(rows, True, server.spec.name)
    server.settling.answered((relation, path, line, column), hash(rows), time.monotonic())
    return ServerAnswer(rows, server.settled, server.spec.name)


async def _read_fresh_rows(server: LspServer, read: Callable[[], tuple[SymbolRow, ...]]) -> LookupResult:
    """The rows of an answer; and whether they are about files that changed on disk unheard of: the server is
    then told, and is to be asked again. So an edit is seen without any watcher, wherever it was."""
    rows, stale, open_differ = await asyncio.to_thread(_read_rows, server, read)
    _notify_stale(server, stale)
    return rows, bool(stale) or open_differ


def _read_rows(
    server: LspServer, read: Callable[[], tuple[SymbolRow, ...]]
) -> tuple[tuple[SymbolRow, ...], list[str], bool]:
    rows = read()
    names = {row.path for row in rows}
    return (
        rows,
        _find_stale(server, names),
        server.documents.differ(str(Path(server.root, name)) for name in names),
    )


def _find_stale(server: LspServer, names: Iterable[str]) -> list[str]:
    """Those that are not open and changed unheard of. Called in a thread."""
    paths = (str(Path(server.root, name)) for name in names)
    return server.freshness.stale(path for path in paths if server.documents.version_of(path) is None)


def _notify_stale(server: LspServer, stale: Sequence[str]) -> None:
    changes = [{"uri": path_to_uri(path), "type": CHANGED_EVENT} for path in stale]
    if changes:
        server.notify("workspace/didChangeWatchedFiles", {"changes": changes})


async def _request_locations(
    server: LspServer,
    relation: ServerRelation,
    plain: tuple[str, str, str],
    path: str,
    line: int,
    column: int,
) -> LookupResult:
    offer, method, words = plain
    server.must(offer, words)
    document = await open_document(server, path)
    params = position_params(server, document, line, column)
    if relation == "references":
        params["context"] = {"includeDeclaration": True}
    answer = await server.ask(method, params)
    kind = "reference" if relation == "references" else ""
    return await _read_fresh_rows(
        server, lambda: response_rows.location_rows(row_reader(server), answer, kind)
    )


async def _request_hierarchy(
    server: LspServer, relation: ServerRelation, path: str, line: int, column: int
) -> LookupResult:
    offer, prepare, follow, key = HIERARCHY_RELATIONS[relation]
    server.must(offer, f"find {relation}")
    document = await open_document(server, path)
    starts = await server.ask(f"textDocument/{prepare}", position_params(server, document, line, column))
    answers: list[object] = []
    for one in as_list(starts)[:20]:
        answers += as_list(await server.ask(follow, {"item": one}))
    return await _read_fresh_rows(
        server, lambda: response_rows.hierarchy_rows(row_reader(server), answers, key)
    )


async def request_hover(server: LspServer, path: str, line: int, column: int) -> str:
    server.must("hoverProvider", "describe a symbol")
    async with server.lease.shared():
        document = await open_document(server, path)
        answer = await server.ask("textDocument/hover", position_params(server, document, line, column))
    return response_rows.hover_markdown(answer)


async def request_rename(server: LspServer, path: str, line: int, column: int, to: str) -> tuple[Edit, ...]:
    offer = server.must("renameProvider", "rename")
    async with server.lease.shared():
        document = await open_document(server, path)
        at = position_params(server, document, line, column)
        if get_nested(offer, "prepareProvider") is True and await _prepare_rename(server, at) is None:
            raise LspNotSupported(f"{server.spec.name} finds nothing to rename at {path}:{line}:{column}")
        while True:
            answer = await server.ask("textDocument/rename", {**at, "newName": to})
            found = await convert_edit(server, answer, word_at(document.text.line(line), column))
            stale = await asyncio.to_thread(_find_stale, server, {one.path for one in found})
            if stale:
                _notify_stale(server, stale)
                continue
            # A rename that misses uses breaks the code: one that may is asked for until it stays the same.
            server.settling.answered(("rename", path, line, column, to), hash(found), time.monotonic())
            if server.settled:
                return found
            await asyncio.sleep(server.limits.apart)


async def _prepare_rename(server: LspServer, at: Mapping[str, object]) -> object:
    try:
        return await server.ask("textDocument/prepareRename", at)
    except LspRequestRefused as refused:
        raise LspNotSupported(f"{server.spec.name}: {refused}") from refused


async def request_format(server: LspServer, path: str) -> tuple[Edit, ...]:
    server.must("documentFormattingProvider", "format")
    async with server.lease.shared():
        document = await open_document(server, path)
        asked = {"textDocument": {"uri": document.uri}, "options": FORMAT_OPTIONS}
        answer = await server.ask("textDocument/formatting", asked)
        return await convert_edit(server, {"changes": {document.uri: list(as_list(answer))}})


def word_at(line: str, column: int) -> str:
    """The name at a column, or the one that ends there; empty where there is none."""
    words = (found for found in NAME.finditer(line) if found.start() < column <= found.end() + 1)
    return next((found[0] for found in words), "")


async def convert_edit(server: LspServer, answer: object, name: str = "") -> tuple[Edit, ...]:
    """A WorkspaceEdit as edits of ours. What is open counts as the server saw it. With `name`, each must
    replace text that holds it."""
    open_now = {path: server.documents.get(path) for path in server.documents.paths()}
    documents = {path: one for path, one in open_now.items() if one is not None}
    versions = {one.uri: one.version for one in documents.values()}
    texts = {path: one.text for path, one in documents.items()}
    return await asyncio.to_thread(
        convert_workspace_edit, answer, server.root, server.texts, server.encoding, (versions, texts), name
    )


def enabled_actions(answer: object) -> Sequence[Mapping[str, object]]:
    """The actions of an answer that may be taken."""
    return [one for one in map(as_object, as_list(answer)) if one.get("disabled") is None]


ProblemTuple = tuple[ProblemRow, ...]
# A server that gives no version may send the same file's problems in parts (TypeScript's does: syntax first).
PARTIAL_SECONDS = 0.15


async def request_problems(server: LspServer, path: str) -> ProblemTuple:
    """The problems of the file at absolute `path` as it is on disk."""
    async with server.lease.shared():
        document = await open_document(server, path)
        return await current_problems(server, document, True)


async def current_problems(server: LspServer, document: OpenDocument, keep: bool) -> ProblemTuple:
    """The problems of a document as the server has it now; `keep` them as what is known of the file."""
    while server.offer("diagnosticProvider") is None:
        raw = await _await_published(server, document)
        if raw is not None:
            return await _problem_rows(server, document, raw[0], keep)
    asked: dict[str, object] = {"textDocument": {"uri": document.uri}}
    identifier = get_nested(server.offer("diagnosticProvider"), "identifier")
    if isinstance(identifier, str):
        asked["identifier"] = identifier
    report = as_object(await server.ask("textDocument/diagnostic", asked))
    if keep:
        await _store_related(server, report.get("relatedDocuments"))
    return await _problem_rows(server, document, report.get("items"), keep)


async def _problem_rows(server: LspServer, document: OpenDocument, raw: object, keep: bool) -> ProblemTuple:
    name, text = server.spec.name, document.text
    rows = await asyncio.to_thread(server.problems.rows_of, document.path, raw, name, text)
    if keep and server.problems.keep(document.path, rows, raw):
        server.tell()
    return rows


async def _store_related(server: LspServer, reports: object) -> None:
    """Pulling one file may bring those of others."""
    for uri, report in as_object(reports).items() if isinstance(reports, dict) else ():
        try:
            path = uri_to_path(uri)
        except MalformedMessage:
            continue
        if get_nested(report, "kind") == "full":
            raw, name = get_nested(report, "items"), server.spec.name
            text = await asyncio.to_thread(server.texts.get, path)
            server.problems.keep(path, server.problems.rows_of(path, raw, name, text), raw)


async def _await_published(server: LspServer, document: OpenDocument) -> tuple[object] | None:
    """What was published for the document's version, once it is whole; None when the server came to offer
    pulling instead."""
    while server.offer("diagnosticProvider") is None:
        found = server.incoming.published(document.path)
        if found is not None and found.version == document.version:
            return (found.raw,)
        if found is not None and found.version is None and found.at >= document.sent:
            rest = found.at + PARTIAL_SECONDS - asyncio.get_running_loop().time()
            if rest <= 0:
                return (found.raw,)
            await server.stirred.heard(rest)
            continue
        if server.lost.is_set():
            raise LspServerGone(f"{server.spec.name} has ended")
        await server.stirred.heard()
    return None


async def request_staged_problems(
    server: LspServer, texts: Mapping[str, bytes | None], base: Mapping[str, bytes | None]
) -> tuple[dict[str, ProblemTuple], dict[str, ProblemTuple]]:
    """Problems before (on disk, or of `base`) and after `texts`, by absolute path. The server sees the
    overlay only while nobody else asks it, and never longer than this call lasts, however it ends."""
    async with server.lease.alone():
        documents = await server.documents.refresh(*texts)
        originals = {path: one.text if one else None for path, one in zip(texts, documents, strict=True)}
        server.problems.hold(texts)
        try:
            _show_texts(server, base, originals)
            before = await _current_problems_by_path(server, texts)
            _show_texts(server, texts, originals)
            after = await _current_problems_by_path(server, texts)
        finally:
            for path, text in originals.items():
                server.documents.restore(path, text)
            server.problems.hold(())
    return before, after


def _show_texts(
    server: LspServer, texts: Mapping[str, bytes | None], originals: Mapping[str, DocumentText | None]
) -> None:
    """A file that is to be gone is shown empty where it is on disk: what uses its names has problems then."""
    for path, content in texts.items():
        if content is None and originals.get(path) is not None:
            server.documents.stage(path, b"")
        elif content is None:
            server.documents.close(path)
        else:
            server.documents.stage(path, content)


async def _current_problems_by_path(server: LspServer, paths: Iterable[str]) -> dict[str, ProblemTuple]:
    found: dict[str, ProblemTuple] = {}
    for path in paths:
        document = server.documents.get(path)
        found[path] = await current_problems(server, document, False) if document is not None else ()
    return found


CREATED, CHANGED, DELETED = 1, 2, 3
MAX_REFRESHED = 30
REFRESH_SECONDS = 5.0


async def notify_changed(server: LspServer, paths: Sequence[str]) -> None:
    """The files at absolute `paths` differ on disk now."""
    try:
        async with server.lease.shared():
            await server.documents.refresh()
            there = await asyncio.to_thread(_check_existence, paths)
            await asyncio.to_thread(server.freshness.stale, paths)
            events = [event for path, is_there in there for event in _file_events(server, path, is_there)]
            if events:
                server.notify("workspace/didChangeWatchedFiles", {"changes": events})
        gone = [server.problems.forget(path) for path, is_there in there if not is_there]
        if any(gone):
            server.tell()
        await _refresh_problems(server, paths)
    except (LspError, MalformedMessage, TimeoutError):
        # It died or talks nonsense: its life begins it again, and then it reads the files anew.
        return


def _check_existence(paths: Sequence[str]) -> list[tuple[str, bool]]:
    return [(path, Path(path).is_file()) for path in paths]


def _file_events(server: LspServer, path: str, is_there: bool) -> list[dict[str, object]]:
    uri = path_to_uri(path)
    known = path in server.known
    if not is_there:
        server.known.discard(path)
        return [{"uri": uri, "type": DELETED}]
    server.known.add(path)
    # A file we never heard of may be new or may have been there: both are said, as neither harms.
    kinds = (CHANGED,) if known else (CREATED, CHANGED)
    return [{"uri": uri, "type": kind} for kind in kinds]


async def _refresh_problems(server: LspServer, paths: Sequence[str]) -> None:
    """Who pushes says it by itself; who is pulled is asked for the changed files and those with problems."""
    if server.offer("diagnosticProvider") is None:
        return
    opened = server.documents.paths()
    troubled = set(server.problems.troubled())
    wanted = [one for one in reversed(opened) if one in paths or one in troubled]
    async with asyncio.timeout(REFRESH_SECONDS):
        for path in wanted[:MAX_REFRESHED]:
            await request_problems(server, path)
