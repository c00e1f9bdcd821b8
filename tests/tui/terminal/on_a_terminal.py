"""The cockpit on a recording, for the terminal tests: `python -m tests.tui.terminal.on_a_terminal SCENE`."""

import sys

from tests.support import scenes
from tests.support.cockpits import answers

from cockpit.protocol.recordings import RecordingChannel, RecordingDeck
from cockpit.tui.run import run


class Watched(RecordingChannel):
    """Says in the terminal's title what was submitted, where a test can read it."""

    async def submit(self, op: object) -> None:
        sys.__stderr__.write(f"\x1b]2;op:{type(op).__name__}\x07")
        sys.__stderr__.flush()


async def make_deck() -> RecordingDeck:
    if sys.argv[1] == "crash":
        raise RuntimeError("the deck burned down")
    scene = scenes.Scene().start() if sys.argv[1] == "idle" else getattr(scenes, sys.argv[1])()
    return RecordingDeck(Watched(scene.envelopes, replies=answers))


if __name__ == "__main__":
    sys.exit(run(make_deck, "/home/ada/shop"))
