"""From the results of tools to what is said of them. Pure; decides no step."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cockpit.builtin.offline.words import Tongue, say
from cockpit.protocol.messages import ToolMessage

HIT = re.compile(r"^(?P<path>.+?):(?P<line>\d+): (?P<text>.*)$")
TOTAL = re.compile(r"^(\d+) match(?:es)? in (\d+) files?")
DENIED = re.compile(r"^(?:denied\b|refused\b|the person rejected|the call was rejected)", re.I)
SHOWN = 60
LINES = 400


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that `search` found."""

    path: str
    line: int
    text: str

    @property
    def is_cut(self) -> bool:
        # `search` cuts lines over its width around the match.
        return len(self.text) >= 240 and (self.text.startswith("…") or self.text.endswith("…"))

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def hits_in(text: str) -> tuple[tuple[Hit, ...], int, int]:
    """The hits of a `search` result, and how many matches in how many files it counted."""
    lines = text.split("\n")
    total = TOTAL.match(lines[0])
    hits = tuple(
        Hit(found["path"], int(found["line"]), found["text"])
        for line in lines[1:]
        if (found := HIT.match(line.removesuffix("\r")))
    )
    return (hits, int(total[1]), int(total[2])) if total else ((), 0, 0)


SYMBOLS = re.compile(r"^(\d+) (?:symbol|definition|reference|caller)s?\b")
ROW = re.compile(r"^ +(?P<line>\d+)(?:-\d+)?: (?P<text>.*)$")


def symbols_in(text: str) -> tuple[tuple[Hit, ...], int]:
    """The rows of an answer by symbol, and how many there are; none for one that found nothing."""
    lines = text.split("\n")
    total = SYMBOLS.match(lines[0])
    hits: list[Hit] = []
    path = ""
    for line in lines[1:] if total else ():
        if (found := ROW.match(line)) and path:
            hits.append(Hit(path, int(found["line"]), found["text"]))
        elif line.startswith(("```", "implementations:")):
            break
        elif line and not line.startswith((" ", "[")):
            path = line
    return tuple(hits), int(total[1]) if total else 0


def places(hits: Sequence[Hit], most: int = SHOWN) -> str:
    """`path:line` and text, a list."""
    lines = [f"- `{hit.place}` {_code(hit.text.strip())}" for hit in hits[:most]]
    if len(hits) > most:
        lines.append(f"... +{len(hits) - most}")
    return "\n".join(lines)


def _code(text: str) -> str:
    shown = text if len(text) <= 160 else text[:159] + "…"
    return f"`{shown}`" if shown and "`" not in shown else shown


def fenced(text: str, language: str = "") -> str:
    """`text` in a fence that it does not close itself."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"... +{len(lines) - LINES}"]
    body = "\n".join(lines)
    ticks = max((len(found) for found in re.findall(r"^\s*(`{3,})", body, re.M)), default=2) + 1
    return f"{'`' * ticks}{language}\n{body}\n{'`' * ticks}"


def fault(result: ToolMessage, tongue: Tongue) -> str:
    """What a person is told of a call that was denied or failed."""
    is_denied = bool(DENIED.match(result.text))
    lines = result.text.strip().splitlines()
    said = "\n".join(lines[:12]) if lines else "?"
    return say(tongue, "denied" if is_denied else "failed", tool=result.name, text=said)


def tests(text: str, tongue: Tongue) -> str:
    """A test run: the counts, then the failing tests by name."""
    lines = [line for line in text.splitlines() if not line.startswith("the whole output:")]
    head, rest = lines[0] if lines else "?", lines[1:]
    parts = [f"**{head}**"]
    failing = [line for line in rest if line.startswith(("FAILED ", "ERROR "))]
    if not rest:
        return parts[0]
    for line in rest:
        if line.startswith(("FAILED ", "ERROR ")):
            parts.append(f"- {_failing(line)}")
        else:
            parts.append(f"      {line.strip()}" if failing else line)
    if failing and (place := re.match(r"\w+ (\S+:\d+) ", failing[0])):
        parts.append("")
        parts.append(say(tongue, "tests_next", place=place[1]))
    return "\n".join(parts)


def _failing(line: str) -> str:
    word, _, rest = line.partition(" ")
    found = re.match(r"(\S+:\d+) (.+)", rest)
    return f"{word} `{found[1]}` {found[2]}" if found else f"{word} {rest}"


def outline(hits: Sequence[Hit]) -> str:
    return fenced("\n".join(f"{hit.line:>5}  {hit.text.rstrip()}" for hit in hits))
