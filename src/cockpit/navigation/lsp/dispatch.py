"""Asks servers within a time limit and merges their answers. Every fault of a server ends here as a
`NoAnswer`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

from cockpit.navigation.answers import FileDiagnostics, NoAnswer, ServerAnswer, StagedDiagnostics
from cockpit.navigation.lsp.protocol import (
    METHOD_NOT_FOUND,
    LspNotSupported,
    LspRequestRefused,
    LspServerGone,
    MalformedMessage,
)
from cockpit.navigation.lsp.server_process import LspServer
from cockpit.navigation.lsp.server_supervisor import LspSupervisor
from cockpit.protocol.code import ProblemRow

T = TypeVar("T")
AnswersByServer = list[tuple[str, T | NoAnswer]]
ProblemTuple: TypeAlias = tuple[ProblemRow, ...]
StagedProblems: TypeAlias = tuple[dict[str, ProblemTuple], dict[str, ProblemTuple]]


async def ask_all(
    supervisors: Sequence[LspSupervisor],
    until: float,
    ask: Callable[[LspServer, LspSupervisor], Awaitable[T]],
) -> AnswersByServer[T]:
    """Ask all supervisors at the same time; returns their answers by server name."""

    async def ask_one(supervisor: LspSupervisor) -> tuple[str, T | NoAnswer]:
        return supervisor.spec.name, await ask_server(
            supervisor, until, lambda server: ask(server, supervisor)
        )

    return await asyncio.gather(*(ask_one(supervisor) for supervisor in supervisors))


async def ask_server(
    supervisor: LspSupervisor, until: float, ask: Callable[[LspServer], Awaitable[T]]
) -> T | NoAnswer:
    """The answer of a server until `until` (monotonic seconds), or why it does not."""
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
        return NoAnswer(f"{name} stopped before it answered", soon=True)
    except LspNotSupported as error:
        return NoAnswer(str(error), refused=True)
    except MalformedMessage as error:
        supervisor.log.say("cockpit", f"malformed answer: {error}")
        return NoAnswer(f"{name} gave a malformed answer")


def collect_results(answers: AnswersByServer[T] | NoAnswer) -> list[tuple[str, T]] | NoAnswer:
    """The servers that answered, with their results; `NoAnswer` with all reasons if there are none."""
    if isinstance(answers, NoAnswer):
        return answers
    results = [(name, answer) for name, answer in answers if not isinstance(answer, NoAnswer)]
    if results:
        return results
    silent = [answer for _, answer in answers if isinstance(answer, NoAnswer)]
    reason = "; ".join(dict.fromkeys(answer.reason for answer in silent))
    return NoAnswer(reason, any(answer.soon for answer in silent), any(answer.refused for answer in silent))


def merge_answers(answers: AnswersByServer[ServerAnswer]) -> ServerAnswer | NoAnswer:
    """All rows, each once; settled if every answer was."""
    results = collect_results(answers)
    if isinstance(results, NoAnswer):
        return results
    rows = dict.fromkeys(row for _, answer in results for row in answer.rows)
    is_settled = all(answer.settled for _, answer in results) and len(results) == len(answers)
    return ServerAnswer(tuple(rows), is_settled, ", ".join(answer.server for _, answer in results))


def merge_problems(answers: AnswersByServer[ProblemTuple]) -> FileDiagnostics | NoAnswer:
    """The problems of one file, in order."""
    results = collect_results(answers)
    if isinstance(results, NoAnswer):
        return results
    return _make_diagnostics(dict(results), _late_servers(answers))


def merge_published(supervisors: Iterable[LspSupervisor]) -> Mapping[str, ProblemTuple]:
    """The problems that the running servers have reported, by path."""
    known: dict[str, list[ProblemRow]] = {}
    for supervisor in supervisors:
        for path, rows in supervisor.server.problems.all().items() if supervisor.server is not None else ():
            known.setdefault(path, []).extend(rows)
    return {path: tuple(sorted(rows, key=_location)) for path, rows in sorted(known.items())}


def merge_staged(
    answers: AnswersByServer[StagedProblems], paths: Mapping[str, str]
) -> StagedDiagnostics | NoAnswer:
    """Before and after, by the paths as given; `paths` maps them to absolute paths."""
    results = collect_results(answers)
    if isinstance(results, NoAnswer):
        return results
    late = _late_servers(answers)

    def merge(side: Literal[0, 1]) -> dict[str, FileDiagnostics]:
        return {
            path: _make_diagnostics(
                {name: staged[side][absolute] for name, staged in results if absolute in staged[side]}, late
            )
            for path, absolute in paths.items()
        }

    return merge(0), merge(1)


def _late_servers(answers: AnswersByServer[T]) -> tuple[str, ...]:
    return tuple(name for name, answer in answers if isinstance(answer, NoAnswer))


def _make_diagnostics(by_server: Mapping[str, ProblemTuple], late: tuple[str, ...]) -> FileDiagnostics:
    rows = sorted((row for rows in by_server.values() for row in rows), key=_location)
    return FileDiagnostics(tuple(rows), tuple(by_server), late)


def _location(row: ProblemRow) -> tuple[int, int, str]:
    return row.line, row.column, row.message
