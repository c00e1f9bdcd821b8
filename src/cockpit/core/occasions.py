"""The points of guards that lie beside the turns: a session begins and ends, a person is notified.

Knows no turn: what guards add at the beginning waits until the next one takes it.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

from cockpit.core.agent import Agent
from cockpit.core.guards import ask_guards, has_guards
from cockpit.plugin.safety import Guard, Guarded
from cockpit.protocol.events import (
    ApprovalRequested,
    Envelope,
    Event,
    QuestionAsked,
    TurnFinished,
    TurnStarted,
)

# Nobody waits longer for a session to end, whatever its guards ask for.
ENDING_SECONDS = 60.0


@dataclass(slots=True)
class Occasions:
    """The occasions of one session. `idle_seconds` after a turn a person is told that they are waited for."""

    main: Agent
    idle_seconds: float = 60.0
    _begun: set[str] = field(default_factory=set)
    _beginning: "asyncio.Task[None] | None" = None
    _added: list[str] = field(default_factory=list)
    _telling: "set[asyncio.Task[None]]" = field(default_factory=set)
    _idling: asyncio.TimerHandle | None = None

    def begin(self, source: str) -> None:
        """The session begins, or goes on (`resume`). Asked again after a reload, those guards are told
        that are new."""
        everybody = self.main.host.catalog.all(Guard)
        fresh = tuple(
            one for one in everybody if one.point == "session_start" and one.name not in self._begun
        )
        if not fresh:
            return
        self._begun |= {one.name for one in fresh}
        self._beginning = asyncio.create_task(self._begin(source, fresh, self._beginning))

    async def begun(self) -> tuple[str, ...]:
        """What the guards of the beginning add, each text once. Waits for them."""
        if self._beginning is not None:
            await asyncio.shield(self._beginning)
        added, self._added = tuple(self._added), []
        return added

    def see(self, envelope: Envelope) -> None:
        """Notify of what a person has to answer, and of a turn that ended long ago."""
        event = envelope.event
        if envelope.agent == "main" and isinstance(event, TurnStarted | TurnFinished):
            self._is_idle(isinstance(event, TurnFinished))
        if not isinstance(event, ApprovalRequested | QuestionAsked):
            return
        if self.main.host.approvals.someone and has_guards(self.main, "notification"):
            self._tell(self._notify(*_notice(event)))

    async def end(self, reason: str) -> None:
        """The session ends: what still runs here is over, then the guards are told."""
        self._is_idle(False)
        running = {*self._telling, *((self._beginning,) if self._beginning else ())}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if has_guards(self.main, "session_end"):
            ending = asyncio.create_task(self._end(reason))
            await asyncio.wait((ending,), timeout=ENDING_SECONDS)
            ending.cancel()

    async def _begin(
        self, source: str, fresh: tuple[Guard, ...], before: "asyncio.Task[None] | None"
    ) -> None:
        if before is not None:
            await before
        guarded = Guarded("session_start", facts={"source": source, "model": self.main.host.model})
        passed = await ask_guards(self.main, guarded, fresh)
        self._added += passed.added

    async def _notify(self, kind: str, text: str) -> None:
        await ask_guards(self.main, Guarded("notification", text, facts={"kind": kind}))

    async def _end(self, reason: str) -> None:
        await ask_guards(self.main, Guarded("session_end", facts={"reason": reason}))

    def _is_idle(self, idle: bool) -> None:
        if self._idling is not None:
            self._idling.cancel()
            self._idling = None
        if idle and self.main.host.approvals.someone and has_guards(self.main, "notification"):
            loop = asyncio.get_running_loop()
            self._idling = loop.call_later(self.idle_seconds, self._waits)

    def _waits(self) -> None:
        self._tell(self._notify("idle_prompt", "cockpit is waiting for your input"))

    def _tell(self, telling: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(telling)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _notice(event: Event) -> tuple[str, str]:
    if isinstance(event, ApprovalRequested):
        return "permission_prompt", f"cockpit needs your permission to use {event.tool}: {event.title}"
    return "elicitation_dialog", event.question if isinstance(event, QuestionAsked) else ""
