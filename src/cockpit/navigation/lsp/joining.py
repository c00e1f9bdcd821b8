"""The answers of several servers as one. Pure functions."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from cockpit.navigation.contracts import Diagnosed, Served, Silent
from cockpit.navigation.lsp.asking import Answers, silence
from cockpit.navigation.lsp.life import Life
from cockpit.protocol.code import ProblemRow

Rows: TypeAlias = tuple[ProblemRow, ...]
Staged: TypeAlias = tuple[dict[str, Rows], dict[str, Rows]]


def served(answers: Answers[Served]) -> Served | Silent:
    """All rows, settled when every answer was."""
    found = [one for _, one in answers if not isinstance(one, Silent)]
    if not found:
        return silence(answers)
    rows = found[0].rows if len(found) == 1 else dict.fromkeys(row for one in found for row in one.rows)
    names = ", ".join(one.server for one in found)
    return Served(tuple(rows), all(one.settled for one in found) and len(found) == len(answers), names)


def diagnosed(answers: Answers[Rows] | Silent) -> Diagnosed | Silent:
    """The problems of one file, in its order."""
    if isinstance(answers, Silent):
        return answers
    found = {name: one for name, one in answers if not isinstance(one, Silent)}
    if not found:
        return silence(answers)
    late = tuple(name for name, one in answers if isinstance(one, Silent))
    rows = sorted((row for one in found.values() for row in one), key=_place)
    return Diagnosed(tuple(rows), tuple(found), late)


def published(lives: Iterable[Life]) -> Mapping[str, Rows]:
    """What the running servers know, by path."""
    known: dict[str, list[ProblemRow]] = {}
    for life in lives:
        for path, rows in life.server.problems.all().items() if life.server is not None else ():
            known.setdefault(path, []).extend(rows)
    return {path: tuple(sorted(rows, key=_place)) for path, rows in sorted(known.items())}


def staged(
    answers: Answers[Staged], paths: Mapping[str, str]
) -> tuple[Mapping[str, Diagnosed], Mapping[str, Diagnosed]] | Silent:
    """Before and after by the paths they were asked with; `paths` gives the absolute one of each."""
    if all(isinstance(one, Silent) for _, one in answers):
        return silence(answers)
    late = tuple(name for name, one in answers if isinstance(one, Silent))
    before: dict[str, Diagnosed] = {}
    after: dict[str, Diagnosed] = {}
    for path, absolute in paths.items():
        for side, kept in ((0, before), (1, after)):
            found = {
                name: one[side][absolute]
                for name, one in answers
                if not isinstance(one, Silent) and absolute in one[side]
            }
            rows = sorted((row for one in found.values() for row in one), key=_place)
            kept[path] = Diagnosed(tuple(rows), tuple(found), late)
    return before, after


def _place(row: ProblemRow) -> tuple[int, int, str]:
    return row.line, row.column, row.message
