"""Making the navigator of a root, and keeping it as languages and trust change. Servers and index are
imported only when something is asked of them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit import paths
from cockpit.navigation.life import Sources
from cockpit.navigation.navigator import LiveNavigator
from cockpit.plugin.languages import Language
from cockpit.plugin.workspace import Workspace

if TYPE_CHECKING:
    from cockpit.navigation.lsp.lsp_json import Read


# What servers, index and watcher import when they are first used. Here it is done in a thread: on the loop
# it held up every key for a fifth of a second.
HEAVY = (
    "cockpit.navigation.index.index",
    "cockpit.navigation.lsp.servers",
    "cockpit.navigation.lsp.server",
    "cockpit.navigation.lsp.questions",
    "cockpit.navigation.lsp.diagnosing",
    "cockpit.navigation.lsp.telling",
    "cockpit.navigation.watching",
    "watchfiles",
)


def _silent(text: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True)
class Root:
    """What a navigator stands on. `state` and `cache` are cockpit's folders, not the root's own; `warn` is
    told what is wrong with a `.lsp.json`. Without `serves` the index answers, no server."""

    workspace: Workspace
    languages: tuple[Language, ...]
    trusted: bool
    state: str
    cache: str
    warn: Callable[[str], None] = field(default=_silent, compare=False)
    serves: bool = True


class Opened:
    """A root and its navigator. Nothing has begun before something is asked of it."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.navigator = LiveNavigator(root.workspace, languages=root.languages, begin=self._begin)

    async def use(self, root: Root) -> None:
        """Take other languages or another trust. Servers go on running where neither makes a difference
        to them."""
        old, self.root = self.root, root
        own = await asyncio.to_thread(_has_own_servers, root.workspace.root)
        if root.languages != old.languages or (own and root.trusted != old.trusted):
            await self.navigator.life.begin_again(self._begin)
        elif old.trusted and not root.trusted:
            await self._end_distrusted()

    async def _begin(self) -> Sources:
        read = await asyncio.to_thread(_read, self.root)
        for text in read.warnings:
            self.root.warn(text)
        return self._made(read)

    def _made(self, read: "Read") -> Sources:
        from cockpit.navigation import watching
        from cockpit.navigation.index.index import TreeIndex
        from cockpit.navigation.lsp.servers import LanguageServers

        root, languages = self.root.workspace.root, self.root.languages
        if not self.root.serves:
            return Sources(None, TreeIndex(root, languages, str(Path(self.root.cache, "index"))), languages)
        known = (*read.languages, *languages)
        servers = LanguageServers(root, known, lambda: self.root.trusted, Path(self.root.state))
        index = TreeIndex(root, languages, str(Path(self.root.cache, "index")))
        # The index has a listener of its own there: both share the one watcher of the root.
        unwatch = watching.watch(root, servers.changed)

        async def close() -> None:
            unwatch()

        return Sources(servers, index, (*languages, *read.languages), close)

    async def _end_distrusted(self) -> None:
        servers = self.navigator.life.now.servers
        for language in self.root.languages if servers is not None else ():
            for server in language.servers:
                if servers is not None and server.runs_project:
                    await servers.command("stop", server.name)


def open_navigator(root: Root) -> LiveNavigator:
    """A navigator that begins servers and index at the first question. End it with `life.close()`."""
    return Opened(root).navigator


def _read(root: Root) -> "Read":
    """Languages of `.lsp.json`: a project's only where it is trusted. Imports what `_made` needs, too:
    both take their time, and this is a thread."""
    for name in HEAVY:
        import_module(name)
    from cockpit.navigation.lsp import lsp_json

    if root.trusted:
        return lsp_json.read_all(root.workspace.root, paths.config())
    return lsp_json.read(paths.config() / lsp_json.USER_FILE)


def _has_own_servers(root: str) -> bool:
    return Path(root, ".lsp.json").exists()
