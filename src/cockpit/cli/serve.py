"""`cockpit serve`: offer the deck to another program over stdin and stdout, or run a plugin's frontend."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.command import load_catalog, unknown_name
from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.plugin.values import Frontend
from cockpit.protocol.channel import MAX_LINE_BYTES, serve_deck


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit serve", description="Serve cockpit through another frontend."
    )
    parser.add_argument("name", help="`stdio` (lines of JSON), or the frontend of a plugin")
    args = parser.parse_args(list(argv))
    if args.name == "stdio":
        asyncio.run(_serve_stdio())
        return 0
    catalog = load_catalog(str(Path.cwd()))
    frontend = catalog.get(Frontend, args.name)
    if frontend is None:
        raise unknown_name("frontend", args.name, ["stdio", *(item.name for item in catalog.all(Frontend))])
    asyncio.run(_run_frontend(frontend))
    return 0


async def _run_frontend(frontend: Frontend) -> None:
    deck = LocalDeck(RunOptions(origin=frontend.name))
    try:
        await frontend.run(deck)
    finally:
        await deck.close()


async def _serve_stdio() -> None:
    """Requests on stdin, answers and envelopes on stdout (docs/extend/protocol.md)."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    deck = LocalDeck(RunOptions(origin="stdio"))
    try:
        await serve_deck(deck, reader, asyncio.StreamWriter(transport, protocol, reader, loop))
    finally:
        await deck.close()
