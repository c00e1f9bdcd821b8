"""The navigator of one root: creation, and the entry points that route each question to a backend.

Sessions of the same root share it. Backends are imported and started at the first question. Writes no file.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from cockpit import paths
from cockpit.navigation import place_resolver, problems, query_router, server_gaps, symbol_names
from cockpit.navigation.answers import NoAnswer
from cockpit.navigation.backends import BackendLifecycle, Backends, StartBackends
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
    from cockpit.navigation.index.client import TreeIndex
    from cockpit.navigation.lsp.language_servers import LanguageServers
    from cockpit.navigation.lsp.lsp_json import LspJsonContents


T = TypeVar("T")
INSTALL_HINT = "cockpit doctor says what to install"
EDIT_SECONDS = 10.0
SERVER_SECONDS = 30.0
MIN_PATIENCE = 0.05
SEEN_DELAY = 0.3
HOVER_SECONDS = 1.5
# What servers, index and watcher import at first use. It is done in a thread: on the loop it would delay
# every key by a fifth of a second.
PRELOADED_MODULES = (
    "cockpit.navigation.index.client",
    "cockpit.navigation.lsp.language_servers",
    "cockpit.navigation.file_watcher",
    "watchfiles",
)


class LiveNavigator:
    """The `Navigator` over backends that are given (tests) or that `begin` starts at first use. Without
    backends it answers by text search."""

    def __init__(
        self,
        workspace: Workspace,
        servers: "LanguageServers | None" = None,
        index: "TreeIndex | None" = None,
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
        started = time.monotonic()
        live = await self.life.sources()
        # The very first question also waits for imports, which counts against its patience.
        left = max(patience - (time.monotonic() - started), MIN_PATIENCE)
        growing = relation in query_router.GROWING_RELATIONS and source != "tree-sitter"
        rows = await server_gaps.find_index_uses(live, at, left) if growing else ()
        result = await query_router.find_related(live, self._workspace, relation, at, source, left)
        is_merged = relation == "references" and source == "auto"
        return server_gaps.add_index_uses(result, rows) if is_merged else result

    async def hover(self, at: Position) -> str:
        live = await self.life.sources()
        if live.servers is not None and query_router.has_ready_server(live, at.path):
            text = await live.servers.hover(at, HOVER_SECONDS)
            if isinstance(text, str) and text:
                return text
        return await live.index.hover(at) if live.index is not None else ""

    async def problems(self, paths: tuple[str, ...] = (), patience: float = 1.0) -> ProblemRows:
        return await problems.find_problems(await self.life.sources(), self._workspace, paths, patience)

    async def rename(self, at: Position, to: str) -> tuple[Edit, ...]:
        symbol_names.check_new_name(to, at, await place_resolver.read_lines(self._workspace, at.path))
        await self.life.sources()
        rows = await server_gaps.find_index_uses(self.life.now, at, EDIT_SECONDS)
        # A server that has not read every file would rename in some of them only: wait until it has.
        whole = await query_router.find_related(
            self.life.now, self._workspace, "references", at, "lsp", EDIT_SECONDS
        )
        if not whole.complete:
            raise NotPossible(f"not renamed: {whole.note}", "try again, or change the text with `edit`")
        edits = await self._request("rename", lambda servers: servers.rename(at, to, EDIT_SECONDS))
        return await server_gaps.complete_rename(self._workspace, edits, rows, to) if rows else edits

    async def left(self, at: Position, edits: tuple[Edit, ...]) -> tuple[SymbolRow, ...]:
        return await server_gaps.find_remaining_uses(self.life.now, self._workspace, at, edits)

    async def actions(self, path: str, first: int, last: int) -> tuple[CodeAction, ...]:
        return await self._request(
            "offer actions", lambda servers: servers.actions(path, first, last, EDIT_SECONDS)
        )

    async def action(self, id: str) -> tuple[Edit, ...]:
        return await self._request("do that action", lambda servers: servers.action(id, EDIT_SECONDS))

    async def formatted(self, path: str) -> tuple[Edit, ...]:
        return await self._request("format", lambda servers: servers.formatted(path, EDIT_SECONDS))

    async def extent(self, at: Position) -> tuple[int, int]:
        live = await self.life.sources()
        extent = await live.index.extent(at) if live.index is not None else None
        if extent is not None:
            return extent
        rows = (await query_router.find_outline(live, self._workspace, at.path, "auto")).rows
        enclosing = [row for row in rows if row.first <= at.line <= row.last]
        if not enclosing or enclosing[0].source == "text":
            raise PlaceUnknown(f"the end of the definition at {at.path}:{at.line} is unknown", "use `edit`")
        innermost = min(enclosing, key=lambda row: row.last - row.first)
        lines = (await self._workspace.files.read(at.path)).splitlines(keepends=True)
        return sum(map(len, lines[: innermost.first - 1])), sum(map(len, lines[: innermost.last]))

    async def checked(self, changes: ChangeSet, seconds: float = 1.0) -> ProblemCheck:
        return await problems.check_changes(self.life.now, self._workspace, changes, seconds)

    async def news(self, paths: tuple[str, ...] = ()) -> ProblemRows:
        if not self._news.base:
            return ProblemRows(())
        return await self._news.of(await self.life.sources(), self._workspace, paths)

    def seen(self, path: str) -> None:
        # Delayed, so that it does not compete with the answer that the read is for.
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
            return "no language server is available"
        return await live.servers.command(verb, name)

    def log(self, name: str) -> Mapping[str, str]:
        servers = self.life.now.servers
        return servers.log(name) if servers is not None else {}

    async def _request(self, action: str, ask: "Callable[[LanguageServers], Awaitable[T | NoAnswer]]") -> T:
        """The answer of a server. Raises `NotPossible`, whose message names the `action`."""
        servers = (await self.life.sources()).servers
        if servers is None:
            raise NotPossible(f"no language server is available to {action}", INSTALL_HINT)
        answer = await ask(servers)
        if not isinstance(answer, NoAnswer):
            return answer
        if answer.refused:
            raise NotPossible(answer.reason)
        hint = "try again in a moment" if answer.soon else INSTALL_HINT
        raise NotPossible(f"no server can {action} here: {answer.reason}", hint)


def _notify_changed(live: Backends, paths: tuple[str, ...]) -> None:
    """Tell server and index that files changed on disk."""
    if live.servers is not None:
        live.servers.changed(paths)
    if live.index is not None:
        live.index.changed(paths)


@dataclass(frozen=True, slots=True)
class NavigatorConfig:
    """Settings of a navigator. `state` and `cache` are cockpit's folders, not the root's. `warn` gets
    the problems of a `.lsp.json`. Without `serves` only the index answers, no server."""

    workspace: Workspace
    languages: tuple[Language, ...]
    trusted: bool
    state: str
    cache: str
    warn: Callable[[str], None] = field(default=lambda _: None, compare=False)
    serves: bool = True


class ManagedNavigator:
    """The navigator of a root, adapted when its languages or trust change."""

    def __init__(self, root: NavigatorConfig) -> None:
        self.root = root
        self.navigator = LiveNavigator(root.workspace, languages=root.languages, begin=self._begin)

    async def use(self, root: NavigatorConfig) -> None:
        """Switch to another configuration. Servers that it does not affect keep running."""
        old, self.root = self.root, root
        own = await asyncio.to_thread(Path(root.workspace.root, ".lsp.json").exists)
        if root.languages != old.languages or (own and root.trusted != old.trusted):
            await self.navigator.life.begin_again(self._begin)
        elif old.trusted and not root.trusted:
            servers = [server for language in root.languages for server in language.servers]
            for name in {server.name for server in servers if server.runs_project}:
                await self.navigator.command("stop", name)

    async def _begin(self) -> Backends:
        contents = await asyncio.to_thread(_read_lsp_json, self.root)
        for text in contents.warnings:
            self.root.warn(text)
        return self._make_backends(contents)

    def _make_backends(self, contents: "LspJsonContents") -> Backends:
        from cockpit.navigation import file_watcher
        from cockpit.navigation.index.client import TreeIndex
        from cockpit.navigation.lsp.language_servers import LanguageServers

        root, languages = self.root.workspace.root, self.root.languages
        index = TreeIndex(root, languages, str(Path(self.root.cache, "index")))
        if not self.root.serves:
            return Backends(None, index, languages)
        known = (*contents.languages, *languages)
        servers = LanguageServers(root, known, lambda: self.root.trusted, Path(self.root.state))
        # The index registers its own listener: both share one watcher of the root.
        unwatch = file_watcher.watch_root(root, servers.changed)
        return Backends(servers, index, (*languages, *contents.languages), unwatch)


def open_navigator(root: NavigatorConfig) -> LiveNavigator:
    """A navigator that starts its backends at the first question. Close it with `life.close()`."""
    return ManagedNavigator(root).navigator


def _read_lsp_json(root: NavigatorConfig) -> "LspJsonContents":
    """Languages of `.lsp.json`; the project's file only if it is trusted. Also imports what `_make_backends`
    needs: both are slow, and this runs in a thread."""
    for name in PRELOADED_MODULES:
        import_module(name)
    from cockpit.navigation.lsp import lsp_json

    if root.trusted:
        return lsp_json.read_all_lsp_json(root.workspace.root, paths.config())
    return lsp_json.read_lsp_json(paths.config() / lsp_json.USER_FILE)
