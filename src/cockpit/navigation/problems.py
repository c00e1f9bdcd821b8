"""Problems (diagnostics) of files and folders, before and after changes, and which the model has not seen
yet.

Asks servers within time limits and never fails an edit: what no server reports in time is unknown.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cockpit.navigation.answers import FileDiagnostics, NoAnswer, find_language
from cockpit.navigation.backends import Backends
from cockpit.navigation.problem_diff import find_new_problems
from cockpit.navigation.query_router import (
    ask_with_deadline,
    has_ready_server,
    is_server_late,
    record_lateness,
)
from cockpit.plugin.changes import ChangeSet, FileChange
from cockpit.plugin.languages import Language
from cockpit.plugin.navigation import Position, ProblemCheck
from cockpit.plugin.workspace import PathRefused, Workspace
from cockpit.protocol.code import ProblemRow, ProblemRows, SymbolRow

MAX_CHANGED_DEFINITIONS = 8
MAX_DEPENDENTS = 10
DEPENDENTS_SECONDS = 0.5
# How long an edit may wait for a server that is still starting.
COLD_SECONDS = 0.3
MAX_CHECKED_FILES = 20
CONCURRENT_REQUESTS = 8
# The first edit of a session finds its server cold: the model's next request waits once for it.
NEWS_SECONDS = 2.0
MAX_NEWS_FILES = 5
MAX_MISSED_ROUNDS = 5
MAX_FOLDER_FILES = 50


async def find_dependents(live: Backends, workspace: Workspace, changes: ChangeSet) -> dict[str, bytes]:
    """Files that a change may break without touching them, because they use what it alters or removes.

    Returns their texts as they are on disk, by path. What takes too long to find is left out.
    """
    dependents: dict[str, None] = {}
    # On timeout the files found so far are used.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DEPENDENTS_SECONDS):
            for change in changes.files:
                await _add_users(dependents, live, change)
    own = {path for change in changes.files for path in (change.path, change.moved_from)}
    texts: dict[str, bytes] = {}
    for path in [path for path in dependents if path not in own][:MAX_DEPENDENTS]:
        try:
            texts[path] = await workspace.files.read(path)
        except (OSError, PathRefused):
            continue
    return texts


async def _add_users(dependents: dict[str, None], live: Backends, change: FileChange) -> None:
    path = change.moved_from or change.path
    language = find_language(path, live.languages)
    if live.index is None or change.before is None or language is None or not language.grammar:
        return
    altered = [row for row in await live.index.outline(path) if _is_altered(row, change)]
    for row in altered[:MAX_CHANGED_DEFINITIONS]:
        uses = await live.index.related("references", Position(path, row.line, row.column))
        dependents |= dict.fromkeys(use.path for use in uses)


def _is_altered(row: SymbolRow, change: FileChange) -> bool:
    """Whether a definition's own line is changed or removed: its uses may break."""
    if change.after is None or change.moved_from:
        return not row.container
    return any(row.line in _removed_lines(hunk.old_start, hunk.lines) for hunk in change.hunks)


def _removed_lines(start: int, lines: tuple[str, ...]) -> set[int]:
    """The old numbers of the lines that a hunk removes."""
    gone: set[int] = set()
    number = start
    for line in lines:
        if line.startswith("-"):
            gone.add(number)
        number += line[:1] in (" ", "-", "")
    return gone


TextsByPath = dict[str, bytes | None]


async def query_problems(live: Backends, paths: tuple[str, ...], patience: float) -> ProblemRows:
    """Problems of `paths`; without paths, all that are known now."""
    servers = live.servers
    if servers is None:
        return ProblemRows((), True, "no language server is available to find problems")
    if not paths:
        rows = [row for rows in servers.published().values() for row in rows]
        waiting = [row.name for row in servers.rows() if row.state in ("starting", "indexing")]
        note = f"{', '.join(waiting)} not ready" if waiting else ""
        return ProblemRows(_sort_problems(rows), not waiting, note)
    gate = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def query_file(path: str) -> FileDiagnostics | NoAnswer:
        async with gate:
            return await servers.diagnosed(path, patience)

    answers = await asyncio.gather(*(query_file(path) for path in paths))
    rows = [row for answer in answers if isinstance(answer, FileDiagnostics) for row in answer.rows]
    late = {name for answer in answers if isinstance(answer, FileDiagnostics) for name in answer.late}
    silent = {answer.reason: answer.soon for answer in answers if isinstance(answer, NoAnswer)}
    notes = [*silent, *(f"{name} did not answer in time" for name in sorted(late))]
    return ProblemRows(_sort_problems(rows), not late and not any(silent.values()), "; ".join(notes))


