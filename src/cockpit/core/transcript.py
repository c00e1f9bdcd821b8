"""A session's file: append-only JSON lines, one writer, flushed per record.

Records are the header, ops that were accepted, durable envelopes, pieces of an unfinished answer
(`Draft`), marks that a call was about to run (`Mark`), hashes of the audit (`Anchor`). A torn last
line is cut and that is reported; a line that cannot be read elsewhere is kept in the file, skipped
and reported.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from cockpit.core import fault
from cockpit.core.lock import Lock
from cockpit.errors import DecodeFailed, SessionUnknown
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope
from cockpit.protocol.ops import Op


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a file. `forked` is `SESSION/TURN` or empty; `created` epoch seconds."""

    session: str
    root: str
    created: float
    version: str
    forked: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """The next piece of an answer that is not whole yet."""

    message: str
    text: str
    thoughts: str
    agent: str


@dataclass(frozen=True, slots=True)
class Mark:
    """`call` was about to run: after a crash nobody knows whether it did."""

    call: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """The hash of the audit's last line when this was written."""

    hash: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """An op that was taken. `seq` is the last event's before it."""

    op: Op
    seq: int


Record: TypeAlias = Header | Draft | Mark | Anchor | Accepted | Envelope


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file held. `reports` says in sentences what was cut or skipped."""

    header: Header
    records: tuple[Record, ...]
    reports: tuple[str, ...]


class Transcript:
    """The one writer of a session's file. Every write raises OSError to its caller."""

    def __init__(self, path: Path, header: Header) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = Lock(path.with_suffix(".lock"), header.session)
        self._lock.take()
        is_new = not path.exists() or path.stat().st_size == 0
        self._file = path.open("ab", buffering=0)
        if os.name == "posix":
            path.chmod(0o600)
        if is_new:
            self.write(header)

    def write(self, record: Record) -> None:
        """Append: the kernel has it whole when this returns. Raises OSError, and then the file ends
        where it ended before, so that what is written later is not spliced to a torn piece."""
        line = _line(record)
        before = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            self._file.truncate(before)
            raise
        fault.point("written")

    def sync(self) -> None:
        """Force what was written to the disk itself. Blocks for the disk; call it in a thread."""
        if not self._file.closed:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if not self._file.closed:
            self.sync()
            self._file.close()
            self._lock.release()


def load(path: Path, mend: bool = False) -> Loaded:
    """Read a file. With `mend` a torn last line is cut from it (the writer must hold the lock).

    Raises `SessionUnknown` when there is no readable header.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SessionUnknown(f"{path} cannot be read: {error.strerror}") from error
    lines = raw.split(b"\n")
    torn = lines.pop()
    reports: list[str] = []
    records: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(_record(line))
        except DecodeFailed as error:
            reports.append(f"line {number} of {path.name} cannot be read and is skipped: {error.message}")
    if torn:
        reports.append(f"the last record of {path.name} was torn ({len(torn)} bytes) and is cut")
        if mend:
            os.truncate(path, len(raw) - len(torn))
    if not records or not isinstance(records[0], Header):
        raise SessionUnknown(f"{path} is no transcript: it has no header")
    return Loaded(records[0], tuple(records[1:]), tuple(reports))


def _line(record: Record) -> bytes:
    match record:
        case Envelope():
            value = wire.encode(record)
        case Accepted(op, seq):
            value = {"record": "op", "seq": seq, "op": wire.encode(op)}
        case Draft(message, text, thoughts, agent):
            value = {
                "record": "draft",
                "message": message,
                "text": text,
                "thoughts": thoughts,
                "agent": agent,
            }
        case Mark(call):
            value = {"record": "mark", "call": call}
        case Anchor(hashed):
            value = {"record": "audit", "hash": hashed}
        case Header():
            value = {
                "record": "session",
                "v": wire.VERSION,
                "session": record.session,
                "root": record.root,
                "created": record.created,
                "version": record.version,
                "forked": record.forked,
            }
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )


def _record(line: bytes) -> Record:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DecodeFailed(f"no JSON: {error}") from error
    if not isinstance(raw, dict):
        raise DecodeFailed("no object")
    if "record" not in raw:
        value = wire.decode(raw)
        if not isinstance(value, Envelope):
            raise DecodeFailed("neither an envelope nor a record")
        return value
    try:
        return _other(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise DecodeFailed(f"a {raw['record']} record lacks {error}") from error


def _other(raw: Mapping[str, object]) -> Record:
    match raw["record"]:
        case "op":
            return Accepted(cast("Op", wire.decode(raw["op"])), int(str(raw["seq"])))
        case "draft":
            return Draft(*(str(raw[key]) for key in ("message", "text", "thoughts", "agent")))
        case "mark":
            return Mark(str(raw["call"]))
        case "audit":
            return Anchor(str(raw["hash"]))
        case "session":
            created = float(str(raw["created"]))
            forked = str(raw.get("forked", ""))
            return Header(str(raw["session"]), str(raw["root"]), created, str(raw["version"]), forked)
        case other:
            raise DecodeFailed(f"an unknown record {other!r}")
