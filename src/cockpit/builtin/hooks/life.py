"""What the hooks of one root remember while this process runs: who ran once, what runs beside the turns,
what came too late for the moment it was about."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

from cockpit.builtin.hooks.agreeing import Agreement


@dataclass(slots=True)
class Kept:
    """One session. `late` is what the model is told at its next step, `said` what a person was told."""

    once: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)
    late: list[str] = field(default_factory=list)
    beside: "set[asyncio.Task[None]]" = field(default_factory=set)

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Run something beside the turn."""
        task = asyncio.create_task(work)
        self.beside.add(task)
        task.add_done_callback(self.beside.discard)


@dataclass(slots=True)
class Life:
    """The hooks of one root; it outlives the catalogs that are built for it."""

    agreement: Agreement
    sessions: dict[str, Kept] = field(default_factory=dict)

    def kept(self, session: str) -> Kept:
        return self.sessions.setdefault(session, Kept())

    async def end(self, session: str) -> None:
        """A session is over: what still runs for it is stopped."""
        kept = self.sessions.pop(session, Kept())
        self.agreement.forget(session)
        for task in kept.beside:
            task.cancel()
        await asyncio.gather(*kept.beside, return_exceptions=True)
