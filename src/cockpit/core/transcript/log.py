"""The log every event of a session passes through: redacted, numbered, written when durable, and passed to
watchers and readers. Each reader has its own queue, which merges transient events and keeps durable ones.
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TypeAlias

from cockpit.core.transcript import transcript
from cockpit.core.transcript.transcript import AcceptedOp, AnswerDraft, AuditAnchor, StartedMark, Transcript
from cockpit.protocol.events import (
    TRANSIENT_EVENTS,
    Envelope,
    Event,
    MessageFinished,
    PanelChanged,
    SessionClosed,
    TextDelta,
    ThoughtDelta,
    ToolCallFinished,
    ToolCallProgressed,
)
from cockpit.protocol.ops import Op
from cockpit.protocol.wire import VERSION
from cockpit.safety.redaction import RedactedStreams, Redactor

StreamedText: TypeAlias = TextDelta | ThoughtDelta | ToolCallProgressed


class RedactionGate:
    """Redacts events, ops and drafts of one session before anything else sees them. A stream is held back
    where it could end within a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams = RedactedStreams(redactor)

    def passed(self, event: Event) -> tuple[Event, ...]:
        """The events to emit instead of `event`: none for a piece that is held back. The event that ends a
        stream comes after the text that was held back."""
        if isinstance(event, StreamedText):
            text = self._streams.feed(_stream_of(event), event.text)
            return (replace(event, text=text),) if text else ()
        match event:
            case MessageFinished(id=id):
                rest = self._streams.end(("text", id)), self._streams.end(("thought", id))
                pieces: tuple[Event, ...] = (TextDelta(id, rest[0]), ThoughtDelta(id, rest[1]))
                flushed = tuple(piece for piece, text in zip(pieces, rest, strict=True) if text)
                for kind in ("draft", "draft thoughts"):
                    self._streams.end((kind, id))
                return (*flushed, self._redactor.event(event))
            case ToolCallFinished(result=result):
                text = self._streams.end(("output", result.call))
                shown = (ToolCallProgressed(result.call, text),) if text else ()
                return (*shown, self._redactor.event(event))
            case _:
                return (self._redactor.event(event),)

    def op(self, op: Op) -> Op:
        """An op as it may be written."""
        return self._redactor.value(op)

    def draft(self, draft: AnswerDraft) -> AnswerDraft:
        """A piece of an answer as it may be written; its end may come with the next piece."""
        text = self._streams.feed(("draft", draft.message), draft.text)
        thoughts = self._streams.feed(("draft thoughts", draft.message), draft.thoughts)
        return replace(draft, text=text, thoughts=thoughts)


# Characters of a call's output that are queued at most for a slow reader.
MAX_QUEUED_OUTPUT = 200_000


class Subscription:
    """The queue between one session and one reader, used on one loop."""

    def __init__(self) -> None:
        self._waiting: deque[Envelope] = deque()
        self._pieces: list[str] = []
        self._wake = asyncio.Event()
        self._closed = False

    def put(self, envelope: Envelope) -> None:
        """Queue an envelope; a delta of the last queued message is merged into it."""
        last, event = self._waiting[-1].event if self._waiting else None, envelope.event
        if (
            isinstance(event, StreamedText)
            and isinstance(last, StreamedText)
            and _stream_of(event) == _stream_of(last)
        ):
            self._pieces.append(event.text)
            return
        self._settle()
        if isinstance(event, PanelChanged):
            self._drop_older(event.panel)
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
        if isinstance(event, StreamedText):
            joined = event.text + "".join(self._pieces)
            is_output = isinstance(event, ToolCallProgressed)
            event = replace(event, text=joined[-MAX_QUEUED_OUTPUT:] if is_output else joined)
        self._pieces.clear()
        self._waiting.append(replace(last, event=event))

    def _drop_older(self, panel: str) -> None:
        for waiting in self._waiting:
            if isinstance(waiting.event, PanelChanged) and waiting.event.panel == panel:
                self._waiting.remove(waiting)
                return


def _stream_of(event: StreamedText) -> tuple[str, str]:
    """The stream that the event continues."""
    match event:
        case TextDelta():
            return "text", event.message
        case ThoughtDelta():
            return "thought", event.message
        case ToolCallProgressed():
            return "output", event.call


class SessionLog:
    """Every event of a session passes here. Watchers are called before readers get an event."""

    def __init__(
        self, session: str, transcript: Transcript, past: tuple[Envelope, ...], gate: RedactionGate
    ) -> None:
        self._session = session
        self._transcript = transcript
        self._gate = gate
        # The session is open again: its earlier closings would end a new reader.
        self._durable = [envelope for envelope in past if not isinstance(envelope.event, SessionClosed)]
        self._readers: list[Subscription] = []
        self._watchers: list[Callable[[Envelope], None]] = []
        self._panels: dict[str, Envelope] = {}
        self.seq = past[-1].seq if past else 0
        self.turn = ""

    def watch(self, see: Callable[[Envelope], None]) -> Callable[[], None]:
        """Call `see` with every envelope from now on; it must not block. The returned function ends this."""
        self._watchers.append(see)
        return lambda: self._watchers.remove(see)

    def emit(self, event: Event, agent: str = "main", call: str = "") -> Envelope:
        """Redact, number, write (if durable) and pass on. Raises OSError when it cannot be written."""
        passed = self._gate.passed(event)
        for earlier in passed[:-1]:
            self._emit(earlier, agent, call)
        if not passed:
            return Envelope(VERSION, self.seq, time.time(), self._session, self.turn, agent, call, event)
        return self._emit(passed[-1], agent, call)

    def _emit(self, event: Event, agent: str, call: str) -> Envelope:
        envelope = self._envelope(event, agent, call)
        if not isinstance(event, TRANSIENT_EVENTS):
            self._transcript.write(envelope)
            self._durable.append(envelope)
        elif isinstance(event, PanelChanged):
            self._panels[event.panel] = envelope
        self._hand_out(envelope)
        return envelope

    def emit_unwritten(self, event: Event) -> None:
        """Pass on without writing, for when writing failed."""
        for passed in self._gate.passed(event):
            self._hand_out(self._envelope(passed, "main", ""))

    def accept(self, op: Op) -> None:
        """Write an op before it is acted on."""
        self._transcript.write(AcceptedOp(self._gate.op(op), self.seq))

    def draft(self, draft: AnswerDraft) -> None:
        self._transcript.write(self._gate.draft(draft))

    def mark(self, call: str) -> None:
        """Write that `call` is about to run."""
        self._transcript.write(StartedMark(call))
        transcript.crash_point("marked")

    def anchor(self, hashed: str) -> None:
        """Write the latest hash of the audit log, so that a truncated audit log is noticed."""
        self._transcript.write(AuditAnchor(hashed))

    async def sync(self) -> None:
        """Wait until everything is on disk."""
        await asyncio.to_thread(self._transcript.sync)

    async def read(self, after: int) -> AsyncIterator[Envelope]:
        """Stored durable envelopes with `seq > after`, then everything live."""
        reader = Subscription()
        for envelope in self._durable:
            if envelope.seq > after:
                reader.put(envelope)
        # Panels are transient, but a late reader must still see them.
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
        """Emit nothing more; readers end when their queues are empty."""
        for reader in self._readers:
            reader.close()
        self._transcript.close()


def new_id() -> str:
    """An id for an event or a request."""
    return secrets.token_hex(6)
