"""The problems of a file that belong to its present text: pulled from servers that offer it, waited for from
those that push. And the same for texts that are nowhere on disk. Raises as `questions` does."""

import asyncio
from collections.abc import Iterable, Mapping

from cockpit.navigation.lsp.documents import Document
from cockpit.navigation.lsp.faults import Gone
from cockpit.navigation.lsp.questions import opened
from cockpit.navigation.lsp.server import Server
from cockpit.navigation.lsp.shapes import Misshapen, inner, record
from cockpit.navigation.lsp.texts import Text
from cockpit.navigation.lsp.uris import path_of
from cockpit.protocol.code import ProblemRow

Rows = tuple[ProblemRow, ...]
# A server that gives no version may send the same file's problems in parts (TypeScript's does: syntax first).
PARTS = 0.15


async def diagnosed(server: Server, path: str) -> Rows:
    """The problems of the file at absolute `path` as it is on disk."""
    async with server.lease.shared():
        document = await opened(server, path)
        return await current(server, document, True)


async def current(server: Server, document: Document, keep: bool) -> Rows:
    """The problems of a document as the server has it now; `keep` them as what is known of the file."""
    while server.offer("diagnosticProvider") is None:
        raw = await _pushed(server, document)
        if raw is not None:
            return await _rows(server, document, raw[0], keep)
    asked: dict[str, object] = {"textDocument": {"uri": document.uri}}
    identifier = inner(server.offer("diagnosticProvider"), "identifier")
    if isinstance(identifier, str):
        asked["identifier"] = identifier
    report = record(await server.ask("textDocument/diagnostic", asked))
    if keep:
        await _related(server, report.get("relatedDocuments"))
    return await _rows(server, document, report.get("items"), keep)


async def _rows(server: Server, document: Document, raw: object, keep: bool) -> Rows:
    name, text = server.spec.name, document.text
    rows = await asyncio.to_thread(server.problems.rows_of, document.path, raw, name, text)
    if keep and server.problems.keep(document.path, rows, raw):
        server.tell()
    return rows


async def _related(server: Server, reports: object) -> None:
    """Pulling one file may bring those of others."""
    for uri, report in record(reports).items() if isinstance(reports, dict) else ():
        try:
            path = path_of(uri)
        except Misshapen:
            continue
        if inner(report, "kind") == "full":
            raw, name = inner(report, "items"), server.spec.name
            text = await asyncio.to_thread(server.texts.get, path)
            server.problems.keep(path, server.problems.rows_of(path, raw, name, text), raw)


async def _pushed(server: Server, document: Document) -> tuple[object] | None:
    """What was published for the document's version, once it is whole; None when the server came to offer
    pulling instead."""
    while server.offer("diagnosticProvider") is None:
        found = server.incoming.published(document.path)
        if found is not None and found.version == document.version:
            return (found.raw,)
        if found is not None and found.version is None and found.at >= document.sent:
            rest = found.at + PARTS - asyncio.get_running_loop().time()
            if rest <= 0:
                return (found.raw,)
            await server.stirred.heard(rest)
            continue
        if server.lost.is_set():
            raise Gone(f"{server.spec.name} has ended")
        await server.stirred.heard()
    return None


async def staged(
    server: Server, texts: Mapping[str, bytes | None], base: Mapping[str, bytes | None]
) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Problems before (on disk, or of `base`) and after `texts`, by absolute path. The server sees the
    overlay only while nobody else asks it, and never longer than this call lasts, however it ends."""
    async with server.lease.alone():
        documents = await server.documents.refresh(*texts)
        originals = {path: one.text if one else None for path, one in zip(texts, documents, strict=True)}
        server.problems.hold(texts)
        try:
            _show(server, base, originals)
            before = await _all(server, texts)
            _show(server, texts, originals)
            after = await _all(server, texts)
        finally:
            for path, text in originals.items():
                server.documents.restore(path, text)
            server.problems.hold(())
    return before, after


def _show(server: Server, texts: Mapping[str, bytes | None], originals: Mapping[str, Text | None]) -> None:
    """A file that is to be gone is shown empty where it is on disk: what uses its names has problems then."""
    for path, content in texts.items():
        if content is None and originals.get(path) is not None:
            server.documents.stage(path, b"")
        elif content is None:
            server.documents.close(path)
        else:
            server.documents.stage(path, content)


async def _all(server: Server, paths: Iterable[str]) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for path in paths:
        document = server.documents.get(path)
        found[path] = await current(server, document, False) if document is not None else ()
    return found
