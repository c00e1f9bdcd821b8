"""The subagents of one session: a queue, a limit on how many run at once, and the end of each.

Emits each phase (`AgentChanged`, durable) and the panel `agents`, at most four times a second. Openers learn
at their next step how background subagents ended.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from cockpit.core.agent.agent import Agent
from cockpit.core.agent.turn_limits import Budget
from cockpit.core.subagents.child_agent import max_concurrent
from cockpit.core.subagents.subagent import LIVE_PHASES, Subagent
from cockpit.core.transcript.log import SessionLog, new_id
from cockpit.errors import CockpitError
from cockpit.protocol.events import Envelope, PanelChanged
from cockpit.protocol.rows import AgentChanged, AgentTerms, PanelRow

MAX_NOTICE_LENGTH = 2_000


class EndNotices:
    """Tells openers how background subagents ended. `begin` starts a turn of the main agent."""

    def __init__(self, main: Agent, members: Mapping[str, Subagent], begin: Callable[[str], None]) -> None:
        self._main = main
        self._members = members
        self._begin = begin
        self.closed = False

    def ended(self, member: Subagent) -> None:
        """A subagent ended: tell an opener that does not wait for it."""
        if self.closed or not member.row.background or member.row.phase == "cancelled":
            return
        self.add(member)
        # A running turn reads it; what comes too late is handled when the turn has settled.
        if not self._main.services.log.turn:
            self.wake()

    def add(self, member: Subagent) -> None:
        """Tell its opener, at its next step, how it ended."""
        report = member.result()
        long = len(report.text) > MAX_NOTICE_LENGTH
        shown = f"{report.text[:MAX_NOTICE_LENGTH]}\n[...]" if long else report.text
        text = (
            f"[The subagent {member.id} ({member.row.role}), which ran in the background, is "
            f"{member.row.phase}. Its report (agents(action='result', id='{member.id}') has all of it):]\n"
            f"{shown}"
        )
        self._reader(member).notes.append((f"{_notice_prefix(member.id)}{new_id()}", text))

    def forget(self, member: Subagent) -> None:
        """Its opener has read the report and is not told again."""
        opener = self._reader(member)
        opener.notes = deque(note for note in opener.notes if not is_notice_of(member.id, note[0]))

    def wake(self) -> None:
        """No turn runs: notices nobody has read start one, if settings want that."""
        services = self._main.services
        if self.closed or not self._main.notes or services.settings.text("agents.follow_up") != "idle":
            return
        text = "\n\n".join(text for _, text in self._main.notes)
        self._main.notes.clear()
        self._begin(text)

    def _reader(self, member: Subagent) -> Agent:
        """The agent that reads the notice: its opener, or the nearest agent above that still runs."""
        opener = self._members.get(member.parent.path)
        while opener is not None and opener.is_over:
            member = opener
            opener = self._members.get(member.parent.path)
        return self._main if opener is None else opener.agent or self._main


def _notice_prefix(id: str) -> str:
    """How the ids of messages about the end of `id` start, so that a resumed session recognises them."""
    return f"agent:{id}:"


def is_notice_of(id: str, message: str) -> bool:
    """Whether `message` is the id of a message about the end of `id`."""
    return message.startswith(_notice_prefix(id))


AGENTS_PANEL = "agents"
DRAW_SECONDS = 0.25
MAX_ENDED_ROWS = 50


class AgentsPanel:
    """Draws the running subagents and those that ended last."""

    def __init__(self, log: SessionLog, members: Mapping[str, Subagent]) -> None:
        self._log = log
        self._members = members
        self._drawing: asyncio.TimerHandle | None = None
        self._closed = False

    def soon(self) -> None:
        """Draw within `DRAW_SECONDS`."""
        if self._drawing is None and not self._closed:
            self._drawing = asyncio.get_running_loop().call_later(DRAW_SECONDS, self.draw)

    def draw(self) -> None:
        """Draw now."""
        self._cancel()
        if self._closed:
            return
        members = tuple(self._members.values())
        over = [member for member in members if member.row.phase not in LIVE_PHASES]
        hidden = {member.id for member in over[:-MAX_ENDED_ROWS]}
        rows = tuple(_panel_row(member) for member in members if member.id not in hidden)
        self._log.emit(PanelChanged(AGENTS_PANEL, rows))

    def close(self) -> None:
        self._cancel()
        self._closed = True

    def _cancel(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None


def _panel_row(member: Subagent) -> PanelRow:
    row = member.row
    text = row.doing or row.report.partition("\n")[0] or row.task.partition("\n")[0]
    return PanelRow(f"{row.id} {text}"[:200], row.phase, "", row)


class SubagentPool:
    """Every subagent of the session, those of earlier runs included.

    `fresh` creates a budget for work that begins outside a turn; `wake` starts a turn of the main agent with
    a text.
    """

    def __init__(self, main: Agent, fresh: Callable[[], Budget], wake: Callable[[str], None]) -> None:
        self.main = main
        self.fresh = fresh
        self.members: dict[str, Subagent] = {}
        self._queue: deque[Subagent] = deque()
        self.notices = EndNotices(main, self.members, wake)
        self.panel = AgentsPanel(main.services.log, self.members)
        self._closed = False

    def all(self) -> tuple[Subagent, ...]:
        return tuple(self.members.values())

    def find(self, id: str) -> Subagent:
        """Find a subagent by its path or a unique part of it. Raises `CockpitError`."""
        if (member := self.members.get(id)) is not None:
            return member
        found = [member for path, member in self.members.items() if id and path.endswith(f"/{id}")]
        found = found or [member for path, member in self.members.items() if id and id in path]
        if len(found) == 1:
            return found[0]
        names = ", ".join(member.id for member in found or self.all()) or "none"
        problem = f"{id} matches several agents" if found else f"there is no agent {id}"
        raise CockpitError(problem, f"agents: {names}")

    def free_id(self, parent: str, name: str, numbered: bool) -> str:
        """An unused path below `parent`."""
        number = 1 + sum(path.rpartition("/")[0] == parent for path in self.members)
        if not numbered and f"{parent}/{name}" not in self.members:
            return f"{parent}/{name}"
        while f"{parent}/{name}-{number}" in self.members:
            number += 1
        return f"{parent}/{name}-{number}"

    def enlist(self, member: Subagent, terms: AgentTerms | None) -> None:
        """Add a subagent: it begins at once, or waits for its turn."""
        self.members[member.id] = member
        self._queue.append(member)
        self._tell(member, terms)
        self._start_next()

    def keep(self, member: Subagent) -> None:
        """Add a subagent of an earlier run that has ended."""
        self.members[member.id] = member

    async def send(self, id: str, text: str) -> None:
        """Send `text` to a subagent; one that has ended continues with it."""
        member = self.find(id)
        if not await member.say(text):
            self._queue.append(member)
            self._tell(member)
            self._start_next()

    async def cancel(self, id: str, at_once: bool = False) -> None:
        """Cancel a subagent and those below it."""
        below = [member for member in self.all() if member.id == id or member.id.startswith(f"{id}/")]
        await self._end(below, at_once)

    async def cancel_all(self, at_once: bool = False) -> None:
        await self._end(list(self.all()), at_once)

    async def close(self) -> None:
        """Cancel all; nothing starts any more."""
        self._closed = self.notices.closed = True
        self._queue.clear()
        await self._end(list(self.all()), at_once=True)
        self.panel.close()

    def living(self) -> tuple[Subagent, ...]:
        return tuple(subagent for subagent in self.all() if not subagent.is_over)

    async def wait_for_any(self) -> None:
        """Wait until a subagent has ended; return at once when none runs."""
        waits = [asyncio.create_task(member.wait()) for member in self.living()]
        try:
            if waits:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def agents(self) -> tuple[Agent, ...]:
        """The agents that live in this process, ended ones included: they may get more tasks."""
        return tuple(subagent.agent for subagent in self.all() if subagent.agent is not None)

    def changed(self, member: Subagent, is_phase: bool) -> None:
        """A subagent made progress, or (`is_phase`) began or ended."""
        if not is_phase:
            self.panel.soon()
            return
        if member.is_over:
            with contextlib.suppress(ValueError):
                self._queue.remove(member)
            self.notices.ended(member)
        self._tell(member)
        if member.is_over:
            self._start_next()

    def see(self, envelope: Envelope) -> None:
        """Pass an event to the subagent it belongs to."""
        if (member := self.members.get(envelope.agent)) is not None:
            member.see(envelope)

    @contextlib.contextmanager
    def waited_for(self, member: Subagent) -> Iterator[None]:
        """While its opener waits, the opener does not count as running; otherwise agents that open agents
        would wait for each other forever."""
        member.foreground += 1
        self._start_next()
        try:
            yield
        finally:
            member.foreground -= 1

    async def _end(self, members: list[Subagent], at_once: bool) -> None:
        await asyncio.gather(*(member.cancel(at_once) for member in members if not member.is_over))

    def _start_next(self) -> None:
        most = max_concurrent(self.main.services.settings)
        while self._queue and not self._closed and self._running() < most:
            self._queue.popleft().begin()

    def _running(self) -> int:
        waiting = {member.parent.path for member in self.living() if member.foreground}
        return sum(member.row.phase == "running" and member.id not in waiting for member in self.all())

    def _tell(self, member: Subagent, terms: AgentTerms | None = None) -> None:
        """Emit a phase and draw it."""
        self.main.services.log.emit(AgentChanged(member.row, terms), member.id, member.row.call)
        self.panel.draw()
