"""The core at the other end of a pipe: serves a deck on stdin and stdout."""

import asyncio
import sys

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.channel import MAX_LINE_BYTES, serve_deck


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    deck = LocalDeck(RunOptions(model="scripted:script"))
    await serve_deck(deck, reader, writer)
    await deck.close()


asyncio.run(main())
