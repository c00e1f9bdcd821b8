"""Which servers a question goes to, how long it may take, and what its failure is called. Every fault of
a server ends here as a `Silent`.

The answers of several servers as one. Pure functions.
"""

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
WORKTREE_ANSWER = NoAnswer(
    "this is a worktree: its servers start when they are asked a second time", soon=True
)
AnswersByServer = list[tuple[str, T | NoAnswer]]


class LspDispatcher:
    """`begin` is called when a server is wanted, before it is."""

    def __init__(self, roster: LspServerPool, begin: Callable[[], None]) -> None:
        self._roster = roster
        self._begin = begin

    def absolute(self, path: str) -> str:
        """The path servers know a file by: below the real root, with the platform's separators."""
        return str(Path(self._roster.root, path))

    def want(self, path: str) -> None:
        """Begin to start what answers for `path`; for a worktree nothing starts. Returns at once."""
        primaries, besides = self._roster.lives_of(path)
        up = [one for one in primaries if one.state in ("starting", "ready", "stopped")]
        for life in [*(up or primaries)[:1], *besides]:
            self._begin()
            life.want()

    async def chosen(self, path: str) -> list[LspSupervisor]:
        """The servers for `path`, the one that answers first; they are starting, or run."""
        primaries, besides = self._roster.lives_of(path)
        if primaries or besides:
            self._begin()
        kept = []
        for life in primaries:
            if await life.is_usable():
                kept.append(life)
                break
        return kept + [life for life in besides if await life.is_usable()]

    async def lives(self, path: str, seconds: float) -> list[LspSupervisor] | NoAnswer:
        """The same within `seconds`; `Silent` says why there are none."""
        if self._roster.is_worktree is not False:
            may = await asyncio.to_thread(self._roster.may_start_for, path)
            if not may:
                return WORKTREE_ANSWER
        try:
            async with asyncio.timeout(seconds):
                found = await self.chosen(path)
        except TimeoutError:
            return NoAnswer("the language server is starting", soon=True)
        return found or NoAnswer(self._why(path))

    def _why(self, path: str) -> str:
        primaries, _ = self._roster.lives_of(path)
        if not primaries:
            return f"no language server is known for {Path(path).name}"
        first = primaries[0]
        return f"{first.spec.name}: {first.detail or first.state}"

    async def first(
        self, path: str, seconds: float, ask: Callable[["LspServer", str], Awaitable[T]]
    ) -> T | NoAnswer:
        """What the server for `path` answers; the call gets it with the absolute path."""
        until = time.monotonic() + seconds
        lives = await self.lives(path, seconds)
        if isinstance(lives, NoAnswer):
            return lives
        primary = next((one for one in lives if not one.spec.beside), None)
        if primary is None:
            return NoAnswer(self._why(path))
        absolute = self.absolute(path)
        return await ask_server(primary, until, lambda server: ask(server, absolute))

    async def every(
        self, path: str, seconds: float, ask: Callable[["LspServer", str], Awaitable[T]]
    ) -> "AnswersByServer[T] | NoAnswer":
        """What each of the servers for `path` answers, by name."""
        until = time.monotonic() + seconds
        lives = await self.lives(path, seconds)
        if isinstance(lives, NoAnswer):
            return lives
        absolute = self.absolute(path)
        return await ask_all(lives, until, lambda server, _: ask(server, absolute))


async def ask_all(
    lives: Sequence[LspSupervisor], until: float, ask: Callable[["LspServer", LspSupervisor], Awaitable[T]]
) -> "AnswersByServer[T]":
    """What each of `lives` answers, asked at the same time."""

    async def one(life: LspSupervisor) -> T | NoAnswer:
        return await ask_server(life, until, lambda server: ask(server, life))

    answers = await asyncio.gather(*(one(life) for life in lives))
    return [(life.spec.name, answer) for life, answer in zip(lives, answers, strict=True)]