async def explain_no_server(live: Backends, path: str, patience: float) -> str:
    """Why no server will ever answer for a file; empty if one does or may."""
    if live.servers is None:
        return "no language server is available"
    answer = await live.servers.diagnosed(path, patience)
    return answer.reason if isinstance(answer, NoAnswer) and not answer.soon and not answer.refused else ""


def _sort_problems(rows: list[ProblemRow]) -> tuple[ProblemRow, ...]:
    """In order; a problem that two servers report in the same words appears once."""
    ordered = sorted(rows, key=lambda row: (row.path, row.line, row.column, row.server != "ty"))
    first = {(row.path, row.line, row.column, row.message): row for row in reversed(ordered)}
    return tuple(row for row in ordered if first[row.path, row.line, row.column, row.message] is row)


async def check_changes(
    live: Backends, workspace: Workspace, changes: ChangeSet, seconds: float
) -> ProblemCheck:
    """Problems before and after `changes`, in its files and in those that use what it alters. Waits only
    briefly for servers that are still starting."""
    after, before = _collect_texts(changes, live)
    if live.servers is None or not after:
        return ProblemCheck("unknown")
    if len(after) > MAX_CHECKED_FILES:
        return ProblemCheck("unknown", note=f"too many files to check: {len(after)}")
    warm = all(has_ready_server(live, path) and not is_server_late(live, path) for path in after)
    if warm:
        users = await find_dependents(live, workspace, changes)
        after, before = {**users, **after}, {**users, **before}
    staged = await _stage_texts(live, after, None, seconds if warm else min(seconds, COLD_SECONDS))
    for path in after if warm else ():
        record_lateness(live, path, isinstance(staged, NoAnswer) and staged.soon)
    if isinstance(staged, NoAnswer):
        return ProblemCheck("unknown", note=staged.reason)
    return _compare_problems(
        staged, before, after, {change.path: change.moved_from for change in changes.files}
    )


def _collect_texts(changes: ChangeSet, live: Backends) -> tuple[TextsByPath, TextsByPath]:
    """The files of `changes` that a language server covers, as they will be and as they are."""
    after: TextsByPath = {}
    before: TextsByPath = {}
    for change in changes.files:
        if change.binary:
            continue
        if change.moved_from:
            after[change.moved_from], before[change.moved_from] = None, change.before
        after[change.path] = change.after
        before[change.path] = None if change.moved_from else change.before
    known = {path for path in after if (language := find_language(path, live.languages)) and language.servers}
    return {p: t for p, t in after.items() if p in known}, {p: t for p, t in before.items() if p in known}


async def _stage_texts(
    live: Backends, texts: TextsByPath, base: TextsByPath | None, seconds: float
) -> tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]] | NoAnswer:
    if live.servers is None:
        return NoAnswer("no language server is available")
    servers = live.servers
    return await ask_with_deadline(lambda bound: servers.staged(texts, bound, base), seconds)


def _compare_problems(
    staged: tuple[Mapping[str, FileDiagnostics], Mapping[str, FileDiagnostics]],
    before: TextsByPath,
    after: TextsByPath,
    moved: Mapping[str, str],
) -> ProblemCheck:
    old_diagnostics, new_diagnostics = staged
    answered = {name for diagnostics in new_diagnostics.values() for name in diagnostics.servers}
    late = {
        name
        for diagnostics in (*old_diagnostics.values(), *new_diagnostics.values())
        for name in diagnostics.late
    }
    if not answered or late:
        reason = f"{', '.join(sorted(late)) or 'the server'} did not answer in time"
        return ProblemCheck("unknown", note=reason)
    new_rows: list[ProblemRow] = []
    old_count = sum(len(_errors_and_warnings(diagnostics)) for diagnostics in old_diagnostics.values())
    for path, current in new_diagnostics.items():
        source = moved.get(path) or path
        rows = _errors_and_warnings(old_diagnostics[source]) if source in old_diagnostics else ()
        new_rows += find_new_problems(
            rows, _errors_and_warnings(current), before.get(source), after.get(path)
        )
    total = sum(len(_errors_and_warnings(diagnostics)) for diagnostics in new_diagnostics.values())
    checked_count = sum(text is not None for text in after.values())
    return ProblemCheck(
        "checked",
        old_count,
        tuple(new_rows),
        max(old_count - (total - len(new_rows)), 0),
        files=checked_count,
    )


def _errors_and_warnings(diagnostics: FileDiagnostics) -> tuple[ProblemRow, ...]:
    """Hints are left out: nearly every unfinished edit has unused names."""
    return tuple(row for row in diagnostics.rows if row.severity in ("error", "warning"))


