"""Real decks for tests: plugins found by entry point from a folder, the scripted model, real files."""

import asyncio
import importlib
import json
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.channel import Channel
from cockpit.protocol.content import Text
from cockpit.protocol.events import Envelope, Event, TurnFinished
from cockpit.protocol.messages import Decision, Json
from cockpit.protocol.ops import CallTool, Decide, FollowUp, Interrupt, Invoke, Prompt, Steer

E = TypeVar("E", bound=object)
PATIENCE = 20.0


def script(folder: Path, *steps: Mapping[str, Json], **others: list[Mapping[str, Json]]) -> Path:
    """A script for the `scripted` model."""
    path = folder / "script.json"
    path.write_text(json.dumps({"steps": list(steps), "others": others}), encoding="utf-8")
    return path


def call(name: str, /, **arguments: Json) -> Mapping[str, Json]:
    return {"name": name, "arguments": arguments}


def distribution(folder: Path, name: str, source: str) -> None:
    """A plugin as an installed distribution: a module and its metadata in `folder`, on the path."""
    module = f"{name.replace('-', '_')}_plugin"
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    facts = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(f"[cockpit]\n{name} = {module}\n", encoding="utf-8")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    sys.modules.pop(module, None)


@dataclass
class Driver:
    """One session driven by hand: ops go in by short names, events are waited for."""

    channel: Channel
    seen: list[Envelope] = field(default_factory=list)
    _reading: "asyncio.Task[None] | None" = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self) -> None:
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for envelope in self.channel.events():
            self.seen.append(envelope)
            self._news.set()

    async def prompt(self, text: str) -> TurnFinished:
        """Submit a prompt and wait for the end of its turn."""
        id = await self.begin(text)
        return await self.end(id)

    async def begin(self, text: str, origin: str = "tui") -> str:
        id = uuid.uuid4().hex
        await self.channel.submit(Prompt(id, origin, (Text(text),)))
        return id

    async def end(self, turn: str) -> TurnFinished:
        found = await self.until(
            lambda one: isinstance(one.event, TurnFinished) and one.turn == turn and one.agent == "main"
        )
        assert isinstance(found.event, TurnFinished)
        return found.event

    async def steer(self, text: str) -> None:
        await self.channel.submit(Steer(uuid.uuid4().hex, "tui", (Text(text),)))

    async def follow_up(self, text: str) -> str:
        id = uuid.uuid4().hex
        await self.channel.submit(FollowUp(id, "tui", (Text(text),)))
        return id

    async def interrupt(self) -> None:
        await self.channel.submit(Interrupt(uuid.uuid4().hex, "tui"))

    async def decide(
        self, request: str, decision: Decision, note: str = "", parts: Sequence[str] = ()
    ) -> None:
        await self.channel.submit(Decide(uuid.uuid4().hex, "tui", request, decision, note, tuple(parts)))

    async def run_tool(self, name: str, /, origin: str = "tui", **arguments: Json) -> str:
        id = uuid.uuid4().hex
        await self.channel.submit(CallTool(id, origin, name, arguments))
        return id

    async def invoke(self, action: str, **arguments: Json) -> str:
        id = uuid.uuid4().hex
        await self.channel.submit(Invoke(id, "tui", "", action, arguments))
        return id

    async def until(self, fits: Callable[[Envelope], bool], start: int = 0) -> Envelope:
        """The first envelope (seen or to come) that fits. Fails after the patience of 20 s."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._until(fits, start)
        except TimeoutError:
            last = "\n".join(repr(one.event)[:300] for one in self.seen[-12:])
            raise AssertionError(
                f"it did not happen within {PATIENCE:g} s; the last events:\n{last}"
            ) from None

    async def _until(self, fits: Callable[[Envelope], bool], at: int) -> Envelope:
        while True:
            while at < len(self.seen):
                if fits(self.seen[at]):
                    return self.seen[at]
                at += 1
            self._news.clear()
            await self._news.wait()

    async def next(self, kind: type[E], start: int = 0) -> E:
        """The first event of a kind, from the envelope at index `start` on."""
        found = await self.until(lambda one: isinstance(one.event, kind), start)
        assert isinstance(found.event, kind)
        return found.event

    def all(self, kind: type[E]) -> list[E]:
        return [one.event for one in self.seen if isinstance(one.event, kind)]

    def events(self) -> list[Event]:
        return [one.event for one in self.seen]

    async def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)


@asynccontextmanager
async def driving(
    root: Path, resume: str | None = None, options: RunOptions | None = None
) -> AsyncIterator[Driver]:
    """A session on `root` in a deck of its own."""
    deck = LocalDeck(options or RunOptions(model="scripted:script"))
    driver = Driver(await deck.open(str(root), resume))
    await driver.start()
    try:
        yield driver
    finally:
        await deck.close()
        await driver.stop()
