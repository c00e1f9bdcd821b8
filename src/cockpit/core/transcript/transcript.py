"""A session's file: append-only JSON lines with one writer, flushed per record.

Records are the header, accepted ops, durable envelopes, pieces of an unfinished answer, marks that a call was
about to run, and hashes of the audit log. A torn last line is cut and reported; another unreadable line stays
in the file, is skipped and reported.

A lock file names the writing process by id and start time, so that a lock left by a dead process is taken
over. Tests set `COCKPIT_FAULT=NAME:N` to kill the process at the N-th passage of crash point NAME (or `any`).
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias, cast

from cockpit.errors import DecodeFailed, SessionBusy, SessionUnknown
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope
from cockpit.protocol.ops import Op


class SessionLock:
    """The lock at `path`, for the session called `name` in messages."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name

    def take(self) -> None:
        """Raises `SessionBusy` when a live process holds it."""
        mine = json.dumps({"pid": os.getpid(), "started": process_start_time(os.getpid())}).encode()
        for _ in range(2):
            try:
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                self._remove_dead_lock()
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(mine)
            return
        raise SessionBusy(f"session {self._name} was taken by another process just now", "try again")

    def release(self) -> None:
        self._path.unlink(missing_ok=True)

    def _remove_dead_lock(self) -> None:
        try:
            holder = json.loads(self._path.read_bytes())
            pid, started = int(holder["pid"]), str(holder["started"])
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            # A lock without a readable holder was left by a crash while it was written.
            self._path.unlink(missing_ok=True)
            return
        if pid != os.getpid() and started and process_start_time(pid) != started:
            self._path.unlink(missing_ok=True)
            return
        raise SessionBusy(
            f"session {self._name} is open in process {pid}", "close it there, or start a new session"
        )


def process_start_time(pid: int) -> str:
    """When a process started, in a form that differs for another process; empty if there is none."""
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    if sys.platform == "win32":
        return _command_output(("tasklist", "/FI", f"PID eq {pid}", "/NH", "/FO", "CSV"), str(pid))
    return _command_output(("ps", "-o", "lstart=", "-p", str(pid)), "")


def _command_output(argv: tuple[str, ...], must_hold: str) -> str:
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    answer = ended.stdout.strip()
    return answer if must_hold in answer else ""


_crash_setting = os.environ.get("COCKPIT_FAULT", "")
_crash_count = 0


def crash_point(name: str) -> None:
    """Kill the process here if `COCKPIT_FAULT` asks for it."""
    if _crash_setting:
        _count_passage(name)


def _count_passage(name: str) -> None:
    global _crash_count
    point, _, number = _crash_setting.rpartition(":")
    if point not in ("any", name):
        return
    _crash_count += 1
    if _crash_count == int(number):
        os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class TranscriptHeader:
    """The first line of a file. `forked` is `SESSION/TURN` or empty; `created` is epoch seconds."""

    session: str
    root: str
    created: float
    version: str
    forked: str = ""


@dataclass(frozen=True, slots=True)
class AnswerDraft:
    """The next piece of an unfinished answer."""

    message: str
    text: str
    thoughts: str
    agent: str


DRAFT_FIELDS = ("message", "text", "thoughts", "agent")


@dataclass(frozen=True, slots=True)
class StartedMark:
    """`call` was about to run: after a crash it is unknown whether it did."""

    call: str


@dataclass(frozen=True, slots=True)
class AuditAnchor:
    """The hash of the last line of the audit log at that time."""

    hash: str


@dataclass(frozen=True, slots=True)
class AcceptedOp:
    """An accepted op. `seq` is that of the last event before it."""

    op: Op
    seq: int


TranscriptRecord: TypeAlias = (
    TranscriptHeader | AnswerDraft | StartedMark | AuditAnchor | AcceptedOp | Envelope
)


