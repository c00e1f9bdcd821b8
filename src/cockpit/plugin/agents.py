"""Subagents as plugins see them: who one can be, what it may spend, where it stands, how to hold it."""

from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.plugin.origin import Origin
from cockpit.protocol.events import Event
from cockpit.protocol.messages import Mode, StopReason, Usage

Isolation = Literal["none", "worktree"]
AgentPhase = Literal["queued", "running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Quota:
    """What one agent may spend; None leaves it to settings and to the parent's budget, which always holds.

    `steps` model requests, `tokens` in and out together, `seconds` of wall time, `output` characters of
    its report (the rest is set aside under a handle).
    """

    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Role:
    """Who a subagent is. Every field only narrows what its parent may do.

    `tools` None means all of the parent's, `()` none; `denied_tools` are taken out of them. A name may be
    another agent's (`Bash`) or a pattern (`mcp__github__*`). `mode` is used where it is stricter.
    `skills` are put into its first message whole. `mcp_servers` None: all. `prompt` begins its task when a
    person starts it by hand. `explores` roles are never told to hurry up and write.
    """

    name: str
    description: str
    instructions: str
    tools: tuple[str, ...] | None = None
    model: str = ""
    max_steps: int = 15
    mode: Mode | None = None
    runner: str = "in-process"
    denied_tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] | None = None
    background: bool = False
    isolation: Isolation = "none"
    effort: str = ""
    color: str = ""
    memory: str = ""
    prompt: str = ""
    quota: Quota = Quota()
    explores: bool = False
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class AgentState:
    """Where an agent stands. `doing` is its last word or call in one line, `report` its end in one line.

    `seconds` counts from its start (0 while queued). `branch` is that of its worktree. `recovered` says
    that a session that ended under it has put it back in the queue.
    """

    id: str
    role: str
    task: str
    phase: AgentPhase
    background: bool = False
    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    doing: str = ""
    report: str = ""
    branch: str = ""
    recovered: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent brings back from its task."""

    text: str
    stop_reason: StopReason
    usage: Usage
    steps: int


class AgentHandle(Protocol):
    """A running agent."""

    @property
    def id(self) -> str:
        """Its path: `main/review-2`."""
        ...

    async def send(self, text: str) -> None:
        """Say something; it is taken at the agent's next step."""
        ...

    async def wait(self, seconds: float | None = None) -> Report:
        """Its report. Raises TimeoutError; the agent goes on."""
        ...

    async def cancel(self) -> None:
        """End it: a queued one at once, a running one after its present call, or by force after 2 s."""
        ...

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        """Its events from `cursor` on, and the next cursor."""
        ...


class Agents(Protocol):
    """Opening agents, on the caller's budget and with at most the caller's rights."""

    async def open(
        self,
        role: str | Role,
        task: str,
        *,
        background: bool = False,
        isolation: Isolation = "none",
        runner: str = "",
        quota: Quota | None = None,
    ) -> AgentHandle:
        """Start an agent, or queue it where as many run as may. A `Role` in place of a name is used as it
        is, narrowed to the caller's rights as any other.

        Without `background` it has ended when this returns. Raises `CockpitError` for a role or runner
        nobody knows, and below the depth that settings allow.
        """
        ...

    def all(self) -> tuple[AgentState, ...]:
        """Every agent of this session, in the order of their opening."""
        ...

    def find(self, id: str) -> AgentHandle:
        """The agent of that path, or of a part of it that names one. Raises `CockpitError`."""
        ...
