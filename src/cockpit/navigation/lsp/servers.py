"""The language servers of one root, as the navigator asks them (`contracts.Servers`): each question is
bounded in time, and whatever goes wrong with a server becomes a `Silent` that says so. Writes no source file.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.navigation.contracts import Diagnosed, Served, ServerRelation, Silent
from cockpit.navigation.lsp import commands, joining
from cockpit.navigation.lsp.asking import Asking, silence, together
from cockpit.navigation.lsp.keeping import Keeping
from cockpit.navigation.lsp.life import Life
from cockpit.navigation.lsp.limits import Limits
from cockpit.navigation.lsp.roster import Roster
from cockpit.navigation.lsp.status import Verb
from cockpit.plugin.changes import Edit
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import CodeAction, Position
from cockpit.protocol.code import ProblemRow, ServerRow

if TYPE_CHECKING:
    from cockpit.navigation.lsp.actions import Offers
    from cockpit.navigation.lsp.server import Server

# To one letter ty answers 9 MB on Django's sources, and whoever reads that holds up everybody.
SHORTEST = 2


class LanguageServers:
    """`trusted` is asked whenever a server may start. `state` is cockpit's state folder. For one loop;
    nothing starts before a file is `seen` or a question asked."""

    def __init__(
        self,
        root: str,
        languages: Sequence[Language],
        trusted: Callable[[], bool],
        state: Path,
        limits: Limits | None = None,
    ) -> None:
        self.root = os.path.realpath(root)
        self._roster = Roster(self.root, languages, trusted, state, limits or Limits())
        self._keeping = Keeping(self._roster, self.command)
        self._asking = Asking(self._roster, self._keeping.begin)
        self._offers: Offers | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def outline(self, path: str, seconds: float) -> Served | Silent:
        from cockpit.navigation.lsp import questions

        return await self._asking.first(path, seconds, questions.outline)

    async def symbols(self, query: str, seconds: float) -> Served | Silent:
        from cockpit.navigation.lsp import questions

        if len(query) < SHORTEST:
            return Silent("one letter is in every name; give more of it")
        lives = self._roster.lives.values()
        ready = [one for one in lives if one.server is not None and not one.spec.beside]
        if not ready:
            return Silent("no language server is running")
        until = time.monotonic() + seconds
        return joining.served(await together(ready, until, lambda one, _: questions.symbols(one, query)))

    async def related(self, relation: ServerRelation, at: Position, seconds: float) -> Served | Silent:
        from cockpit.navigation.lsp import questions

        async def ask(server: "Server", path: str) -> Served:
            return await questions.related(server, relation, path, at.line, at.column)

        return await self._asking.first(at.path, seconds, ask)

    async def hover(self, at: Position, seconds: float) -> str | Silent:
        from cockpit.navigation.lsp import questions

        async def ask(server: "Server", path: str) -> str:
            return await questions.hover(server, path, at.line, at.column)

        return await self._asking.first(at.path, seconds, ask)

    async def diagnosed(self, path: str, seconds: float) -> Diagnosed | Silent:
        from cockpit.navigation.lsp import diagnosing

        return joining.diagnosed(await self._asking.every(path, seconds, diagnosing.diagnosed))

    def published(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        return joining.published(self._roster.lives.values())

    async def staged(
        self,
        texts: Mapping[str, bytes | None],
        seconds: float,
        base: Mapping[str, bytes | None] | None = None,
    ) -> tuple[Mapping[str, Diagnosed], Mapping[str, Diagnosed]] | Silent:
        from cockpit.navigation.lsp import diagnosing

        until = time.monotonic() + seconds
        by_life: dict[Life, list[str]] = {}
        silent = Silent("no language server knows these files")
        for path in texts:
            lives = await self._asking.lives(path, until - time.monotonic())
            if isinstance(lives, Silent):
                silent = lives
                continue
            for life in lives:
                by_life.setdefault(life, []).append(path)
        if not by_life:
            return silent

        async def ask(server: "Server", life: Life) -> joining.Staged:
            mine = {self._asking.absolute(path): texts[path] for path in by_life[life]}
            under = base or {}
            below = {self._asking.absolute(path): under[path] for path in by_life[life] if path in under}
            return await diagnosing.staged(server, mine, below)

        answers = await together(list(by_life), until, ask)
        return joining.staged(answers, {path: self._asking.absolute(path) for path in texts})

    async def rename(self, at: Position, to: str, seconds: float) -> tuple[Edit, ...] | Silent:
        from cockpit.navigation.lsp import questions

        async def ask(server: "Server", path: str) -> tuple[Edit, ...]:
            return await questions.rename(server, path, at.line, at.column, to)

        return await self._asking.first(at.path, seconds, ask)

    async def actions(
        self, path: str, first: int, last: int, seconds: float
    ) -> tuple[CodeAction, ...] | Silent:
        from cockpit.navigation.lsp.actions import Offers

        offers = self._offers = self._offers or Offers()

        async def ask(server: "Server", path: str) -> tuple[CodeAction, ...]:
            return await offers.of(server, path, first, last)

        answers = await self._asking.every(path, seconds, ask)
        if isinstance(answers, Silent):
            return answers
        found = [one for _, one in answers if not isinstance(one, Silent)]
        return tuple(action for one in found for action in one) if found else silence(answers)

    async def action(self, id: str, seconds: float) -> tuple[Edit, ...] | Silent:
        offers = self._offers
        owner = offers.server_of(id) if offers is not None else None
        life = next((one for one in self._roster.lives.values() if one.server is owner), None)
        if offers is None or owner is None or life is None:
            return Silent(f"there is no action {id}; list the actions again", refused=True)
        until = time.monotonic() + seconds
        ((_, answer),) = await together([life], until, lambda *_: offers.edits(id))
        return answer

    async def formatted(self, path: str, seconds: float) -> tuple[Edit, ...] | Silent:
        from cockpit.navigation.lsp import questions

        answers = await self._asking.every(path, seconds, questions.formatted)
        if isinstance(answers, Silent):
            return answers
        found = [one for _, one in answers if not isinstance(one, Silent)]
        return found[0] if found else silence(answers)

    def seen(self, path: str) -> None:
        if self._roster.is_worktree is False:
            self._asking.want(path)
        elif self._roster.is_worktree is None and not self._closed:
            self._later(_look(self._roster, self._asking, path))

    def changed(self, paths: Sequence[str]) -> None:
        absolute = [self._asking.absolute(path) for path in paths]
        for life in self._roster.lives.values():
            if life.server is not None and not self._closed:
                self._later(_told(life.server, absolute))

    def rows(self) -> tuple[ServerRow, ...]:
        return self._roster.rows()

    def watch(self, heard: Callable[[], None]) -> Callable[[], None]:
        listeners = self._roster.listeners
        listeners.append(heard)
        return lambda: listeners.remove(heard) if heard in listeners else None

    async def command(self, verb: Verb, name: str) -> str:
        self._keeping.begin()
        return await commands.command(self._roster, verb, name)

    def log(self, name: str) -> Mapping[str, str]:
        return {one.spec.name: one.log.tail() for one in self._roster.named(name)}

    async def close(self) -> None:
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(self._keeping.close(), *(one.close() for one in self._roster.lives.values()))

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _look(roster: Roster, asking: Asking, path: str) -> None:
    if not await asyncio.to_thread(roster.look_at_root):
        asking.want(path)


async def _told(server: "Server", paths: Sequence[str]) -> None:
    from cockpit.navigation.lsp import telling

    await telling.told(server, paths)
