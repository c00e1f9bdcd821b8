"""Takes quoted and fenced parts out of a prompt, so that no rule of grammar reads inside of them, and
puts them back. Every part becomes three private characters without blanks or punctuation.
"""

import re
from dataclasses import dataclass

PLACEHOLDER_OPEN, PLACEHOLDER_CLOSE, PLACEHOLDER_FIRST, MAX_QUOTED_PARTS = "\ue000", "\ue001", 0xE100, 6_000
PLACEHOLDER = f"{PLACEHOLDER_OPEN}[\ue100-\uf8ff]{PLACEHOLDER_CLOSE}"
PRIVATE_CHARACTERS = re.compile("[\ue000-\uf8ff]")
FENCED_BLOCK = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n(?P<body>.*?)^[ \t]*(?P=mark)[ \t]*$\n?", re.M | re.S
)
QUOTED_TEXT = re.compile(
    r"(?P<ticks>`+)(?P<code>[^\n]+?)(?P=ticks)(?!`)"
    r'|(?<!\w)"(?P<double>(?:\\"|[^"\n])*)"'
    r"|(?<![\w'])'(?P<single>[^'\n]+)'(?!\w)"
    r"|“(?P<curly>[^”\n]*)”|‘(?P<curled>[^’\n]*)’|「(?P<corner>[^」\n]*)」|『(?P<corners>[^』\n]*)』"
    r"|《(?P<title>[^》\n]*)》"
)


@dataclass(frozen=True, slots=True)
class QuotedPart:
    """A part that was taken out: what stood there, and what is inside of its quotes."""

    raw: str
    inner: str
    is_fence: bool


@dataclass(frozen=True, slots=True)
class MaskedPrompt:
    """A prompt without its quoted parts."""

    text: str
    parts: tuple[QuotedPart, ...]

    def held(self, value: str) -> QuotedPart | None:
        """The part that `value` is, where it is nothing else."""
        found = re.fullmatch(PLACEHOLDER, value.strip())
        return self._part(found[0]) if found else None

    def inner(self, value: str) -> str:
        """`value` as it was meant: a quoted part without its quotes, anything else as it stood."""
        part = self.held(value)
        return part.inner if part else self.raw(value).strip()

    def raw(self, value: str) -> str:
        return re.sub(PLACEHOLDER, lambda found: self._part(found[0]).raw, value)

    def _part(self, sign: str) -> QuotedPart:
        return self.parts[ord(sign[1]) - PLACEHOLDER_FIRST]


def mask_quotes(prompt: str) -> MaskedPrompt:
    """Fences first, then quotes; private characters of the prompt itself are dropped."""
    parts: list[QuotedPart] = []

    def take(raw: str, inner: str, is_fence: bool) -> str:
        if len(parts) >= MAX_QUOTED_PARTS:
            return raw
        parts.append(QuotedPart(raw, inner, is_fence))
        return f"{PLACEHOLDER_OPEN}{chr(PLACEHOLDER_FIRST + len(parts) - 1)}{PLACEHOLDER_CLOSE}"

    text = PRIVATE_CHARACTERS.sub("", prompt.replace("\r\n", "\n"))
    text = FENCED_BLOCK.sub(lambda found: take(found[0], found["body"], True) + "\n", text)
    text = QUOTED_TEXT.sub(lambda found: take(found[0], _unquote(found), False), text)
    return MaskedPrompt(text, tuple(parts))


def _unquote(found: re.Match[str]) -> str:
    said = next(
        (value for name, value in found.groupdict().items() if value is not None and name != "ticks"), ""
    )
    return said.replace('\\"', '"') if found["double"] is not None else said
