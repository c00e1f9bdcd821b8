"""Audit log of decisions: one line before a call runs and one after it, chained by hashes.

JSON lines in the state folder, mode 0600, shared by all sessions and processes. A line is written before what
it records happens; if it cannot be written, `AuditFailed` is raised and the call does not run. Arguments are
not written (they are in the transcript), only the digest of what ran. All text passes `redact`.
"""

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cockpit import paths
from cockpit.errors import CockpitError
from cockpit.plugin.safety import CommandPart, Verdict
from cockpit.protocol.messages import ToolCall, ToolResult
from cockpit.safety import audit_chain
from cockpit.safety.audit_chain import CHAIN_STARTED, GENESIS

LOCK_TIMEOUT = 2.0
LOCK_POLL = 0.002


def current_file(folder: Path) -> Path:
    return folder / "audit.jsonl"


def list_files(folder: Path) -> tuple[Path, ...]:
    """Every file of the chain, the oldest first."""
    rotated = sorted(path for path in folder.glob("audit.*.jsonl") if path.suffixes[0][1:].isdecimal())
    now = current_file(folder)
    return (*rotated, now) if now.exists() else tuple(rotated)


def next_rotated_path(folder: Path) -> Path:
    """The path that the current file is renamed to when it is full."""
    numbers = [int(file.suffixes[0][1:]) for file in list_files(folder) if file != current_file(folder)]
    return folder / f"audit.{max(numbers, default=0) + 1:06}.jsonl"


def open_for_append(path: Path) -> int:
    """Open `path` for appending, mode 0600, without following a link. Raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)


@contextmanager
def audit_lock(folder: Path) -> Iterator[None]:
    """Hold the lock between all processes. Raises OSError when another process holds it for 2 s."""
    descriptor = open_for_append(folder / "audit.lock")
    try:
        until = time.monotonic() + LOCK_TIMEOUT
        while not _take(descriptor):
            if time.monotonic() > until:
                raise TimeoutError("another process holds its lock")
            time.sleep(LOCK_POLL)
        yield
    finally:
        # Closing releases the lock, also when it was not acquired.
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> bool:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def store_head(folder: Path, session: str, hashed: str) -> None:
    """Store the chain's newest hash for `session` in a file of its own. Raises OSError."""
    path = folder / "audit-heads" / session
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return store_head(folder, session, hashed)
    try:
        # The new text is as long as the old one, so that a crash leaves no mixture of lengths.
        os.write(descriptor, hashed.encode("ascii"))
    finally:
        os.close(descriptor)


def load_heads(folder: Path) -> dict[str, str]:
    """The newest hash that each session wrote, by a description for the user."""
    try:
        files = sorted((folder / "audit-heads").iterdir())
    except OSError:
        return {}
    return {f"the head of session {file.name}": file.read_text("ascii", "replace").strip() for file in files}


# A larger file is renamed and the chain continues in a new one.
ROTATE_BYTES = 8_000_000
TAIL_BYTES = 65_536


class AuditFailed(CockpitError):
    """The audit log cannot be written, so no call may run."""


