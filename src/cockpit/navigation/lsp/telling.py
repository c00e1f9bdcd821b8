"""Telling a running server what changed on disk, and asking anew what that did to its problems."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from cockpit.navigation.lsp import diagnosing
from cockpit.navigation.lsp.faults import ServerFault
from cockpit.navigation.lsp.server import Server
from cockpit.navigation.lsp.shapes import Misshapen
from cockpit.navigation.lsp.uris import uri_of

CREATED, CHANGED, DELETED = 1, 2, 3
MOST_ASKED = 30
SECONDS = 5.0


async def told(server: Server, paths: Sequence[str]) -> None:
    """The files at absolute `paths` differ on disk now."""
    try:
        async with server.lease.shared():
            await server.documents.refresh()
            there = await asyncio.to_thread(_there, paths)
            await asyncio.to_thread(server.freshness.stale, paths)
            events = [event for path, is_there in there for event in _events(server, path, is_there)]
            if events:
                server.notify("workspace/didChangeWatchedFiles", {"changes": events})
        gone = [server.problems.forget(path) for path, is_there in there if not is_there]
        if any(gone):
            server.tell()
        await _ask_again(server, paths)
    except (ServerFault, Misshapen, TimeoutError):
        # It died or talks nonsense: its life begins it again, and then it reads the files anew.
        return


def _there(paths: Sequence[str]) -> list[tuple[str, bool]]:
    return [(path, Path(path).is_file()) for path in paths]


def _events(server: Server, path: str, is_there: bool) -> list[dict[str, object]]:
    uri = uri_of(path)
    known = path in server.known
    if not is_there:
        server.known.discard(path)
        return [{"uri": uri, "type": DELETED}]
    server.known.add(path)
    # A file we never heard of may be new or may have been there: both are said, as neither harms.
    kinds = (CHANGED,) if known else (CREATED, CHANGED)
    return [{"uri": uri, "type": kind} for kind in kinds]


async def _ask_again(server: Server, paths: Sequence[str]) -> None:
    """Who pushes says it by itself; who is pulled is asked for the changed files and those with problems."""
    if server.offer("diagnosticProvider") is None:
        return
    opened = server.documents.paths()
    troubled = set(server.problems.troubled())
    wanted = [one for one in reversed(opened) if one in paths or one in troubled]
    async with asyncio.timeout(SECONDS):
        for path in wanted[:MOST_ASKED]:
            await diagnosing.diagnosed(server, path)
