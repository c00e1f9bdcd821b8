"""A cockpit on a recording, for tests: opened, settled, looked at."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.support.scenes import Scene
from tests.support.told import about_code
from textual import events, keys
from textual.pilot import Pilot

from cockpit.protocol import queries
from cockpit.protocol.content import Diff
from cockpit.protocol.ops import Op
from cockpit.protocol.queries import Query, Reply, SessionRow
from cockpit.protocol.recordings import RecordingChannel, RecordingDeck
from cockpit.tui.app import Cockpit
from cockpit.tui.render.widgets import StartOptions
from cockpit.tui.state import ScreenState

COMMANDS = (
    ("compact", "summarise the older part of the context", "[what to keep]"),
    ("model", "choose a model", "[provider:model]"),
    ("status", "where things stand", ""),
    ("tools", "what the model can use", ""),
)
FILES = ("README.md", "src/shop/__init__.py", "src/shop/cart.py", "src/shop/折扣.py", "tests/test_cart.py")
MODELS = ("deepseek:deepseek-chat", "offline:rules", "openai:gpt-5", "ollama:qwen3-coder")


def answers(query: Query, changes: Iterable[Diff] = ()) -> Reply:
    """What a session would say to the queries of the screen."""
    match query:
        case queries.Complete(trigger="/"):
            return _commands(query)
        case queries.Complete():
            return _files(query)
        case queries.Commands():
            rows = (queries.CommandRow(name, text, hint, "commands") for name, text, hint in COMMANDS)
            return queries.CommandRows(tuple(rows))
        case queries.Settings():
            return queries.SettingsTable({}, {"tools": 31, "skills": 4, "mcp_servers": 2}, ())
        case queries.Listing("models"):
            listed = (queries.ListingRow(name, "", "models", "built-in") for name in MODELS)
            return queries.ListingRows(tuple(listed))
        case queries.Changes():
            return queries.ChangeRows(tuple(changes))
        case _:
            return about_code(query) or queries.Refused("not in a recording")


def _commands(query: queries.Complete) -> queries.Completions:
    typed = query.text[1:].split(" ")[0]
    rows = (
        queries.Completion(f"/{name} ", f"/{name}", text, 0, len(query.text))
        for name, text, _ in COMMANDS
        if name.startswith(typed)
    )
    return queries.Completions(tuple(rows))


def _files(query: queries.Complete) -> queries.Completions:
    at = query.text.rindex("@")
    typed = query.text[at + 1 : query.cursor]
    rows = (queries.Completion(f"@{name} ", name, "", at, query.cursor) for name in FILES if typed in name)
    return queries.Completions(tuple(rows))


@dataclass
class Seat:
    """A running cockpit, its pilot and the channel it is on."""

    app: Cockpit
    pilot: Pilot[int]
    channel: RecordingChannel
    deck: RecordingDeck

    @property
    def state(self) -> ScreenState:
        assert self.app.controller is not None
        return self.app.controller.link.state

    @property
    def ops(self) -> list[Op]:
        return self.channel.ops

    @property
    def screen(self) -> str:
        """What is on the screen, as text."""
        return screen_text(self.app)

    async def press(self, *keys: str) -> None:
        await press(self.app, self.pilot, *keys)
        await settled(self.app, self.pilot)

    async def type(self, text: str) -> None:
        """Type `text` without waiting between the letters."""
        for letter in text:
            self.app.post_message(key_event({" ": "space", "\n": "ctrl+j"}.get(letter, letter)))
        await settled(self.app, self.pilot)

    async def play(self, scene: Scene) -> None:
        """Send what `scene` holds beyond what was sent already."""
        known = self.channel.sent
        self.channel.play(*scene.envelopes[known:])
        await settled(self.app, self.pilot)


def key_event(key: str) -> events.Key:
    """The event of a key, by the name that Textual gives it or by its character."""
    name = keys._character_to_key(key) if len(key) == 1 else key
    return events.Key(name, keys.key_to_character(keys.REPLACED_KEYS.get(name, name)))


async def press(app: Cockpit, pilot: Pilot[int], *names: str) -> None:
    """Press keys one after another, each when what the one before changed has been drawn. `Pilot.press`
    sleeps 40 ms for every key instead."""
    for name in names:
        app.post_message(key_event(name))
        await settled(app, pilot, rounds=2)


def screen_text(app: Cockpit) -> str:
    """The lines of the screen in front, composed over those below."""
    lines = [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]
    return "\n".join(lines)


async def settled(app: Cockpit, pilot: Pilot[int], seconds: float = 10.0, *, rounds: int = 4) -> None:
    """Wait until the session is open and nothing waits to be drawn, for some rounds of the loop: a
    screen that was left may be followed by another. The fourth round waits until the process is idle,
    because a thread may still bring something."""
    calm = 0
    async with asyncio.timeout(seconds):
        while calm < rounds:
            stack = list(app.screen_stack)
            await pilot.pause(0 if calm < 3 else None)
            if _is_calm(app) and stack == app.screen_stack:
                calm += 1
            else:
                calm = 0
                await asyncio.sleep(0.005)  # leaves the processor to threads


def _is_calm(app: Cockpit) -> bool:
    controller = app.controller
    if controller is None or not controller.reactions.facts_loaded:
        return False
    state = controller.link.state
    return not (state.touched or state.aspects or controller.clock.frame_due or unread(app))


def unread(app: Cockpit) -> int:
    """Envelopes of the open recording that the cockpit has not taken yet."""
    channel = (
        app.controller.link.channel
        if app.controller is not None and app.controller.link is not None
        else None
    )
    return channel.unread if isinstance(channel, RecordingChannel) else 0


Replies = Callable[[Query], Reply | None]


def cockpit(
    scene: Scene,
    *,
    theme: str = "",
    rows: Iterable[SessionRow] = (),
    others: Iterable[Scene] = (),
    replies: Replies | None = None,
    quiet: float = 0.0,
) -> tuple[Cockpit, RecordingChannel, RecordingDeck]:
    """A cockpit that will open `scene`; `replies` answers before the usual answers do."""

    def reply(query: Query) -> Reply:
        from tests.support.scenes import EDIT, TESTS

        return (replies(query) if replies else None) or answers(query, (EDIT, TESTS))

    def channel_of(one: Scene) -> RecordingChannel:
        return RecordingChannel(one.envelopes, session=one.session, replies=reply)

    channel = channel_of(scene)
    deck = RecordingDeck(channel, *[channel_of(one) for one in others], rows=rows)

    async def make_deck() -> RecordingDeck:
        return deck

    return Cockpit(make_deck, scene.root, StartOptions(still=True, theme=theme, quiet=quiet)), channel, deck


@asynccontextmanager
async def seat(
    scene: Scene,
    size: tuple[int, int] = (120, 40),
    *,
    rows: Iterable[SessionRow] = (),
    others: Iterable[Scene] = (),
    replies: Replies | None = None,
    quiet: float = 0.0,
) -> AsyncIterator[Seat]:
    """A cockpit on `scene`, settled."""
    app, channel, deck = cockpit(scene, rows=rows, others=others, replies=replies, quiet=quiet)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(app, pilot)
        yield Seat(app, pilot, channel, deck)