@dataclass(frozen=True, slots=True)
class LoadedTranscript:
    """The content of a file. `reports` are sentences about what was cut or skipped."""

    header: TranscriptHeader
    records: tuple[TranscriptRecord, ...]
    reports: tuple[str, ...]


class Transcript:
    """The one writer of a session's file. Every write may raise OSError."""

    def __init__(self, path: Path, header: TranscriptHeader) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = SessionLock(path.with_suffix(".lock"), header.session)
        self._lock.take()
        is_new = not path.exists() or path.stat().st_size == 0
        self._file = path.open("ab", buffering=0)
        if os.name == "posix":
            path.chmod(0o600)
        if is_new:
            self.write(header)

    def write(self, record: TranscriptRecord) -> None:
        """Append a record; the kernel has all of it when this returns.

        After an OSError the file ends where it ended before, so that later records are not spliced to a torn
        one.
        """
        line = _encode_record(record)
        before = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            self._file.truncate(before)
            raise
        crash_point("written")

    def sync(self) -> None:
        """Force what was written to disk. Blocks: call it in a thread."""
        if not self._file.closed:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if not self._file.closed:
            self.sync()
            self._file.close()
            self._lock.release()


def load_transcript(path: Path, repair: bool = False) -> LoadedTranscript:
    """Read a file. With `repair` a torn last line is cut from it; the caller must hold the lock.

    Raises `SessionUnknown` if the header is missing or unreadable.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SessionUnknown(f"{path} cannot be read: {error.strerror}") from error
    lines = raw.split(b"\n")
    torn = lines.pop()
    reports: list[str] = []
    records: list[TranscriptRecord] = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(_decode_record(line))
        except DecodeFailed as error:
            reports.append(f"line {number} of {path.name} cannot be read and is skipped: {error.message}")
    if torn:
        reports.append(f"the last record of {path.name} was torn ({len(torn)} bytes) and is cut")
        if repair:
            os.truncate(path, len(raw) - len(torn))
    if not records or not isinstance(records[0], TranscriptHeader):
        raise SessionUnknown(f"{path} is not a transcript: it has no header")
    return LoadedTranscript(records[0], tuple(records[1:]), tuple(reports))


def _encode_record(record: TranscriptRecord) -> bytes:
    match record:
        case Envelope():
            value = wire.encode(record)
        case AcceptedOp(op, seq):
            value = {"record": "op", "seq": seq, "op": wire.encode(op)}
        case TranscriptHeader():
            value = {"record": "session", "v": wire.VERSION, **asdict(record)}
        case AnswerDraft():
            value = {"record": "draft", **asdict(record)}
        case StartedMark():
            value = {"record": "mark", **asdict(record)}
        case AuditAnchor():
            value = {"record": "audit", **asdict(record)}
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )


def _decode_record(line: bytes) -> TranscriptRecord:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DecodeFailed(f"not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise DecodeFailed("not an object")
    if "record" not in raw:
        value = wire.decode(raw)
        if not isinstance(value, Envelope):
            raise DecodeFailed("neither an envelope nor a record")
        return value
    try:
        return _decode_other(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise DecodeFailed(f"a {raw['record']} record lacks {error}") from error


def _decode_other(raw: Mapping[str, object]) -> TranscriptRecord:
    match raw["record"]:
        case "op":
            return AcceptedOp(cast("Op", wire.decode(raw["op"])), int(str(raw["seq"])))
        case "draft":
            return AnswerDraft(*(str(raw[key]) for key in DRAFT_FIELDS))
        case "mark":
            return StartedMark(str(raw["call"]))
        case "audit":
            return AuditAnchor(str(raw["hash"]))
        case "session":
            session, root, version = (str(raw[key]) for key in ("session", "root", "version"))
            forked = str(raw.get("forked", ""))
            return TranscriptHeader(session, root, float(str(raw["created"])), version, forked)
        case other:
            raise DecodeFailed(f"an unknown record {other!r}")
