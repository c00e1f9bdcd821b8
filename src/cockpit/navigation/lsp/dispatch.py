"""Chooses the servers for a question, bounds their time, and merges their answers. Every fault of a server
ends here as a `NoAnswer`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from cockpit.navigation.backends import FileDiagnostics, NoAnswer, ServerAnswer
from cockpit.navigation.lsp.protocol import (
    METHOD_NOT_FOUND,
    LspNotSupported,
    LspRequestRefused,
    LspServerGone,
    MalformedMessage,
)
from cockpit.navigation.lsp.server_pool import LspServerPool
from cockpit.navigation.lsp.server_supervisor import LspSupervisor
from cockpit.protocol.code import ProblemRow

if TYPE_CHECKING:
    from cockpit.navigation.lsp.server_process import LspServer


T = TypeVar("T")
WORKTREE_ANSWER = NoAnswer("this is a worktree: its servers start at the second question", soon=True)
AnswersByServer = list[tuple[str, T | NoAnswer]]


class LspDispatcher:
    """`begin` is called before a server is wanted."""

    def __init__(self, pool: LspServerPool, begin: Callable[[], None]) -> None:
        self._pool = pool
        self._begin = begin

    def absolute(self, path: str) -> str:
        """The path by which servers know a file: below the real root, with the platform's separators."""
        return str(Path(self._pool.root, path))

    def want(self, path: str) -> None:
        """Start in the background what answers for `path`; nothing starts for a worktree. Returns at once."""
        primaries, additional = self._pool.supervisors_for(path)
        available = [
            supervisor for supervisor in primaries if supervisor.state in ("starting", "ready", "stopped")
        ]
        for supervisor in [*(available or primaries)[:1], *additional]:
            self._begin()
            supervisor.want()

    async def chosen(self, path: str) -> list[LspSupervisor]:
        """The servers for `path`, starting or running; the one that answers comes first."""
        primaries, additional = self._pool.supervisors_for(path)
        if primaries or additional:
            self._begin()
        usable = []
        for supervisor in primaries:
            if await supervisor.is_usable():
                usable.append(supervisor)
                break
        return usable + [supervisor for supervisor in additional if await supervisor.is_usable()]

    async def supervisors(self, path: str, seconds: float) -> list[LspSupervisor] | NoAnswer:
        """The same within `seconds`; `NoAnswer` says why there are none."""
        if self._pool.is_worktree is not False:
            may = await asyncio.to_thread(self._pool.may_start_for, path)
            if not may:
                return WORKTREE_ANSWER
        try:
            async with asyncio.timeout(seconds):
                supervisors = await self.chosen(path)
        except TimeoutError:
            return NoAnswer("the language server is starting", soon=True)
        return supervisors or NoAnswer(self._explain_missing(path))

    def _explain_missing(self, path: str) -> str:
        primaries, _ = self._pool.supervisors_for(path)
        if not primaries:
            return f"no language server is configured for {Path(path).name}"
        first = primaries[0]
        return f"{first.spec.name}: {first.detail or first.state}"

    async def first(
        self, path: str, seconds: float, ask: Callable[["LspServer", str], Awaitable[T]]
    ) -> T | NoAnswer:
        """What the server for `path` answers; `ask` gets the absolute path."""
        until = time.monotonic() + seconds
        supervisors = await self.supervisors(path, seconds)
        if isinstance(supervisors, NoAnswer):
            return supervisors
        primary = next((supervisor for supervisor in supervisors if not supervisor.spec.beside), None)
        if primary is None:
            return NoAnswer(self._explain_missing(path))
        absolute = self.absolute(path)
        return await ask_server(primary, until, lambda server: ask(server, absolute))

    async def every(
        self, path: str, seconds: float, ask: Callable[["LspServer", str], Awaitable[T]]
    ) -> "AnswersByServer[T] | NoAnswer":
        """What each server for `path` answers, by name."""
        until = time.monotonic() + seconds
        supervisors = await self.supervisors(path, seconds)
        if isinstance(supervisors, NoAnswer):
            return supervisors
        absolute = self.absolute(path)
        return await ask_all(supervisors, until, lambda server, _: ask(server, absolute))


async def ask_all(
    supervisors: Sequence[LspSupervisor],
    until: float,
    ask: Callable[["LspServer", LspSupervisor], Awaitable[T]],
) -> "AnswersByServer[T]":
    """Ask all supervisors at the same time; returns their answers."""

    async def ask_one(supervisor: LspSupervisor) -> T | NoAnswer:
        return await ask_server(supervisor, until, lambda server: ask(server, supervisor))

    answers = await asyncio.gather(*(ask_one(supervisor) for supervisor in supervisors))
    return [(supervisor.spec.name, answer) for supervisor, answer in zip(supervisors, answers, strict=True)]


