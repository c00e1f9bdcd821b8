"""The messages of conversations as the wire has them, kept from one request to the next.

A request is the one before and a few messages more. What was written for those stays, so that the
hundredth turn costs what the first one did. Knows not how a message is written.
"""

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from cockpit.protocol.messages import Json, Message, ToolMessage

Wire = dict[str, Json]
CONVERSATIONS = 8


@dataclass(frozen=True, slots=True)
class _Written:
    manner: Hashable
    messages: tuple[Message, ...]
    wire: tuple[Wire, ...]


_kept: deque[_Written] = deque(maxlen=CONVERSATIONS)


def written(
    messages: tuple[Message, ...], manner: Hashable, write: Callable[[tuple[Message, ...]], list[Wire]]
) -> list[Wire]:
    """`write(messages)`, where only what is new since the last time is written.

    `write` must treat each answer with the results behind it alone, and equally for equal `manner`.
    The objects in the list are shared: who wants one different copies it.
    """
    before = next((one for one in _kept if one.manner == manner and _goes_on(one.messages, messages)), None)
    if before is None:
        wire = write(messages)
    else:
        _kept.remove(before)
        wire = [*before.wire, *write(messages[len(before.messages) :])]
    _kept.append(_Written(manner, messages, tuple(wire)))
    return wire


def _goes_on(before: tuple[Message, ...], messages: tuple[Message, ...]) -> bool:
    """Whether `messages` are those before and more, parted where no result stands."""
    size = len(before)
    if size > len(messages) or messages[:size] != before:
        return False
    return size == len(messages) or not isinstance(messages[size], ToolMessage)
