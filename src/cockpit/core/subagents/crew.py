"""The subagents of one session: a queue, as many at once as settings allow, and an end for each.

Emits what each becomes (`AgentChanged`, kept) and how they stand (the panel `agents`, at most four times a
second). Knows no role and no right.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator

from cockpit.core.agent import Agent
from cockpit.core.budget import Budget
from cockpit.core.subagents.member import LIVING, Member
from cockpit.core.subagents.terms import running_at_once
from cockpit.errors import CockpitError
from cockpit.protocol.agents import AgentChanged, AgentTerms
from cockpit.protocol.events import Envelope, PanelChanged, TurnFinished
from cockpit.protocol.rows import PanelRow

PANEL = "agents"
PANEL_EVERY = 0.25
MOST_ROWS = 50
TOLD_WORDS = 2_000


class Crew:
    """Every subagent of the session, those of sessions before too. `fresh` makes a budget for what begins
    outside of a turn; `wake` begins a turn of the main agent with a text, where settings want that."""

    def __init__(self, main: Agent, fresh: Callable[[], Budget], wake: Callable[[str], None]) -> None:
        self.main = main
        self.fresh = fresh
        self.members: dict[str, Member] = {}
        self._queue: deque[Member] = deque()
        self._wake = wake
        self._drawing: asyncio.TimerHandle | None = None
        self._closed = False

    def all(self) -> tuple[Member, ...]:
        return tuple(self.members.values())

    def find(self, id: str) -> Member:
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

    def enlist(self, member: Member, terms: AgentTerms | None) -> None:
        """Take one in: it begins at once, or waits for its turn."""
        self.members[member.id] = member
        self._queue.append(member)
        self._tell(member, terms)
        self._start_next()

    def keep(self, member: Member) -> None:
        """One of a session before that has ended."""
        self.members[member.id] = member

    async def say(self, id: str, text: str) -> None:
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
        self._closed = True
        self._queue.clear()
        await self._end(list(self.all()), at_once=True)
        if self._drawing is not None:
            self._drawing.cancel()

    def living(self) -> tuple[Member, ...]:
        return tuple(one for one in self.all() if not one.is_over)

    async def one_ends(self) -> None:
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

    def changed(self, member: Member, is_phase: bool) -> None:
        """A member is at something else, or (`is_phase`) has begun or ended."""
        if not is_phase:
            self._draw_soon()
            return
        if member.is_over:
            with contextlib.suppress(ValueError):
                self._queue.remove(member)
            self._report(member)
        self._tell(member)
        if member.is_over:
            self._start_next()

    def see(self, envelope: Envelope) -> None:
        """Hand an event to the one it is of."""
        member = self.members.get(envelope.agent)
        if member is not None:
            member.see(envelope)
        elif envelope.agent == "main" and isinstance(envelope.event, TurnFinished):
            asyncio.get_running_loop().call_soon(self._wake_main)

    @contextlib.contextmanager
    def waited_for(self, member: Member) -> Iterator[None]:
        """While its opener waits for it the opener takes no place: else agents that open agents would wait
        for each other for ever."""
        member.foreground += 1
        self._start_next()
        try:
            yield
        finally:
            member.foreground -= 1

    def forget_note(self, member: Member) -> None:
        """Its opener has read its report and is not told of it again."""
        opener = self._listener(member)
        kept = [note for note in opener.notes if not note[0].startswith(_note(member.id))]
        opener.notes = deque(kept)

    def note(self, member: Member) -> None:
        """Tell its opener, at its next step, how it ended."""
        report = member.result()
        words = report.text if len(report.text) <= TOLD_WORDS else f"{report.text[:TOLD_WORDS]}\n[...]"
        text = (
            f"[The subagent {member.id} ({member.row.role}), which ran in the background, is "
            f"{member.row.phase}. It reports (agents(action='result', id='{member.id}') has all of it):]\n"
            f"{words}"
        )
        self._listener(member).notes.append((f"{_note(member.id)}{self.main.host.new_id()}", text))

    def _report(self, member: Member) -> None:
        if self._closed or not member.row.background or member.row.phase == "cancelled":
            return
        self.note(member)
        self._wake_main()

    def _wake_main(self) -> None:
        host = self.main.host
        if self._closed or not self.main.notes or host.settings.text("agents.follow_up") != "idle":
            return
        text = "\n\n".join(text for _, text in self.main.notes)
        self.main.notes.clear()
        self._wake(text)

    def _listener(self, member: Member) -> Agent:
        """Who hears of its end: its opener, or the nearest above that is still there."""
        opener = self.members.get(member.parent.path)
        while opener is not None and opener.is_over:
            member = opener
            opener = self.members.get(member.parent.path)
        return self.main if opener is None else opener.agent or self.main

    async def _end(self, members: list[Member], at_once: bool) -> None:
        ends = (one.cancel(at_once) for one in members if not one.is_over)
        await asyncio.gather(*ends)

    def _start_next(self) -> None:
        most = running_at_once(self.main.host.settings)
        while self._queue and not self._closed and self._running() < most:
            self._queue.popleft().begin()

    def _running(self) -> int:
        waiting = {one.parent.path for one in self.all() if one.foreground and not one.is_over}
        return sum(one.row.phase == "running" and one.id not in waiting for one in self.all())

    def _tell(self, member: Member, terms: AgentTerms | None = None) -> None:
        """A phase is kept, and shown at once."""
        self.main.host.log.emit(AgentChanged(member.row, terms), member.id, member.row.call)
        self._draw()

    def _draw_soon(self) -> None:
        if self._drawing is None and not self._closed:
            self._drawing = asyncio.get_running_loop().call_later(PANEL_EVERY, self._draw)

    def _draw(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        members = self.all()
        living = [one for one in members if one.row.phase in LIVING]
        over = [one for one in members if one.row.phase not in LIVING][-MOST_ROWS:]
        shown = {id(one) for one in (*living, *over)}
        rows = tuple(_drawn(one) for one in members if id(one) in shown)
        self.main.host.log.emit(PanelChanged(PANEL, rows))

    def draw(self) -> None:
        """Show those of a session before."""
        if self.members:
            self._draw()


def _drawn(member: Member) -> PanelRow:
    row = member.row
    what = row.doing or row.report.partition("\n")[0] or row.task.partition("\n")[0]
    return PanelRow(f"{row.id} {what}"[:200], row.phase, "", row)


def _note(id: str) -> str:
    """How the messages begin that tell of the end of `id`, so that a resumed session knows them."""
    return f"agent:{id}:"


def was_noted(id: str, message: str) -> bool:
    """Whether `message` is the id of one that told of the end of `id`."""
    return message.startswith(_note(id))
