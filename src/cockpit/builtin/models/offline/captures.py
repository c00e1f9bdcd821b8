"""Masks the quoted and fenced parts of a prompt, so that no phrase matches inside them, and reads captured
values.

Every part is replaced by three private characters without blanks or punctuation.
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

WELL_KNOWN_FILES = re.compile(
    r"(?:makefile|dockerfile|readme|license|changelog|gemfile|procfile|jenkinsfile|justfile)", re.I
)
FILE_ENDING = re.compile(r"[^\s/\\]\.[A-Za-z][A-Za-z0-9]{0,11}$|^\.[A-Za-z][\w.-]+$")


@dataclass(frozen=True, slots=True)
class QuotedPart:
    """A masked part: its whole text, and the text inside its quotes."""

    raw: str
    inner: str
    is_fence: bool


@dataclass(frozen=True, slots=True)
class MaskedPrompt:
    """A prompt with placeholders for its quoted parts."""

    text: str
    parts: tuple[QuotedPart, ...]

    def quoted_part(self, value: str) -> QuotedPart | None:
        """The quoted part that `value` consists of, or None."""
        match = re.fullmatch(PLACEHOLDER, value.strip())
        return self._quoted_part(match[0]) if match else None

    def inner(self, value: str) -> str:
        """The intended value: a quoted part without its quotes, anything else as it was written."""
        part = self.quoted_part(value)
        return part.inner if part else self.raw(value).strip()

    def raw(self, value: str) -> str:
        return re.sub(PLACEHOLDER, lambda match: self._quoted_part(match[0]).raw, value)

    def _quoted_part(self, sign: str) -> QuotedPart:
        return self.parts[ord(sign[1]) - PLACEHOLDER_FIRST]


def mask_quotes(prompt: str) -> MaskedPrompt:
    """Mask fences, then quotes. Private characters in the prompt itself are removed."""
    parts: list[QuotedPart] = []

    def mask(raw: str, inner: str, is_fence: bool) -> str:
        if len(parts) >= MAX_QUOTED_PARTS:
            return raw
        parts.append(QuotedPart(raw, inner, is_fence))
        return f"{PLACEHOLDER_OPEN}{chr(PLACEHOLDER_FIRST + len(parts) - 1)}{PLACEHOLDER_CLOSE}"

    text = PRIVATE_CHARACTERS.sub("", prompt.replace("\r\n", "\n"))
    text = FENCED_BLOCK.sub(lambda match: mask(match[0], match["body"], True) + "\n", text)
    text = QUOTED_TEXT.sub(lambda match: mask(match[0], _unquote(match), False), text)
    return MaskedPrompt(text, tuple(parts))


def _unquote(match: re.Match[str]) -> str:
    text = next(
        (value for name, value in match.groupdict().items() if value is not None and name != "ticks"), ""
    )
    return text.replace('\\"', '"') if match["double"] is not None else text


class Captures:
    """The values that the pattern of a phrase captured."""

    def __init__(self, match: re.Match[str], masked: MaskedPrompt) -> None:
        self.match, self.masked = match, masked

    def __getitem__(self, name: str) -> str:
        """A captured value without its quotes, or an empty string."""
        return self.masked.inner(self.match.groupdict().get(name) or "")

    def has(self, name: str) -> bool:
        return bool(self.match.groupdict().get(name))

    def number(self, name: str) -> int:
        digits = self[name]
        return int(digits) if digits.isdecimal() and len(digits) < 9 else 0

    def is_quoted(self, name: str) -> bool:
        return self.masked.quoted_part(self.match.groupdict().get(name) or "") is not None

    def path(self, name: str = "path") -> str | None:
        """A captured path, or None if it does not look like one. An unquoted path has no blanks."""
        value = self[name].removeprefix("@").rstrip(",，:：") if not self.is_quoted(name) else self[name]
        if not value or "\n" in value:
            return None
        return value if self.is_quoted(name) or looks_like_path(value) else None

    def word(self, name: str) -> str | None:
        """A captured name: a single word or a quoted part."""
        value = self[name]
        if not self.is_quoted(name):
            value = value.removesuffix("()")
        if not value or "\n" in value or (re.search(r"\s", value) and not self.is_quoted(name)):
            return None
        return value.strip()


def looks_like_path(value: str) -> bool:
    """Whether an unquoted word is certainly a file or folder."""
    if re.search(r"\s", value):
        return False
    value = re.sub(r"(?::|#L)\d+(?:[-–:]L?\d+)?$", "", value)
    known = WELL_KNOWN_FILES.fullmatch(value.rsplit("/", 1)[-1].split(".")[0])
    return "/" in value or "\\" in value or bool(known) or bool(FILE_ENDING.search(value))
