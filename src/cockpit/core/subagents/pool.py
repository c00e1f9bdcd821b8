"""How an opener hears of the end of what it opened in the background: once, at its next step.

How the subagents stand, as rows of the panel `agents`: a phase at once, progress at most four times a
second, however many there are.

The subagents of one session: a queue, as many at once as settings allow, and an end for each.

Emits what each becomes (`AgentChanged`, kept) and how they stand (the panel `agents`, at most four times a
second). Knows no role and no right.
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
    """What `members` have to tell. `begin` begins a turn of the main agent."""

    def __init__(self, main: Agent, members: Mapping[str, Subagent], begin: Callable[[str], None]) -> None:
        self._main = main
        self._members = members
        self._begin = begin
        self.closed = False

    def ended(self, member: Subagent) -> None:
        """A member is over: who does not wait for it is told."""
        if self.closed or not member.row.background or member.row.phase == "cancelled":
            return
        self.add(member)
        # While a turn runs it is heard there; what comes too late for it is looked at when it has settled.
        if not self._main.services.log.turn:
            self.wake()

    def add(self, member: Subagent) -> None:
        """Tell its opener, at its next step, how it ended."""
        report = member.result()
        words = (
            report.text
            if len(report.text) <= MAX_NOTICE_LENGTH
            else f"{report.text[:MAX_NOTICE_LENGTH]}\n[...]"
        )
        text = (
            f"[The subagent {member.id} ({member.row.role}), which ran in the background, is "
            f"{member.row.phase}. It reports (agents(action='result', id='{member.id}') has all of it):]\n"
            f"{words}"
        )
        self._listener(member).notes.append((f"{_notice_prefix(member.id)}{new_id()}", text))

    def forget(self, member: Subagent) -> None:
        """Its opener has read its report and is not told of it again."""
        opener = self._listener(member)
        kept = [note for note in opener.notes if not note[0].startswith(_notice_prefix(member.id))]
        opener.notes = deque(kept)

    def wake(self) -> None:
        """No turn runs: what was not heard in one may begin the next, where settings want that."""
        services = self._main.services
        if self.closed or not self._main.notes or services.settings.text("agents.follow_up") != "idle":
            return
        text = "\n\n".join(text for _, text in self._main.notes)
        self._main.notes.clear()
        self._begin(text)

    def _listener(self, member: Subagent) -> Agent:
        """Who hears of its end: its opener, or the nearest above that is still there."""
        opener = self._members.get(member.parent.path)
        while opener is not None and opener.is_over:
            member = opener
            opener = self._members.get(member.parent.path)
        return self._main if opener is None else opener.agent or self._main


def _notice_prefix(id: str) -> str:
    """How the messages begin that tell of the end of `id`, so that a resumed session knows them."""
    return f"agent:{id}:"


def is_notice_of(id: str, message: str) -> bool:
    """Whether `message` is the id of one that told of the end of `id`."""
    return message.startswith(_notice_prefix(id))


AGENTS_PANEL = "agents"
DRAW_SECONDS = 0.25
MAX_ENDED_ROWS = 50


class AgentsPanel:
    """Draws `members`: those that live, and the last that ended."""

    def __init__(self, log: SessionLog, members: Mapping[str, Subagent]) -> None:
        self._log = log
        self._members = members
        self._drawing: asyncio.TimerHandle | None = None
        self._closed = False

    def soon(self) -> None:
        """Something has moved a little."""
        if self._drawing is None and not self._closed:
            self._drawing = asyncio.get_running_loop().call_later(DRAW_SECONDS, self.draw)

    def draw(self) -> None:
        """Show them now."""
        self._cancel()
        if self._closed:
            return
        members = tuple(self._members.values())
        over = [one for one in members if one.row.phase not in LIVE_PHASES][-MAX_ENDED_ROWS:]
        shown = {one.id for one in (*over, *(one for one in members if one.row.phase in LIVE_PHASES))}
        self._log.emit(
            PanelChanged(AGENTS_PANEL, tuple(_panel_row(one) for one in members if one.id in shown))
        )

    def close(self) -> None:
        self._cancel()
        self._closed = True

    def _cancel(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None


def _panel_row(member: Subagent) -> PanelRow:
    row = member.row
    what = row.doing or row.report.partition("\n")[0] or row.task.partition("\n")[0]
    return PanelRow(f"{row.id} {what}"[:200], row.phase, "", row)


class SubagentPool:
    """Every subagent of the session, those of sessions before too. `fresh` makes a budget for what begins
    outside of a turn; `wake` begins a turn of the main agent with a text, where settings want that."""

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
        """The one of that path, or of a part of it that names one. Raises `CockpitError`."""
        if (member := self.members.get(id)) is not None:
            return member
        ended = [one for path, one in self.members.items() if id and path.endswith(f"/{id}")]
        found = ended or [one for path, one in self.members.items() if id and id in path]
        if len(found) == 1:
            return found[0]
        names = ", ".join(one.id for one in found or self.all()) or "none"
        what = f"{id} could be several" if found else f"there is no agent {id}"
        raise CockpitError(what, f"agents: {names}")

    def free_id(self, parent: str, name: str, numbered: bool) -> str:
        """A path below `parent` that nobody has."""
        number = 1 + sum(path.rpartition("/")[0] == parent for path in self.members)
        if not numbered and f"{parent}/{name}" not in self.members:
            return f"{parent}/{name}"
        while f"{parent}/{name}-{number}" in self.members:
            number += 1
        return f"{parent}/{name}-{number}"

    def enlist(self, member: Subagent, terms: AgentTerms | None) -> None:
        """Take one in: it begins at once, or waits for its turn."""
        self.members[member.id] = member
        self._queue.append(member)
        self._tell(member, terms)
        self._start_next()

    def keep(self, member: Subagent) -> None:
        """One of a session before that has ended."""
        self.members[member.id] = member

    async def send(self, id: str, text: str) -> None:
        """Say `text` to one; who has ended goes on with it."""
        member = self.find(id)
        if not await member.say(text):
            self._queue.append(member)
            self._tell(member)
            self._start_next()

    async def cancel(self, id: str, at_once: bool = False) -> None:
        """End one, and those below it."""
        await self._end([one for one in self.all() if one.id == id or one.id.startswith(f"{id}/")], at_once)

    async def cancel_all(self, at_once: bool = False) -> None:
        await self._end(list(self.all()), at_once)

    async def close(self) -> None:
        """End all for good; nothing is told any more of who would begin next."""
        self._closed = self.notices.closed = True
        self._queue.clear()
        await self._end(list(self.all()), at_once=True)
        self.panel.close()

    def living(self) -> tuple[Subagent, ...]:
        return tuple(one for one in self.all() if not one.is_over)

    async def wait_for_any(self) -> None:
        """Until one of those in the background has ended; at once where there is none."""
        waits = [asyncio.create_task(one.wait()) for one in self.living()]
        try:
            if waits:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def agents(self) -> tuple[Agent, ...]:
        """Those that live in this process, ended ones too: they may be told more."""
        return tuple(one.agent for one in self.all() if one.agent is not None)

    def changed(self, member: Subagent, is_phase: bool) -> None:
        """A member is at something else, or (`is_phase`) has begun or ended."""
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
        """Hand an event to the one it is of."""
        member = self.members.get(envelope.agent)
        if member is not None:
            member.see(envelope)

    @contextlib.contextmanager
    def waited_for(self, member: Subagent) -> Iterator[None]:
        """While its opener waits for it the opener takes no place: else agents that open agents would wait
        for each other for ever."""
        member.foreground += 1
        self._start_next()
        try:
            yield
        finally:
            member.foreground -= 1

    async def _end(self, members: list[Subagent], at_once: bool) -> None:
        ends = (one.cancel(at_once) for one in members if not one.is_over)
        await asyncio.gather(*ends)

    def _start_next(self) -> None:
        most = max_concurrent(self.main.services.settings)
        while self._queue and not self._closed and self._running() < most:
            self._queue.popleft().begin()

    def _running(self) -> int:
        waiting = {one.parent.path for one in self.all() if one.foreground and not one.is_over}
        return sum(one.row.phase == "running" and one.id not in waiting for one in self.all())

    def _tell(self, member: Subagent, terms: AgentTerms | None = None) -> None:
        """A phase is kept, and shown at once."""
        self.main.services.log.emit(AgentChanged(member.row, terms), member.id, member.row.call)
        self.panel.draw()
