"""What of the draft is being completed: a command at its start, a file after `@`, what a plugin knows after
`#`. Pure."""

import re
from typing import Literal, NamedTuple

_MENTION = re.compile(r"(?<![A-Za-z0-9._%+-])@([^\s@]*)$")
# With a letter behind it: a lone `#` begins a heading.
_NUMBER = re.compile(r"(?<![\w.%+#-])#([^\s#]+)$")


class Token(NamedTuple):
    """The sign that opened it, and the characters it spans."""

    trigger: Literal["/", "@", "#"]
    start: int
    end: int


def token_at(text: str, cursor: int) -> Token | None:
    """What is completed when the cursor stands at character `cursor` of `text`."""
    before = text[:cursor]
    if before.startswith("/") and not re.search(r"\s", before):
        return Token("/", 0, cursor)
    if match := _MENTION.search(before):
        return Token("@", match.start(1) - 1, cursor)
    if match := _NUMBER.search(before):
        return Token("#", match.start(1) - 1, cursor)
    if before.startswith("/") and "\n" not in before:
        return Token("/", 0, cursor)
    return None
