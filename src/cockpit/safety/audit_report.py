"""Reads the audit log: verifies its chain, lists its records and summarizes decisions. Writes nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.safety import audit_log
from cockpit.safety.audit_chain import ChainFault, ChainReader, parse_records

AuditRecord = Mapping[str, object]
ALLOWED_OUTCOMES = frozenset({"allow", "allow_once", "allow_session", "allow_always"})


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """The result of a verification.

    `unchained` lines were written before there was a chain. `missing` names stored heads that no line has:
    the end of the log was cut off, or the files were replaced.
    """

    files: int
    lines: int
    unchained: int
    fault: ChainFault | None
    missing: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return self.fault is None and not self.missing


def verify_audit(folder: Path, anchors: Mapping[str, str]) -> AuditVerification:
    """Verify the chain. `anchors` are hashes that were stored elsewhere, by place. Raises OSError."""
    reading = ChainReader()
    files = audit_log.list_files(folder)
    for path in files:
        reading.file(path.name, path.read_bytes())
    known = {**audit_log.load_heads(folder), **anchors}
    missing = tuple(where for where, hashed in known.items() if hashed not in reading.hashes)
    # Lines after a fault were not read, so nothing is known about their heads.
    known_missing = () if reading.fault else missing
    return AuditVerification(len(files), reading.lines, reading.unchained, reading.fault, known_missing)


def read_records(folder: Path) -> Iterator[AuditRecord]:
    """All records, the oldest first."""
    for path in audit_log.list_files(folder):
        yield from parse_records(path.read_bytes())


@dataclass(slots=True)
class AuditSummary:
    """Counts of decisions. `unasked` counts calls that ran without asking, by the rule that allowed them."""

    decisions: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    approvers: Counter[str] = field(default_factory=Counter)
    denied: Counter[str] = field(default_factory=Counter)
    unasked: Counter[str] = field(default_factory=Counter)
    asked: int = 0

    def add(self, row: AuditRecord) -> None:
        if row.get("what") != "decided":
            return
        level, tool, outcome = (str(row.get(key, "")) for key in ("level", "tool", "outcome"))
        approver = str(row.get("approver") or ("nobody" if outcome == "auto_deny" else "policy"))
        self.decisions += 1
        self.levels[level] += 1
        self.tools[tool] += 1
        self.approvers[approver] += 1
        self.asked += approver in ("person", "timeout")
        if outcome not in ALLOWED_OUTCOMES:
            self.denied[tool] += 1
        elif approver != "person":
            rules = row.get("rules")
            named = ", ".join(map(str, rules)) if isinstance(rules, list) and rules else "no rule"
            self.unasked[f"{tool}: {named}"] += 1

    def as_json(self) -> dict[str, object]:
        counters = ("levels", "tools", "approvers", "denied", "unasked")
        counts = {name: dict(getattr(self, name)) for name in counters}
        return {"decisions": self.decisions, "asked": self.asked, **counts}


def summarize(rows: Iterable[AuditRecord], since: float) -> AuditSummary:
    """Summarize the decisions since `since` (seconds since the epoch)."""
    summary = AuditSummary()
    for row in rows:
        time = row.get("time")
        if isinstance(time, int | float) and time >= since:
            summary.add(row)
    return summary
