"""The gate of everything a command prints on a terminal: the name of a file or a branch, the words of a model
drive no terminal. A pipe or a file gets the text as it is, because a program may need every byte of it.
"""

import sys
from io import BufferedWriter, FileIO, TextIOWrapper

from cockpit.protocol.clean import clean


class Harmless(TextIOWrapper):
    """A terminal's stream that lets text through, and nothing that acts."""

    def write(self, text: str) -> int:
        super().write(clean(text))
        return len(text)


class Plain(Harmless):
    """The same for errors. It says that it is no terminal: whoever would colour a traceback does not."""

    def isatty(self) -> bool:
        return False


def harmless_streams() -> None:
    """Print through the gate from now on, where stdout or stderr is a terminal."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.isatty():
        sys.stdout = _through(Harmless, sys.stdout)
    if isinstance(sys.stderr, TextIOWrapper) and sys.stderr.isatty():
        sys.stderr = _through(Plain, sys.stderr)


def _through(gate: type[Harmless], stream: TextIOWrapper) -> Harmless:
    stream.flush()
    # A buffer of its own: two writers of one would close it for each other.
    raw = BufferedWriter(FileIO(stream.fileno(), "wb", closefd=False))
    return gate(raw, encoding=stream.encoding, errors="replace", line_buffering=True)