class AuditLog:
    """Writes one session's lines. `head` is the hash of the last one, "" before the first."""

    def __init__(
        self, session: str, folder: Path | None = None, redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self._session = session
        self._folder = folder or paths.state()
        self._redact = redact
        # Inode, size and last hash of the file when this process wrote it: another may have written since.
        self._known: tuple[int, int, str] | None = None
        self._unsynced = False
        self.head = ""

    def decided(
        self,
        agent: str,
        call: ToolCall,
        verdict: Verdict,
        outcome: str,
        *,
        approver: str = "",
        latency_ms: float = 0.0,
        seal: str = "",
        argv: tuple[str, ...] = (),
        cwd: str = "",
        profile: str = "",
        isolation: str = "",
        parts: tuple[CommandPart, ...] = (),
        hunks: Mapping[str, object] | None = None,
    ) -> None:
        """Record a decision before anything runs: who decided, and the exact form that will run.

        `latency_ms` is how long the user took to answer; `hunks` what they accepted, rejected and edited.
        Raises `AuditFailed`.
        """
        self.noted(
            "decided",
            agent,
            call=call.id,
            tool=call.name,
            outcome=outcome,
            level=verdict.level,
            risk=verdict.risk,
            capabilities=sorted(verdict.capabilities),
            rules=list(verdict.rules),
            reason=verdict.reason,
            approver=approver,
            latency_ms=round(latency_ms, 1),
            form={"seal": seal, "argv": list(argv), "cwd": cwd, "profile": profile, "isolation": isolation},
            parts=[{"text": part.text, "level": part.level, "rules": list(part.rules)} for part in parts],
            hunks=dict(hunks or {}),
        )

    def finished(self, agent: str, result: ToolResult) -> None:
        """Record how a call ended and in which isolation it ran. Raises `AuditFailed`."""
        self.noted(
            "finished",
            agent,
            call=result.call,
            tool=result.name,
            outcome=result.outcome,
            isolation=result.isolation,
            seconds=result.seconds,
        )

    def noted(self, what: str, agent: str = "main", **fields: object) -> None:
        """Record anything else that changes what may run: `rewound`, `mode_changed`. Raises `AuditFailed`."""
        record = {"time": round(time.time(), 3), "session": self._session, "agent": agent, "what": what}
        known = {key: self._redacted(value) for key, value in fields.items() if value not in ("", [], {}, ())}
        try:
            self._append(record | known)
        except OSError as error:
            raise _write_failure(error) from error

    async def sync(self) -> None:
        """Wait until everything written is on disk. Raises `AuditFailed`."""
        if not self._unsynced:
            return
        self._unsynced = False
        try:
            await asyncio.to_thread(self._to_disk)
        except OSError as error:
            self._unsynced = True
            raise _write_failure(error) from error

    def _to_disk(self) -> None:
        descriptor = open_for_append(current_file(self._folder))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _append(self, record: Mapping[str, object]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with audit_lock(self._folder):
            descriptor = self._open_current()
            try:
                before = self._previous_hash(descriptor)
                line, hashed = audit_chain.seal_record(record, before)
                self._write(descriptor, line)
                facts = os.fstat(descriptor)
                self._known = (facts.st_ino, facts.st_size, hashed)
            finally:
                os.close(descriptor)
            self._unsynced = True
            self.head = hashed
            store_head(self._folder, self._session, hashed)

    def _open_current(self) -> int:
        """The file to write to. A full one is renamed first."""
        path = current_file(self._folder)
        descriptor = open_for_append(path)
        if os.fstat(descriptor).st_size < ROTATE_BYTES:
            return descriptor
        try:
            self._previous_hash(descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        path.rename(next_rotated_path(self._folder))
        return open_for_append(path)

    def _previous_hash(self, descriptor: int) -> str:
        """The hash that the next line refers to, after repairing what a crash left."""
        facts = os.fstat(descriptor)
        if self._known is not None and self._known[:2] == (facts.st_ino, facts.st_size):
            return self._known[2]
        if facts.st_size == 0:
            return self._end_of_older()
        end = _read_tail(descriptor, facts.st_size)
        if not end.endswith(b"\n"):
            return self._repair(descriptor, facts.st_size, end.rpartition(b"\n")[2])
        last = end[:-1].rpartition(b"\n")[2]
        return audit_chain.read_hash(last) or self._start_chain(descriptor, facts.st_size)

    def _end_of_older(self) -> str:
        older = [file for file in list_files(self._folder) if file.suffixes[0] != ".jsonl"]
        if not older:
            return GENESIS
        raw = older[-1].read_bytes()
        return audit_chain.read_hash(raw.rstrip(b"\n").rpartition(b"\n")[2]) or GENESIS

    def _repair(self, descriptor: int, size: int, torn: bytes) -> str:
        """Cut off an incomplete last line and record that in the chain."""
        os.truncate(descriptor, size - len(torn))
        self._known = None
        before = self._previous_hash(descriptor)
        digest = hashlib.sha256(torn).hexdigest()
        return self._write_record(descriptor, before, {"what": "mended", "torn": len(torn), "sha256": digest})

    def _start_chain(self, descriptor: int, size: int) -> str:
        """Write the first line of the chain to a file that an earlier version started."""
        os.lseek(descriptor, 0, os.SEEK_SET)
        raw = os.read(descriptor, size)
        digest = hashlib.sha256(raw).hexdigest()
        fields: dict[str, object] = {"what": CHAIN_STARTED, "unchained": raw.count(b"\n"), "sha256": digest}
        return self._write_record(descriptor, GENESIS, fields)

    def _write_record(self, descriptor: int, before: str, fields: Mapping[str, object]) -> str:
        record = {"time": round(time.time(), 3), "session": self._session, **fields}
        line, hashed = audit_chain.seal_record(record, before)
        self._write(descriptor, line)
        return hashed

    def _write(self, descriptor: int, line: bytes) -> None:
        """Append a whole line or nothing: a part written to a full disk is cut off again."""
        size = os.fstat(descriptor).st_size
        try:
            while line:
                line = line[os.write(descriptor, line) :]
        except OSError:
            os.truncate(descriptor, size)
            raise

    def _redacted(self, value: object) -> object:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, Mapping):
            return {str(key): self._redacted(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._redacted(item) for item in value]
        return value


def _write_failure(error: OSError) -> AuditFailed:
    text = f"the audit log cannot be written ({error.strerror or error}), so nothing may run"
    return AuditFailed(text, "free disk space or fix the permissions of the state folder, then try again")


def _read_tail(descriptor: int, size: int) -> bytes:
    """The end of the file, with at least the last whole line."""
    length = TAIL_BYTES
    while True:
        start = max(0, size - length)
        os.lseek(descriptor, start, os.SEEK_SET)
        end = os.read(descriptor, size - start)
        if start == 0 or end.count(b"\n") > 2:
            return end
        length *= 4
