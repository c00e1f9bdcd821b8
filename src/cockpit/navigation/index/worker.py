"""A process that parses: batches of paths in, facts out. It ends when the process that started it does."""

import gc
import os
import sys

from cockpit.navigation.index.facts import facts_of
from cockpit.navigation.index.frames import receive, send
from cockpit.navigation.index.grammars import Readers

NICENESS = 10


def main() -> None:
    give_way()
    # What is parsed is dropped with its batch; nothing goes in circles that a collector would have to find.
    gc.disable()
    inbox, outbox = sys.stdin.buffer, sys.stdout.buffer
    try:
        match receive(inbox):
            case (str() as root, tuple() as languages):
                readers = Readers(languages)
            case _:
                return
        while True:
            match receive(inbox):
                case [*paths]:
                    found = [facts_of(root, path, readers) for path in paths if isinstance(path, str)]
                    send(outbox, [one for one in found if one is not None])
                case _:
                    return
    except (EOFError, OSError, KeyboardInterrupt):
        # The other end is gone, or a person pressed Ctrl+C: either way there is nobody to tell.
        return


def give_way() -> None:
    """Let everything a person waits for go first."""
    if sys.platform != "win32":
        os.nice(NICENESS)
