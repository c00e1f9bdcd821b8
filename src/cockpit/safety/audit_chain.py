"""The chain of the audit: what a line is, and whether lines are as they were written.

A line is one JSON object in ASCII that ends with `"prev_hash"` and `"hash"`. `hash` is the sha256 (hex) of
every byte before it, so that no byte of a line can change; `prev_hash` is the hash of the line before,
64 zeros for the first. Lines of versions without a chain may only stand before the first chained one, which
then says how many they are and what they hashed to. Reads bytes it is given; opens no file.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

GENESIS = "0" * 64
CHAINED_LINE = re.compile(rb'(\{.*"prev_hash":"([0-9a-f]{64})"),"hash":"([0-9a-f]{64})"\}', re.DOTALL)
CHAIN_STARTED = "began"
LINES_BEFORE_CHAIN = "lines were put before the chain"


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first line that is not as it was written. `line` counts from 1 in `file`."""

    file: str
    line: int
    what: str


@dataclass(slots=True)
class ChainReader:
    """A walk along the chain, file by file from the oldest."""

    last: str = GENESIS
    lines: int = 0
    unchained: int = 0
    fault: ChainFault | None = None
    hashes: set[str] = field(default_factory=set)
    _plain: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def file(self, name: str, raw: bytes) -> None:
        """Read the next file; nothing more is read after the first fault."""
        lines = raw.split(b"\n")
        rest = lines.pop()
        for number, line in enumerate(lines, start=1):
            if self.fault is None and (what := self._line(line)):
                self.fault = ChainFault(name, 1 if what is LINES_BEFORE_CHAIN else number, what)
        if rest and self.fault is None:
            self.fault = ChainFault(name, len(lines) + 1, "the last line has no end: it was torn or cut")

    def _line(self, line: bytes) -> str:
        """What is wrong with the line, or nothing."""
        found = CHAINED_LINE.fullmatch(line)
        if found is None:
            return self._unchained(line)
        body, before, hashed = found[1], found[2].decode(), found[3].decode()
        if hashlib.sha256(body).hexdigest() != hashed:
            return "the line was changed: its hash does not fit"
        if before != self.last:
            if self.lines:
                return "a line before this one is missing, was put in, or stands elsewhere"
            return "the beginning of the chain is missing"
        if not self.lines and (what := self._first(line)):
            return what
        self.last = hashed
        self.lines += 1
        self.hashes.add(hashed)
        return ""

    def _unchained(self, line: bytes) -> str:
        if self.lines or not _is_unchained(line):
            return "the line was changed: it is no line of the chain"
        self.unchained += 1
        self._plain.update(line + b"\n")
        return ""

    def _first(self, line: bytes) -> str:
        """The first chained line must own up to every line before it."""
        record = json.loads(line)
        if record.get("what") != CHAIN_STARTED:
            return LINES_BEFORE_CHAIN if self.unchained else ""
        known = record.get("unchained"), record.get("sha256")
        found = self.unchained, self._plain.hexdigest()
        return "" if known == found else "the lines before the chain are not those it began after"


def seal_record(fields: Mapping[str, object], before: str) -> tuple[bytes, str]:
    """The line for `fields` after the line with hash `before`, and its own hash."""
    text = json.dumps({**fields, "prev_hash": before}, ensure_ascii=True, separators=(",", ":"))
    body = text[:-1].encode("ascii")
    hashed = hashlib.sha256(body).hexdigest()
    return body + f',"hash":"{hashed}"}}\n'.encode("ascii"), hashed


def read_hash(line: bytes) -> str:
    """The hash at the end of a chained line; that of the bytes for one that was tampered with, so that the
    chain goes on behind it and the fault stays where it is; "" for a line of before the chain."""
    found = CHAINED_LINE.fullmatch(line)
    if found is not None:
        return found[3].decode()
    return "" if _is_unchained(line) else hashlib.sha256(line).hexdigest()


def parse_records(raw: bytes) -> Iterable[Mapping[str, object]]:
    """The lines of a file as objects; one that is none is left out."""
    for line in raw.split(b"\n"):
        try:
            record = json.loads(line) if line else None
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _is_unchained(line: bytes) -> bool:
    """Whether a line is of a version without a chain. A changed byte leaves one of the two names in sight."""
    if b'"hash"' in line or b'"prev_hash"' in line:
        return False
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
