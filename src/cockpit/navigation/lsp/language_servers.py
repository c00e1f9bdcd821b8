"""The language servers of one root, as the navigator asks them (`contracts.Servers`): each question is
bounded in time, and whatever goes wrong with a server becomes a `Silent` that says so. Writes no source file.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.navigation.backends import FileDiagnostics, NoAnswer, ServerAnswer, ServerRelation
from cockpit.navigation.lsp import dispatch, server_pool
from cockpit.navigation.lsp.dispatch import LspDispatcher, ask_all, combine_reasons
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.navigation.lsp.server_pool import LspHousekeeping, LspServerPool
from cockpit.navigation.lsp.server_supervisor import LspSupervisor
from cockpit.navigation.lsp.status_files import ServerVerb
from cockpit.plugin.changes import Edit
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import CodeAction, Position
from cockpit.protocol.code import ProblemRow, ServerRow

if TYPE_CHECKING:
    from cockpit.navigation.lsp.code_actions import CodeActionOffers
    from cockpit.navigation.lsp.server_process import LspServer

# To one letter ty answers 9 MB on Django's sources, and whoever reads that holds up everybody.
MIN_QUERY_CHARS = 2


class LanguageServers:
    """`trusted` is asked whenever a server may start. `state` is cockpit's state folder. For one loop;
    nothing starts before a file is `seen` or a question asked."""

    def __init__(
        self,
        root: str,
        languages: Sequence[Language],
        trusted: Callable[[], bool],
        state: Path,
        limits: LspLimits | None = None,
    ) -> None:
        self.root = os.path.realpath(root)
        self._roster = LspServerPool(self.root, languages, trusted, state, limits or LspLimits())
        self._keeping = LspHousekeeping(self._roster, self.command)
        self._asking = LspDispatcher(self._roster, self._keeping.begin)
        self._offers: CodeActionOffers | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def outline(self, path: str, seconds: float) -> ServerAnswer | NoAnswer:
        from cockpit.navigation.lsp import requests

        return await self._asking.first(path, seconds, requests.request_outline)

    async def symbols(self, query: str, seconds: float) -> ServerAnswer | NoAnswer:
        from cockpit.navigation.lsp import requests

        if len(query) < MIN_QUERY_CHARS:
            return NoAnswer("one letter is in every name; give more of it")
        lives = self._roster.lives.values()
        ready = [one for one in lives if one.server is not None and not one.spec.beside]
        if not ready:
            return NoAnswer("no language server is running")
        until = time.monotonic() + seconds
        return dispatch.merge_answers(
            await ask_all(ready, until, lambda one, _: requests.request_symbols(one, query))
        )

    async def related(
        self, relation: ServerRelation, at: Position, seconds: float
    ) -> ServerAnswer | NoAnswer:
        from cockpit.navigation.lsp import requests

        async def ask(server: "LspServer", path: str) -> ServerAnswer:
            return await requests.request_related(server, relation, path, at.line, at.column)

        return await self._asking.first(at.path, seconds, ask)

    async def hover(self, at: Position, seconds: float) -> str | NoAnswer:
        from cockpit.navigation.lsp import requests

        async def ask(server: "LspServer", path: str) -> str:
            return await requests.request_hover(server, path, at.line, at.column)

        return await self._asking.first(at.path, seconds, ask)

    async def diagnosed(self, path: str, seconds: float) -> FileDiagnostics | NoAnswer:
        from cockpit.navigation.lsp import requests

        return dispatch.merge_problems(await self._asking.every(path, seconds, requests.request_problems))

    def published(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        return dispatch.merge_published(self._roster.lives.values())

    async def staged(
        self,
        texts: Mapping[str, bytes | None],
        seconds: float,
        base: Mapping[str, bytes | None] | None = None,
    ) -> tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]] | NoAnswer:
        from cockpit.navigation.lsp import requests

        until = time.monotonic() + seconds
        by_life: dict[LspSupervisor, list[str]] = {}
        silent = NoAnswer("no language server knows these files")
        for path in texts:
            lives = await self._asking.lives(path, until - time.monotonic())
            if isinstance(lives, NoAnswer):
                silent = lives
                continue
            for life in lives:
                by_life.setdefault(life, []).append(path)
        if not by_life:
            return silent

        async def ask(server: "LspServer", life: LspSupervisor) -> dispatch.StagedProblems:
            mine = {self._asking.absolute(path): texts[path] for path in by_life[life]}
            under = base or {}
            below = {self._asking.absolute(path): under[path] for path in by_life[life] if path in under}
            return await requests.request_staged_problems(server, mine, below)

        answers = await ask_all(list(by_life), until, ask)
        return dispatch.merge_staged(answers, {path: self._asking.absolute(path) for path in texts})

    async def rename(self, at: Position, to: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        from cockpit.navigation.lsp import requests

        async def ask(server: "LspServer", path: str) -> tuple[Edit, ...]:
            return await requests.request_rename(server, path, at.line, at.column, to)

        return await self._asking.first(at.path, seconds, ask)

    async def actions(
        self, path: str, first: int, last: int, seconds: float
    ) -> tuple[CodeAction, ...] | NoAnswer:
        from cockpit.navigation.lsp.code_actions import CodeActionOffers

        offers = self._offers = self._offers or CodeActionOffers()

        async def ask(server: "LspServer", path: str) -> tuple[CodeAction, ...]:
            return await offers.of(server, path, first, last)

        answers = await self._asking.every(path, seconds, ask)
        if isinstance(answers, NoAnswer):
            return answers
        found = [one for _, one in answers if not isinstance(one, NoAnswer)]
        return tuple(action for one in found for action in one) if found else combine_reasons(answers)

    async def action(self, id: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        offers = self._offers
        owner = offers.server_of(id) if offers is not None else None
        life = next((one for one in self._roster.lives.values() if one.server is owner), None)
        if offers is None or owner is None or life is None:
            return NoAnswer(f"there is no action {id}; list the actions again", refused=True)
        until = time.monotonic() + seconds
        ((_, answer),) = await ask_all([life], until, lambda *_: offers.edits(id))
        return answer

    async def formatted(self, path: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        from cockpit.navigation.lsp import requests

        answers = await self._asking.every(path, seconds, requests.request_format)
        if isinstance(answers, NoAnswer):
            return answers
        found = [one for _, one in answers if not isinstance(one, NoAnswer)]
        return found[0] if found else combine_reasons(answers)

    def seen(self, path: str) -> None:
        if self._roster.is_worktree is False:
            self._asking.want(path)
        elif self._roster.is_worktree is None and not self._closed:
            self._later(_want_unless_worktree(self._roster, self._asking, path))

    def changed(self, paths: Sequence[str]) -> None:
        absolute = [self._asking.absolute(path) for path in paths]
        for life in self._roster.lives.values():
            if life.server is not None and not self._closed:
                self._later(_notify_server(life.server, absolute))

    def rows(self) -> tuple[ServerRow, ...]:
        return self._roster.rows()

    def watch(self, heard: Callable[[], None]) -> Callable[[], None]:
        listeners = self._roster.listeners
        listeners.append(heard)
        return lambda: listeners.remove(heard) if heard in listeners else None

    async def command(self, verb: ServerVerb, name: str) -> str:
        self._keeping.begin()
        return await server_pool.run_command(self._roster, verb, name)

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


async def _want_unless_worktree(roster: LspServerPool, asking: LspDispatcher, path: str) -> None:
    if not await asyncio.to_thread(roster.look_at_root):
        asking.want(path)


async def _notify_server(server: "LspServer", paths: Sequence[str]) -> None:
    from cockpit.navigation.lsp import requests

    await requests.notify_changed(server, paths)
