"""`cockpit replay FILE`: show a transcript (or a recording) as it was, on the screen or as lines."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.core import store
from cockpit.errors import SessionUnknown
from cockpit.protocol.channel import Deck
from cockpit.protocol.events import Envelope, SessionStarted
from cockpit.protocol.recording import RecordingChannel, RecordingDeck, read


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit replay", description="Show a session as it was.")
    parser.add_argument("file", help="a transcript or recording, or a session's id")
    parser.add_argument("--plain", action="store_true", help="line by line")
    given = parser.parse_args(list(argv))
    path = Path(given.file)
    envelopes = read(path if path.exists() else store.file_of(given.file))
    if not envelopes:
        raise SessionUnknown(f"{given.file} holds no events", "name a transcript that cockpit wrote")
    if given.plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _lines(envelopes)
    return _screen(envelopes)


def _screen(envelopes: list[Envelope]) -> int:
    from cockpit.tui.run import run

    async def make() -> Deck:
        return RecordingDeck(RecordingChannel(envelopes))

    started = envelopes[0].event
    return run(make, started.root if isinstance(started, SessionStarted) else ".", None)


def _lines(envelopes: list[Envelope]) -> int:
    from cockpit.headless.lines import Screen, draw

    screen = Screen(sys.stdout)
    for envelope in envelopes:
        draw(screen, envelope)
    return 0