@dataclass(slots=True)
class ProblemNews:
    """Problems that appeared since the model last saw them. `base` holds each file as it was then."""

    base: TextsByPath = field(default_factory=dict)
    reported: dict[str, set[tuple[str, str, str]]] = field(default_factory=dict)
    missed: int = 0

    def changed(self, path: str, before: bytes | None, told: tuple[ProblemRow, ...] | None) -> None:
        """A file was written. `told` are the new problems its tool result named; None if nobody looked."""
        if told is None:
            self.base.setdefault(path, before)
            self.missed = 0
            return
        if path in self.base:
            self.reported.setdefault(path, set()).update((row.server, row.code, row.message) for row in told)

    async def of(self, live: Backends, workspace: Workspace, paths: tuple[str, ...]) -> ProblemRows:
        """New problems of `paths` (empty: of the last five files) that were not reported yet; this reports
        them.

        A server that was late is waited for less the next time, and in the end not at all.
        """
        pending = (
            [path for path in paths if path in self.base] if paths else list(self.base)[-MAX_NEWS_FILES:]
        )
        if not pending or live.servers is None:
            return ProblemRows(())
        if self.missed > MAX_MISSED_ROUNDS:
            self._forget(pending)
            return ProblemRows((), True, "no server answered")
        seconds = COLD_SECONDS if self.missed else NEWS_SECONDS
        self.missed += 1
        texts = {path: await _read_file(workspace, path) for path in pending}
        texts = {path: text for path, text in texts.items() if find_language(path, live.languages)}
        base = {path: self.base[path] for path in texts}
        if not texts:
            self._forget(pending)
            return ProblemRows(())
        staged = await _stage_texts(live, texts, base, seconds)
        if isinstance(staged, NoAnswer):
            if not staged.soon:
                self._forget(pending)
            return ProblemRows((), not staged.soon, staged.reason)
        check = _compare_problems(staged, base, texts, {})
        if check.state == "unknown":
            return ProblemRows((), False, check.note)
        self.missed = 0
        rows = tuple(row for row in check.new if not self._is_told(row))
        self._forget(pending)
        return ProblemRows(rows)

    def _is_told(self, row: ProblemRow) -> bool:
        return (row.server, row.code, row.message) in self.reported.get(row.path, set())

    def _forget(self, paths: list[str]) -> None:
        for path in paths:
            self.base.pop(path, None)
            self.reported.pop(path, None)


async def _read_file(workspace: Workspace, path: str) -> bytes | None:
    try:
        return await workspace.files.read(path)
    except (OSError, PathRefused):
        return None


async def find_problems(
    live: Backends, workspace: Workspace, paths: tuple[str, ...], patience: float
) -> ProblemRows:
    """Problems of `paths`; for a folder, of its files that a server covers, and how many those are."""
    folders = [path for path in paths if await _is_folder(workspace, path)]
    if live.servers is None or not folders:
        return await query_problems(live, paths, patience)
    files: dict[str, str] = {}
    for folder in folders:
        files.update(await list_served_files(workspace, live.languages, folder))
    silent, unserved = await _find_unserved_languages(live, files, patience)
    readable = [path for path, language in files.items() if language not in unserved]
    checked = tuple(readable[:MAX_FOLDER_FILES])
    others = tuple(path for path in paths if path not in folders)
    result = await query_problems(live, (*others, *checked), patience) if others or checked else None
    description = _describe_count(len(checked), len(readable)) if readable or not files else "no file checked"
    notes = [description, *silent, *filter(None, [result.note if result else ""])]
    complete = len(checked) == len(readable) and (result is None or result.complete)
    return ProblemRows(result.rows if result else (), complete, "; ".join(dict.fromkeys(notes)))


async def list_served_files(
    workspace: Workspace, languages: Sequence[Language], folder: str
) -> dict[str, str]:
    """Files below a folder that a server covers, the last changed first, each with its language."""
    files: list[tuple[float, str, str]] = []
    async for entry in workspace.files.walk(folder):
        language = find_language(entry.path, languages)
        if entry.kind == "file" and language is not None and language.servers:
            files.append((-entry.modified, entry.path, language.name))
    return {path: name for _, path, name in sorted(files)}


async def _find_unserved_languages(
    live: Backends, files: dict[str, str], patience: float
) -> tuple[list[str], set[str]]:
    """Languages without an available server, tested with one file of each, and the reasons."""
    firsts: dict[str, str] = {}
    for path, language in files.items():
        firsts.setdefault(language, path)
    reasons: list[str] = []
    unserved: set[str] = set()
    for language, path in firsts.items():
        reason = await explain_no_server(live, path, patience)
        if reason:
            reasons.append(reason)
            unserved.add(language)
    return reasons, unserved


def _describe_count(count: int, known: int) -> str:
    if not known:
        return "no file checked: no language server covers these files"
    files = "1 file" if count == 1 else f"{count} files"
    return f"{files} checked" if count == known else f"{files} checked of {known}; name a path for others"


async def _is_folder(workspace: Workspace, path: str) -> bool:
    try:
        return (await workspace.files.stat(path)).kind == "folder"
    except (OSError, PathRefused):
        return False
