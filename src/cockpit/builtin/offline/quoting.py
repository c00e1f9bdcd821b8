"""Takes quoted and fenced parts out of a prompt, so that no rule of grammar reads inside of them, and
puts them back. Every part becomes three private characters without blanks or punctuation.
"""

import re
from dataclasses import dataclass

OPEN, CLOSE, FIRST, MOST = "\ue000", "\ue001", 0xE100, 6_000
HELD = f"{OPEN}[\ue100-\uf8ff]{CLOSE}"
PRIVATE = re.compile("[\ue000-\uf8ff]")
FENCE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n(?P<body>.*?)^[ \t]*(?P=mark)[ \t]*$\n?", re.M | re.S
)
QUOTED = re.compile(
    r"(?P<ticks>`+)(?P<code>[^\n]+?)(?P=ticks)(?!`)"
    r'|(?<!\w)"(?P<double>(?:\\"|[^"\n])*)"'
    r"|(?<![\w'])'(?P<single>[^'\n]+)'(?!\w)"
    r"|“(?P<curly>[^”\n]*)”|‘(?P<curled>[^’\n]*)’|「(?P<corner>[^」\n]*)」|『(?P<corners>[^』\n]*)』"
    r"|《(?P<title>[^》\n]*)》"
)


@dataclass(frozen=True, slots=True)
class Held:
    """A part that was taken out: what stood there, and what is inside of its quotes."""

    raw: str
    inner: str
    is_fence: bool


@dataclass(frozen=True, slots=True)
class Shielded:
    """A prompt without its quoted parts."""

    text: str
    parts: tuple[Held, ...]

    def held(self, value: str) -> Held | None:
        """The part that `value` is, where it is nothing else."""
        found = re.fullmatch(HELD, value.strip())
        return self._part(found[0]) if found else None

    def inner(self, value: str) -> str:
        """`value` as it was meant: a quoted part without its quotes, anything else as it stood."""
        part = self.held(value)
        return part.inner if part else self.raw(value).strip()

    def raw(self, value: str) -> str:
        return re.sub(HELD, lambda found: self._part(found[0]).raw, value)

    def _part(self, sign: str) -> Held:
        return self.parts[ord(sign[1]) - FIRST]


def shield(prompt: str) -> Shielded:
    """Fences first, then quotes; private characters of the prompt itself are dropped."""
    parts: list[Held] = []

    def take(raw: str, inner: str, is_fence: bool) -> str:
        if len(parts) >= MOST:
            return raw
        parts.append(Held(raw, inner, is_fence))
        return f"{OPEN}{chr(FIRST + len(parts) - 1)}{CLOSE}"

    text = PRIVATE.sub("", prompt.replace("\r\n", "\n"))
    text = FENCE.sub(lambda found: take(found[0], found["body"], True) + "\n", text)
    text = QUOTED.sub(lambda found: take(found[0], _inner(found), False), text)
    return Shielded(text, tuple(parts))


def _inner(found: re.Match[str]) -> str:
    said = next(
        (value for name, value in found.groupdict().items() if value is not None and name != "ticks"), ""
    )
    return said.replace('\\"', '"') if found["double"] is not None else said
