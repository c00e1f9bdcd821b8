"""What an intent comes to next: a call to make or something to say; and what is known by then."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from cockpit.builtin.offline.words import Tongue, say
from cockpit.protocol.messages import Json, ToolMessage


@dataclass(frozen=True, slots=True)
class Do:
    """Call this tool next."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Say:
    """The intent is over; `text` is its answer."""

    text: str


Step: TypeAlias = Do | Say


@dataclass(frozen=True, slots=True)
class Situation:
    """The results of this intent's calls so far, in order; the language to answer in; and what the
    conversation holds already (`rows` of the todo list as (text, status), paths for examples)."""

    results: tuple[ToolMessage, ...]
    tongue: Tongue
    rows: tuple[tuple[str, str], ...] = ()

    def by_text(self) -> "Situation":
        """Without the first call: what went by symbol found nothing, so it goes by text from here."""
        return replace(self, results=self.results[1:])

    @property
    def stage(self) -> int:
        return len(self.results)

    @property
    def last(self) -> ToolMessage:
        return self.results[-1]

    def say(self, key: str, **values: object) -> str:
        return say(self.tongue, key, **values)
