"""The language servers of one root, as `backends.ServerBackend`.

Each question is bounded in time, and whatever goes wrong with a server becomes a `NoAnswer` that says so.
Writes no source file.
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

# For one letter ty answers 9 MB on Django's sources, and reading that blocks everything else.
MIN_QUERY_CHARS = 2


class LanguageServers:
    """`trusted` is called whenever a server may start; `state` is cockpit's state folder. For one event
    loop; nothing starts before a file is `seen` or a question is asked."""

    def __init__(
        self,
        root: str,
        languages: Sequence[Language],
        trusted: Callable[[], bool],
        state: Path,
        limits: LspLimits | None = None,
    ) -> None:
        self.root = os.path.realpath(root)
        self._pool = LspServerPool(self.root, languages, trusted, state, limits or LspLimits())
        self._housekeeping = LspHousekeeping(self._pool, self.command)
        self._dispatcher = LspDispatcher(self._pool, self._housekeeping.begin)
        self._offers: CodeActionOffers | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def outline(self, path: str, seconds: float) -> ServerAnswer | NoAnswer:
        from cockpit.navigation.lsp import requests

        return await self._dispatcher.first(path, seconds, requests.request_outline)

    async def symbols(self, query: str, seconds: float) -> ServerAnswer | NoAnswer:
        from cockpit.navigation.lsp import requests

        if len(query) < MIN_QUERY_CHARS:
            return NoAnswer("one letter matches every name; type more")
        supervisors = self._pool.supervisors.values()
        ready = [
            supervisor
            for supervisor in supervisors
            if supervisor.server is not None and not supervisor.spec.beside
        ]
        if not ready:
            return NoAnswer("no language server is running")
        until = time.monotonic() + seconds
        return dispatch.merge_answers(
            await ask_all(ready, until, lambda supervisor, _: requests.request_symbols(supervisor, query))
        )

    async def related(
        self, relation: ServerRelation, at: Position, seconds: float
    ) -> ServerAnswer | NoAnswer:
        from cockpit.navigation.lsp import requests

        async def ask(server: "LspServer", path: str) -> ServerAnswer:
            return await requests.request_related(server, relation, path, at.line, at.column)

        return await self._dispatcher.first(at.path, seconds, ask)

    async def hover(self, at: Position, seconds: float) -> str | NoAnswer:
        from cockpit.navigation.lsp import requests

        async def ask(server: "LspServer", path: str) -> str:
            return await requests.request_hover(server, path, at.line, at.column)

        return await self._dispatcher.first(at.path, seconds, ask)

    async def diagnosed(self, path: str, seconds: float) -> FileDiagnostics | NoAnswer:
        from cockpit.navigation.lsp import requests

        return dispatch.merge_problems(await self._dispatcher.every(path, seconds, requests.request_problems))

    def published(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        return dispatch.merge_published(self._pool.supervisors.values())

    async def staged(
        self,
        texts: Mapping[str, bytes | None],
        seconds: float,
        base: Mapping[str, bytes | None] | None = None,
    ) -> tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]] | NoAnswer:
        from cockpit.navigation.lsp import requests

        until = time.monotonic() + seconds
        paths_by_supervisor: dict[LspSupervisor, list[str]] = {}
        no_answer = NoAnswer("no language server is configured for these files")
        for path in texts:
            supervisors = await self._dispatcher.supervisors(path, until - time.monotonic())
            if isinstance(supervisors, NoAnswer):
                no_answer = supervisors
                continue
            for supervisor in supervisors:
                paths_by_supervisor.setdefault(supervisor, []).append(path)
        if not paths_by_supervisor:
            return no_answer

        async def ask(server: "LspServer", supervisor: LspSupervisor) -> dispatch.StagedProblems:
            own_texts = {
                self._dispatcher.absolute(path): texts[path] for path in paths_by_supervisor[supervisor]
            }
            base_texts = base or {}
            own_base = {
                self._dispatcher.absolute(path): base_texts[path]
                for path in paths_by_supervisor[supervisor]
                if path in base_texts
            }
            return await requests.request_staged_problems(server, own_texts, own_base)

        answers = await ask_all(list(paths_by_supervisor), until, ask)
        return dispatch.merge_staged(answers, {path: self._dispatcher.absolute(path) for path in texts})

    async def rename(self, at: Position, to: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        from cockpit.navigation.lsp import requests

        async def ask(server: "LspServer", path: str) -> tuple[Edit, ...]:
            return await requests.request_rename(server, path, at.line, at.column, to)

        return await self._dispatcher.first(at.path, seconds, ask)

    async def actions(
        self, path: str, first: int, last: int, seconds: float
    ) -> tuple[CodeAction, ...] | NoAnswer:
        from cockpit.navigation.lsp.code_actions import CodeActionOffers

        offers = self._offers = self._offers or CodeActionOffers()

        async def ask(server: "LspServer", path: str) -> tuple[CodeAction, ...]:
            return await offers.of(server, path, first, last)

        answers = await self._dispatcher.every(path, seconds, ask)
        if isinstance(answers, NoAnswer):
            return answers
        results = [answer for _, answer in answers if not isinstance(answer, NoAnswer)]
        return (
            tuple(action for answer in results for action in answer) if results else combine_reasons(answers)
        )

    async def action(self, id: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        offers = self._offers
        owner = offers.server_of(id) if offers is not None else None
        supervisor = next(
            (supervisor for supervisor in self._pool.supervisors.values() if supervisor.server is owner), None
        )
        if offers is None or owner is None or supervisor is None:
            return NoAnswer(f"unknown action {id}; list the actions again", refused=True)
        until = time.monotonic() + seconds
        ((_, answer),) = await ask_all([supervisor], until, lambda *_: offers.edits(id))
        return answer

    async def formatted(self, path: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        from cockpit.navigation.lsp import requests

        answers = await self._dispatcher.every(path, seconds, requests.request_format)
        if isinstance(answers, NoAnswer):
            return answers
        results = [answer for _, answer in answers if not isinstance(answer, NoAnswer)]
        return results[0] if results else combine_reasons(answers)

    def seen(self, path: str) -> None:
        if self._pool.is_worktree is False:
            self._dispatcher.want(path)
        elif self._pool.is_worktree is None and not self._closed:
            self._run_in_background(_want_unless_worktree(self._pool, self._dispatcher, path))

    def changed(self, paths: Sequence[str]) -> None:
        absolute = [self._dispatcher.absolute(path) for path in paths]
        for supervisor in self._pool.supervisors.values():
            if supervisor.server is not None and not self._closed:
                self._run_in_background(_notify_server(supervisor.server, absolute))

    def rows(self) -> tuple[ServerRow, ...]:
        return self._pool.rows()

    def watch(self, heard: Callable[[], None]) -> Callable[[], None]:
        listeners = self._pool.listeners
        listeners.append(heard)
        return lambda: listeners.remove(heard) if heard in listeners else None

    async def command(self, verb: ServerVerb, name: str) -> str:
        self._housekeeping.begin()
        return await server_pool.run_command(self._pool, verb, name)

    def log(self, name: str) -> Mapping[str, str]:
        return {supervisor.spec.name: supervisor.log.tail() for supervisor in self._pool.named(name)}

    async def close(self) -> None:
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(
            self._housekeeping.close(),
            *(supervisor.close() for supervisor in self._pool.supervisors.values()),
        )

    def _run_in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _want_unless_worktree(pool: LspServerPool, dispatcher: LspDispatcher, path: str) -> None:
    if not await asyncio.to_thread(pool.look_at_root):
        dispatcher.want(path)


async def _notify_server(server: "LspServer", paths: Sequence[str]) -> None:
    from cockpit.navigation.lsp import requests

    await requests.notify_changed(server, paths)
