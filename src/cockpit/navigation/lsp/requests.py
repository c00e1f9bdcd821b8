"""Requests to one running server about files: navigation, edits, diagnostics, and notifications of changes on
disk.

Each raises `LspError` or `MalformedMessage`; the caller bounds its time. Paths are absolute, positions and
rows are ours (see `protocol` and `response_rows`).
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from cockpit.navigation.answers import ServerAnswer, ServerRelation
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
from cockpit.navigation.text_search import word_at
from cockpit.plugin.changes import Edit
from cockpit.protocol.code import ProblemRow, SymbolRow

# Relation: required capability, method, and the action for messages.
LOCATION_RELATIONS: Mapping[ServerRelation, tuple[str, str, str]] = {
    "definition": ("definitionProvider", "textDocument/definition", "find definitions"),
    "implementations": ("implementationProvider", "textDocument/implementation", "find implementations"),
    "references": ("referencesProvider", "textDocument/references", "find references"),
}
# Relation: required capability, preparing method, method, and the key of the item in each result.
HIERARCHY_RELATIONS: Mapping[ServerRelation, tuple[str, str, str, str]] = {
    "callers": ("callHierarchyProvider", "prepareCallHierarchy", "callHierarchy/incomingCalls", "from"),
    "callees": ("callHierarchyProvider", "prepareCallHierarchy", "callHierarchy/outgoingCalls", "to"),
    "supertypes": ("typeHierarchyProvider", "prepareTypeHierarchy", "typeHierarchy/supertypes", ""),
    "subtypes": ("typeHierarchyProvider", "prepareTypeHierarchy", "typeHierarchy/subtypes", ""),
}
WHOLE_PROJECT = ("references", "implementations", "callers", "subtypes")
# The rows, and whether to ask again.
LookupResult: TypeAlias = tuple[tuple[SymbolRow, ...], bool]
FORMAT_OPTIONS = {
    "tabSize": 4,
    "insertSpaces": True,
    "trimTrailingWhitespace": True,
    "insertFinalNewline": True,
}
# A server that gives no version may send a file's problems in parts (TypeScript's sends syntax errors first).
PARTIAL_SECONDS = 0.15
# clangd publishes the problems of a new version twice: at once with the headers as it last compiled them, and
# again with the current ones, and nothing tells the two apart. It compiles the headers once per version, in
# order, and starts on a version only when it has begun with the one before it. So what it publishes first for
# the third further version was computed with headers at least as new as the text that was sent first. The
# versions differ in blank lines at the end, because clangd ignores a version with the same text.
EXTRA_BLANK_LINES = (1, 2, 0)
MAX_REFRESHED = 30
REFRESH_SECONDS = 5.0


async def open_document(server: LspServer, path: str) -> OpenDocument:
    """The document of `path`, with the text that is on disk now."""
    (document,) = await server.documents.refresh(path)
    if document is None:
        raise LspNotSupported(f"cannot read {path}, or it is too large")
    return document


def position_params(server: LspServer, document: OpenDocument, line: int, column: int) -> dict[str, object]:
    """The parameters that name a position; past the end of the file means the end."""
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
    server.require("documentSymbolProvider", "outline a file")
    async with server.lease.shared():
        document = await open_document(server, path)
        answer = await server.ask("textDocument/documentSymbol", {"textDocument": {"uri": document.uri}})
    rows = await asyncio.to_thread(response_rows.outline_rows, row_reader(server), path, answer)
    return ServerAnswer(rows, True, server.spec.name)


async def request_symbols(server: LspServer, query: str) -> ServerAnswer:
    server.require("workspaceSymbolProvider", "look for symbols")
    async with server.lease.shared():
        await server.documents.refresh()
        answer = await server.ask("workspace/symbol", {"query": query})
    rows = await asyncio.to_thread(response_rows.symbol_rows, row_reader(server), answer, query)
    return ServerAnswer(rows, server.settled, server.spec.name)


async def request_related(
    server: LspServer, relation: ServerRelation, path: str, line: int, column: int
) -> ServerAnswer:
    request = _request_locations if relation in LOCATION_RELATIONS else _request_hierarchy
    async with server.lease.shared():
        again = True
        while again:
            rows, again = await request(server, relation, path, line, column)
    if relation not in WHOLE_PROJECT:
        return ServerAnswer(rows, True, server.spec.name)
    server.readiness.answered((relation, path, line, column), hash(rows), time.monotonic())
    return ServerAnswer(rows, server.settled, server.spec.name)


async def _read_fresh_rows(server: LspServer, read: Callable[[], tuple[SymbolRow, ...]]) -> LookupResult:
    """The rows of an answer, and whether some are in files that changed without the server knowing. If so,
    the server is notified and must be asked again. Thus edits are seen without any file watcher."""

    def read_and_check() -> tuple[tuple[SymbolRow, ...], list[str], bool]:
        rows = read()
        paths = {str(Path(server.root, row.path)) for row in rows}
        return rows, _find_stale(server, paths), server.documents.differ(paths)

    rows, stale, open_differ = await asyncio.to_thread(read_and_check)
    _notify_stale(server, stale)
    return rows, bool(stale) or open_differ


def _find_stale(server: LspServer, paths: Iterable[str]) -> list[str]:
    """Those that are not open and changed without notification. Called in a thread."""
    return server.freshness.stale(path for path in paths if server.documents.version_of(path) is None)


def _notify_stale(server: LspServer, stale: Sequence[str]) -> None:
    changes = [{"uri": path_to_uri(path), "type": CHANGED} for path in stale]
    if changes:
        server.notify("workspace/didChangeWatchedFiles", {"changes": changes})


async def _request_locations(
    server: LspServer, relation: ServerRelation, path: str, line: int, column: int
) -> LookupResult:
    capability, method, action = LOCATION_RELATIONS[relation]
    server.require(capability, action)
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
    capability, prepare, follow, key = HIERARCHY_RELATIONS[relation]
    server.require(capability, f"find {relation}")
    document = await open_document(server, path)
    items = await server.ask(f"textDocument/{prepare}", position_params(server, document, line, column))
    answers: list[object] = []
    for item in as_list(items)[:20]:
        answers += as_list(await server.ask(follow, {"item": item}))
    return await _read_fresh_rows(
        server, lambda: response_rows.hierarchy_rows(row_reader(server), answers, key)
    )


async def request_hover(server: LspServer, path: str, line: int, column: int) -> str:
    server.require("hoverProvider", "describe a symbol")
    async with server.lease.shared():
        document = await open_document(server, path)
        answer = await server.ask("textDocument/hover", position_params(server, document, line, column))
    return response_rows.hover_markdown(answer)


async def request_rename(server: LspServer, path: str, line: int, column: int, to: str) -> tuple[Edit, ...]:
    offer = server.require("renameProvider", "rename")
    async with server.lease.shared():
        document = await open_document(server, path)
        at = position_params(server, document, line, column)
        if get_nested(offer, "prepareProvider") is True:
            try:
                prepared = await server.ask("textDocument/prepareRename", at)
            except LspRequestRefused as refused:
                raise LspNotSupported(f"{server.spec.name}: {refused}") from refused
            if prepared is None:
                raise LspNotSupported(f"{server.spec.name} finds nothing to rename at {path}:{line}:{column}")
        while True:
            answer = await server.ask("textDocument/rename", {**at, "newName": to})
            edits = await convert_edit(server, answer, word_at(document.text.line(line), column))
            paths = {str(Path(server.root, edit.path)) for edit in edits}
            stale = await asyncio.to_thread(_find_stale, server, paths)
            if stale:
                _notify_stale(server, stale)
                continue
            # A rename that misses uses breaks the code: repeat it until the result stays the same.
            server.readiness.answered(("rename", path, line, column, to), hash(edits), time.monotonic())
            if server.settled:
                return edits
            await asyncio.sleep(server.limits.apart)


async def request_format(server: LspServer, path: str) -> tuple[Edit, ...]:
    server.require("documentFormattingProvider", "format")
    async with server.lease.shared():
        document = await open_document(server, path)
        params = {"textDocument": {"uri": document.uri}, "options": FORMAT_OPTIONS}
        answer = await server.ask("textDocument/formatting", params)
        return await convert_edit(server, {"changes": {document.uri: list(as_list(answer))}})


async def convert_edit(server: LspServer, answer: object, name: str = "") -> tuple[Edit, ...]:
    """Convert a WorkspaceEdit to our edits. Open documents count as the server saw them. With `name`, each
    edit must replace text that contains it."""
    open_texts = {document.path: (document.version, document.text) for document in server.documents.all()}
    return await asyncio.to_thread(
        convert_workspace_edit, answer, server.root, server.texts, server.encoding, open_texts, name
    )


ProblemTuple = tuple[ProblemRow, ...]


async def request_problems(server: LspServer, path: str) -> ProblemTuple:
    """The problems of the file at `path` as it is on disk."""
    async with server.lease.shared():
        document = await open_document(server, path)
        return await current_problems(server, document, True)


async def current_problems(server: LspServer, document: OpenDocument, store: bool) -> ProblemTuple:
    """The problems of an open document; `store` also records them as those of the file."""
    while server.offer("diagnosticProvider") is None:
        raw = await _await_published(server, document)
        if raw is not None:
            return await _problem_rows(server, document, raw[0], store)
    params: dict[str, object] = {"textDocument": {"uri": document.uri}}
    identifier = get_nested(server.offer("diagnosticProvider"), "identifier")
    if isinstance(identifier, str):
        params["identifier"] = identifier
    report = as_object(await server.ask("textDocument/diagnostic", params))
    if store:
        await _store_related(server, report.get("relatedDocuments"))
    return await _problem_rows(server, document, report.get("items"), store)


async def _problem_rows(server: LspServer, document: OpenDocument, raw: object, store: bool) -> ProblemTuple:
    name, text = server.spec.name, document.text
    rows = await asyncio.to_thread(server.problems.rows_of, document.path, raw, name, text)
    if store and server.problems.store(document.path, rows, raw):
        server.notify_change()
    return rows


async def _store_related(server: LspServer, reports: object) -> None:
    """Store problems of other files that came with the answer."""
    for uri, report in as_object(reports).items() if isinstance(reports, dict) else ():
        try:
            path = uri_to_path(uri)
        except MalformedMessage:
            continue
        if get_nested(report, "kind") == "full":
            raw, name = get_nested(report, "items"), server.spec.name
            text = await asyncio.to_thread(server.texts.get, path)
            server.problems.store(path, server.problems.rows_of(path, raw, name, text), raw)


async def _await_published(server: LspServer, document: OpenDocument) -> tuple[object] | None:
    """Wait for the complete problems of the document's version; None if the server meanwhile offers them
    on request."""
    while server.offer("diagnosticProvider") is None:
        published = server.incoming.published(document.path)
        if published is not None and published.version == document.version:
            return (published.raw,)
        if published is not None and published.version is None and published.at >= document.sent_at:
            remaining = published.at + PARTIAL_SECONDS - asyncio.get_running_loop().time()
            if remaining <= 0:
                return (published.raw,)
            await server.activity.wait(remaining)
            continue
        if server.lost.is_set():
            raise LspServerGone(f"{server.spec.name} has stopped")
        await server.activity.wait()
    return None


async def request_staged_problems(
    server: LspServer, texts: Mapping[str, bytes | None], base: Mapping[str, bytes | None]
) -> tuple[dict[str, ProblemTuple], dict[str, ProblemTuple]]:
    """Problems before (on disk, or of `base`) and after `texts`, by absolute path. The server sees the
    overlay only under an exclusive lease and only during this call, however it ends."""
    async with server.lease.exclusive():
        documents = await server.documents.refresh(*texts)
        originals = {
            path: document.text if document else None for path, document in zip(texts, documents, strict=True)
        }
        server.problems.freeze(texts)
        try:
            _show_texts(server, base, originals)
            before = await _current_problems_by_path(server, texts)
            _show_texts(server, texts, originals)
            after = await _current_problems_by_path(server, texts)
        finally:
            for path, text in originals.items():
                server.documents.restore(path, text)
            server.problems.freeze(())
    return before, after


def _show_texts(
    server: LspServer, texts: Mapping[str, bytes | None], originals: Mapping[str, DocumentText | None]
) -> None:
    """A deleted file that exists on disk is shown as empty, so that uses of its names become problems."""
    for path, content in texts.items():
        if content is None and originals.get(path) is not None:
            server.documents.stage(path, b"")
        elif content is None:
            server.documents.close(path)
        else:
            server.documents.stage(path, content)


async def _current_problems_by_path(server: LspServer, paths: Iterable[str]) -> dict[str, ProblemTuple]:
    documents = {path: server.documents.get(path) for path in paths}
    problems = await _collect_problems(server, documents)
    if not server.publishes_stale_problems:
        return problems
    texts = [document.text for document in documents.values() if document is not None]
    for blank_lines in EXTRA_BLANK_LINES:
        for document, text in zip(filter(None, documents.values()), texts, strict=True):
            server.documents.stage(document.path, text.encode(text.text + "\n" * blank_lines))
        problems = await _collect_problems(server, documents)
    return problems


async def _collect_problems(
    server: LspServer, documents: Mapping[str, OpenDocument | None]
) -> dict[str, ProblemTuple]:
    return {
        path: await current_problems(server, document, False) if document is not None else ()
        for path, document in documents.items()
    }


CREATED, CHANGED, DELETED = 1, 2, 3


async def notify_changed(server: LspServer, paths: Sequence[str]) -> None:
    """The files at `paths` changed on disk: notify the server and refresh its problems."""
    try:
        async with server.lease.shared():
            await server.documents.refresh()
            existing = await asyncio.to_thread(lambda: [(path, Path(path).is_file()) for path in paths])
            await asyncio.to_thread(server.freshness.stale, paths)
            events = [event for path, is_there in existing for event in _file_events(server, path, is_there)]
            if events:
                server.notify("workspace/didChangeWatchedFiles", {"changes": events})
        had_problems = [server.problems.forget(path) for path, is_there in existing if not is_there]
        if any(had_problems):
            server.notify_change()
        await _refresh_problems(server, paths)
    except (LspError, MalformedMessage, TimeoutError):
        # It died or sends malformed messages: its supervisor restarts it, and it reads the files again.
        return


def _file_events(server: LspServer, path: str, is_there: bool) -> list[dict[str, object]]:
    uri = path_to_uri(path)
    known = path in server.known
    if not is_there:
        server.known.discard(path)
        return [{"uri": uri, "type": DELETED}]
    server.known.add(path)
    # A file not seen before may be new or not: sending both events does no harm.
    kinds = (CHANGED,) if known else (CREATED, CHANGED)
    return [{"uri": uri, "type": kind} for kind in kinds]


async def _refresh_problems(server: LspServer, paths: Sequence[str]) -> None:
    """Request the problems of changed files and of those with problems, unless the server publishes them."""
    if server.offer("diagnosticProvider") is None:
        return
    open_paths = [document.path for document in server.documents.all()]
    with_problems = set(server.problems.paths())
    outdated = [path for path in reversed(open_paths) if path in paths or path in with_problems]
    async with asyncio.timeout(REFRESH_SECONDS):
        for path in outdated[:MAX_REFRESHED]:
            await request_problems(server, path)
