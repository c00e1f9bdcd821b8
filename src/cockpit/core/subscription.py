"""A frontend's own queue of envelopes. Passing ones are coalesced while it waits, durable ones never."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace

from cockpit.protocol.events import (
    Envelope,
    Event,
    PanelChanged,
    SessionClosed,
    TextDelta,
    ThoughtDelta,
    ToolCallProgressed,
)

# A reader that sleeps keeps at most this much of a call's output waiting (characters).
OUTPUT_KEPT = 200_000


class Subscription:
    """The queue between one session and one reader. Made and used on one loop."""

    def __init__(self) -> None:
        self._waiting: deque[Envelope] = deque()
        self._pieces: list[str] = []
        self._wake = asyncio.Event()
        self._closed = False

    def put(self, envelope: Envelope) -> None:
        """Queue an envelope; a delta of the message that is last in the queue joins it."""
        if self._waiting and self._joins(self._waiting[-1].event, envelope.event):
            self._pieces.append(_piece(envelope.event))
            return
        self._settle()
        if isinstance(envelope.event, PanelChanged):
            self._drop_older(envelope.event.panel)
        self._waiting.append(envelope)
        self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    async def read(self) -> AsyncIterator[Envelope]:
        """Envelopes until `SessionClosed` or `close()`."""
        while True:
            while self._waiting:
                if len(self._waiting) == 1:
                    self._settle()
                envelope = self._waiting.popleft()
                yield envelope
                if isinstance(envelope.event, SessionClosed):
                    return
            if self._closed:
                return
            self._wake.clear()
            await self._wake.wait()

    def _settle(self) -> None:
        if not self._pieces:
            return
        last = self._waiting.pop()
        event = last.event
        joined = _piece(event) + "".join(self._pieces)
        self._pieces.clear()
        if isinstance(event, ToolCallProgressed):
            event = replace(event, text=joined[-OUTPUT_KEPT:])
        elif isinstance(event, TextDelta | ThoughtDelta):
            event = replace(event, text=joined)
        self._waiting.append(replace(last, event=event))

    def _drop_older(self, panel: str) -> None:
        for waiting in self._waiting:
            if isinstance(waiting.event, PanelChanged) and waiting.event.panel == panel:
                self._waiting.remove(waiting)
                return

    @staticmethod
    def _joins(last: Event, new: Event) -> bool:
        match last, new:
            case (TextDelta(message=one), TextDelta(message=two)):
                return one == two
            case (ThoughtDelta(message=one), ThoughtDelta(message=two)):
                return one == two
            case (ToolCallProgressed(call=one), ToolCallProgressed(call=two)):
                return one == two
            case _:
                return False


def _piece(event: Event) -> str:
    return event.text if isinstance(event, TextDelta | ThoughtDelta | ToolCallProgressed) else ""
