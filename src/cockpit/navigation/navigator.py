"""The navigator of one root: every question goes to whoever answers it best and soonest.

Holds what its sessions share; `life` begins and ends servers and index. Writes no file.
"""

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import Literal, TypeVar

from cockpit.navigation import asking, chosen, locating, naming, problems, unseen
from cockpit.navigation.contracts import Index, Servers, Silent
from cockpit.navigation.life import Begin, Life, Sources
from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import Checked, CodeAction, NotPossible, PlaceUnknown, Position
from cockpit.plugin.workspace import Workspace
from cockpit.protocol.code import Ask, ProblemRow, ProblemRows, Relation, ServerRow, SymbolRow, SymbolRows

T = TypeVar("T")
CHANGING_SECONDS = 10.0
SERVER_SECONDS = 30.0
LEAST_PATIENCE = 0.05
SEEN_AFTER = 0.3
HOVER_SECONDS = 1.5


class LiveNavigator:
    """`Navigator` over servers and an index that are there (tests), or that `begin` makes at the first
    need. Without either it answers by text."""

    def __init__(
        self,
        workspace: Workspace,
        servers: Servers | None = None,
        index: Index | None = None,
        languages: tuple[Language, ...] = (),
        begin: Begin | None = None,
    ) -> None:
        self._workspace = workspace
        self._news = problems.News()
        self.life = Life(begin, Sources(servers, index, languages))

    async def locate(self, place: str) -> Position:
        return await locating.located(await self.life.sources(), self._workspace, place)

    async def outline(self, path: str, source: Ask = "auto") -> SymbolRows:
        live = await self.life.sources()
        await locating.lines_of(self._workspace, path)
        return await asking.outline(live, self._workspace, path, source)

    async def symbols(
        self, query: str, kind: str = "", source: Ask = "auto", patience: float = 1.0
    ) -> SymbolRows:
        live = await self.life.sources()
        if source == "lsp" and not asking.is_ready(live):
            await self.life.main_server(SERVER_SECONDS)
        return await asking.symbols(live, self._workspace, query, kind, source, patience)

    async def related(
        self, relation: Relation, at: Position, source: Ask = "auto", patience: float = 1.0
    ) -> SymbolRows:
        began = time.monotonic()
        live = await self.life.sources()
        # The first question of all waits for imports too: that is part of its patience.
        left = max(patience - (time.monotonic() - began), LEAST_PATIENCE)
        growing = relation in asking.GROWING and source != "tree-sitter"
        rows = await unseen.uses(live, at, left) if growing else ()
        found = await asking.related(live, self._workspace, relation, at, source, left)
        return unseen.completed(found, rows) if relation == "references" and source == "auto" else found

    async def hover(self, at: Position) -> str:
        live = await self.life.sources()
        if live.servers is not None and asking.is_ready(live, at.path):
            told = await live.servers.hover(at, HOVER_SECONDS)
            if isinstance(told, str) and told:
                return told
        return await live.index.hover(at) if live.index is not None else ""

    async def problems(self, paths: tuple[str, ...] = (), patience: float = 1.0) -> ProblemRows:
        return await chosen.problems_of(await self.life.sources(), self._workspace, paths, patience)

    async def rename(self, at: Position, to: str) -> tuple[Edit, ...]:
        naming.must_fit(to, at, await locating.lines_of(self._workspace, at.path))
        servers = await _servers(self.life, "rename")
        rows = await unseen.uses(self.life.now, at, CHANGING_SECONDS)
        # A server that has not read every file renames in those it knows: waited for, then asked.
        whole = await asking.related(
            self.life.now, self._workspace, "references", at, "lsp", CHANGING_SECONDS
        )
        if not whole.complete:
            raise NotPossible(f"not renamed: {whole.note}", "try again, or change the text with `edit`")
        edits = _made(await servers.rename(at, to, CHANGING_SECONDS), "rename")
        return await unseen.renamed(self._workspace, edits, rows, rows[0].name, to) if rows else edits

    async def left(self, at: Position, edits: tuple[Edit, ...]) -> tuple[SymbolRow, ...]:
        return await unseen.left(self.life.now, self._workspace, at, edits)

    async def actions(self, path: str, first: int, last: int) -> tuple[CodeAction, ...]:
        servers = await _servers(self.life, "offer actions")
        return _made(await servers.actions(path, first, last, CHANGING_SECONDS), "offer actions")

    async def action(self, id: str) -> tuple[Edit, ...]:
        servers = await _servers(self.life, "do actions")
        return _made(await servers.action(id, CHANGING_SECONDS), "do that action")

    async def formatted(self, path: str) -> tuple[Edit, ...]:
        servers = await _servers(self.life, "format")
        return _made(await servers.formatted(path, CHANGING_SECONDS), "format")

    async def extent(self, at: Position) -> tuple[int, int]:
        live = await self.life.sources()
        found = await live.index.extent(at) if live.index is not None else None
        if found is not None:
            return found
        rows = (await asking.outline(live, self._workspace, at.path, "auto")).rows
        around = [row for row in rows if row.first <= at.line <= row.last]
        if not around or around[0].source == "text":
            raise PlaceUnknown(f"where the definition at {at.path}:{at.line} ends is not known", "use `edit`")
        row = min(around, key=lambda one: one.last - one.first)
        lines = (await self._workspace.files.read(at.path)).splitlines(keepends=True)
        start = sum(map(len, lines[: row.first - 1]))
        return start, start + sum(map(len, lines[row.first - 1 : row.last]))

    async def checked(self, changes: ChangeSet, seconds: float = 1.0) -> Checked:
        return await problems.checked(self.life.now, self._workspace, changes, seconds)

    async def news(self, paths: tuple[str, ...] = ()) -> ProblemRows:
        if not self._news.base:
            return ProblemRows(())
        return await self._news.of(await self.life.sources(), self._workspace, paths)

    def seen(self, path: str) -> None:
        # Not beside the answer that the read is for; and a turn that is over by then starts nothing.
        see = partial(self.life.soon, lambda live: live.servers.seen(path) if live.servers else None)
        asyncio.get_running_loop().call_later(SEEN_AFTER, see)

    def changed(
        self, path: str, before: bytes | None = None, told: tuple[ProblemRow, ...] | None = None
    ) -> None:
        self._news.changed(path, before, told)
        self.life.soon(lambda live: _tell(live, (path,)))

    def servers(self) -> tuple[ServerRow, ...]:
        servers = self.life.now.servers
        return servers.rows() if servers is not None else ()

    async def command(self, verb: Literal["restart", "stop", "allow"], name: str) -> str:
        live = await self.life.sources()
        if live.servers is None:
            return "no language server is there"
        return await live.servers.command(verb, name)

    def log(self, name: str) -> Mapping[str, str]:
        servers = self.life.now.servers
        return servers.log(name) if servers is not None else {}


async def _servers(life: Life, what: str) -> Servers:
    servers = (await life.sources()).servers
    if servers is None:
        raise NotPossible(f"no language server is there to {what}", "cockpit doctor says what to install")
    return servers


def _tell(live: Sources, paths: tuple[str, ...]) -> None:
    """Files are different on disk: server and index hear of it."""
    if live.servers is not None:
        live.servers.changed(paths)
    if live.index is not None:
        live.index.changed(paths)


def _made(answer: T | Silent, what: str) -> T:
    if isinstance(answer, Silent):
        if answer.refused:
            raise NotPossible(answer.reason)
        again = "try again in a moment" if answer.soon else "cockpit doctor says what to install"
        raise NotPossible(f"no server can {what} here: {answer.reason}", again)
    return answer
