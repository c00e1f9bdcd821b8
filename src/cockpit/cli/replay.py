"""`cockpit replay FILE`: show a transcript (or a recording) as it was, on the screen or as lines."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from cockpit.core import store
from cockpit.core.transcript import Loaded, load
from cockpit.errors import SessionUnknown
from cockpit.protocol.channel import Deck
from cockpit.protocol.events import Envelope


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit replay", description="Show a session as it was.")
    parser.add_argument("file", help="a transcript or recording, or a session's id")
    parser.add_argument("--plain", action="store_true", help="line by line")
    given = parser.parse_args(list(argv))
    path = Path(given.file)
    loaded = load(path if path.exists() else store.file_of(given.file))
    for report in loaded.reports:
        print(f"cockpit: {report}", file=sys.stderr)
    envelopes = tuple(record for record in loaded.records if isinstance(record, Envelope))
    if not envelopes:
        raise SessionUnknown(f"{given.file} holds no events", "name a transcript that cockpit wrote")
    if given.plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _lines(loaded, envelopes)
    return _screen(loaded, envelopes)


def _deck(envelopes: tuple[Envelope, ...]) -> Callable[[], Awaitable[Deck]]:
    async def make() -> Deck:
        from cockpit.protocol.recording import RecordingChannel, RecordingDeck

        return RecordingDeck(RecordingChannel(envelopes))

    return make


def _screen(loaded: Loaded, envelopes: tuple[Envelope, ...]) -> int:
    from cockpit.tui.run import run

    return run(_deck(envelopes), loaded.header.root, None)


def _lines(loaded: Loaded, envelopes: tuple[Envelope, ...]) -> int:
    from cockpit.headless.lines import Screen, draw

    screen = Screen(sys.stdout)
    for envelope in envelopes:
        draw(screen, envelope)
    return 0
