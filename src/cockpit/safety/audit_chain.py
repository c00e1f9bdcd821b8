"""The hash chain of the audit log: the format of a line and its verification.

A line is one JSON object in ASCII that ends with `"prev_hash"` and `"hash"`. `hash` is the SHA-256 (hex) of
every byte before it, so that no byte of a line can change unnoticed; `prev_hash` is the hash of the previous
line, 64 zeros for the first. Lines of versions without a chain may only precede the first chained line, which
records their number and hash. Works on bytes and opens no file.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

GENESIS = "0" * 64
CHAINED_LINE = re.compile(rb'(\{.*"prev_hash":"([0-9a-f]{64})"),"hash":"([0-9a-f]{64})"\}', re.DOTALL)
CHAIN_STARTED = "began"
LINES_BEFORE_CHAIN = "lines were inserted before the chain"


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first line that was tampered with. `line` counts from 1 in `file`."""

    file: str
    line: int
    what: str


@dataclass(slots=True)
class ChainReader:
    """Verifies the chain file by file, from the oldest."""

    last: str = GENESIS
    lines: int = 0
    unchained: int = 0
    fault: ChainFault | None = None
    hashes: set[str] = field(default_factory=set)
    _plain: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def file(self, name: str, raw: bytes) -> None:
        """Read the next file. After the first fault nothing more is read."""
        lines = raw.split(b"\n")
        rest = lines.pop()
        for number, line in enumerate(lines, start=1):
            if self.fault is None and (what := self._line(line)):
                self.fault = ChainFault(name, 1 if what is LINES_BEFORE_CHAIN else number, what)
        if rest and self.fault is None:
            self.fault = ChainFault(name, len(lines) + 1, "the last line does not end: it was cut off")

    def _line(self, line: bytes) -> str:
        """Says what is wrong with the line, or returns an empty string."""
        match = CHAINED_LINE.fullmatch(line)
        if match is None:
            return self._unchained(line)
        body, before, hashed = match[1], match[2].decode(), match[3].decode()
        if hashlib.sha256(body).hexdigest() != hashed:
            return "the line was changed: its hash does not match"
        if before != self.last:
            if self.lines:
                return "a previous line is missing, was inserted or was moved"
            return "the beginning of the chain is missing"
        if not self.lines and (what := self._first(line)):
            return what
        self.last = hashed
        self.lines += 1
        self.hashes.add(hashed)
        return ""

    def _unchained(self, line: bytes) -> str:
        if self.lines or not _is_unchained(line):
            return "the line was changed: it is not part of the chain"
        self.unchained += 1
        self._plain.update(line + b"\n")
        return ""

    def _first(self, line: bytes) -> str:
        """Check that the first chained line accounts for every line before it."""
        record = json.loads(line)
        if record.get("what") != CHAIN_STARTED:
            return LINES_BEFORE_CHAIN if self.unchained else ""
        known = record.get("unchained"), record.get("sha256")
        result = self.unchained, self._plain.hexdigest()
        return "" if known == result else "the lines before the chain are not those it started after"


def seal_record(fields: Mapping[str, object], before: str) -> tuple[bytes, str]:
    """The line for `fields` after the line with hash `before`, and its hash."""
    text = json.dumps({**fields, "prev_hash": before}, ensure_ascii=True, separators=(",", ":"))
    body = text[:-1].encode("ascii")
    hashed = hashlib.sha256(body).hexdigest()
    return body + f',"hash":"{hashed}"}}\n'.encode("ascii"), hashed


def read_hash(line: bytes) -> str:
    """The hash of a line for the next line to refer to.

    It is the one at the end of a chained line, and "" for a line from before the chain. For a line that was
    tampered with it is the hash of its bytes, so that the chain continues and the fault is reported at that
    line only.
    """
    match = CHAINED_LINE.fullmatch(line)
    if match is not None:
        return match[3].decode()
    return "" if _is_unchained(line) else hashlib.sha256(line).hexdigest()


def parse_records(raw: bytes) -> Iterable[Mapping[str, object]]:
    """The lines of a file as objects. Lines that are not JSON objects are skipped."""
    for line in raw.split(b"\n"):
        try:
            record = json.loads(line) if line else None
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _is_unchained(line: bytes) -> bool:
    """Whether a line is from a version without a chain. One changed byte in a chained line leaves at least
    one of the two names readable."""
    if b'"hash"' in line or b'"prev_hash"' in line:
        return False
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
