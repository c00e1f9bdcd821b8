"""The record of decisions: a line before a call runs and a line after, chained by hashes.

JSON lines in the state folder, 0600, of all sessions and processes. It is written before what it tells
of happens; where it cannot be written, `AuditFailed` says so and the call does not run. Arguments are
not written (they lie in the transcript), only the digest of what ran. What it is told passes `redact`.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from cockpit import paths
from cockpit.errors import CockpitError
from cockpit.plugin.safety import CommandPart, Verdict
from cockpit.protocol.messages import ToolCall, ToolResult
from cockpit.safety import audit_chain, audit_files
from cockpit.safety.audit_chain import BEGAN, GENESIS

# A file over this many bytes is put aside and the chain goes on in a new one.
ROTATED_AT = 8_000_000
TAIL = 65_536


class AuditFailed(CockpitError):
    """The audit cannot be written, so nothing may run."""


class Audit:
    """One session's pen. `head` is the hash of the last line it wrote, "" before the first."""

    def __init__(
        self, session: str, folder: Path | None = None, redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self._session = session
        self._folder = folder or paths.state()
        self._redact = redact
        # The end of the file as this process left it: another may have written since.
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
        """Before anything runs: what was decided, by whom, and the form that will run. `latency_ms` is how
        long a person was waited for; `hunks` what they took, left out and changed. Raises `AuditFailed`."""
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
            parts=[{"text": one.text, "level": one.level, "rules": list(one.rules)} for one in parts],
            hunks=dict(hunks or {}),
        )

    def finished(self, agent: str, result: ToolResult) -> None:
        """After it ran: how it ended and what held it. Raises `AuditFailed`."""
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
        """Anything else that changes what may happen: `rewound`, `mode_changed`. Raises `AuditFailed`."""
        record = {"time": round(time.time(), 3), "session": self._session, "agent": agent, "what": what}
        told = {key: self._clean(value) for key, value in fields.items() if value not in ("", [], {}, ())}
        try:
            self._append(record | told)
        except OSError as error:
            raise _failure(error) from error

    async def sync(self) -> None:
        """Wait until the disk has what was written. Raises `AuditFailed`."""
        if not self._unsynced:
            return
        self._unsynced = False
        try:
            await asyncio.to_thread(self._to_disk)
        except OSError as error:
            self._unsynced = True
            raise _failure(error) from error

    def _to_disk(self) -> None:
        descriptor = audit_files.opened(audit_files.current(self._folder))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _append(self, record: Mapping[str, object]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with audit_files.locked(self._folder):
            descriptor = self._current()
            try:
                before = self._before(descriptor)
                line, hashed = audit_chain.sealed(record, before)
                self._write(descriptor, line)
                facts = os.fstat(descriptor)
                self._known = (facts.st_ino, facts.st_size, hashed)
            finally:
                os.close(descriptor)
            self._unsynced = True
            self.head = hashed
            audit_files.keep_head(self._folder, self._session, hashed)

    def _current(self) -> int:
        """The file to write to; a full one is put aside first."""
        path = audit_files.current(self._folder)
        descriptor = audit_files.opened(path)
        if os.fstat(descriptor).st_size < ROTATED_AT:
            return descriptor
        try:
            self._before(descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        path.rename(audit_files.rotated_name(self._folder))
        return audit_files.opened(path)

    def _before(self, descriptor: int) -> str:
        """The hash that the next line follows, after what a crash left is mended."""
        facts = os.fstat(descriptor)
        if self._known is not None and self._known[:2] == (facts.st_ino, facts.st_size):
            return self._known[2]
        if facts.st_size == 0:
            return self._end_of_older()
        end = _tail(descriptor, facts.st_size)
        if not end.endswith(b"\n"):
            return self._mended(descriptor, facts.st_size, end.rpartition(b"\n")[2])
        last = end[:-1].rpartition(b"\n")[2]
        return audit_chain.hash_of(last) or self._began(descriptor, facts.st_size)

    def _end_of_older(self) -> str:
        older = [one for one in audit_files.all_files(self._folder) if one.suffixes[0] != ".jsonl"]
        if not older:
            return GENESIS
        raw = older[-1].read_bytes()
        return audit_chain.hash_of(raw.rstrip(b"\n").rpartition(b"\n")[2]) or GENESIS

    def _mended(self, descriptor: int, size: int, torn: bytes) -> str:
        """Cut what a crash tore, and say so in the chain."""
        os.truncate(descriptor, size - len(torn))
        self._known = None
        before = self._before(descriptor)
        digest = hashlib.sha256(torn).hexdigest()
        return self._say(descriptor, before, {"what": "mended", "torn": len(torn), "sha256": digest})

    def _began(self, descriptor: int, size: int) -> str:
        """The first line of the chain in a file that an earlier version began."""
        raw = _all_of(descriptor, size)
        digest = hashlib.sha256(raw).hexdigest()
        fields: dict[str, object] = {"what": BEGAN, "unchained": raw.count(b"\n"), "sha256": digest}
        return self._say(descriptor, GENESIS, fields)

    def _say(self, descriptor: int, before: str, fields: Mapping[str, object]) -> str:
        record = {"time": round(time.time(), 3), "session": self._session, **fields}
        line, hashed = audit_chain.sealed(record, before)
        self._write(descriptor, line)
        return hashed

    def _write(self, descriptor: int, line: bytes) -> None:
        """Append whole or not at all: what a full disk took of it is cut again."""
        size = os.fstat(descriptor).st_size
        try:
            while line:
                line = line[os.write(descriptor, line) :]
        except OSError:
            os.truncate(descriptor, size)
            raise

    def _clean(self, value: object) -> object:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, Mapping):
            return {str(key): self._clean(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(one) for one in value]
        return value


def _failure(error: OSError) -> AuditFailed:
    text = f"the audit cannot be written ({error.strerror or error}), so nothing may run"
    return AuditFailed(text, "free space or mend the state folder, then try again")


def _tail(descriptor: int, size: int) -> bytes:
    """The end of the file, with at least its last whole line in it."""
    length = TAIL
    while True:
        start = max(0, size - length)
        os.lseek(descriptor, start, os.SEEK_SET)
        end = os.read(descriptor, size - start)
        if start == 0 or end.count(b"\n") > 2:
            return end
        length *= 4


def _all_of(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, size)
