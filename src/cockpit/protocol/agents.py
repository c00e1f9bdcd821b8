"""Subagents as they cross the door: where one stands, and on what terms it was opened."""

from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.messages import Mode

AgentPhase = Literal["queued", "running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class AgentRow:
    """Where a subagent stands. `id` is its path (`main/review-2`), `call` the tool call that opened it, ""
    where a person did.

    `doing` is its present call, or its last word, in one line; `report` its end, cut to a few lines.
    `started` is when it last began, seconds since the epoch (0 while queued); `seconds` the time it has run,
    without the run it is at. `branch` is that of its worktree. `recovered`: cockpit ended under it, and it
    is taken up again.
    """

    id: str
    role: str
    task: str
    phase: AgentPhase
    background: bool = False
    call: str = ""
    doing: str = ""
    report: str = ""
    steps: int = 0
    calls: int = 0
    tokens: int = 0
    started: float = 0.0
    seconds: float = 0.0
    branch: str = ""
    color: str = ""
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class AgentTerms:
    """What must still hold when the agent is taken up after a restart. `by_name`: its role can be found
    again; `mode` and `planning` are those it was opened under."""

    mode: Mode
    planning: bool = False
    by_name: bool = True
    isolation: str = "none"
    runner: str = ""
    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class AgentChanged:
    """A subagent was opened (then with `terms`), began, or ended."""

    agent: AgentRow
    terms: AgentTerms | None = None
