"""Writing a decision into the audit: who decided, after how long, and the form that will run."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cockpit.core.agent import Agent
from cockpit.plugin.launching import Isolation
from cockpit.plugin.safety import Verdict
from cockpit.plugin.tools import Preview
from cockpit.protocol.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Deciding:
    """One call while it is decided about; `began` is when (monotonic seconds)."""

    agent: Agent
    call: ToolCall
    verdict: Verdict
    preview: Preview | None
    isolation: Isolation
    began: float = field(default_factory=time.monotonic)

    def record(self, outcome: str, approver: str = "", hunks: Mapping[str, object] | None = None) -> None:
        """Write it. Raises `AuditFailed`: then nothing may run."""
        launch = self.preview.launch if self.preview is not None else None
        self.agent.host.audit.decided(
            self.agent.path,
            self.call,
            self.verdict,
            outcome,
            approver=approver or approver_of(self.verdict),
            latency_ms=1000 * (time.monotonic() - self.began) if approver else 0.0,
            seal=launch.seal() if launch is not None else "",
            argv=launch.argv if launch is not None else (),
            cwd=launch.cwd if launch is not None else "",
            profile=launch.profile if launch is not None else "",
            isolation=self.isolation.label(launch.profile) if launch is not None else "",
            parts=self.verdict.parts,
            hunks=hunks,
        )


def approver_of(verdict: Verdict) -> Literal["policy", "mode", "rule", "person"]:
    """Who answered a verdict that asked nobody: the last of its rules says it (`core/judgement`)."""
    last = verdict.rules[-1] if verdict.rules else ""
    if last.startswith("mode "):
        return "mode"
    if last == "typed by a person":
        return "person"
    return "rule" if last.endswith(")") else "policy"
