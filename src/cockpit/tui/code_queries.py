"""What the screen asks about code by itself: the outline of the file at hand, the problems.

Asked when an event made the old answer stale and somebody can see it; one question of a kind at a time.
Refuses to draw: the answer goes into the state.
"""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cockpit.protocol.code import ProblemRows, Problems, SymbolRows, Symbols
from cockpit.protocol.queries import Refused, Reply
from cockpit.tui.session_link import SessionLink

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController

QUERY_REST_SECONDS = 0.25
"""Seconds between two questions of a kind, so that a server that reports file by file is not a storm."""


@runtime_checkable
class ServerListener(Protocol):
    """A screen that asks again when a server's state changes."""

    def servers_changed(self) -> None: ...


async def query_problems(link: SessionLink, at_hand: str) -> Reply:
    """What the servers know of every file, and of the one at hand what they find when they are asked."""
    here = await link.ask(Problems(at_hand)) if at_hand else None
    everywhere = await link.ask(Problems())
    if not isinstance(here, ProblemRows) or not isinstance(everywhere, ProblemRows):
        return everywhere
    others = tuple(row for row in everywhere.rows if row.path != at_hand)
    notes = dict.fromkeys(note for note in (everywhere.note, here.note) if note)
    return ProblemRows(others + here.rows, everywhere.complete and here.complete, "; ".join(notes))


class CodeQueries:
    """The open questions of one screen."""

    def __init__(self, desk: "SessionController") -> None:
        self._desk = desk
        self._open: set[str] = set()

    def refresh(self) -> None:
        """Ask what is stale and can be seen."""
        desk = self._desk
        if desk.link is None:
            return
        code = desk.link.state.code
        if "servers" in code.stale:
            code.stale.discard("servers")
            for screen in desk.app.screen_stack:
                if isinstance(screen, ServerListener):
                    screen.servers_changed()
        if "problems" in code.stale and "problems" not in self._open:
            code.stale.discard("problems")
            self._open.add("problems")
            desk.app.run_worker(self._problems())
        if "outline" in code.stale and code.tab == "outline" and "outline" not in self._open:
            code.stale.discard("outline")
            if code.at_hand:
                self._open.add("outline")
                desk.app.run_worker(self._outline(code.at_hand))

    async def _problems(self) -> None:
        link = self._desk.link
        assert link is not None
        state = link.state
        reply = await query_problems(link, state.code.at_hand)
        if isinstance(reply, ProblemRows):
            state.code.problems = reply
            state.aspects.add("work")
        self._rest("problems")

    async def _outline(self, path: str) -> None:
        link = self._desk.link
        assert link is not None
        state = link.state
        reply = await link.ask(Symbols("", path))
        if path == state.code.at_hand:
            if isinstance(reply, SymbolRows):
                state.code.outline = reply
            elif isinstance(reply, Refused):
                state.code.outline = SymbolRows((), True, reply.reason)
            state.aspects.add("work")
        self._rest("outline")

    def _rest(self, what: str) -> None:
        """The question is answered; the next of its kind may come in a moment."""
        desk = self._desk
        desk.changed()

        def again() -> None:
            self._open.discard(what)
            if desk.link is not None and desk.link.state.code.stale:
                desk.changed()

        desk.app.set_timer(QUERY_REST_SECONDS, again)
