"""The connection to one session: opens a channel, folds events into the state, submits ops.

A failure becomes a line in the Trace. It knows no widget and calls `changed` when there is something to draw.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Literal

from cockpit.errors import CockpitError
from cockpit.protocol import ops, queries
from cockpit.protocol.channel import Channel, Deck
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope
from cockpit.protocol.messages import MODES, Decision, Json, Mode
from cockpit.protocol.ops import Op
from cockpit.protocol.queries import Query, Reply
from cockpit.protocol.rows import HunkEdit
from cockpit.tui.state import PendingPrompt, ScreenState, reduce
from cockpit.tui.state.entries import RemarkEntry, WelcomeEntry
from cockpit.tui.state.screen_state import Aspect

ORIGIN = "tui"
_SLICE_SECONDS = 0.003
"""How long events are folded before other tasks run, so that a key never waits for a burst."""
_PAUSE_SECONDS = 0.004
"""Pause between two slices while the user is typing."""


class SubagentFollower:
    """Folds the events of one subagent, and of those below it, into a state of their own, each event once.
    Live events that arrive before `add_past` wait until the past has been folded."""

    def __init__(self, agent: str, root: str) -> None:
        self.agent = agent
        self.state = ScreenState(root=root)
        self._seq = 0
        self._pending: list[Envelope] | None = []

    def add_past(self, past: Iterable[Envelope]) -> None:
        """Fold the past of the subagent, then what arrived meanwhile."""
        pending, self._pending = self._pending or [], None
        for envelope in (*past, *pending):
            self.apply(envelope)

    def apply(self, envelope: Envelope) -> None:
        """Take an event of the session."""
        path = envelope.agent
        if self._pending is not None:
            self._pending.append(envelope)
        elif (path == self.agent or path.startswith(f"{self.agent}/")) and envelope.seq > self._seq:
            self._seq = envelope.seq
            reduce(self.state, replace(envelope, agent="main" if path == self.agent else path))


class SessionLink:
    """The session on screen. It has no deck until `deck` is set, and no channel until `open` succeeds; before
    that ops are dropped and queries refused."""

    def __init__(self, root: str, changed: Callable[[], None], is_typing: Callable[[], bool]) -> None:
        self.root = root
        self.deck: Deck | None = None
        self.channel: Channel | None = None
        self.state = ScreenState(root=root)
        self.commands: dict[str, queries.CommandRow] = {}
        self.began = time.time()
        self.started = asyncio.Event()  # set when the session has reported its start
        self.follower: SubagentFollower | None = None  # of the subagent on screen
        self.changed = changed
        self._is_typing = is_typing
        self._reader: asyncio.Task[None] | None = None

    async def open(self, resume: str | None, welcome: WelcomeEntry) -> None:
        """Open a session (or `resume` one) in place of the current one. Raises `CockpitError`."""
        assert self.deck is not None
        channel = await self.deck.open(self.root, resume)
        await self.leave()
        self.state = ScreenState(root=self.root, session=channel.session)
        self.state.add(welcome)
        self.channel, self.began = channel, time.time()
        self._reader = asyncio.create_task(self._follow(channel, self.state))
        self.changed()

    async def leave(self) -> None:
        """Stop following and close the session."""
        channel, self.channel = self.channel, None
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None
        if channel is not None and not self.state.closed:
            await channel.submit(ops.Close(self.new_id(), ORIGIN))

    async def _follow(self, channel: Channel, state: ScreenState) -> None:
        clock = time.perf_counter
        began = clock()
        try:
            async for envelope in channel.events():
                reduce(state, envelope)
                if self.follower is not None:
                    self.follower.apply(envelope)
                if state.started:
                    self.started.set()
                self.changed()
                if clock() - began > _SLICE_SECONDS:
                    await asyncio.sleep(_PAUSE_SECONDS if self._is_typing() else 0)
                    began = clock()
        except CockpitError as error:
            state.add(RemarkEntry("error", error.message, error.hint))
            self.changed()

    @staticmethod
    def new_id() -> str:
        """An id for an op."""
        return uuid.uuid4().hex[:16]

    def redraw(self, *aspects: Aspect) -> None:
        """Mark regions as changed and ask for a frame."""
        self.state.aspects.update(aspects)
        self.changed()

    def say(self, level: Literal["note", "warning", "error"], text: str, hint: str = "") -> None:
        """Add a line of the cockpit's own to the Trace."""
        self.state.add(RemarkEntry(level, text, hint))
        self.changed()

    async def submit(self, op: Op) -> None:
        if self.channel is None:
            return
        try:
            await self.channel.submit(op)
        except CockpitError as error:
            self.say("error", error.message, error.hint)

    async def ask(self, query: Query) -> Reply:
        if self.channel is None:
            return queries.Refused("no session is open yet")
        try:
            return await self.channel.ask(query)
        except CockpitError as error:
            return queries.Refused(str(error))

    async def load_commands(self) -> None:
        """Ask for every slash command, so that an unknown one can be reported."""
        reply = await self.ask(queries.Commands())
        if isinstance(reply, queries.CommandRows):
            self.commands = {row.name: row for row in reply.rows}

    async def prompt(self, text: str, queue: bool) -> None:
        """Send a prompt or, while a turn runs, a steer or (`queue`) a follow-up."""
        id, content = self.new_id(), (Text(text),)
        op: Op
        if not self.state.busy:
            pending, op = PendingPrompt(id, text, "prompt"), ops.Prompt(id, ORIGIN, content)
        elif queue:
            pending, op = PendingPrompt(id, text, "follow-up"), ops.FollowUp(id, ORIGIN, content)
        else:
            pending, op = PendingPrompt(id, text, "steer"), ops.Steer(id, ORIGIN, content)
        self.state.pending.append(pending)
        self.changed()
        await self.submit(op)

    async def steer(self, text: str, agent: str) -> None:
        """Send a message to a subagent, taken at its next step."""
        await self.submit(ops.Steer(self.new_id(), ORIGIN, (Text(text),), agent))

    async def interrupt(self, agent: str = "main") -> None:
        """Interrupt the turn, or the work of a subagent."""
        await self.submit(ops.Interrupt(self.new_id(), ORIGIN, agent))

    async def compact(self, focus: str = "") -> None:
        await self.submit(ops.Compact(self.new_id(), ORIGIN, focus))

    async def decide(
        self,
        request: str,
        decision: Decision,
        note: str = "",
        parts: tuple[str, ...] = (),
        edits: tuple[HunkEdit, ...] = (),
    ) -> None:
        """Answer an approval; it leaves the screen at once."""
        self.state.approvals.pop(request, None)
        self.redraw("work", "bar")
        await self.submit(ops.Decide(self.new_id(), ORIGIN, request, decision, note, parts, edits))
        self.changed()

    async def decide_plan(
        self,
        decision: Literal["approve", "reject"],
        request: str = "",
        text: str = "",
        note: str = "",
        mode: Mode | None = None,
    ) -> None:
        await self.submit(ops.DecidePlan(self.new_id(), ORIGIN, request, decision, text, note, mode))

    async def answer(
        self,
        request: str,
        text: str,
        action: Literal["accept", "decline", "cancel"] = "accept",
        values: Mapping[str, Json] | None = None,
    ) -> None:
        """Answer a question; it leaves the screen at once."""
        self.state.questions.pop(request, None)
        self.redraw("work", "bar")
        await self.submit(ops.Answer(self.new_id(), ORIGIN, request, text, action, values or {}))
        self.changed()

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> None:
        await self.submit(ops.CallTool(self.new_id(), ORIGIN, name, arguments))

    async def invoke(
        self, action: str, arguments: Mapping[str, Json], plugin: str = "", *, captured: bool = False
    ) -> str:
        """Run a command or a plugin's action and return the op's id; the answer to a `captured` one is
        delivered to a screen instead of the Trace."""
        id = self.new_id()
        if captured:
            self.state.captured.add(id)
        await self.submit(ops.Invoke(id, ORIGIN, plugin, action, arguments))
        return id

    async def select_mode(self, mode: Mode) -> None:
        await self.submit(ops.SelectMode(self.new_id(), ORIGIN, mode))

    async def select_next_mode(self) -> None:
        cycle = MODES[:-2]  # `full` and `deny` are only chosen by name
        mode = self.state.mode
        await self.select_mode(cycle[(cycle.index(mode) + 1) % len(cycle)] if mode in cycle else cycle[0])

    async def select_model(self, model: str) -> None:
        await self.submit(ops.SelectModel(self.new_id(), ORIGIN, model))

    async def trust(self, trusted: bool) -> None:
        await self.submit(ops.Trust(self.new_id(), ORIGIN, trusted))

    def is_live(self, request_time: float) -> bool:
        """Whether a request belongs to this opening of the session, not to the past that is replayed."""
        return request_time >= self.began - 2.0
