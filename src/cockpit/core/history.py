"""The conversation as the model is told it, folded out of an agent's durable events.

The live session and a resumed one fold the same events, so both tell a model the same. Every tool
call in `messages()` has exactly one result, whatever happened (property-tested).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cockpit.core.sent import Sent
from cockpit.protocol.content import Text
from cockpit.protocol.events import (
    ContextCompacted,
    Envelope,
    MessageFinished,
    Rewound,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
)
from cockpit.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)

PREVIEW = 600
Edited: TypeAlias = tuple[Literal["drop", "pin", "fold", "restore"], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A message and the seq of the event it came from. `state` is what a person did with it."""

    seq: int
    message: Message
    state: Literal["", "dropped", "pinned", "folded"] = ""


@dataclass(slots=True)
class History:
    """One agent's messages. `agent` is its path; events of others are not for it."""

    agent: str = "main"
    entries: list[Entry] = field(default_factory=list)
    summary: str = ""
    _asked: dict[str, ToolCall] = field(default_factory=dict)
    # Calls that plugins made for themselves: nothing of them is said here.
    _inner: set[str] = field(default_factory=set)
    _pruned_before: int = 0
    # All that was folded in, so that it can be folded again without what was rewound.
    _seen: list[Envelope | Edited] = field(default_factory=list)
    # Grown with each entry; None when something before the end is different now.
    _sent: Sent | None = None

    def see(self, envelope: Envelope) -> None:
        """Fold one envelope in."""
        if envelope.agent != self.agent:
            return
        self._seen.append(envelope)
        if isinstance(envelope.event, Rewound):
            self._fold_again()
        else:
            self._fold(envelope)

    def _fold_again(self) -> None:
        """Without what was said between the begin of a rewound turn and its rewind."""
        hidden = rewound_ranges(one for one in self._seen if isinstance(one, Envelope))
        self.entries, self.summary, self._pruned_before, self._sent = [], "", 0, None
        self._asked.clear()
        self._inner.clear()
        for one in self._seen:
            if not isinstance(one, Envelope):
                self._edit(*one)
            elif not any(begin <= one.seq < end for begin, end in hidden):
                self._fold(one)

    def _fold(self, envelope: Envelope) -> None:
        match envelope.event:
            case TurnStarted(content=content):
                self._add(envelope.seq, UserMessage(content))
            case MessageFinished(message=message):
                self._add(envelope.seq, message)
            case ToolCallStarted(call=call, asked_by="person"):
                self._asked[call.id] = call
            case ToolCallStarted(call=call, asked_by="plugin"):
                self._inner.add(call.id)
            case ToolCallFinished(result=result):
                self._take_result(envelope.seq, result)
            case ContextCompacted(summary=summary, kept_from=kept_from):
                self._compact(summary, kept_from)
            case _:
                pass

    def edit(self, change: Literal["drop", "pin", "fold", "restore"], seqs: Iterable[int]) -> None:
        """What a person does to messages; the calls and results of a dropped message go with it."""
        edited = (change, tuple(seqs))
        self._seen.append(edited)
        self._edit(*edited)

    def _edit(self, change: Literal["drop", "pin", "fold", "restore"], seqs: Iterable[int]) -> None:
        states: dict[str, Literal["", "dropped", "pinned", "folded"]]
        states = {"drop": "dropped", "pin": "pinned", "fold": "folded", "restore": ""}
        chosen = set(seqs)
        self.entries = [
            replace(entry, state=states[change]) if entry.seq in chosen else entry for entry in self.entries
        ]
        self._sent = None

    def messages(self) -> tuple[Message, ...]:
        """What is sent: summary first, dropped messages left out, every call with one result."""
        return tuple(self._as_sent().messages)

    def tokens(self) -> int:
        """About how many tokens `messages()` are."""
        return self._as_sent().tokens

    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last answer that have no result yet."""
        answered = {e.message.call for e in self.entries if isinstance(e.message, ToolMessage)}
        for entry in reversed(self.entries):
            if isinstance(entry.message, AssistantMessage):
                return tuple(call for call in entry.message.calls if call.id not in answered)
            if isinstance(entry.message, UserMessage):
                return ()
        return ()

    def as_sent(self, entry: Entry) -> Message:
        """The message of `entry` as the next request holds it: a pruned body is cut."""
        message = entry.message
        prunes = entry.state == "folded" or (entry.seq < self._pruned_before and entry.state != "pinned")
        if prunes and isinstance(message, ToolMessage) and len(message.text) > PREVIEW:
            return replace(message, text=message.text[:PREVIEW] + "\n[... pruned; call the tool again]")
        return message

    def _add(self, seq: int, message: Message) -> None:
        # An answer that broke off and was asked for again is not told twice.
        if isinstance(message, AssistantMessage) and self.entries:
            last = self.entries[-1].message
            if isinstance(last, AssistantMessage) and last.finish == "interrupted":
                self.entries.pop()
                self._sent = None
        if message == AssistantMessage("", finish="interrupted"):
            return
        self._append(Entry(seq, message))

    def _append(self, entry: Entry) -> None:
        self.entries.append(entry)
        if self._sent is not None:
            self._sent.add(entry.message)

    def _as_sent(self) -> Sent:
        if self._sent is None:
            head: list[Message] = []
            if self.summary:
                head.append(UserMessage((Text(f"[Summary of the conversation so far]\n{self.summary}"),)))
            kept = (self.as_sent(entry) for entry in self.entries if entry.state != "dropped")
            self._sent = Sent.of([*head, *kept])
        return self._sent

    def _take_result(self, seq: int, result: ToolResult) -> None:
        if result.call in self._inner:
            self._inner.discard(result.call)
            return
        call = self._asked.pop(result.call, None)
        if call is None:
            message = ToolMessage(result.call, result.name, result.text, result.is_error)
            self._append(Entry(seq, message))
            return
        arguments = call.arguments.get("command") or call.written
        text = f"[I ran {call.name}: {arguments}]\n{result.text}"
        self._append(Entry(seq, UserMessage((Text(text),))))

    def _compact(self, summary: str, kept_from: int) -> None:
        self._sent = None
        if not summary:
            self._pruned_before = kept_from
            return
        self.summary = summary
        self.entries = [e for e in self.entries if e.seq >= kept_from or e.state == "pinned"]


def rewound_ranges(envelopes: Iterable[Envelope]) -> list[tuple[int, int]]:
    """From which event to before which other one nothing is told any more; undone rewinds are left out."""
    ranges: dict[str, tuple[int, int]] = {}
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, Rewound) and event.undoes:
            ranges.pop(event.undoes, None)
        elif isinstance(event, Rewound) and event.what != "files":
            ranges[event.id] = (event.from_seq, envelope.seq)
    return list(ranges.values())
