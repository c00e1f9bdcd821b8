"""The language servers of one root: routes each question to the servers of a file. Writes no source file."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from cockpit.navigation.answers import (
    FileDiagnostics,
    NoAnswer,
    ServerAnswer,
    ServerRelation,
    StagedDiagnostics,
)
from cockpit.navigation.lsp import dispatch, requests, server_pool
from cockpit.navigation.lsp.code_actions import CodeActionOffers
from cockpit.navigation.lsp.dispatch import AnswersByServer, ask_all, ask_server, collect_results
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.navigation.lsp.server_pool import LspHousekeeping, LspServerPool
from cockpit.navigation.lsp.server_process import LspServer
from cockpit.navigation.lsp.server_supervisor import LspSupervisor
from cockpit.navigation.lsp.status_files import ServerVerb
from cockpit.plugin.changes import Edit
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import CodeAction, Position
from cockpit.protocol.code import ProblemRow, ServerRow

T = TypeVar("T")
# For one letter ty answers 9 MB on Django's sources, and reading that blocks everything else.
MIN_QUERY_CHARS = 2
WORKTREE_ANSWER = NoAnswer("this is a worktree: its servers start at the second question", soon=True)


class LanguageServers:
    """The servers of one root, for one event loop. Nothing starts before a file is `seen` or a question is
    asked.

    `trusted` is called whenever a server may start; `state` is cockpit's state folder. The argument `seconds`
    of a question bounds its wait; a later answer is dropped, and every fault becomes a `NoAnswer`.
    """

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
        self._offers = CodeActionOffers()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def outline(self, path: str, seconds: float) -> ServerAnswer | NoAnswer:
        return await self._ask_primary(path, seconds, requests.request_outline)

    async def symbols(self, query: str, seconds: float) -> ServerAnswer | NoAnswer:
        """Ask every server that is ready and supports it; none is started for it."""
        if len(query) < MIN_QUERY_CHARS:
            return NoAnswer("one letter matches every name; type more")
        supervisors = self._pool.supervisors.values()
        ready = [each for each in supervisors if each.server is not None and not each.spec.beside]
        if not ready:
            return NoAnswer("no language server is running")
        until = time.monotonic() + seconds
        return dispatch.merge_answers(
            await ask_all(ready, until, lambda server, _: requests.request_symbols(server, query))
        )

    async def related(
        self, relation: ServerRelation, at: Position, seconds: float
    ) -> ServerAnswer | NoAnswer:
        return await self._ask_primary(
            at.path,
            seconds,
            lambda server, path: requests.request_related(server, relation, path, at.line, at.column),
        )

    async def hover(self, at: Position, seconds: float) -> str | NoAnswer:
        return await self._ask_primary(
            at.path, seconds, lambda server, path: requests.request_hover(server, path, at.line, at.column)
        )

    async def diagnosed(self, path: str, seconds: float) -> FileDiagnostics | NoAnswer:
        answers = await self._ask_each(path, seconds, requests.request_problems)
        return answers if isinstance(answers, NoAnswer) else dispatch.merge_problems(answers)

    def published(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        """The problems known now, by path; sends no request."""
        return dispatch.merge_published(self._pool.supervisors.values())

    async def staged(
        self,
        texts: Mapping[str, bytes | None],
        seconds: float,
        base: Mapping[str, bytes | None] | None = None,
    ) -> StagedDiagnostics | NoAnswer:
        """Problems of the files of `texts` before (as on disk, or as in `base`) and after.

        The texts are shown to the servers under an exclusive lease and withdrawn again. None means that the
        file does not exist.
        """
        until = time.monotonic() + seconds
        paths_by_supervisor: dict[LspSupervisor, list[str]] = {}
        no_answer = NoAnswer("no language server is configured for these files")
        for path in texts:
            supervisors = await self._supervisors_for(path, until - time.monotonic())
            if isinstance(supervisors, NoAnswer):
                no_answer = supervisors
                continue
            for supervisor in supervisors:
                paths_by_supervisor.setdefault(supervisor, []).append(path)
        if not paths_by_supervisor:
            return no_answer

        async def ask(server: LspServer, supervisor: LspSupervisor) -> dispatch.StagedProblems:
            paths = paths_by_supervisor[supervisor]
            own_texts = {self._absolute(path): texts[path] for path in paths}
            own_base = {self._absolute(path): base[path] for path in paths if path in base} if base else {}
            return await requests.request_staged_problems(server, own_texts, own_base)

        answers = await ask_all(list(paths_by_supervisor), until, ask)
        return dispatch.merge_staged(answers, {path: self._absolute(path) for path in texts})

    async def rename(self, at: Position, to: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        return await self._ask_primary(
            at.path,
            seconds,
            lambda server, path: requests.request_rename(server, path, at.line, at.column, to),
        )

    async def actions(
        self, path: str, first: int, last: int, seconds: float
    ) -> tuple[CodeAction, ...] | NoAnswer:
        """The code actions offered for lines `first` to `last`."""
        results = collect_results(
            await self._ask_each(
                path, seconds, lambda server, path: self._offers.request(server, path, first, last)
            )
        )
        if isinstance(results, NoAnswer):
            return results
        return tuple(action for _, actions in results for action in actions)

    async def action(self, id: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        """The edits of an action that `actions` offered."""
        owner = self._offers.server_of(id)
        for supervisor in self._pool.supervisors.values() if owner is not None else ():
            if supervisor.server is owner:
                until = time.monotonic() + seconds
                return await ask_server(supervisor, until, lambda _: self._offers.edits(id))
        return NoAnswer(f"unknown action {id}; list the actions again", refused=True)

    async def formatted(self, path: str, seconds: float) -> tuple[Edit, ...] | NoAnswer:
        """The edits of the first server that formats."""
        results = collect_results(await self._ask_each(path, seconds, requests.request_format))
        return results if isinstance(results, NoAnswer) else results[0][1]

    def seen(self, path: str) -> None:
        """Start in the background what answers for `path`; nothing starts for a worktree. Returns at once."""

        async def start_unless_worktree() -> None:
            if not await asyncio.to_thread(self._pool.check_worktree):
                self._want(path)

        if self._pool.is_worktree is False:
            self._want(path)
        elif self._pool.is_worktree is None and not self._closed:
            self._run_in_background(start_unless_worktree())

    def changed(self, paths: Sequence[str]) -> None:
        """Notify the servers that these files were created, written or deleted. Returns at once."""
        absolute = [self._absolute(path) for path in paths]
        for supervisor in self._pool.supervisors.values():
            if supervisor.server is not None and not self._closed:
                self._run_in_background(requests.notify_changed(supervisor.server, absolute))

    def rows(self) -> tuple[ServerRow, ...]:
        return self._pool.rows()

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` on the loop whenever `rows()` or `published()` change. Returns a function that ends
        it."""
        listeners = self._pool.listeners
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    async def command(self, verb: ServerVerb, name: str) -> str:
        self._housekeeping.begin()
        return await server_pool.run_command(self._pool, verb, name)

    def log(self, name: str) -> Mapping[str, str]:
        return {supervisor.spec.name: supervisor.log.tail() for supervisor in self._pool.named(name)}

    async def close(self) -> None:
        """Stop every server within 3 s (shutdown, exit, then kill)."""
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(
            self._housekeeping.close(),
            *(supervisor.close() for supervisor in self._pool.supervisors.values()),
        )

    def _absolute(self, path: str) -> str:
        """The path by which servers know a file: below the real root, with the platform's separators."""
        return str(Path(self.root, path))

    def _want(self, path: str) -> None:
        primaries, additional = self._pool.supervisors_for(path)
        available = [each for each in primaries if each.state in ("starting", "ready", "stopped")]
        for supervisor in [*(available or primaries)[:1], *additional]:
            self._housekeeping.begin()
            supervisor.want()

    async def _supervisors_for(self, path: str, seconds: float) -> list[LspSupervisor] | NoAnswer:
        """The servers for `path`, starting or running, the one that answers first; or why there are none."""
        if self._pool.is_worktree is not False and not await asyncio.to_thread(
            self._pool.may_start_for, path
        ):
            return WORKTREE_ANSWER
        primaries, additional = self._pool.supervisors_for(path)
        if not primaries and not additional:
            return _explain_missing(path, primaries)
        self._housekeeping.begin()
        usable = []
        try:
            async with asyncio.timeout(seconds):
                for supervisor in primaries:
                    if await supervisor.is_usable():
                        usable.append(supervisor)
                        break
                usable += [supervisor for supervisor in additional if await supervisor.is_usable()]
        except TimeoutError:
            return NoAnswer("the language server is starting", soon=True)
        return usable or _explain_missing(path, primaries)

    async def _ask_primary(
        self, path: str, seconds: float, ask: Callable[[LspServer, str], Awaitable[T]]
    ) -> T | NoAnswer:
        """The answer of the server for `path`; `ask` gets the absolute path."""
        until = time.monotonic() + seconds
        supervisors = await self._supervisors_for(path, seconds)
        if isinstance(supervisors, NoAnswer):
            return supervisors
        if supervisors[0].spec.beside:
            return _explain_missing(path, self._pool.supervisors_for(path)[0])
        absolute = self._absolute(path)
        return await ask_server(supervisors[0], until, lambda server: ask(server, absolute))

    async def _ask_each(
        self, path: str, seconds: float, ask: Callable[[LspServer, str], Awaitable[T]]
    ) -> AnswersByServer[T] | NoAnswer:
        """The answers of all servers for `path`, by name."""
        until = time.monotonic() + seconds
        supervisors = await self._supervisors_for(path, seconds)
        if isinstance(supervisors, NoAnswer):
            return supervisors
        absolute = self._absolute(path)
        return await ask_all(supervisors, until, lambda server, _: ask(server, absolute))

    def _run_in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _explain_missing(path: str, primaries: Sequence[LspSupervisor]) -> NoAnswer:
    if not primaries:
        return NoAnswer(f"no language server is configured for {Path(path).name}")
    return NoAnswer(f"{primaries[0].spec.name}: {primaries[0].detail or primaries[0].state}")
