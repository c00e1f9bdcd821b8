"""The one gate before screen, transcript, plugins and recordings: no secret passes it.

Owns which event is a piece of what stream; what a secret is, `safety/redaction` knows.
"""

from dataclasses import replace

from cockpit.core.transcript import Draft
from cockpit.protocol.events import (
    Event,
    MessageFinished,
    TextDelta,
    ThoughtDelta,
    ToolCallFinished,
    ToolCallProgressed,
)
from cockpit.protocol.ops import Op
from cockpit.safety.redaction import Redactor
from cockpit.safety.secrets_stream import Streams


class Gate:
    """The gate of one session. The redactor may be told of more secrets at any time."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams = Streams(redactor)

    def passed(self, event: Event) -> tuple[Event, ...]:
        """What may be told instead of `event`: nothing yet for a piece that is held back, and what was
        held back before the event that ends its stream."""
        match event:
            case TextDelta() | ThoughtDelta():
                name = ("text" if isinstance(event, TextDelta) else "thought", event.message)
                text = self._streams.feed(name, event.text)
                return (replace(event, text=text),) if text else ()
            case ToolCallProgressed():
                text = self._streams.feed(("output", event.call), event.text)
                return (replace(event, text=text),) if text else ()
            case MessageFinished(id=id):
                rest = self._streams.end(("text", id)), self._streams.end(("thought", id))
                pieces: tuple[Event, ...] = (TextDelta(id, rest[0]), ThoughtDelta(id, rest[1]))
                kept = tuple(one for one, text in zip(pieces, rest, strict=True) if text)
                for kind in ("draft", "draft thoughts"):
                    self._streams.end((kind, id))
                return (*kept, self._redactor.event(event))
            case ToolCallFinished(result=result):
                text = self._streams.end(("output", result.call))
                shown = (ToolCallProgressed(result.call, text),) if text else ()
                return (*shown, self._redactor.event(event))
            case _:
                return (self._redactor.event(event),)

    def op(self, op: Op) -> Op:
        """An op as it may be written."""
        return self._redactor.value(op)

    def draft(self, draft: Draft) -> Draft:
        """A piece of an answer as it may be written: its end may come with the next one."""
        text = self._streams.feed(("draft", draft.message), draft.text)
        thoughts = self._streams.feed(("draft thoughts", draft.message), draft.thoughts)
        return replace(draft, text=text, thoughts=thoughts)
