"""Problems of files, before and after changes, and which of them somebody was told already.

Asks servers within bounds; never fails an edit: what no server says in time is unknown.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from cockpit.navigation.asking import in_time, is_late, is_ready, remember
from cockpit.navigation.comparing import new_problems
from cockpit.navigation.contracts import Diagnosed, Silent
from cockpit.navigation.dependents import dependents
from cockpit.navigation.languages import language_of
from cockpit.navigation.life import Sources
from cockpit.plugin.changes import ChangeSet
from cockpit.plugin.navigation import Checked
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import ProblemRow, ProblemRows

# What a server that is not warm may cost an edit.
COLD_SECONDS = 0.3
MOST_FILES = 20
AT_ONCE = 8
# The first edit of a session finds its server cold: the model's next request waits for that once.
NEWS_SECONDS = 2.0
TOLD_FILES = 5
PATIENT = 5

Texts = dict[str, bytes | None]


async def problems(live: Sources, paths: tuple[str, ...], patience: float) -> ProblemRows:
    """Diagnostics of `paths`; without paths, what is known now."""
    servers = live.servers
    if servers is None:
        return ProblemRows((), True, "no language server is there to look for problems")
    if not paths:
        rows = [row for rows in servers.published().values() for row in rows]
        waiting = [row.name for row in servers.rows() if row.state in ("starting", "indexing")]
        note = f"{', '.join(waiting)} not ready" if waiting else ""
        return ProblemRows(_sorted(rows), not waiting, note)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(path: str) -> Diagnosed | Silent:
        async with gate:
            return await servers.diagnosed(path, patience)

    answers = await asyncio.gather(*(one(path) for path in paths))
    rows = [row for answer in answers if isinstance(answer, Diagnosed) for row in answer.rows]
    late = {name for answer in answers if isinstance(answer, Diagnosed) for name in answer.late}
    silent = {answer.reason: answer.soon for answer in answers if isinstance(answer, Silent)}
    notes = [*silent, *(f"{name} did not answer in time" for name in sorted(late))]
    return ProblemRows(_sorted(rows), not late and not any(silent.values()), "; ".join(notes))


async def silence(live: Sources, path: str, patience: float) -> str:
    """Why no server will ever answer for a file, empty when one does or may."""
    if live.servers is None:
        return "no language server is there"
    answer = await live.servers.diagnosed(path, patience)
    return answer.reason if isinstance(answer, Silent) and not answer.soon and not answer.refused else ""


def _sorted(rows: list[ProblemRow]) -> tuple[ProblemRow, ...]:
    """In order, what two servers say in the same words once."""
    ordered = sorted(rows, key=lambda row: (row.path, row.line, row.column, row.server != "ty"))
    once = {(row.path, row.line, row.column, row.message): row for row in reversed(ordered)}
    return tuple(row for row in ordered if once[row.path, row.line, row.column, row.message] is row)


async def checked(live: Sources, workspace: Workspace, changes: ChangeSet, seconds: float) -> Checked:
    """Problems before and after `changes`, in its files and in those that use what it alters. Waits little
    for servers that are not warm."""
    after, before = _texts(changes, live)
    if live.servers is None or not after:
        return Checked("unknown")
    if len(after) > MOST_FILES:
        return Checked("unknown", note=f"{len(after)} files are too many to check")
    warm = all(is_ready(live, path) and not is_late(live, path) for path in after)
    if warm:
        users = await dependents(live, workspace, changes)
        after, before = {**users, **after}, {**users, **before}
    staged = await _staged(live, after, None, seconds if warm else min(seconds, COLD_SECONDS))
    for path in after if warm else ():
        remember(live, path, isinstance(staged, Silent) and staged.soon)
    if isinstance(staged, Silent):
        return Checked("unknown", note=staged.reason)
    return _compared(staged, before, after, {one.path: one.moved_from for one in changes.files})


def _texts(changes: ChangeSet, live: Sources) -> tuple[Texts, Texts]:
    """The files of `changes` that a language has, as they will be and as they are."""
    after: Texts = {}
    before: Texts = {}
    for change in changes.files:
        if change.binary:
            continue
        if change.moved_from:
            after[change.moved_from], before[change.moved_from] = None, change.before
        after[change.path] = change.after
        before[change.path] = None if change.moved_from else change.before
    known = {path for path in after if (one := language_of(path, live.languages)) and one.servers}
    return {p: t for p, t in after.items() if p in known}, {p: t for p, t in before.items() if p in known}


async def _staged(
    live: Sources, texts: Texts, base: Texts | None, seconds: float
) -> tuple[Mapping[str, Diagnosed], Mapping[str, Diagnosed]] | Silent:
    if live.servers is None:
        return Silent("no language server is there")
    servers = live.servers
    return await in_time(lambda bound: servers.staged(texts, bound, base), seconds)


def _compared(
    staged: tuple[Mapping[str, Diagnosed], Mapping[str, Diagnosed]],
    before: Texts,
    after: Texts,
    moved: Mapping[str, str],
) -> Checked:
    were, are = staged
    said = {name for one in are.values() for name in one.servers}
    late = {name for one in (*were.values(), *are.values()) for name in one.late}
    if not said or late:
        reason = f"{', '.join(sorted(late)) or 'the server'} did not answer in time"
        return Checked("unknown", note=reason)
    fresh: list[ProblemRow] = []
    old = sum(len(_serious(one)) for one in were.values())
    for path, now in are.items():
        source = moved.get(path) or path
        rows = _serious(were[source]) if source in were else ()
        fresh += new_problems(rows, _serious(now), before.get(source), after.get(path))
    total = sum(len(_serious(one)) for one in are.values())
    looked = sum(text is not None for text in after.values())
    return Checked("checked", old, tuple(fresh), max(old - (total - len(fresh)), 0), files=looked)


def _serious(found: Diagnosed) -> tuple[ProblemRow, ...]:
    """Errors and warnings. That a name is unused is a hint of nearly every unfinished edit: noise."""
    return tuple(row for row in found.rows if row.severity in ("error", "warning"))


@dataclass(slots=True)
class News:
    """What changed since somebody was told. `base` holds each file as it was then."""

    base: Texts = field(default_factory=dict)
    told: dict[str, set[tuple[str, str, str]]] = field(default_factory=dict)
    missed: int = 0

    def changed(self, path: str, before: bytes | None, told: tuple[ProblemRow, ...] | None) -> None:
        """A file was written. `told` are the new problems its result named; None when nobody looked."""
        if told is None:
            self.base.setdefault(path, before)
            self.missed = 0
            return
        if path in self.base:
            self.told.setdefault(path, set()).update((row.server, row.code, row.message) for row in told)

    async def of(self, live: Sources, workspace: Workspace, paths: tuple[str, ...]) -> ProblemRows:
        """New problems of `paths` (empty: of the last five) that nobody was told; they are told by this.

        A server that was late once is waited for less, and in the end not at all.
        """
        wanted = [path for path in paths if path in self.base] if paths else list(self.base)[-TOLD_FILES:]
        if not wanted or live.servers is None:
            return ProblemRows(())
        if self.missed > PATIENT:
            self._forget(wanted)
            return ProblemRows((), True, "no server answered")
        seconds = COLD_SECONDS if self.missed else NEWS_SECONDS
        self.missed += 1
        texts = {path: await _read(workspace, path) for path in wanted}
        texts = {path: text for path, text in texts.items() if language_of(path, live.languages)}
        base = {path: self.base[path] for path in texts}
        if not texts:
            self._forget(wanted)
            return ProblemRows(())
        staged = await _staged(live, texts, base, seconds)
        if isinstance(staged, Silent):
            if not staged.soon:
                self._forget(wanted)
            return ProblemRows((), not staged.soon, staged.reason)
        seen = _compared(staged, base, texts, {})
        if seen.state == "unknown":
            return ProblemRows((), False, seen.note)
        self.missed = 0
        rows = tuple(row for row in seen.new if not self._is_told(row))
        self._forget(wanted)
        return ProblemRows(rows)

    def _is_told(self, row: ProblemRow) -> bool:
        return (row.server, row.code, row.message) in self.told.get(row.path, set())

    def _forget(self, paths: list[str]) -> None:
        for path in paths:
            self.base.pop(path, None)
            self.told.pop(path, None)


async def _read(workspace: Workspace, path: str) -> bytes | None:
    try:
        return await workspace.files.read(path)
    except (OSError, PathRefused):
        return None
