"""What Work shows of code while a session is open: its language servers and the problems they find, as two
panels, told at most twice a second."""

import asyncio
from collections.abc import Callable

from cockpit.navigation.navigator import LiveNavigator
from cockpit.protocol.code import ProblemRow, ServerRow
from cockpit.protocol.events import Event, PanelChanged
from cockpit.protocol.rows import PanelRow

REST = 0.5
MOST = 500
SEVERITIES = ("error", "warning", "info", "hint")
# Before that a session's first paint and first words come first.
WARM_AFTER = 1.0


class CodePanels:
    """One session's. `emit` is its log's; `warm` also begins the index and the main language's server."""

    def __init__(self, navigator: LiveNavigator, emit: Callable[[Event], object], warm: bool) -> None:
        self._navigator = navigator
        self._emit = emit
        self._shown: dict[str, tuple[PanelRow, ...]] = {"servers": (), "problems": ()}
        self._waiting: asyncio.TimerHandle | None = None
        self._unwatch = navigator.life.watch(self._heard)
        loop = asyncio.get_running_loop()
        self._warming = loop.call_later(WARM_AFTER, navigator.life.warm) if warm else None

    def close(self) -> None:
        for timer in (self._waiting, self._warming):
            if timer is not None:
                timer.cancel()
        self._unwatch()

    def _heard(self) -> None:
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().call_later(REST, self._tell)

    def _tell(self) -> None:
        self._waiting = None
        live = self._navigator.life.now
        servers = [_server(row) for row in self._navigator.servers()]
        done, known = live.index.progress if live.index is not None else (0, 0)
        if done < known:
            servers.append(PanelRow(f"index {done}/{known} files", "indexing"))
        published = live.servers.published() if live.servers is not None else {}
        problems = sorted((row for rows in published.values() for row in rows), key=_order)[:MOST]
        self._show("servers", tuple(servers))
        self._show("problems", tuple(_problem(row) for row in problems))

    def _show(self, panel: str, rows: tuple[PanelRow, ...]) -> None:
        if self._shown[panel] != rows:
            self._shown[panel] = rows
            self._emit(PanelChanged(panel, rows))


def _server(row: ServerRow) -> PanelRow:
    return PanelRow(f"{row.name}  {row.detail or row.language}", row.state)


def _problem(row: ProblemRow) -> PanelRow:
    """A row whose Enter opens the place."""
    place = f"{row.path}:{row.line}"
    return PanelRow(f"{place} {row.message}", row.severity, f"open {place}:{row.column}")


def _order(row: ProblemRow) -> tuple[str, int, int, int]:
    return row.path, row.line, SEVERITIES.index(row.severity), row.column
