"""The conversation as the model sees it, folded from an agent's durable events.

A live session and a resumed session fold the same events, so both send the same messages. In `messages()`
every tool call has exactly one result right after its answer, in call order, and neighbouring messages of the
user are merged (property-tested). The cost of adding a message does not grow with the conversation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from cockpit.protocol.content import Text, plain_text
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

INTERRUPTED_TEXT = "interrupted: cockpit ended before this call had a result; whether it ran is unknown"


@dataclass(slots=True)
class RequestMessages:
    """`messages` as they are sent, and `tokens`, an estimate of their size."""

    messages: list[Message] = field(default_factory=list)
    tokens: int = 0
    _results: dict[str, ToolMessage] = field(default_factory=dict)
    _places: dict[str, list[int]] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        """Add the next message in the order of events."""
        match message:
            case UserMessage():
                self._add_words(message)
            case AssistantMessage():
                self._append(message)
                for call in message.calls:
                    self._add_call(call)
            case ToolMessage():
                self._add_result(message)

    def _add_words(self, message: UserMessage) -> None:
        """Model APIs want alternating roles: a message after a user's message is merged into it."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, UserMessage):
            self._replace(len(self.messages) - 1, UserMessage((*last.content, *message.content)))
        else:
            self._append(message)

    def _add_call(self, call: ToolCall) -> None:
        result = self._results.get(call.id)
        if result is None:
            self._places.setdefault(call.id, []).append(len(self.messages))
        self._append(result or ToolMessage(call.id, call.name, INTERRUPTED_TEXT, True))

    def _add_result(self, result: ToolMessage) -> None:
        """Add the first result of a call; a result whose call has not come yet waits for it."""
        if result.call in self._results:
            return
        self._results[result.call] = result
        for place in self._places.pop(result.call, ()):
            self._replace(place, result)

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self.tokens += estimate_tokens(message_text(message))

    def _replace(self, place: int, message: Message) -> None:
        before = message_text(self.messages[place])
        self.tokens += estimate_tokens(message_text(message)) - estimate_tokens(before)
        self.messages[place] = message


def message_text(message: Message) -> str:
    """The text of a message, for counting and summaries."""
    match message:
        case UserMessage(content):
            return plain_text(content)
        case AssistantMessage():
            calls = " ".join(f"{call.name}({call.written})" for call in message.calls)
            return f"{message.text}\n{calls}" if calls else message.text
        case ToolMessage(text=text):
            return text


def estimate_tokens(text: str) -> int:
    """An estimate of the tokens of `text`: a quarter of its bytes, which is too high for CJK."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


PRUNED_LENGTH = 600
HistoryEdit: TypeAlias = tuple[Literal["drop", "pin", "fold", "restore"], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A message and the seq of its event. `state` is what the user did with it."""

    seq: int
    message: Message
    state: Literal["", "dropped", "pinned", "folded"] = ""


@dataclass(slots=True)
class ConversationHistory:
    """The messages of the agent with path `agent`; events of other agents are ignored."""

    agent: str = "main"
    entries: list[HistoryEntry] = field(default_factory=list)
    summary: str = ""
    _asked: dict[str, ToolCall] = field(default_factory=dict)
    # Calls that plugins made for their own work are not part of the conversation.
    _inner: set[str] = field(default_factory=set)
    _pruned_before: int = 0
    # Everything that was folded, to fold it again without what was rewound.
    _seen: list[Envelope | HistoryEdit] = field(default_factory=list)
    # Grows with each entry; None when something before the end has changed.
    _sent: RequestMessages | None = None

    def see(self, envelope: Envelope) -> None:
        """Fold one envelope."""
        if envelope.agent != self.agent:
            return
        self._seen.append(envelope)
        if isinstance(envelope.event, Rewound):
            self._fold_again()
        else:
            self._fold(envelope)

    def _fold_again(self) -> None:
        """Fold everything again, without the events hidden by rewinds."""
        hidden = rewound_ranges(event for event in self._seen if isinstance(event, Envelope))
        self.entries, self.summary, self._pruned_before, self._sent = [], "", 0, None
        self._asked.clear()
        self._inner.clear()
        for event in self._seen:
            if not isinstance(event, Envelope):
                self._edit(*event)
            elif not any(begin <= event.seq < end for begin, end in hidden):
                self._fold(event)

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
        """Drop, pin, fold or restore messages; calls and results of a dropped message go with it."""
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
        """An estimate of the tokens of `messages()`."""
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

    def as_sent(self, entry: HistoryEntry) -> Message:
        """The message of `entry` in the next request: a pruned body is cut."""
        message = entry.message
        prunes = entry.state == "folded" or (entry.seq < self._pruned_before and entry.state != "pinned")
        if prunes and isinstance(message, ToolMessage) and len(message.text) > PRUNED_LENGTH:
            return replace(message, text=message.text[:PRUNED_LENGTH] + "\n[... pruned; call the tool again]")
        return message

    def _add(self, seq: int, message: Message) -> None:
        # An interrupted answer that was requested again is not sent twice.
        if isinstance(message, AssistantMessage) and self.entries:
            last = self.entries[-1].message
            if isinstance(last, AssistantMessage) and last.finish == "interrupted":
                self.entries.pop()
                self._sent = None
        if message == AssistantMessage("", finish="interrupted"):
            return
        self._append(HistoryEntry(seq, message))

    def _append(self, entry: HistoryEntry) -> None:
        self.entries.append(entry)
        if self._sent is not None:
            self._sent.add(entry.message)

    def _as_sent(self) -> RequestMessages:
        if self._sent is None:
            self._sent = RequestMessages()
            if self.summary:
                text = f"[Summary of the conversation so far]\n{self.summary}"
                self._sent.add(UserMessage((Text(text),)))
            for entry in self.entries:
                if entry.state != "dropped":
                    self._sent.add(self.as_sent(entry))
        return self._sent

    def _take_result(self, seq: int, result: ToolResult) -> None:
        if result.call in self._inner:
            self._inner.discard(result.call)
            return
        call = self._asked.pop(result.call, None)
        if call is None:
            message = ToolMessage(result.call, result.name, result.text, result.is_error)
            self._append(HistoryEntry(seq, message))
            return
        arguments = call.arguments.get("command") or call.written
        text = f"[I ran {call.name}: {arguments}]\n{result.text}"
        self._append(HistoryEntry(seq, UserMessage((Text(text),))))

    def _compact(self, summary: str, kept_from: int) -> None:
        self._sent = None
        if not summary:
            self._pruned_before = kept_from
            return
        self.summary = summary
        self.entries = [e for e in self.entries if e.seq >= kept_from or e.state == "pinned"]


def rewound_ranges(envelopes: Iterable[Envelope]) -> list[tuple[int, int]]:
    """The ranges of events hidden by rewinds, as first and end seq; undone rewinds are left out."""
    ranges: dict[str, tuple[int, int]] = {}
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, Rewound) and event.undoes:
            ranges.pop(event.undoes, None)
        elif isinstance(event, Rewound) and event.what != "files":
            ranges[event.id] = (event.from_seq, envelope.seq)
    return list(ranges.values())
