"""Questions to one running server about one file. Each raises `ServerFault` or `Misshapen`; the caller bounds
its time. Positions and rows are ours, see `positions` and `reading`."""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from cockpit.navigation.contracts import Served, ServerRelation
from cockpit.navigation.lsp import reading
from cockpit.navigation.lsp.documents import Document
from cockpit.navigation.lsp.edits import edits_of
from cockpit.navigation.lsp.faults import Refused, Unable
from cockpit.navigation.lsp.positions import units
from cockpit.navigation.lsp.server import Server
from cockpit.navigation.lsp.shapes import inner, listing, record
from cockpit.navigation.lsp.uris import uri_of
from cockpit.plugin.changes import Edit
from cockpit.protocol.code import SymbolRow

# Relation: what the server must offer, what it is asked, and how that is said.
PLAIN: Mapping[ServerRelation, tuple[str, str, str]] = {
    "definition": ("definitionProvider", "textDocument/definition", "find definitions"),
    "implementations": ("implementationProvider", "textDocument/implementation", "find implementations"),
    "references": ("referencesProvider", "textDocument/references", "find references"),
}
# Relation: the same, then the hierarchy's preparation and the key its calls are under.
STEPS: Mapping[ServerRelation, tuple[str, str, str, str]] = {
    "callers": ("callHierarchyProvider", "prepareCallHierarchy", "callHierarchy/incomingCalls", "from"),
    "callees": ("callHierarchyProvider", "prepareCallHierarchy", "callHierarchy/outgoingCalls", "to"),
    "supertypes": ("typeHierarchyProvider", "prepareTypeHierarchy", "typeHierarchy/supertypes", ""),
    "subtypes": ("typeHierarchyProvider", "prepareTypeHierarchy", "typeHierarchy/subtypes", ""),
}
CHANGED = 2
NAME = re.compile(r"[^\W\d]\w*")
WHOLE_PROJECT = ("references", "implementations", "callers", "subtypes")
# Rows, and whether to ask again.
Looked: TypeAlias = tuple[tuple[SymbolRow, ...], bool]
FORMAT = {"tabSize": 4, "insertSpaces": True, "trimTrailingWhitespace": True, "insertFinalNewline": True}


async def opened(server: Server, path: str) -> Document:
    """The document of `path` (absolute), with the text that is on disk now."""
    (document,) = await server.documents.refresh(path)
    if document is None:
        raise Unable(f"{path} is no file that can be read, or a very large one")
    return document


def place(server: Server, document: Document, line: int, column: int) -> dict[str, object]:
    """The parameters that name a position; one past the end is the end."""
    last = document.text.last
    line, column = (line, column) if line <= last else (last, len(document.text.line(last)) + 1)
    offset = units(document.text.line(line), column, server.encoding)
    return {
        "textDocument": {"uri": document.uri},
        "position": {"line": max(line, 1) - 1, "character": offset},
    }


def reader(server: Server) -> reading.Reading:
    return reading.Reading(server.root, server.texts, server.encoding)


async def outline(server: Server, path: str) -> Served:
    server.must("documentSymbolProvider", "outline a file")
    async with server.lease.shared():
        document = await opened(server, path)
        answer = await server.ask("textDocument/documentSymbol", {"textDocument": {"uri": document.uri}})
    rows = await asyncio.to_thread(reading.outline, reader(server), path, answer)
    return Served(rows, True, server.spec.name)


async def symbols(server: Server, query: str) -> Served:
    server.must("workspaceSymbolProvider", "look for symbols")
    async with server.lease.shared():
        await server.documents.refresh()
        answer = await server.ask("workspace/symbol", {"query": query})
    rows = await asyncio.to_thread(reading.found_symbols, reader(server), answer, query)
    return Served(rows, server.settled, server.spec.name)


async def related(server: Server, relation: ServerRelation, path: str, line: int, column: int) -> Served:
    plain = PLAIN.get(relation)

    async def once() -> Looked:
        if plain is not None:
            return await _plain(server, relation, plain, path, line, column)
        return await _stepwise(server, relation, path, line, column)

    async with server.lease.shared():
        rows, again = await once()
        while again:
            rows, again = await once()
    if relation not in WHOLE_PROJECT:
        return Served(rows, True, server.spec.name)
    server.settling.answered((relation, path, line, column), hash(rows), time.monotonic())
    return Served(rows, server.settled, server.spec.name)


async def _looked(server: Server, read: Callable[[], tuple[SymbolRow, ...]]) -> Looked:
    """The rows of an answer; and whether they are about files that changed on disk unheard of: the server is
    then told, and is to be asked again. So an edit is seen without any watcher, wherever it was."""
    rows, stale, open_differ = await asyncio.to_thread(_read, server, read)
    _tell(server, stale)
    return rows, bool(stale) or open_differ


