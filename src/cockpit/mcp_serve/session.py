"""The session that all clients share, and their calls: each is submitted as an op and answered by events.

A call may wait for the user at the client. In the 2026-07-28 protocol the server cannot ask the client, so
the call is parked under a token until the client repeats the request with an answer.
"""

import asyncio
import secrets
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cockpit.errors import CockpitError
from cockpit.protocol import queries
from cockpit.protocol.channel import Channel, Deck
from cockpit.protocol.events import (
    ApprovalRequested,
    Envelope,
    QuestionAsked,
    SessionClosed,
    ToolCallFinished,
    ToolCallProgressed,
    Warned,
)
from cockpit.protocol.messages import Decision, Json
from cockpit.protocol.ops import Answer, CallTool, Decide, Interrupt, Op

ORIGIN = "mcp_serve"
# Seconds that a parked call waits for its client.
PARKED_SECONDS = 300.0
MAX_PARKED = 64
MAX_CONCURRENT = 8
NO_USER_TEXT = "the calling client cannot ask its user"
NO_ANSWER_TEXT = "the client did not return with an answer"

ClientQuestion: TypeAlias = ApprovalRequested | QuestionAsked
CallEvent: TypeAlias = ToolCallProgressed | ClientQuestion | ToolCallFinished | Warned | SessionClosed
CALL_EVENTS = (ToolCallProgressed, ApprovalRequested, QuestionAsked, ToolCallFinished, Warned)


@dataclass(slots=True)
class ActiveCall:
    """A running call. `question` is the question that waits for the user, if any."""

    id: str
    name: str
    arguments: Mapping[str, Json]
    queue: "asyncio.Queue[CallEvent]" = field(default_factory=asyncio.Queue)
    question: ClientQuestion | None = None
    progress_count: int = 0

    async def events(self) -> AsyncIterator[CallEvent]:
        """The events of the call, up to its result."""
        while True:
            event = await self.queue.get()
            yield event
            if isinstance(event, ToolCallFinished | SessionClosed):
                return


class ParkedCalls:
    """Calls that wait for the user at their client. `expired` is called for a call whose client does not
    return in time."""

    def __init__(self, expired: Callable[[ActiveCall], None]) -> None:
        self._expired = expired
        self._calls: dict[str, tuple[ActiveCall, asyncio.TimerHandle]] = {}

    def put(self, call: ActiveCall) -> str:
        """Park a call. Returns the secret token to resume it with."""
        if len(self._calls) >= MAX_PARKED:
            raise CockpitError("too many calls are waiting for the user", "answer one of them first")
        token = secrets.token_urlsafe(32)
        timer = asyncio.get_running_loop().call_later(PARKED_SECONDS, self._expire, token)
        self._calls[token] = call, timer
        return token

    def take(self, token: str, name: str, arguments: Mapping[str, Json]) -> ActiveCall | None:
        """The call under `token`, if the request repeats it exactly: the user must have seen what runs."""
        if token not in self._calls:
            return None
        call, timer = self._calls[token]
        if (call.name, dict(call.arguments)) != (name, dict(arguments)):
            return None
        del self._calls[token]
        timer.cancel()
        return call

    def clear(self) -> list[ActiveCall]:
        """Remove and return all parked calls."""
        parked = list(self._calls.values())
        self._calls.clear()
        for _, timer in parked:
            timer.cancel()
        return [call for call, _ in parked]

    def _expire(self, token: str) -> None:
        call, _ = self._calls.pop(token)
        self._expired(call)


