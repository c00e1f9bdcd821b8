"""The messages of a conversation as a request holds them, grown by one at a time.

Every call has exactly one result right behind its answer, in call order; neighbouring messages of
the person are one. Adding costs the same whatever came before, so that a turn late in a session
costs what the first one did (bench/turns). Knows no events.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cockpit.protocol.content import plain
from cockpit.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

INTERRUPTED = "interrupted: cockpit ended before this call had a result; whether it ran is unknown"


@dataclass(slots=True)
class Sent:
    """`messages` as they are sent, and `tokens`, about how many they are."""

    messages: list[Message] = field(default_factory=list)
    tokens: int = 0
    _results: dict[str, ToolMessage] = field(default_factory=dict)
    _places: dict[str, list[int]] = field(default_factory=dict)

    @staticmethod
    def of(messages: Iterable[Message]) -> "Sent":
        sent = Sent()
        for message in messages:
            sent.add(message)
        return sent

    def add(self, message: Message) -> None:
        """The next message, in the order of their events."""
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
        """Dialects want the roles to alternate: what follows a person's message joins it."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, UserMessage):
            self._replace(len(self.messages) - 1, UserMessage((*last.content, *message.content)))
        else:
            self._append(message)

    def _add_call(self, call: ToolCall) -> None:
        result = self._results.get(call.id)
        if result is None:
            self._places.setdefault(call.id, []).append(len(self.messages))
        self._append(result or ToolMessage(call.id, call.name, INTERRUPTED, True))

    def _add_result(self, result: ToolMessage) -> None:
        """The first result of a call counts; one whose call is not there waits for it."""
        if result.call in self._results:
            return
        self._results[result.call] = result
        for place in self._places.pop(result.call, ()):
            self._replace(place, result)

    def _append(self, message: Message) -> None:
        self.messages.append(message)
        self.tokens += tokens_of(text_of(message))

    def _replace(self, place: int, message: Message) -> None:
        self.tokens += tokens_of(text_of(message)) - tokens_of(text_of(self.messages[place]))
        self.messages[place] = message


def text_of(message: Message) -> str:
    """The text of a message, for counting and summaries."""
    match message:
        case UserMessage(content):
            return plain(content)
        case AssistantMessage():
            calls = " ".join(f"{call.name}({call.written})" for call in message.calls)
            return f"{message.text}\n{calls}" if calls else message.text
        case ToolMessage(text=text):
            return text


def tokens_of(text: str) -> int:
    """About how many tokens `text` is: a quarter of its bytes, which errs high for CJK."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