async def ask_server(
    supervisor: LspSupervisor, until: float, ask: Callable[["LspServer"], Awaitable[T]]
) -> T | NoAnswer:
    """What one server answers until `until` (monotonic seconds), or why it does not."""
    name = supervisor.spec.name
    try:
        async with asyncio.timeout(until - time.monotonic()):
            return await ask(await supervisor.ready())
    except TimeoutError:
        row = supervisor.row()
        if row.state in ("starting", "indexing"):
            return NoAnswer(" ".join(filter(None, (f"{name} is {row.state}", row.detail))), soon=True)
        return NoAnswer(f"{name} did not answer in time")
    except LspRequestRefused as error:
        if error.code == METHOD_NOT_FOUND:
            return NoAnswer(f"{name} does not support that, although it declared it")
        return NoAnswer(f"{name}: {str(error)[:300]}", refused=True)
    except LspServerGone:
        return NoAnswer(f"{name} stopped while it was asked", soon=True)
    except LspNotSupported as error:
        return NoAnswer(str(error), refused=True)
    except MalformedMessage as error:
        supervisor.log.say("cockpit", f"malformed answer: {error}")
        return NoAnswer(f"{name} gave a malformed answer")


def combine_reasons(answers: "AnswersByServer[T]") -> NoAnswer:
    """One reason why nobody answered."""
    silent = [answer for _, answer in answers if isinstance(answer, NoAnswer)]
    reason = "; ".join(dict.fromkeys(answer.reason for answer in silent))
    return NoAnswer(reason, any(answer.soon for answer in silent), any(answer.refused for answer in silent))


ProblemTuple: TypeAlias = tuple[ProblemRow, ...]
StagedProblems: TypeAlias = tuple[dict[str, ProblemTuple], dict[str, ProblemTuple]]


def merge_answers(answers: AnswersByServer[ServerAnswer]) -> ServerAnswer | NoAnswer:
    """All rows, each once; settled if every answer was."""
    results = [answer for _, answer in answers if not isinstance(answer, NoAnswer)]
    if not results:
        return combine_reasons(answers)
    rows = (
        results[0].rows
        if len(results) == 1
        else dict.fromkeys(row for answer in results for row in answer.rows)
    )
    names = ", ".join(answer.server for answer in results)
    return ServerAnswer(
        tuple(rows), all(answer.settled for answer in results) and len(results) == len(answers), names
    )


def merge_problems(answers: AnswersByServer[ProblemTuple] | NoAnswer) -> FileDiagnostics | NoAnswer:
    """The problems of one file, in order."""
    if isinstance(answers, NoAnswer):
        return answers
    by_server = {name: result for name, result in answers if not isinstance(result, NoAnswer)}
    if not by_server:
        return combine_reasons(answers)
    late = tuple(name for name, result in answers if isinstance(result, NoAnswer))
    rows = sorted((row for result in by_server.values() for row in result), key=_location)
    return FileDiagnostics(tuple(rows), tuple(by_server), late)


def merge_published(supervisors: Iterable[LspSupervisor]) -> Mapping[str, ProblemTuple]:
    """What the running servers know, by path."""
    known: dict[str, list[ProblemRow]] = {}
    for supervisor in supervisors:
        for path, rows in supervisor.server.problems.all().items() if supervisor.server is not None else ():
            known.setdefault(path, []).extend(rows)
    return {path: tuple(sorted(rows, key=_location)) for path, rows in sorted(known.items())}


def merge_staged(
    answers: AnswersByServer[StagedProblems], paths: Mapping[str, str]
) -> tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]] | NoAnswer:
    """Before and after, by the paths as given; `paths` maps them to absolute paths."""
    if all(isinstance(answer, NoAnswer) for _, answer in answers):
        return combine_reasons(answers)
    late = tuple(name for name, answer in answers if isinstance(answer, NoAnswer))
    before: dict[str, FileDiagnostics] = {}
    after: dict[str, FileDiagnostics] = {}
    for path, absolute in paths.items():
        for side, merged in ((0, before), (1, after)):
            by_server = {
                name: answer[side][absolute]
                for name, answer in answers
                if not isinstance(answer, NoAnswer) and absolute in answer[side]
            }
            rows = sorted((row for answer in by_server.values() for row in answer), key=_location)
            merged[path] = FileDiagnostics(tuple(rows), tuple(by_server), late)
    return before, after


def _location(row: ProblemRow) -> tuple[int, int, str]:
    return row.line, row.column, row.message