def _read(
    server: Server, read: Callable[[], tuple[SymbolRow, ...]]
) -> tuple[tuple[SymbolRow, ...], list[str], bool]:
    rows = read()
    names = {row.path for row in rows}
    return (
        rows,
        _stale(server, names),
        server.documents.differ(str(Path(server.root, name)) for name in names),
    )


def _stale(server: Server, names: Iterable[str]) -> list[str]:
    """Those that are not open and changed unheard of. Called in a thread."""
    paths = (str(Path(server.root, name)) for name in names)
    return server.freshness.stale(path for path in paths if server.documents.version_of(path) is None)


def _tell(server: Server, stale: Sequence[str]) -> None:
    changes = [{"uri": uri_of(path), "type": CHANGED} for path in stale]
    if changes:
        server.notify("workspace/didChangeWatchedFiles", {"changes": changes})


async def _plain(
    server: Server,
    relation: ServerRelation,
    plain: tuple[str, str, str],
    path: str,
    line: int,
    column: int,
) -> Looked:
    offer, method, words = plain
    server.must(offer, words)
    document = await opened(server, path)
    params = place(server, document, line, column)
    if relation == "references":
        params["context"] = {"includeDeclaration": True}
    answer = await server.ask(method, params)
    kind = "reference" if relation == "references" else ""
    return await _looked(server, lambda: reading.located(reader(server), answer, kind))


async def _stepwise(server: Server, relation: ServerRelation, path: str, line: int, column: int) -> Looked:
    offer, prepare, follow, key = STEPS[relation]
    server.must(offer, f"find {relation}")
    document = await opened(server, path)
    starts = await server.ask(f"textDocument/{prepare}", place(server, document, line, column))
    answers: list[object] = []
    for one in listing(starts)[:20]:
        answers += listing(await server.ask(follow, {"item": one}))
    return await _looked(server, lambda: reading.hierarchy(reader(server), answers, key))


async def hover(server: Server, path: str, line: int, column: int) -> str:
    server.must("hoverProvider", "describe a symbol")
    async with server.lease.shared():
        document = await opened(server, path)
        answer = await server.ask("textDocument/hover", place(server, document, line, column))
    return reading.hover(answer)


async def rename(server: Server, path: str, line: int, column: int, to: str) -> tuple[Edit, ...]:
    offer = server.must("renameProvider", "rename")
    async with server.lease.shared():
        document = await opened(server, path)
        at = place(server, document, line, column)
        if inner(offer, "prepareProvider") is True and await _prepare(server, at) is None:
            raise Unable(f"{server.spec.name} finds nothing to rename at {path}:{line}:{column}")
        while True:
            answer = await server.ask("textDocument/rename", {**at, "newName": to})
            found = await edits(server, answer, word_at(document.text.line(line), column))
            stale = await asyncio.to_thread(_stale, server, {one.path for one in found})
            if stale:
                _tell(server, stale)
                continue
            # A rename that misses uses breaks the code: one that may is asked for until it stays the same.
            server.settling.answered(("rename", path, line, column, to), hash(found), time.monotonic())
            if server.settled:
                return found
            await asyncio.sleep(server.limits.apart)


async def _prepare(server: Server, at: Mapping[str, object]) -> object:
    try:
        return await server.ask("textDocument/prepareRename", at)
    except Refused as refused:
        raise Unable(f"{server.spec.name}: {refused}") from refused


async def formatted(server: Server, path: str) -> tuple[Edit, ...]:
    server.must("documentFormattingProvider", "format")
    async with server.lease.shared():
        document = await opened(server, path)
        asked = {"textDocument": {"uri": document.uri}, "options": FORMAT}
        answer = await server.ask("textDocument/formatting", asked)
        return await edits(server, {"changes": {document.uri: list(listing(answer))}})


def word_at(line: str, column: int) -> str:
    """The name at a column, or the one that ends there; empty where there is none."""
    words = (found for found in NAME.finditer(line) if found.start() < column <= found.end() + 1)
    return next((found[0] for found in words), "")


async def edits(server: Server, answer: object, name: str = "") -> tuple[Edit, ...]:
    """A WorkspaceEdit as edits of ours. What is open counts as the server saw it. With `name`, each must
    replace text that holds it."""
    open_now = {path: server.documents.get(path) for path in server.documents.paths()}
    documents = {path: one for path, one in open_now.items() if one is not None}
    versions = {one.uri: one.version for one in documents.values()}
    texts = {path: one.text for path, one in documents.items()}
    return await asyncio.to_thread(
        edits_of, answer, server.root, server.texts, server.encoding, (versions, texts), name
    )


def actions_of(answer: object) -> Sequence[Mapping[str, object]]:
    """The actions of an answer that may be taken."""
    return [one for one in map(record, listing(answer)) if one.get("disabled") is None]
