"""The session's events: numbered, written, folded into the history, and handed to every reader."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from cockpit.core import fault
from cockpit.core.gate import Gate
from cockpit.core.subscription import Subscription
from cockpit.core.transcript import Accepted, Anchor, Draft, Mark, Transcript
from cockpit.protocol.events import PASSING, Envelope, Event, PanelChanged, SessionClosed
from cockpit.protocol.ops import Op
from cockpit.protocol.wire import VERSION


class Log:
    """Where every event of a session passes. `see` is called with each before the readers are."""

    def __init__(self, session: str, transcript: Transcript, past: tuple[Envelope, ...], gate: Gate) -> None:
        self._session = session
        self._transcript = transcript
        self._gate = gate
        # The session is open again: its earlier closings would end a reader that has just begun.
        self._durable = [one for one in past if not isinstance(one.event, SessionClosed)]
        self._readers: list[Subscription] = []
        self._watchers: list[Callable[[Envelope], None]] = []
        self._panels: dict[str, Envelope] = {}
        self.seq = past[-1].seq if past else 0
        self.turn = ""

    def watch(self, see: Callable[[Envelope], None]) -> Callable[[], None]:
        """Call `see` with every envelope from now on; it must not block. What is returned ends it."""
        self._watchers.append(see)
        return lambda: self._watchers.remove(see)

    def emit(self, event: Event, agent: str = "main", call: str = "") -> Envelope:
        """Number, write (a durable one), and hand out, without secrets. A piece that may hold half of one
        waits for the next. Raises OSError when it cannot be written."""
        passed = self._gate.passed(event)
        for one in passed[:-1]:
            self._emit(one, agent, call)
        if not passed:
            return Envelope(VERSION, self.seq, time.time(), self._session, self.turn, agent, call, event)
        return self._emit(passed[-1], agent, call)

    def _emit(self, event: Event, agent: str, call: str) -> Envelope:
        envelope = self._envelope(event, agent, call)
        if not isinstance(event, PASSING):
            self._transcript.write(envelope)
            self._durable.append(envelope)
        elif isinstance(event, PanelChanged):
            self._panels[event.panel] = envelope
        self._hand_out(envelope)
        return envelope

    def tell(self, event: Event) -> None:
        """Hand out without writing: for when writing is what failed."""
        for one in self._gate.passed(event):
            self._hand_out(self._envelope(one, "main", ""))

    def accept(self, op: Op) -> None:
        """Write an op before it is acted on."""
        self._transcript.write(Accepted(self._gate.op(op), self.seq))

    def draft(self, draft: Draft) -> None:
        self._transcript.write(self._gate.draft(draft))

    def mark(self, call: str) -> None:
        """Write that `call` is about to run."""
        self._transcript.write(Mark(call))
        fault.point("marked")

    def anchor(self, hashed: str) -> None:
        """Write the newest hash of the audit: what is cut from its end shows here."""
        self._transcript.write(Anchor(hashed))

    async def sync(self) -> None:
        """Wait until the disk has everything."""
        await asyncio.to_thread(self._transcript.sync)

    async def read(self, after: int) -> AsyncIterator[Envelope]:
        """Durable envelopes of the past with `seq > after`, then everything live."""
        reader = Subscription()
        for envelope in self._durable:
            if envelope.seq > after:
                reader.put(envelope)
        # Panels are passing, but one who comes late still has to see what they show.
        for envelope in self._panels.values():
            reader.put(envelope)
        self._readers.append(reader)
        try:
            async for envelope in reader.read():
                yield envelope
        finally:
            self._readers.remove(reader)

    def durable(self) -> tuple[Envelope, ...]:
        return tuple(self._durable)

    def _envelope(self, event: Event, agent: str, call: str) -> Envelope:
        self.seq += 1
        return Envelope(VERSION, self.seq, time.time(), self._session, self.turn, agent, call, event)

    def _hand_out(self, envelope: Envelope) -> None:
        for see in tuple(self._watchers):
            see(envelope)
        for reader in self._readers:
            reader.put(envelope)

    def close(self) -> None:
        """No more events; readers end when they have read what waits."""
        for reader in self._readers:
            reader.close()
        self._transcript.close()
