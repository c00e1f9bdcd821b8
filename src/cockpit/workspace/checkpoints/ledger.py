"""The records of a session's calls: JSON lines, appended, one file a session. And the marks of calls
that are on their way, so that a crash in the middle can be told."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias, cast

from cockpit.workspace.checkpoints.values import Call, Delta, FileDelta, Kept, Record, Why
from cockpit.workspace.journal import locked

Before: TypeAlias = dict[str, Kept | None]


class Ledger:
    """The records below `folder`. `running` are the names of the marks that are this process' own."""

    def __init__(self, folder: Path) -> None:
        self._calls = folder / "calls"
        self._open = folder / "open"
        self.running: set[str] = set()

    def prepare(self) -> None:
        for folder in (self._calls, self._open):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def add(self, record: Record) -> None:
        """Append; a torn line that a crash left is ended first. Raises OSError."""
        path = self._file(record.call.session)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            end = os.lseek(file, 0, os.SEEK_END)
            torn = b""
            if end:
                os.lseek(file, end - 1, os.SEEK_SET)
                torn = b"" if os.read(file, 1) == b"\n" else b"\n"
            os.write(file, torn + json.dumps(_encoded(record), separators=(",", ":")).encode() + b"\n")
        finally:
            os.close(file)

    def of(self, session: str) -> tuple[Record, ...]:
        """A session's records in the order they were written; what cannot be read is skipped."""
        try:
            lines = self._file(session).read_bytes().split(b"\n")
        except FileNotFoundError:
            return ()
        return tuple(record for line in lines if (record := _decoded(line)) is not None)

    def sessions(self) -> Iterator[tuple[str, float]]:
        """Each session there are records of, and when the last was written (epoch seconds)."""
        for path in self._calls.glob("*.jsonl"):
            yield path.stem, path.stat().st_mtime

    def forget(self, session: str) -> None:
        self._file(session).unlink(missing_ok=True)

    def begin(self, call: Call, before: Before | None = None) -> "Opened":
        """Mark that `call` is about to change something: the paths of `before`, or (None) anything."""
        path = self._open / f"{_plain(call.session)}-{_plain(call.call)}.json"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        locked(file)
        sides = None if before is None else [[path, _side(kept)] for path, kept in before.items()]
        os.write(file, json.dumps({"call": asdict(call), "before": sides}).encode())
        self.running.add(path.name)
        return Opened(call, before, str(path), file)

    def unfinished(self) -> Iterator["Opened"]:
        """The calls that a crash cut off, each taken by this process."""
        for path in sorted(self._open.glob("*.json")):
            try:
                file = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue
            if not locked(file):
                os.close(file)
                continue
            try:
                raw = json.loads(path.read_bytes())
                sides = raw["before"]
                before = None if sides is None else {name: _kept(side) for name, side in sides}
                opened = Opened(Call(**raw["call"]), before, str(path), file)
            except (ValueError, TypeError, KeyError):
                os.close(file)
                path.unlink(missing_ok=True)
                continue
            yield opened

    def is_crashed(self) -> bool:
        """Whether there is a mark of a call that this process does not run."""
        return any(path.name not in self.running for path in self._open.glob("*.json"))

    def _file(self, session: str) -> Path:
        return self._calls / f"{_plain(session)}.jsonl"


@dataclass(frozen=True, slots=True)
class Opened:
    """The mark of a call on its way, locked by who runs it."""

    call: Call
    before: Before | None
    path: str
    file: int

    def end(self) -> None:
        """The call is on record, or changed nothing."""
        # Windows deletes no open file.
        os.close(self.file)
        Path(self.path).unlink(missing_ok=True)


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)[:120]


def _encoded(record: Record) -> Mapping[str, object]:
    delta = record.delta
    return {
        "kind": record.kind,
        "call": asdict(record.call),
        "ended": record.ended,
        "sure": record.sure,
        "turns": record.turns,
        "undoes": record.undoes,
        "files": [[one.path, _side(one.before), _side(one.after)] for one in delta.files],
        "made": delta.made,
        "gone": delta.gone,
    }


def _side(kept: Kept | None) -> list[object] | None:
    return None if kept is None else [kept.mode, kept.size, kept.id, kept.why]


def _decoded(line: bytes) -> Record | None:
    try:
        raw = json.loads(line)
        files = tuple(FileDelta(path, _kept(before), _kept(after)) for path, before, after in raw["files"])
        delta = Delta(files, tuple(raw["made"]), tuple(raw["gone"]))
        call, turns = Call(**raw["call"]), tuple(raw["turns"])
        return Record(raw["kind"], call, raw["ended"], delta, raw["sure"], turns, raw["undoes"])
    except (ValueError, KeyError, TypeError):
        return None


def _kept(side: list[object] | None) -> Kept | None:
    if side is None:
        return None
    mode, size, id, why = side
    return Kept(int(str(mode)), int(str(size)), str(id), cast("Why", why))
