"""One subagent that a person looks into: its events folded into a state of its own, as a session's are.

The life between the screen and one session: it opens a channel, reads events into the state, submits ops.

Imported after the first paint. Refuses widgets: it calls `changed` when there is something to draw.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
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


class SubagentFollower:
    """The past of the subagent `agent`, then what comes, each event once."""

    def __init__(self, agent: str, root: str) -> None:
        self.agent = agent
        self.state = ScreenState(root=root)
        self._seq = 0

    def take(self, envelope: Envelope) -> bool:
        """Fold an event of it, or of one below it; whether it was one."""
        path = envelope.agent
        if path != self.agent and not path.startswith(f"{self.agent}/"):
            return False
        if envelope.seq <= self._seq:
            return False
        self._seq = envelope.seq
        reduce(self.state, replace(envelope, agent="main" if path == self.agent else path))
        return True


class SubagentWatch:
    """Into which subagent a person looks, if any. What comes while its past is fetched waits for that."""

    def __init__(self) -> None:
        self._followed: SubagentFollower | None = None
        self._held: list[Envelope] | None = None

    def into(self, agent: str, root: str) -> SubagentFollower:
        """Into `agent` from now on; its past is given to `fold`."""
        self._followed, self._held = SubagentFollower(agent, root), []
        return self._followed

    def away(self) -> None:
        """Into none."""
        self._followed = self._held = None

    def fold(self, past: Iterable[Envelope]) -> None:
        """The past of the subagent; what came meanwhile goes behind it."""
        held, self._held = self._held or [], None
        for envelope in (*past, *held):
            self.hear(envelope)

    def hear(self, envelope: Envelope) -> None:
        """An event of the session."""
        if self._held is not None:
            self._held.append(envelope)
        elif self._followed is not None:
            self._followed.take(envelope)


ORIGIN = "tui"
_SLICE_SECONDS = 0.003  # seconds of events at a time, so that a key never waits for a burst
_PAUSE_SECONDS = 0.004  # pause between two slices while a person is typing


class SessionLink:
    """One open session of a deck."""

    def __init__(
        self, deck: Deck, root: str, changed: Callable[[], None], typing: Callable[[], bool]
    ) -> None:
        self.deck = deck
        self.root = root
        self.state = ScreenState(root=root)
        self.channel: Channel | None = None
        self.commands: dict[str, queries.CommandRow] = {}
        self.began = time.time()
        self.heard = asyncio.Event()  # the session has said how it began
        self.changed = changed
        self._typing = typing
        self.looking = SubagentWatch()
        self._pump: asyncio.Task[None] | None = None

    async def open(self, resume: str | None, welcome: WelcomeEntry) -> None:
        """Open a session (or `resume` one) and follow it. Raises `CockpitError`."""
        channel = await self.deck.open(self.root, resume)
        await self.leave()
        self.state = ScreenState(root=self.root, session=channel.session)
        self.state.add(welcome)
        self.channel, self.began = channel, time.time()
        self._pump = asyncio.create_task(self._follow(channel, self.state))
        self.changed()

    async def leave(self) -> None:
        """Stop following; the session is closed in order."""
        channel, self.channel = self.channel, None
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
            self._pump = None
        if channel is not None and not self.state.closed:
            await channel.submit(ops.Close(self.fresh(), ORIGIN))

    async def _follow(self, channel: Channel, state: ScreenState) -> None:
        began, clock = time.perf_counter(), time.perf_counter
        try:
            async for envelope in channel.events():
                reduce(state, envelope)
                self.looking.hear(envelope)
                if state.started:
                    self.heard.set()
                self.changed()
                if clock() - began > _SLICE_SECONDS:
                    await asyncio.sleep(_PAUSE_SECONDS if self._typing() else 0)
                    began = clock()
        except CockpitError as error:
            state.add(RemarkEntry("error", error.message, error.hint))
            self.changed()

    @staticmethod
    def fresh() -> str:
        """An id for an op."""
        return uuid.uuid4().hex[:16]

    async def submit(self, op: Op) -> None:
        """Hand over `op`; a failure is a line in the Trace, not the end of the screen."""
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

    def say(self, level: str, text: str, hint: str = "") -> None:
        """A line of the cockpit's own."""
        self.state.add(
            RemarkEntry(
                "error" if level == "error" else "warning" if level == "warning" else "note", text, hint
            )
        )
        self.changed()

    async def prompt(self, text: str, queue: bool) -> None:
        """Say `text`: a prompt, or while a turn runs a steer or (`queue`) a follow-up."""
        id, content = self.fresh(), (Text(text),)
        if not self.state.busy:
            self.state.waiting.append(PendingPrompt(id, text, "prompt"))
            self.changed()
            await self.submit(ops.Prompt(id, ORIGIN, content))
            return
        self.state.waiting.append(PendingPrompt(id, text, "follow-up" if queue else "steer"))
        self.changed()
        await self.submit(ops.FollowUp(id, ORIGIN, content) if queue else ops.Steer(id, ORIGIN, content))

    async def interrupt(self) -> None:
        await self.submit(ops.Interrupt(self.fresh(), ORIGIN))

    async def decide(
        self,
        request: str,
        decision: Decision,
        note: str = "",
        parts: tuple[str, ...] = (),
        edits: tuple[HunkEdit, ...] = (),
    ) -> None:
        await self.submit(ops.Decide(self.fresh(), ORIGIN, request, decision, note, parts, edits))

    async def decide_plan(
        self,
        decision: Literal["approve", "reject"],
        request: str = "",
        text: str = "",
        note: str = "",
        mode: Mode | None = None,
    ) -> None:
        op = ops.DecidePlan(self.fresh(), ORIGIN, request, decision, text, note, mode)
        await self.submit(op)

    async def answer(
        self,
        request: str,
        text: str,
        action: Literal["accept", "decline", "cancel"] = "accept",
        values: Mapping[str, Json] | None = None,
    ) -> None:
        self.state.questions.pop(request, None)
        self.state.aspects |= {"work", "bar"}
        await self.submit(ops.Answer(self.fresh(), ORIGIN, request, text, action, values or {}))
        self.changed()

    async def shell(self, command: str) -> None:
        await self.submit(ops.CallTool(self.fresh(), ORIGIN, "shell", {"command": command}))

    async def invoke(
        self, action: str, arguments: Mapping[str, Json], plugin: str = "", captured: bool = False
    ) -> str:
        """Run a command or a plugin's action; with `captured` its answer is a request to a screen."""
        id = self.fresh()
        if captured:
            self.state.captured.add(id)
        await self.submit(ops.Invoke(id, ORIGIN, plugin, action, arguments))
        return id

    async def next_mode(self) -> None:
        wheel = MODES[:-2]  # full and deny are chosen by name, never passed through
        mode = self.state.mode
        following = wheel[(wheel.index(mode) + 1) % len(wheel)] if mode in wheel else wheel[0]
        await self.submit(ops.SelectMode(self.fresh(), ORIGIN, following))

    async def select_model(self, model: str) -> None:
        await self.submit(ops.SelectModel(self.fresh(), ORIGIN, model))

    async def keep(self, model: str, mode: Mode) -> None:
        """Use this model and mode in the session that has just begun."""
        if model:
            await self.select_model(model)
            await self.submit(ops.SelectMode(self.fresh(), ORIGIN, mode))

    async def trust(self, trusted: bool) -> None:
        await self.submit(ops.Trust(self.fresh(), ORIGIN, trusted))

    async def learn_commands(self) -> None:
        """Ask for every slash command, so that an unknown one can be told."""
        reply = await self.ask(queries.Commands())
        if isinstance(reply, queries.CommandRows):
            self.commands = {row.name: row for row in reply.rows}


def is_live(time_of: float, began: float) -> bool:
    """Whether a request was made for this opening of the session, not in a past that is replayed."""
    return time_of >= began - 2.0


Opener = Callable[[], Awaitable[Deck]]
