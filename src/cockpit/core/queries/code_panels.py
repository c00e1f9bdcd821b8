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
# The first paint and the first prompt come before that.
WARM_AFTER = 1.0


class CodePanels:
    """The panels of one session. `emit` is its log's. With `warm`, for a user who watches, the index and the
    main language's server start soon, and changed files are reported."""

    def __init__(
        self, navigator: LiveNavigator, root: str, emit: Callable[[Event], object], warm: bool
    ) -> None:
        self._navigator = navigator
        self._root = root
        self._looked_on = warm
        self._emit = emit
        self._shown: dict[str, tuple[PanelRow, ...]] = {"servers": (), "problems": ()}
        self._waiting: asyncio.TimerHandle | None = None
        self._files: asyncio.TimerHandle | None = None
        self._unwatch = navigator.life.watch(self._heard)
        self._unwatch_files: Callable[[], None] | None = None
        self._progress, self._stood = (0, 0), 0
        self._told = 0.0  # when, on the loop's clock
        loop = asyncio.get_running_loop()
        self._warming = loop.call_later(WARM_AFTER, self._warm) if warm else None

    def close(self) -> None:
        for timer in (self._waiting, self._files, self._warming):
            if timer is not None:
                timer.cancel()
        self._unwatch()
        if self._unwatch_files is not None:
            self._unwatch_files()

    def _warm(self) -> None:
        self._navigator.life.warm()
        self._heard()

    def _heard(self) -> None:
        if self._waiting is None:
            loop = asyncio.get_running_loop()
            self._waiting = loop.call_at(max(loop.time(), self._told + REFRESH_SECONDS), self._tell)

    def _tell(self) -> None:
        self._waiting, self._told = None, asyncio.get_running_loop().time()
        live = self._navigator.life.now
        servers = [_server_row(row) for row in self._navigator.servers()]
        if live.index is not None:
            self._watch_files()
            done, known = live.index.progress
            if done < known:
                servers.append(_index_row(done, known))
                self._look_again((done, known))
        elif self._looked_on:
            self._look_again((0, 0))  # it begins in a moment
        published = live.servers.published() if live.servers is not None else {}
        problems = sorted((row for rows in published.values() for row in rows), key=_problem_key)[
            :MAX_PROBLEMS
        ]
        self._show("servers", tuple(servers))
        self._show("problems", tuple(_problem_row(row) for row in problems))

    def _look_again(self, progress: tuple[int, int]) -> None:
        """Update again until the index is complete; give up when it makes no progress."""
        self._stood = self._stood + 1 if progress == self._progress else 0
        self._progress = progress
        if self._stood < MAX_IDLE_REFRESHES:
            self._heard()

    def _watch_files(self) -> None:
        """Watch the root once servers and index have begun: they share one watcher."""
        if self._unwatch_files is None and self._looked_on:
            from cockpit.navigation import file_watcher

            self._unwatch_files = file_watcher.watch_root(self._root, self._files_changed)

    def _files_changed(self, paths: Sequence[str]) -> None:
        if self._files is None:
            self._files = asyncio.get_running_loop().call_later(REFRESH_SECONDS, self._tell_files)

    def _tell_files(self) -> None:
        """Report changed files without rows: a queue that keeps only the newest event would lose them."""
        self._files = None
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
        return PanelRow("index  looks for files", "indexing", files_read=0)
    return PanelRow(f"index  {done} of {known} files", "indexing", files_read=done, files_known=known)


def _problem_row(row: ProblemRow) -> PanelRow:
    """A row whose Enter opens the location."""
    place = f"{row.path}:{row.line}"
    return PanelRow(f"{place} {row.message}", row.severity, f"open {place}:{row.column}")


def _problem_key(row: ProblemRow) -> tuple[str, int, int, int]:
    return row.path, row.line, SEVERITIES.index(row.severity), row.column
