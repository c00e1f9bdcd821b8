"""`cockpit serve NAME`: a frontend that a plugin brings, or `stdio`: the deck as lines of JSON."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.catalogs import catalog_of
from cockpit.core.deck import LocalDeck
from cockpit.core.options import Options
from cockpit.errors import CockpitError
from cockpit.plugin.values import Frontend
from cockpit.protocol.remote import LONGEST_LINE, serve


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit serve", description="Hold the deck another way.")
    parser.add_argument("name", help="`stdio`, or a frontend of a plugin")
    given = parser.parse_args(list(argv))
    if given.name == "stdio":
        asyncio.run(_stdio())
        return 0
    catalog = catalog_of(str(Path.cwd()))
    frontend = catalog.get(Frontend, given.name)
    if frontend is None:
        names = ", ".join(["stdio", *(one.name for one in catalog.all(Frontend))])
        raise CockpitError(f"there is no frontend {given.name}", f"there is {names}")
    asyncio.run(_run(frontend))
    return 0


async def _run(frontend: Frontend) -> None:
    deck = LocalDeck(Options(origin=frontend.name))
    try:
        await frontend.run(deck)
    finally:
        await deck.close()


async def _stdio() -> None:
    """Requests on stdin, answers and envelopes on stdout (docs/protocol.md)."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    deck = LocalDeck(Options(origin="stdio"))
    try:
        await serve(deck, reader, asyncio.StreamWriter(transport, protocol, reader, loop))
    finally:
        await deck.close()
