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
from cockpit.core.subagents.member import Member
from cockpit.core.subagents.notes import Notes
from cockpit.core.subagents.panel import AgentsPanel
from cockpit.core.subagents.terms import running_at_once
from cockpit.errors import CockpitError
from cockpit.protocol.agents import AgentChanged, AgentTerms
from cockpit.protocol.events import Envelope


class Crew:
    """Every subagent of the session, those of sessions before too. `fresh` makes a budget for what begins
    outside of a turn; `wake` begins a turn of the main agent with a text, where settings want that."""

    def __init__(self, main: Agent, fresh: Callable[[], Budget], wake: Callable[[str], None]) -> None:
        self.main = main
        self.fresh = fresh
        self.members: dict[str, Member] = {}
        self._queue: deque[Member] = deque()
        self.notes = Notes(main, self.members, wake)
        self.panel = AgentsPanel(main.host.log, self.members)
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
        self._closed = self.notes.closed = True
        self._queue.clear()
        await self._end(list(self.all()), at_once=True)
        self.panel.close()

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
            self.panel.soon()
            return
        if member.is_over:
            with contextlib.suppress(ValueError):
                self._queue.remove(member)
            self.notes.ended(member)
        self._tell(member)
        if member.is_over:
            self._start_next()

    def see(self, envelope: Envelope) -> None:
        """Hand an event to the one it is of."""
        member = self.members.get(envelope.agent)
        if member is not None:
            member.see(envelope)

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
        self.panel.draw()
