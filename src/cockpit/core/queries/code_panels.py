"""What Work shows of code while a session is open, as panels told at most twice a second: its language
servers (and the index while it reads files), the problems they find, and that files changed on disk."""

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
# Before that a session's first paint and first words come first.
WARM_AFTER = 1.0


class CodePanels:
    """One session's. `emit` is its log's; `warm`, for somebody who looks on, also begins the index and the
    main language's server, and tells of files that change."""

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
        """In a moment, until the index is whole; not for ever where it has come to a stop."""
        self._stood = self._stood + 1 if progress == self._progress else 0
        self._progress = progress
        if self._stood < MAX_IDLE_REFRESHES:
            self._heard()

    def _watch_files(self) -> None:
        """Once servers and index have begun: they share the one watcher of the root."""
        if self._unwatch_files is None and self._looked_on:
            from cockpit.navigation import file_watcher

            self._unwatch_files = file_watcher.watch_root(self._root, self._files_changed)

    def _files_changed(self, paths: Sequence[str]) -> None:
        if self._files is None:
            self._files = asyncio.get_running_loop().call_later(REFRESH_SECONDS, self._tell_files)

    def _tell_files(self) -> None:
        """Without rows: which files they were, a queue that keeps only the newest would lose."""
        self._files = None
        self._emit(PanelChanged("files", ()))

    def _show(self, panel: str, rows: tuple[PanelRow, ...]) -> None:
        if self._shown[panel] != rows:
            self._shown[panel] = rows
            self._emit(PanelChanged(panel, rows))


def _server_row(row: ServerRow) -> PanelRow:
    return PanelRow(f"{row.name}  {row.detail or row.language}", row.state)


def _index_row(done: int, known: int) -> PanelRow:
    """How far it is; before the first answer of its process one file is known, and none by name."""
    return PanelRow(f"index  {done} of {known} files" if known > 1 else "index  looks for files", "indexing")


def _problem_row(row: ProblemRow) -> PanelRow:
    """A row whose Enter opens the place."""
    place = f"{row.path}:{row.line}"
    return PanelRow(f"{place} {row.message}", row.severity, f"open {place}:{row.column}")


def _problem_key(row: ProblemRow) -> tuple[str, int, int, int]:
    return row.path, row.line, SEVERITIES.index(row.severity), row.column
