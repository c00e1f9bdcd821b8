"""The two Protocols a frontend holds: a `Channel` to one session and the `Deck` of all of them.

Nothing that crosses either is a live object: every op, envelope, query and reply goes through
`wire` unchanged, so a core in another process looks the same (tests/seams).
"""

from collections.abc import AsyncIterator
from typing import Protocol

from cockpit.protocol.events import Envelope
from cockpit.protocol.ops import Op
from cockpit.protocol.queries import Query, Reply, SessionRow


class Channel(Protocol):
    """One session, seen from outside."""

    @property
    def session(self) -> str:
        """The session's id."""
        ...

    async def submit(self, op: Op) -> None:
        """Hand over `op`. It is on disk when this returns; what comes of it arrives as events."""
        ...

    def events(self, after: int = 0) -> AsyncIterator[Envelope]:
        """The session's envelopes with `seq > after`: first the durable ones of the past, then live.

        Ends after `SessionClosed`. Each caller has its own queue, so a slow one slows nobody.
        """
        ...

    async def ask(self, query: Query) -> Reply:
        """Answer a question; cancelling the call abandons it."""
        ...


class Deck(Protocol):
    """The sessions of one process and what they share."""

    async def open(self, root: str, resume: str | None = None) -> Channel:
        """A new session on `root`, or the stored session `resume`.

        Raises `SessionUnknown` and `SessionBusy`.
        """
        ...

    async def list(self, root: str | None = None) -> tuple[SessionRow, ...]:
        """Stored sessions, the newest first; of one root when it is given."""
        ...

    async def fork(self, session: str, turn: str) -> Channel:
        """A new session that shares the history of `session` up to the end of `turn`."""
        ...

    async def close(self) -> None:
        """Close every session and stop what they share."""
        ...
