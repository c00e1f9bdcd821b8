"""Makes text from outside safe to draw: no escape sequence, control, bidi or invisible character survives.

Output of models, tools and file names may contain anything; the result moves no cursor, changes no colour,
reorders nothing and hides nothing. Every frontend draws and prints through this module.
"""

import re

# Controls except tab and newline, bidi marks and embeddings, invisible characters (zero width, fillers,
# tags) except the joiners of emoji and of some scripts, line separators, halves of surrogate pairs.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor
    "|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)"  # titles, links, device strings
    "|\x1b[ -/]*[0-~]"
)


def clean(text: str) -> str:
    """`text` with newlines and tabs kept, and everything that could control a terminal replaced."""
    if not _UNSAFE.search(text):
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub("�", text)


def clean_output(text: str) -> str:
    """Output of a program: colours are dropped, and an overwritten line is shown as it ended."""
    if not _UNSAFE.search(text):
        return text
    text = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    if "\b" in text:
        text = _backspaced(text)
    return _UNSAFE.sub("�", text)


def escape_json(line: str) -> str:
    """A line of JSON with the same value and every unsafe character escaped."""
    return _UNSAFE.sub(_escape, line)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def single_line(text: str, limit: int = 400) -> str:
    """`text` as a single safe line."""
    line = " ".join(clean_output(text[: limit * 2]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _overwritten(line: str) -> str:
    """What a terminal shows of a line with carriage returns: the last non-empty piece."""
    pieces = [piece for piece in line.split("\r") if piece]
    return pieces[-1] if pieces else ""


def _backspaced(text: str) -> str:
    """`text` after every backspace has removed the character before it in its line."""
    characters: list[str] = []
    for character in text:
        if character != "\b":
            characters.append(character)
        elif characters and characters[-1] != "\n":
            characters.pop()
    return "".join(characters)
