"""The core at the other end of a pipe: serves a deck on stdin and stdout."""

import asyncio
import sys

from cockpit.core.deck import LocalDeck
from cockpit.core.options import Options
from cockpit.protocol.remote import LONGEST_LINE, serve


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    deck = LocalDeck(Options(model="scripted:script"))
    await serve(deck, reader, writer)
    await deck.close()


asyncio.run(main())
