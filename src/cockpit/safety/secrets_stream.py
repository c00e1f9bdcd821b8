"""Text that comes in pieces, without secrets that a cut went through: a tail that may be the beginning of
one is held back until more comes or the stream ends.
"""

import re
from dataclasses import dataclass

from cockpit.safety.redaction import Redactor
from cockpit.safety.secrets import SHAPES

# What is looked at for an open secret (characters), and the most that is ever held back.
LOOKED = 600
MOST = 16_000
# What was passed on is looked at once more with the next piece: a cue may begin in it.
KEPT = 24

_CUES = "|".join(re.escape(one) for one in sorted({one.cue.strip() for one in SHAPES}, key=len, reverse=True))
# A cue and what may belong to it up to the end: no blank but around `=`, `:` and behind `Bearer`.
_OPEN = re.compile(
    rf"""(?:{_CUES})[\w-]*["']?\s{{0,3}}(?:=>|:=|[:=])?\s{{0,3}}["']?(?:bearer|basic|token)?\s?[^\s"'`,;]*\Z""",
    re.IGNORECASE,
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,24}(?:-{0,4}|PRIVATE KEY(?: BLOCK)?-----(?:(?!-----END [A-Z ]*-----)[^\0])*)\Z"
)


@dataclass(slots=True)
class _Open:
    """A stream: what is held back, and the end of what was passed on."""

    held: str = ""
    said: str = ""


class Streams:
    """The open streams of a session, by name."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._open: dict[tuple[str, ...], _Open] = {}

    def feed(self, name: tuple[str, ...], piece: str) -> str:
        """What may be passed on now, "" for nothing yet."""
        stream = self._open.setdefault(name, _Open())
        text = stream.held + piece
        # A cue may have begun in what was passed on: a few letters of it tell nobody anything.
        cut = max(0, _safe(stream.said + text, self._redactor) - len(stream.said))
        stream.held = text[cut:]
        return self._passed(stream, text[:cut])

    def end(self, name: tuple[str, ...]) -> str:
        """What was held back, when nothing more comes."""
        stream = self._open.pop(name, None)
        return self._passed(stream, stream.held) if stream is not None else ""

    def _passed(self, stream: _Open, text: str) -> str:
        """`text` without its secrets, also those of which a few letters were passed on before."""
        if not text:
            return ""
        seam, whole = len(stream.said), stream.said + text
        stream.said = whole[-KEPT:]
        pieces, at = [], seam
        for start, end, name in self._redactor.spans(whole):
            if end <= at:
                continue
            pieces += [whole[at : max(at, start)], f"[redacted {name}]"]
            at = end
        return "".join([*pieces, whole[at:]])


def _safe(text: str, redactor: Redactor) -> int:
    """How much of `text` can be passed on without cutting through a secret."""
    tail = max(0, len(text) - LOOKED)
    cut = redactor.begins(text)
    if found := _OPEN.search(text, tail):
        cut = min(cut, found.start())
    at = text.rfind("-----BEGIN ", max(0, len(text) - MOST))
    if at >= 0 and _PEM.match(text, at):
        cut = min(cut, at)
    return cut if len(text) - cut <= MOST else len(text)
