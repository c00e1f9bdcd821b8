"""The record of decisions: a line before a call runs and a line after, in a file of the owner's.

The simplest honest form: append-only JSON lines, 0600, all sessions in one file. A chain of hashes
comes with a later part. Arguments are not written: they lie in the transcript.
"""

import json
import os
import time
from pathlib import Path

from cockpit import paths
from cockpit.plugin.safety import Verdict
from cockpit.protocol.messages import ToolCall, ToolResult


class Audit:
    """The audit file, opened when the first line is written. Raises OSError when it cannot be."""

    def __init__(self, session: str, file: Path | None = None) -> None:
        self._session = session
        self._file = file or paths.state() / "audit.jsonl"

    def decided(self, agent: str, call: ToolCall, verdict: Verdict, outcome: str) -> None:
        """Before anything runs: what was decided and why."""
        self._write(
            {
                "what": "decided",
                "agent": agent,
                "call": call.id,
                "tool": call.name,
                "outcome": outcome,
                "level": verdict.level,
                "risk": verdict.risk,
                "rules": list(verdict.rules),
                "reason": verdict.reason,
            }
        )

    def finished(self, agent: str, result: ToolResult) -> None:
        """After it ran: how it ended."""
        self._write({"what": "finished", "agent": agent, "call": result.call, "outcome": result.outcome})

    def _write(self, fields: dict[str, object]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        record = {"time": round(time.time(), 3), "session": self._session, **fields}
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        # One write per line: O_APPEND keeps the lines of several processes whole.
        descriptor = os.open(self._file, flags, 0o600)
        try:
            os.write(descriptor, json.dumps(record, ensure_ascii=False).encode() + b"\n")
        finally:
            os.close(descriptor)
