"""Problems (diagnostics) of files and folders, before and after changes, and which the model has not seen
yet.

Asks servers within time limits and never fails an edit: what no server reports in time is unknown.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cockpit.navigation.answers import FileDiagnostics, NoAnswer, StagedDiagnostics, find_language
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

if TYPE_CHECKING:
    from cockpit.navigation.lsp.language_servers import LanguageServers

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
    others = [path for path in dependents if path not in own][:MAX_DEPENDENTS]
    texts = {path: await _read_file(workspace, path) for path in others}
    return {path: text for path, text in texts.items() if text is not None}


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
    for hunk in change.hunks:
        old_lines = [line for line in hunk.lines if line[:1] in (" ", "-", "")]
        index = row.line - hunk.old_start
        if 0 <= index < len(old_lines) and old_lines[index].startswith("-"):
            return True
    return False


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


def _sort_problems(rows: list[ProblemRow]) -> tuple[ProblemRow, ...]:
    """In order; a problem that two servers report in the same words appears once."""
    unique: dict[tuple[str, int, int, str], ProblemRow] = {}
    for row in sorted(rows, key=lambda row: (row.path, row.line, row.column, row.server != "ty")):
        unique.setdefault((row.path, row.line, row.column, row.message), row)
    return tuple(unique.values())


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
    seconds = seconds if warm else min(seconds, COLD_SECONDS)
    staged = await _stage_texts(live.servers, after, None, seconds)
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
    after, before = ({p: text for p, text in texts.items() if p in known} for texts in (after, before))
    return after, before


async def _stage_texts(
    servers: "LanguageServers", texts: TextsByPath, base: TextsByPath | None, seconds: float
) -> StagedDiagnostics | NoAnswer:
    return await ask_with_deadline(lambda bound: servers.staged(texts, bound, base), seconds)


def _compare_problems(
    staged: StagedDiagnostics, before: TextsByPath, after: TextsByPath, moved: Mapping[str, str]
) -> ProblemCheck:
    old_diagnostics, new_diagnostics = staged
    late = {name for side in staged for diagnostics in side.values() for name in diagnostics.late}
    if late or not any(diagnostics.servers for diagnostics in new_diagnostics.values()):
        reason = f"{', '.join(sorted(late)) or 'the server'} did not answer in time"
        return ProblemCheck("unknown", note=reason)
    old, new = _errors_and_warnings(old_diagnostics), _errors_and_warnings(new_diagnostics)
    new_rows: list[ProblemRow] = []
    for path, rows in new.items():
        source = moved.get(path) or path
        new_rows += find_new_problems(old.get(source, ()), rows, before.get(source), after.get(path))
    old_count, count = sum(map(len, old.values())), sum(map(len, new.values()))
    gone = max(old_count - (count - len(new_rows)), 0)
    checked_count = sum(text is not None for text in after.values())
    return ProblemCheck("checked", old_count, tuple(new_rows), gone, files=checked_count)


def _errors_and_warnings(by_path: Mapping[str, FileDiagnostics]) -> dict[str, list[ProblemRow]]:
    """Hints are left out: nearly every unfinished edit has unused names."""
    return {
        path: [row for row in diagnostics.rows if row.severity in ("error", "warning")]
        for path, diagnostics in by_path.items()
    }


@dataclass(slots=True)
class ProblemNews:
    """Problems that appeared since the model last saw them. `base` holds each file as it was then."""

    base: TextsByPath = field(default_factory=dict)
    reported: dict[str, set[tuple[str, str, str]]] = field(default_factory=dict)
    missed: int = 0

    def changed(self, path: str, before: bytes | None, reported: tuple[ProblemRow, ...] | None) -> None:
        """A file was written. `reported` are the new problems that the tool's result named; None if it was
        not checked."""
        if reported is None:
            self.base.setdefault(path, before)
            self.missed = 0
        elif path in self.base:
            known = self.reported.setdefault(path, set())
            known.update((row.server, row.code, row.message) for row in reported)

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
        staged = await _stage_texts(live.servers, texts, base, seconds)
        if isinstance(staged, NoAnswer):
            if not staged.soon:
                self._forget(pending)
            return ProblemRows((), not staged.soon, staged.reason)
        check = _compare_problems(staged, base, texts, {})
        if check.state == "unknown":
            return ProblemRows((), False, check.note)
        self.missed = 0
        rows = [
            row
            for row in check.new
            if (row.server, row.code, row.message) not in self.reported.get(row.path, set())
        ]
        self._forget(pending)
        return ProblemRows(tuple(rows))

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
    unserved = await _find_unserved_languages(live.servers, files, patience)
    readable = [path for path, language in files.items() if language not in unserved]
    checked = tuple(readable[:MAX_FOLDER_FILES])
    others = tuple(path for path in paths if path not in folders)
    result = await query_problems(live, (*others, *checked), patience) if others or checked else None
    description = _describe_count(len(checked), len(readable)) if readable or not files else "no file checked"
    notes = [description, *unserved.values(), *filter(None, [result.note if result else ""])]
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
    servers: "LanguageServers", files: dict[str, str], patience: float
) -> dict[str, str]:
    """Languages for which no server will ever answer, tested with one file of each, with the reason."""
    unserved: dict[str, str] = {}
    for language in dict.fromkeys(files.values()):
        path = next(path for path, name in files.items() if name == language)
        answer = await servers.diagnosed(path, patience)
        if isinstance(answer, NoAnswer) and not answer.soon and not answer.refused:
            unserved[language] = answer.reason
    return unserved


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
