"""Messages that more than one region posts."""

from typing import Literal

from textual.message import Message


class Typed(Message):
    """A key in Trace or Work that is not theirs: an answer, a search, or the start of a prompt."""

    def __init__(self, place: Literal["trace", "work"], key: str, character: str) -> None:
        super().__init__()
        self.place = place
        self.key = key
        self.character = character