class SharedSession:
    """The session that all clients share."""

    def __init__(self, deck: Deck, root: str) -> None:
        self._deck = deck
        self._root = root
        self._opening: asyncio.Task[Channel] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._active: dict[str, ActiveCall] = {}
        self.parked = ParkedCalls(self._expired)
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._closed = False

    async def channel(self) -> Channel:
        """The session, opened at the first use so that the handshake does not wait for it."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> Channel:
        channel = await self._deck.open(self._root)
        self._reading = asyncio.create_task(self._read(channel))
        # The reader must be running before the first call, so that it misses no event.
        await asyncio.sleep(0)
        return channel

    async def close(self) -> None:
        """End every call. The caller closes the deck."""
        for call in self.parked.clear():
            self.end_later(call)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def ask(self, query: queries.Query) -> queries.Reply:
        """A query's reply. Raises `CockpitError` if it is refused."""
        reply = await (await self.channel()).ask(query)
        if isinstance(reply, queries.Refused):
            raise CockpitError(reply.reason)
        return reply

    async def tools(self) -> tuple[queries.ToolRow, ...]:
        reply = await self.ask(queries.Tools())
        return reply.rows if isinstance(reply, queries.ToolRows) else ()

    async def prompts(self) -> queries.PromptRows:
        reply = await self.ask(queries.Prompts())
        return reply if isinstance(reply, queries.PromptRows) else queries.PromptRows(())

    async def expand(self, name: str, text: str) -> str:
        """The text of a prompt. Raises `CockpitError`."""
        reply = await self.ask(queries.Expand(name, text))
        return reply.text if isinstance(reply, queries.Expanded) else ""

    async def begin(self, name: str, arguments: Mapping[str, Json]) -> ActiveCall:
        """Start a call. At most `MAX_CONCURRENT` run at the same time; further calls wait here."""
        channel = await self.channel()
        if self._closed:
            raise CockpitError("the session is closed", "start cockpit mcp-serve again")
        await self._slots.acquire()
        call = ActiveCall(_new_id(), name, arguments)
        self._active[call.id] = call
        try:
            await channel.submit(CallTool(call.id, ORIGIN, name, arguments))
        except BaseException:
            self._forget(call)
            raise
        return call

    async def submit(self, op: Op) -> None:
        await (await self.channel()).submit(op)

    async def _end(self, call: ActiveCall) -> None:
        if call.id in self._active:
            await self.submit(Interrupt(_new_id(), ORIGIN, call=call.id))

    def end_later(self, call: ActiveCall) -> None:
        """Stop a call whose client has left or cancelled it; for use in a task that is being cancelled."""
        self._run_later(self._end(call))

    async def decide(self, question: ApprovalRequested, allows: bool, note: str = "") -> None:
        """Submit the decision of the user at the client. It never allows more than this one call."""
        decision: Decision = "allow_once" if allows else "reject_once"
        await self.submit(Decide(_new_id(), ORIGIN, question.id, decision, note))

    async def decline(self, question: ClientQuestion, why: str = NO_USER_TEXT) -> None:
        """Reject an approval or cancel a question, because nobody can answer it."""
        if isinstance(question, ApprovalRequested):
            await self.submit(Decide(_new_id(), ORIGIN, question.id, "reject_once", why, by="nobody"))
        else:
            await self.submit(Answer(_new_id(), ORIGIN, question.id, "", "cancel"))

    def _expired(self, call: ActiveCall) -> None:
        if call.question is not None:
            self._run_later(self.decline(call.question, NO_ANSWER_TEXT))

    def _run_later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, channel: Channel) -> None:
        async for envelope in channel.events():
            self._take(envelope)
        self._closed = True
        for call in tuple(self._active.values()):
            call.queue.put_nowait(SessionClosed("the session was closed"))
            self._forget(call)

    def _take(self, envelope: Envelope) -> None:
        event, call = envelope.event, self._active.get(envelope.call)
        if not isinstance(event, CALL_EVENTS):
            return
        if call is not None:
            call.queue.put_nowait(event)
            if isinstance(event, ToolCallFinished):
                self._forget(call)
        elif isinstance(event, ApprovalRequested | QuestionAsked):
            # No client's call asked this, so nobody will answer it.
            self._run_later(self.decline(event))

    def _forget(self, call: ActiveCall) -> None:
        if self._active.pop(call.id, None) is not None:
            self._slots.release()


def _new_id() -> str:
    return uuid.uuid4().hex
