"""A session in which tools are called as by a user's `!`, with each call timed; used by other peers."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.channel import Channel
from cockpit.protocol.events import ToolCallFinished
from cockpit.protocol.messages import Json
from cockpit.protocol.ops import CallTool
from cockpit.protocol.queries import Listing, ListingRows

PATIENCE = 30.0


class Caller:
    """Calls one tool after the other."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._ended: dict[str, asyncio.Future[ToolCallFinished]] = {}
        self._count = 0

    async def follow(self) -> None:
        async for envelope in self._channel.events():
            if isinstance(envelope.event, ToolCallFinished) and envelope.call in self._ended:
                self._ended.pop(envelope.call).set_result(envelope.event)

    async def call(self, name: str, arguments: Mapping[str, Json]) -> float:
        """Seconds from the op to its result. Raises SystemExit if the call failed."""
        self._count += 1
        id = f"call-{self._count}"
        ended = self._ended[id] = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        await self._channel.submit(CallTool(id, "headless", name, arguments))
        result = (await asyncio.wait_for(ended, PATIENCE)).result
        taken = time.perf_counter() - began
        if result.outcome != "ok":
            raise SystemExit(f"{name}: {result.outcome}: {result.text}")
        return taken

    async def until_there(self, tool: str) -> None:
        """Wait until a server has provided `tool`."""
        async with asyncio.timeout(PATIENCE):
            while True:
                reply = await self._channel.ask(Listing("tools"))
                if isinstance(reply, ListingRows) and any(row.name == tool for row in reply.rows):
                    return
                await asyncio.sleep(0.05)


@asynccontextmanager
async def caller(root: str) -> AsyncIterator[Caller]:
    """A session on `root` without approvals."""
    options = RunOptions(model="offline:rules", mode="full", origin="headless", someone=False, trust=True)
    deck = LocalDeck(options)
    calling = Caller(await deck.open(root))
    following = asyncio.create_task(calling.follow())
    try:
        yield calling
    finally:
        await deck.close()
        following.cancel()