async def ask_server(
    life: LspSupervisor, until: float, ask: Callable[["LspServer"], Awaitable[T]]
) -> T | NoAnswer:
    """What one server answers until then (monotonic seconds), or why it does not."""
    name = life.spec.name
    try:
        async with asyncio.timeout(until - time.monotonic()):
            return await ask(await life.ready())
    except TimeoutError:
        row = life.row()
        if row.state in ("starting", "indexing"):
            return NoAnswer(" ".join(filter(None, (f"{name} is {row.state}", row.detail))), soon=True)
        return NoAnswer(f"{name} did not answer in time")
    except LspRequestRefused as refused:
        if refused.code == METHOD_NOT_FOUND:
            return NoAnswer(f"{name} cannot do that, though it said so")
        return NoAnswer(f"{name}: {str(refused)[:300]}", refused=True)
    except LspServerGone:
        return NoAnswer(f"{name} ended while it was asked", soon=True)
    except LspNotSupported as unable:
        return NoAnswer(str(unable), refused=True)
    except MalformedMessage as wrong:
        life.log.say("cockpit", f"an answer of the wrong shape: {wrong}")
        return NoAnswer(f"{name} gave an answer of the wrong shape")


def combine_reasons(answers: "AnswersByServer[T]") -> NoAnswer:
    """Why nobody answered."""
    silent = [one for _, one in answers if isinstance(one, NoAnswer)]
    reason = "; ".join(dict.fromkeys(one.reason for one in silent))
    return NoAnswer(reason, any(one.soon for one in silent), any(one.refused for one in silent))


ProblemTuple: TypeAlias = tuple[ProblemRow, ...]
StagedProblems: TypeAlias = tuple[dict[str, ProblemTuple], dict[str, ProblemTuple]]


def merge_answers(answers: AnswersByServer[ServerAnswer]) -> ServerAnswer | NoAnswer:
    """All rows, settled when every answer was."""
    found = [one for _, one in answers if not isinstance(one, NoAnswer)]
    if not found:
        return combine_reasons(answers)
    rows = found[0].rows if len(found) == 1 else dict.fromkeys(row for one in found for row in one.rows)
    names = ", ".join(one.server for one in found)
    return ServerAnswer(tuple(rows), all(one.settled for one in found) and len(found) == len(answers), names)


def merge_problems(answers: AnswersByServer[ProblemTuple] | NoAnswer) -> FileDiagnostics | NoAnswer:
    """The problems of one file, in its order."""
    if isinstance(answers, NoAnswer):
        return answers
    found = {name: one for name, one in answers if not isinstance(one, NoAnswer)}
    if not found:
        return combine_reasons(answers)
    late = tuple(name for name, one in answers if isinstance(one, NoAnswer))
    rows = sorted((row for one in found.values() for row in one), key=_location)
    return FileDiagnostics(tuple(rows), tuple(found), late)


def merge_published(lives: Iterable[LspSupervisor]) -> Mapping[str, ProblemTuple]:
    """What the running servers know, by path."""
    known: dict[str, list[ProblemRow]] = {}
    for life in lives:
        for path, rows in life.server.problems.all().items() if life.server is not None else ():
            known.setdefault(path, []).extend(rows)
    return {path: tuple(sorted(rows, key=_location)) for path, rows in sorted(known.items())}


def merge_staged(
    answers: AnswersByServer[StagedProblems], paths: Mapping[str, str]
) -> tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]] | NoAnswer:
    """Before and after by the paths they were asked with; `paths` gives the absolute one of each."""
    if all(isinstance(one, NoAnswer) for _, one in answers):
        return combine_reasons(answers)
    late = tuple(name for name, one in answers if isinstance(one, NoAnswer))
    before: dict[str, FileDiagnostics] = {}
    after: dict[str, FileDiagnostics] = {}
    for path, absolute in paths.items():
        for side, kept in ((0, before), (1, after)):
            found = {
                name: one[side][absolute]
                for name, one in answers
                if not isinstance(one, NoAnswer) and absolute in one[side]
            }
            rows = sorted((row for one in found.values() for row in one), key=_location)
            kept[path] = FileDiagnostics(tuple(rows), tuple(found), late)
    return before, after


def _location(row: ProblemRow) -> tuple[int, int, str]:
    return row.line, row.column, row.message
