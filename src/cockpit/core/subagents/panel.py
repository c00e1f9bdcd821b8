"""How the subagents stand, as rows of the panel `agents`: a phase at once, progress at most four times a
second, however many there are."""

import asyncio
from collections.abc import Mapping

from cockpit.core.log import Log
from cockpit.core.subagents.member import LIVING, Member
from cockpit.protocol.events import PanelChanged
from cockpit.protocol.rows import PanelRow

PANEL = "agents"
EVERY = 0.25
MOST_ROWS = 50


class AgentsPanel:
    """Draws `members`: those that live, and the last that ended."""

    def __init__(self, log: Log, members: Mapping[str, Member]) -> None:
        self._log = log
        self._members = members
        self._drawing: asyncio.TimerHandle | None = None
        self._closed = False

    def soon(self) -> None:
        """Something has moved a little."""
        if self._drawing is None and not self._closed:
            self._drawing = asyncio.get_running_loop().call_later(EVERY, self.draw)

    def draw(self) -> None:
        """Show them now."""
        self._cancel()
        if self._closed:
            return
        members = tuple(self._members.values())
        over = [one for one in members if one.row.phase not in LIVING][-MOST_ROWS:]
        shown = {one.id for one in (*over, *(one for one in members if one.row.phase in LIVING))}
        self._log.emit(PanelChanged(PANEL, tuple(_drawn(one) for one in members if one.id in shown)))

    def close(self) -> None:
        self._cancel()
        self._closed = True

    def _cancel(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None


def _drawn(member: Member) -> PanelRow:
    row = member.row
    what = row.doing or row.report.partition("\n")[0] or row.task.partition("\n")[0]
    return PanelRow(f"{row.id} {what}"[:200], row.phase, "", row)
