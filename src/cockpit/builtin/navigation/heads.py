"""What stands above a definition and belongs to it: comments, decorators, annotations, attributes. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SHARP = frozenset({"py", "pyi", "pyw", "sh", "bash", "zsh", "rb", "toml", "yaml", "yml"})
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SHARP_COMMENT = re.compile(r"#[^\n]*")
DECORATOR = re.compile(r"@(?!interface\b)[\w.$:]+(?=\s*(\()?)|(?P<open>#!?\[|\[\[)")
SPACE = re.compile(r"\s*")
QUOTED = re.compile(r'"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'")
OPEN, CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Part:
    """One comment or decorator, with the space behind it."""

    kind: Literal["comment", "decorator"]
    text: str


def headed(text: str, path: str) -> tuple[tuple[Part, ...], str]:
    """What stands above the definition in `text`, and the rest of it."""
    suffix = path.rpartition(".")[2].lower()
    comment = SHARP_COMMENT if suffix in SHARP else COMMENT
    parts: list[Part] = []
    at = 0
    while at < len(text):
        kind: Literal["comment", "decorator"] = "comment"
        found = comment.match(text, at)
        end = found.end() if found is not None else 0
        if found is None:
            kind, end = "decorator", _decorated(text, at)
        if not end:
            break
        space = SPACE.match(text, end)
        end = space.end() if space is not None else end
        parts.append(Part(kind, text[at:end]))
        at = end
    return tuple(parts), text[at:]


def joined(old: Sequence[Part], text: str, path: str) -> str:
    """A new definition below what stood above the old one: comments, decorators, each kept where the new
    one brings none of its own."""
    new, rest = headed(text, path)
    brought = {part.kind for part in new}
    kept = "".join(part.text for part in old if part.kind not in brought)
    if brought == {"comment"}:  # comments come first, decorators stand next to the definition
        return "".join(part.text for part in new) + kept + rest
    return kept + text


def _decorated(text: str, at: int) -> int:
    """Where the decorator that begins here ends; 0 where none does."""
    found = DECORATOR.match(text, at)
    if found is None:
        return 0
    if found["open"]:
        return _closed(text, at)
    end = found.end()
    if found[1]:
        end = _closed(text, text.index("(", end))
    return end


def _closed(text: str, at: int) -> int:
    """Where the bracket that opens at or after an offset is closed; 0 where it is not."""
    depth = 0
    while at < len(text):
        quoted = QUOTED.match(text, at)
        if quoted is not None:
            at = quoted.end()
            continue
        depth += (text[at] in OPEN) - (text[at] in CLOSE)
        at += 1
        if not depth and text[at - 1] in CLOSE:
            return at
    return 0
