"""Records of what each call changed: the values, their log on disk, and how long they are kept.

Each session has one file of appended JSON lines. A mark file exists while a call runs, so that a crash in the
middle is noticed. Old sessions are deleted first.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, cast

from cockpit.workspace.checkpoints.blob_store import BlobStore
from cockpit.workspace.files.journal import try_lock

MissingReason = Literal["", "large", "total", "secret", "unreadable"]
MISSING_REASONS: dict[MissingReason, str] = {
    "": "",
    "large": "it is too large to keep",
    "total": "the folder is over the total size limit of checkpoints",
    "secret": "it holds secrets, which are not copied",
    "unreadable": "it could not be read",
}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file or symbolic link at one moment: st_mode, size and the id of its content (of a link: its target).

    `id` is empty if the content was not stored; `why` gives the reason.
    """

    mode: int
    size: int
    id: str
    why: MissingReason = ""


@dataclass(frozen=True, slots=True)
class FileDelta:
    """One path (relative, with `/`) before and after; None where there was no file."""

    path: str
    before: StoredFile | None
    after: StoredFile | None


@dataclass(frozen=True, slots=True)
class TreeDelta:
    """The difference between two scans. `made` and `gone` are folders."""

    files: tuple[FileDelta, ...] = ()
    made: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.made or self.gone)


@dataclass(frozen=True, slots=True)
class CheckpointCall:
    """The tool call of a record. `turn` is the id of the prompt's op; `started` is in epoch seconds."""

    session: str
    turn: str
    agent: str
    call: str
    title: str
    started: float


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A finished call or a rewind. For a rewind `call.call` is its id, and `undoes` may name another rewind.

    `sure` is False if others may have written at the same time, as after a crash in the middle.
    """

    kind: Literal["call", "rewind"]
    call: CheckpointCall
    ended: float
    delta: TreeDelta
    sure: bool = True
    turns: tuple[str, ...] = ()
    undoes: str = ""


def join_deltas(first: TreeDelta, second: TreeDelta) -> TreeDelta:
    """`first` followed by `second` as a single change. Files that end as they began are left out."""
    files = {file.path: file for file in first.files}
    for file in second.files:
        earlier = files.get(file.path)
        files[file.path] = replace(file, before=earlier.before) if earlier else file
    made = (set(first.made) - set(second.gone)) | (set(second.made) - set(first.gone))
    gone = (set(first.gone) - set(second.made)) | (set(second.gone) - set(first.made))
    changed = tuple(file for _, file in sorted(files.items()) if not is_same_file(file.before, file.after))
    return TreeDelta(changed, tuple(sorted(made)), tuple(sorted(gone)))


def is_same_file(first: StoredFile | None, second: StoredFile | None) -> bool:
    """Whether both are the same. A content that was not stored is equal to no other."""
    if first is None or second is None:
        return first is second
    if not first.id or not second.id:
        return first == second
    return (first.mode, first.id) == (second.mode, second.id)


def parent_folders(path: str) -> list[str]:
    """The folders between the root and a file in it, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


BeforeFiles: TypeAlias = dict[str, StoredFile | None]


class CallLog:
    """The records below `folder`. `running` holds the names of the marks of this process."""

    def __init__(self, folder: Path) -> None:
        self._calls = folder / "calls"
        self._open = folder / "open"
        self.running: set[str] = set()

    def prepare(self) -> None:
        for folder in (self._calls, self._open):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def add(self, record: CallRecord) -> None:
        """Append a record. A line that a crash cut off is ended first. Raises OSError."""
        path = self._file(record.call.session)
        line = json.dumps(_encode_record(record), separators=(",", ":")).encode() + b"\n"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)

    def of(self, session: str) -> tuple[CallRecord, ...]:
        """The records of a session in the order they were written; unreadable lines are skipped."""
        try:
            lines = self._file(session).read_bytes().split(b"\n")
        except FileNotFoundError:
            return ()
        return tuple(record for line in lines if (record := _decode_record(line)) is not None)

    def sessions(self) -> Iterator[tuple[str, float]]:
        """Each session that has records, with the time of its last one (epoch seconds)."""
        for path in self._calls.glob("*.jsonl"):
            yield path.stem, path.stat().st_mtime

    def forget(self, session: str) -> None:
        self._file(session).unlink(missing_ok=True)

    def begin(self, call: CheckpointCall, before: BeforeFiles | None = None) -> "CallMark":
        """Mark that `call` is about to change the paths of `before`, or (None) any path."""
        path = self._open / f"{_safe_name(call.session)}-{_safe_name(call.call)}.json"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try_lock(file)
        files = None if before is None else [[name, _encode_file(old)] for name, old in before.items()]
        os.write(file, json.dumps({"call": asdict(call), "before": files}).encode())
        self.running.add(path.name)
        return CallMark(call, before, str(path), file)

    def unfinished(self) -> Iterator["CallMark"]:
        """The calls that a crash interrupted. Each is now locked by this process."""
        for path in sorted(self._open.glob("*.json")):
            try:
                file = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue
            if not try_lock(file):
                os.close(file)
                continue
            try:
                raw = json.loads(path.read_bytes())
                files = raw["before"]
                before = None if files is None else {name: _decode_file(old) for name, old in files}
                mark = CallMark(CheckpointCall(**raw["call"]), before, str(path), file)
            except (ValueError, TypeError, KeyError):
                os.close(file)
                path.unlink(missing_ok=True)
                continue
            yield mark

    def is_crashed(self) -> bool:
        """Whether there is a mark that does not belong to this process."""
        return any(path.name not in self.running for path in self._open.glob("*.json"))

    def _file(self, session: str) -> Path:
        return self._calls / f"{_safe_name(session)}.jsonl"


