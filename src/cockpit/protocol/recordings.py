"""Recordings as channels: stored envelopes played to a frontend, and submitted ops collected for inspection.

Replay and tests use it; a frontend cannot tell it from a live session.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path

from cockpit.errors import DecodeFailed, SessionUnknown
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope, SessionClosed
from cockpit.protocol.ops import Op
from cockpit.protocol.queries import Query, Refused, Reply, SessionRow

Replies = Mapping[type, Reply] | Callable[[Query], Reply]


def read_recording(path: Path) -> list[Envelope]:
    """The envelopes of a transcript or recording, one per line. A transcript's own records (header, ops,
    drafts, marks) are skipped, and so is a last line that was cut off. Raises `DecodeFailed`."""
    envelopes: list[Envelope] = []
    lines = path.read_text("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith('{"record":'):
            continue
        try:
            value = wire.loads(line)
        except DecodeFailed as error:
            if number == len(lines):
                break
            raise DecodeFailed(f"{path.name}, line {number}: {error.message}") from error
        if isinstance(value, Envelope):
            envelopes.append(value)
    return envelopes


class RecordingChannel:
    """Plays `envelopes`, then whatever is played later. `pace` is the seconds between two envelopes; `ends`:
    nothing follows the recording."""

    def __init__(
        self,
        envelopes: Iterable[Envelope] = (),
        *,
        session: str = "recording",
        replies: Replies | None = None,
        pace: float = 0.0,
        ends: bool = False,
    ) -> None:
        self.ops: list[Op] = []
        self._session = session
        self._replies: Replies = replies if replies is not None else {}
        self._pace = pace
        self._ends = ends
        self._past = list(envelopes)
        self._live: list[asyncio.Queue[Envelope]] = []

    @property
    def session(self) -> str:
        return self._session

    @property
    def sent(self) -> int:
        """The number of envelopes so far."""
        return len(self._past)

    @property
    def unread(self) -> int:
        """The number of envelopes that a reader has yet to take."""
        return max((queue.qsize() for queue in self._live), default=0)

    async def submit(self, op: Op) -> None:
        self.ops.append(op)

    def play(self, *envelopes: Envelope) -> None:
        """Send more envelopes to every reader."""
        self._past += envelopes
        for queue in self._live:
            for envelope in envelopes:
                queue.put_nowait(envelope)

    async def events(self, after: int = 0) -> AsyncIterator[Envelope]:
        queue: asyncio.Queue[Envelope] = asyncio.Queue()
        for envelope in self._past:
            queue.put_nowait(envelope)
        self._live.append(queue)
        try:
            while not (self._ends and queue.empty()):
                envelope = await queue.get()
                if envelope.seq <= after:
                    continue
                if self._pace:
                    await asyncio.sleep(self._pace)
                yield envelope
                if isinstance(envelope.event, SessionClosed):
                    return
        finally:
            self._live.remove(queue)

    async def ask(self, query: Query) -> Reply:
        if callable(self._replies):
            return self._replies(query)
        return self._replies.get(type(query), Refused("a recording does not answer queries"))


class RecordingDeck:
    """A deck of recordings by session id; the first is opened if none is named."""

    def __init__(self, *channels: RecordingChannel, rows: Iterable[SessionRow] = ()) -> None:
        self.channels = {channel.session: channel for channel in channels}
        self.closed = False
        self._rows = tuple(rows)

    async def open(self, root: str, resume: str | None = None) -> RecordingChannel:
        if resume is None:
            return next(iter(self.channels.values()))
        if resume not in self.channels:
            raise SessionUnknown(f"unknown recording {resume}")
        return self.channels[resume]

    async def list(self, root: str | None = None) -> tuple[SessionRow, ...]:
        return tuple(row for row in self._rows if root is None or row.root == root)

    async def fork(self, session: str, turn: str) -> RecordingChannel:
        raise SessionUnknown("a recording cannot be continued; open the session itself")

    async def close(self) -> None:
        self.closed = True
