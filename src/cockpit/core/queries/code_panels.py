"""The code panels of a session, updated at most twice a second: language servers and index progress,
problems, and files that changed on disk.
"""

import asyncio
from collections.abc import Callable, Sequence

from cockpit.navigation.navigator import LiveNavigator
from cockpit.protocol.code import ProblemRow, ServerRow
from cockpit.protocol.events import Event, PanelChanged
from cockpit.protocol.rows import PanelRow

REFRESH_SECONDS = 0.5
MAX_PROBLEMS = 500
MAX_IDLE_REFRESHES = 20
SEVERITIES = ("error", "warning", "info", "hint")
# Leaves time for the first paint and the first prompt.
WARM_AFTER = 1.0


class CodePanels:
    """The panels of one session; `emit` writes to its log. With `warm`, for a user at the screen, the index
    and the main language's server start soon, and changed files are reported."""

    def __init__(
        self, navigator: LiveNavigator, root: str, emit: Callable[[Event], object], warm: bool
    ) -> None:
        self._navigator = navigator
        self._root = root
        self._is_watched = warm
        self._emit = emit
        self._shown: dict[str, tuple[PanelRow, ...]] = {"servers": (), "problems": ()}
        self._update: asyncio.TimerHandle | None = None
        self._updated_at = 0.0
        self._file_report: asyncio.TimerHandle | None = None
        self._unwatch = navigator.life.watch(self._schedule)
        self._unwatch_files: Callable[[], None] | None = None
        self._progress, self._idle_refreshes = (0, 0), 0
        loop = asyncio.get_running_loop()
        self._warming = loop.call_later(WARM_AFTER, self._warm) if warm else None

    def close(self) -> None:
        for timer in (self._update, self._file_report, self._warming):
            if timer is not None:
                timer.cancel()
        self._unwatch()
        if self._unwatch_files is not None:
            self._unwatch_files()

    def _warm(self) -> None:
        self._navigator.life.warm()
        self._schedule()

    def _schedule(self) -> None:
        if self._update is None:
            loop = asyncio.get_running_loop()
            due = max(loop.time(), self._updated_at + REFRESH_SECONDS)
            self._update = loop.call_at(due, self._update_panels)

    def _update_panels(self) -> None:
        self._update, self._updated_at = None, asyncio.get_running_loop().time()
        live = self._navigator.life.now
        servers = [_server_row(row) for row in self._navigator.servers()]
        if live.index is not None:
            self._watch_files()
            done, known = live.index.progress
            if done < known:
                servers.append(_index_row(done, known))
                self._schedule_again((done, known))
        elif self._is_watched:
            self._schedule_again((0, 0))  # The index begins soon.
        published = live.servers.published() if live.servers is not None else {}
        problems = sorted((row for rows in published.values() for row in rows), key=_problem_key)
        self._show("servers", tuple(servers))
        self._show("problems", tuple(map(_problem_row, problems[:MAX_PROBLEMS])))

    def _schedule_again(self, progress: tuple[int, int]) -> None:
        """Update again until the index is complete; give up when it makes no progress."""
        self._idle_refreshes = self._idle_refreshes + 1 if progress == self._progress else 0
        self._progress = progress
        if self._idle_refreshes < MAX_IDLE_REFRESHES:
            self._schedule()

    def _watch_files(self) -> None:
        """Watch the root once servers and index have begun: they share one watcher."""
        if self._unwatch_files is None and self._is_watched:
            from cockpit.navigation import file_watcher

            self._unwatch_files = file_watcher.watch_root(self._root, self._files_changed)

    def _files_changed(self, paths: Sequence[str]) -> None:
        if self._file_report is None:
            loop = asyncio.get_running_loop()
            self._file_report = loop.call_later(REFRESH_SECONDS, self._report_files)

    def _report_files(self) -> None:
        """Report changed files without rows: a queue that keeps only the newest event would lose them."""
        self._file_report = None
        self._emit(PanelChanged("files", ()))

    def _show(self, panel: str, rows: tuple[PanelRow, ...]) -> None:
        if self._shown[panel] != rows:
            self._shown[panel] = rows
            self._emit(PanelChanged(panel, rows))


def _server_row(row: ServerRow) -> PanelRow:
    return PanelRow(f"{row.name}  {row.detail or row.language}", row.state)


def _index_row(done: int, known: int) -> PanelRow:
    """The progress of the index. Before the first answer of its process only one file is known."""
    if known <= 1:
        return PanelRow("index  searching for files", "indexing", files_read=0)
    return PanelRow(f"index  {done} of {known} files", "indexing", files_read=done, files_known=known)


def _problem_row(row: ProblemRow) -> PanelRow:
    """A row that opens the location on Enter."""
    place = f"{row.path}:{row.line}"
    return PanelRow(f"{place} {row.message}", row.severity, f"open {place}:{row.column}")


def _problem_key(row: ProblemRow) -> tuple[str, int, int, int]:
    return row.path, row.line, SEVERITIES.index(row.severity), row.column
