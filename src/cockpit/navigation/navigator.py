"""The navigator of one root: every question goes to whoever answers it best and soonest.

Holds what its sessions share; `life` begins and ends servers and index. Writes no file.

Making the navigator of a root, and keeping it as languages and trust change. Servers and index are
imported only when something is asked of them.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from cockpit import paths
from cockpit.navigation import place_resolver, problems, query_router, server_gaps, symbol_names
from cockpit.navigation.backends import (
    BackendLifecycle,
    Backends,
    IndexBackend,
    NoAnswer,
    ServerBackend,
    StartBackends,
)
from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import CodeAction, NotPossible, PlaceUnknown, Position, ProblemCheck
from cockpit.plugin.workspace import Workspace
from cockpit.protocol.code import (
    ProblemRow,
    ProblemRows,
    Relation,
    ServerRow,
    SourceChoice,
    SymbolRow,
    SymbolRows,
)

if TYPE_CHECKING:
    from cockpit.navigation.lsp.lsp_json import LspJsonContents


T = TypeVar("T")
EDIT_SECONDS = 10.0
SERVER_SECONDS = 30.0
MIN_PATIENCE = 0.05
SEEN_DELAY = 0.3
HOVER_SECONDS = 1.5


class LiveNavigator:
    """`Navigator` over servers and an index that are there (tests), or that `begin` makes at the first
    need. Without either it answers by text."""

    def __init__(
        self,
        workspace: Workspace,
        servers: ServerBackend | None = None,
        index: IndexBackend | None = None,
        languages: tuple[Language, ...] = (),
        begin: StartBackends | None = None,
    ) -> None:
        self._workspace = workspace
        self._news = problems.ProblemNews()
        self.life = BackendLifecycle(begin, Backends(servers, index, languages))

    async def locate(self, place: str) -> Position:
        return await place_resolver.resolve_place(await self.life.sources(), self._workspace, place)

    async def outline(self, path: str, source: SourceChoice = "auto") -> SymbolRows:
        live = await self.life.sources()
        await place_resolver.read_lines(self._workspace, path)
        return await query_router.find_outline(live, self._workspace, path, source)

    async def symbols(
        self, query: str, kind: str = "", source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        live = await self.life.sources()
        if source == "lsp" and not query_router.has_ready_server(live):
            await self.life.main_server(SERVER_SECONDS)
        return await query_router.find_symbols(live, self._workspace, query, kind, source, patience)

    async def related(
        self, relation: Relation, at: Position, source: SourceChoice = "auto", patience: float = 1.0
    ) -> SymbolRows:
        began = time.monotonic()
        live = await self.life.sources()
        # The first question of all waits for imports too: that is part of its patience.
        left = max(patience - (time.monotonic() - began), MIN_PATIENCE)
        growing = relation in query_router.GROWING_RELATIONS and source != "tree-sitter"
        rows = await server_gaps.find_index_uses(live, at, left) if growing else ()
        found = await query_router.find_related(live, self._workspace, relation, at, source, left)
        return (
            server_gaps.add_index_uses(found, rows)
            if relation == "references" and source == "auto"
            else found
        )

    async def hover(self, at: Position) -> str:
        live = await self.life.sources()
        if live.servers is not None and query_router.has_ready_server(live, at.path):
            told = await live.servers.hover(at, HOVER_SECONDS)
            if isinstance(told, str) and told:
                return told
        return await live.index.hover(at) if live.index is not None else ""

    async def problems(self, paths: tuple[str, ...] = (), patience: float = 1.0) -> ProblemRows:
        return await problems.find_problems(await self.life.sources(), self._workspace, paths, patience)

    async def rename(self, at: Position, to: str) -> tuple[Edit, ...]:
        symbol_names.check_new_name(to, at, await place_resolver.read_lines(self._workspace, at.path))
        servers = await _require_servers(self.life, "rename")
        rows = await server_gaps.find_index_uses(self.life.now, at, EDIT_SECONDS)
        # A server that has not read every file renames in those it knows: waited for, then asked.
        whole = await query_router.find_related(
            self.life.now, self._workspace, "references", at, "lsp", EDIT_SECONDS
        )
        if not whole.complete:
            raise NotPossible(f"not renamed: {whole.note}", "try again, or change the text with `edit`")
        edits = _require_answer(await servers.rename(at, to, EDIT_SECONDS), "rename")
        return (
            await server_gaps.complete_rename(self._workspace, edits, rows, rows[0].name, to)
            if rows
            else edits
        )

    async def left(self, at: Position, edits: tuple[Edit, ...]) -> tuple[SymbolRow, ...]:
        return await server_gaps.find_remaining_uses(self.life.now, self._workspace, at, edits)

    async def actions(self, path: str, first: int, last: int) -> tuple[CodeAction, ...]:
        servers = await _require_servers(self.life, "offer actions")
        return _require_answer(await servers.actions(path, first, last, EDIT_SECONDS), "offer actions")

    async def action(self, id: str) -> tuple[Edit, ...]:
        servers = await _require_servers(self.life, "do actions")
        return _require_answer(await servers.action(id, EDIT_SECONDS), "do that action")

    async def formatted(self, path: str) -> tuple[Edit, ...]:
        servers = await _require_servers(self.life, "format")
        return _require_answer(await servers.formatted(path, EDIT_SECONDS), "format")

    async def extent(self, at: Position) -> tuple[int, int]:
        live = await self.life.sources()
        found = await live.index.extent(at) if live.index is not None else None
        if found is not None:
            return found
        rows = (await query_router.find_outline(live, self._workspace, at.path, "auto")).rows
        around = [row for row in rows if row.first <= at.line <= row.last]
        if not around or around[0].source == "text":
            raise PlaceUnknown(f"where the definition at {at.path}:{at.line} ends is not known", "use `edit`")
        row = min(around, key=lambda one: one.last - one.first)
        lines = (await self._workspace.files.read(at.path)).splitlines(keepends=True)
        start = sum(map(len, lines[: row.first - 1]))
        return start, start + sum(map(len, lines[row.first - 1 : row.last]))

    async def checked(self, changes: ChangeSet, seconds: float = 1.0) -> ProblemCheck:
        return await problems.check_changes(self.life.now, self._workspace, changes, seconds)

    async def news(self, paths: tuple[str, ...] = ()) -> ProblemRows:
        if not self._news.base:
            return ProblemRows(())
        return await self._news.of(await self.life.sources(), self._workspace, paths)

    def seen(self, path: str) -> None:
        # Not beside the answer that the read is for; and a turn that is over by then starts nothing.
        see = partial(self.life.soon, lambda live: live.servers.seen(path) if live.servers else None)
        asyncio.get_running_loop().call_later(SEEN_DELAY, see)

    def changed(
        self, path: str, before: bytes | None = None, told: tuple[ProblemRow, ...] | None = None
    ) -> None:
        self._news.changed(path, before, told)
        self.life.soon(lambda live: _notify_changed(live, (path,)))

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


async def _require_servers(life: BackendLifecycle, what: str) -> ServerBackend:
    servers = (await life.sources()).servers
    if servers is None:
        raise NotPossible(f"no language server is there to {what}", "cockpit doctor says what to install")
    return servers


def _notify_changed(live: Backends, paths: tuple[str, ...]) -> None:
    """Files are different on disk: server and index hear of it."""
    if live.servers is not None:
        live.servers.changed(paths)
    if live.index is not None:
        live.index.changed(paths)


def _require_answer(answer: T | NoAnswer, what: str) -> T:
    if isinstance(answer, NoAnswer):
        if answer.refused:
            raise NotPossible(answer.reason)
        again = "try again in a moment" if answer.soon else "cockpit doctor says what to install"
        raise NotPossible(f"no server can {what} here: {answer.reason}", again)
    return answer


# What servers, index and watcher import when they are first used. Here it is done in a thread: on the loop
# it held up every key for a fifth of a second.
PRELOADED_MODULES = (
    "cockpit.navigation.index.client",
    "cockpit.navigation.lsp.language_servers",
    "cockpit.navigation.lsp.server_process",
    "cockpit.navigation.lsp.requests",
    "cockpit.navigation.lsp.requests",
    "cockpit.navigation.lsp.requests",
    "cockpit.navigation.file_watcher",
    "watchfiles",
)


def _ignore_warning(text: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True)
class NavigatorConfig:
    """What a navigator stands on. `state` and `cache` are cockpit's folders, not the root's own; `warn` is
    told what is wrong with a `.lsp.json`. Without `serves` the index answers, no server."""

    workspace: Workspace
    languages: tuple[Language, ...]
    trusted: bool
    state: str
    cache: str
    warn: Callable[[str], None] = field(default=_ignore_warning, compare=False)
    serves: bool = True


class ManagedNavigator:
    """A root and its navigator. Nothing has begun before something is asked of it."""

    def __init__(self, root: NavigatorConfig) -> None:
        self.root = root
        self.navigator = LiveNavigator(root.workspace, languages=root.languages, begin=self._begin)

    async def use(self, root: NavigatorConfig) -> None:
        """Take other languages or another trust. Servers go on running where neither makes a difference
        to them."""
        old, self.root = self.root, root
        own = await asyncio.to_thread(_has_own_servers, root.workspace.root)
        if root.languages != old.languages or (own and root.trusted != old.trusted):
            await self.navigator.life.begin_again(self._begin)
        elif old.trusted and not root.trusted:
            await self._end_distrusted()

    async def _begin(self) -> Backends:
        read = await asyncio.to_thread(_read_lsp_json, self.root)
        for text in read.warnings:
            self.root.warn(text)
        return self._made(read)

    def _made(self, read: "LspJsonContents") -> Backends:
        from cockpit.navigation import file_watcher
        from cockpit.navigation.index.client import TreeIndex
        from cockpit.navigation.lsp.language_servers import LanguageServers

        root, languages = self.root.workspace.root, self.root.languages
        if not self.root.serves:
            return Backends(None, TreeIndex(root, languages, str(Path(self.root.cache, "index"))), languages)
        known = (*read.languages, *languages)
        servers = LanguageServers(root, known, lambda: self.root.trusted, Path(self.root.state))
        index = TreeIndex(root, languages, str(Path(self.root.cache, "index")))
        # The index has a listener of its own there: both share the one watcher of the root.
        unwatch = file_watcher.watch_root(root, servers.changed)

        async def close() -> None:
            unwatch()

        return Backends(servers, index, (*languages, *read.languages), close)

    async def _end_distrusted(self) -> None:
        servers = self.navigator.life.now.servers
        for language in self.root.languages if servers is not None else ():
            for server in language.servers:
                if servers is not None and server.runs_project:
                    await servers.command("stop", server.name)


def open_navigator(root: NavigatorConfig) -> LiveNavigator:
    """A navigator that begins servers and index at the first question. End it with `life.close()`."""
    return ManagedNavigator(root).navigator


def _read_lsp_json(root: NavigatorConfig) -> "LspJsonContents":
    """Languages of `.lsp.json`: a project's only where it is trusted. Imports what `_made` needs, too:
    both take their time, and this is a thread."""
    for name in PRELOADED_MODULES:
        import_module(name)
    from cockpit.navigation.lsp import lsp_json

    if root.trusted:
        return lsp_json.read_all_lsp_json(root.workspace.root, paths.config())
    return lsp_json.read_lsp_json(paths.config() / lsp_json.USER_FILE)


def _has_own_servers(root: str) -> bool:
    return Path(root, ".lsp.json").exists()