@dataclass(frozen=True, slots=True)
class CallMark:
    """The mark of a running call, locked by the process that runs it."""

    call: CheckpointCall
    before: BeforeFiles | None
    path: str
    file: int

    def end(self) -> None:
        """Remove the mark: the call is on record, or changed nothing."""
        # Windows cannot delete an open file.
        os.close(self.file)
        Path(self.path).unlink(missing_ok=True)


def _safe_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)[:120]


def _encode_record(record: CallRecord) -> Mapping[str, object]:
    delta = record.delta
    return {
        "kind": record.kind,
        "call": asdict(record.call),
        "ended": record.ended,
        "sure": record.sure,
        "turns": record.turns,
        "undoes": record.undoes,
        "files": [[file.path, _encode_file(file.before), _encode_file(file.after)] for file in delta.files],
        "made": delta.made,
        "gone": delta.gone,
    }


def _encode_file(file: StoredFile | None) -> list[object] | None:
    return None if file is None else [file.mode, file.size, file.id, file.why]


def _decode_record(line: bytes) -> CallRecord | None:
    try:
        raw = json.loads(line)
        files = tuple(
            FileDelta(path, _decode_file(before), _decode_file(after)) for path, before, after in raw["files"]
        )
        delta = TreeDelta(files, tuple(raw["made"]), tuple(raw["gone"]))
        call, turns = CheckpointCall(**raw["call"]), tuple(raw["turns"])
        return CallRecord(raw["kind"], call, raw["ended"], delta, raw["sure"], turns, raw["undoes"])
    except (ValueError, KeyError, TypeError):
        return None


def _decode_file(fields: list[object] | None) -> StoredFile | None:
    if fields is None:
        return None
    mode, size, id, why = fields
    return StoredFile(int(str(mode)), int(str(size)), str(id), cast("MissingReason", why))


MAX_AGE_DAYS = 30
MAX_BYTES = 2 * 1024**3
PRUNE_INTERVAL = 86_400.0


class StoreLock:
    """A lock shared by all processes that write checkpoints here, held while they live."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "present.lock"
        self._file: int | None = None

    def take(self) -> None:
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            self.lock("shared")

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def lock(self, how: Literal["shared", "exclusive"]) -> bool:
        """Whether the lock could be taken this way. Always False without such locks (Windows)."""
        try:
            import fcntl
        except ImportError:
            return False
        # Pruning is quick, so sharing waits for it; the exclusive lock is never waited for.
        kind = fcntl.LOCK_SH if how == "shared" else fcntl.LOCK_EX | fcntl.LOCK_NB
        try:
            fcntl.flock(self._file or 0, kind)
        except OSError:
            return False
        return self._file is not None


def prune_store(
    folder: Path, ledger: CallLog, objects: BlobStore, presence: StoreLock, named: set[str]
) -> int:
    """Delete the records of old sessions, then the oldest while the store is too large, then every blob that
    neither a record nor the index (`named`) refers to.

    Returns how many blobs were deleted; 0 if it was done recently or another process uses the store.
    """
    stamp, now = folder / "tidied", time.time()
    if stamp.exists() and now - stamp.stat().st_mtime < PRUNE_INTERVAL:
        return 0
    if not presence.lock("exclusive"):
        return 0
    try:
        stamp.touch(mode=0o600)
        return _prune_records(ledger, objects, named, now)
    finally:
        presence.lock("shared")


def _prune_records(ledger: CallLog, objects: BlobStore, named: set[str], now: float) -> int:
    wanted = set(named)
    spent = sum(map(objects.size_of, wanted))
    for session, written in sorted(ledger.sessions(), key=lambda item: -item[1]):
        ids = {
            side.id
            for record in ledger.of(session)
            for file in record.delta.files
            for side in (file.before, file.after)
            if side is not None and side.id
        }
        more = sum(map(objects.size_of, ids - wanted))
        if now - written > MAX_AGE_DAYS * 86_400 or spent + more > MAX_BYTES:
            ledger.forget(session)
            continue
        wanted |= ids
        spent += more
    return objects.drop(wanted, now)
