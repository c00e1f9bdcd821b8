"""Subagents as plugins see them: who one can be, what it may spend, where it stands, how to hold it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.plugin.origin import Origin
from cockpit.protocol.events import Event
from cockpit.protocol.messages import Mode, StopReason, Usage
from cockpit.protocol.rows import AgentPhase as AgentPhase
from cockpit.protocol.rows import AgentRow as AgentRow

__all__ = [
    "AgentHandle",
    "AgentPhase",
    "AgentRow",
    "Agents",
    "Isolation",
    "Quota",
    "Report",
    "Role",
    "Skill",
]

Isolation = Literal["none", "worktree"]
# Models asked for a real task of a few files take 20 to 40 steps; the row below this is a budget, no aim.
USUAL_STEPS = 50


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
    another agent's (`Bash`), a pattern (`mcp__github__*`), or hold the calls it means: `Bash(git diff *)`,
    `Task(explore, review)`. `mode` is used where it is stricter. `skills` are put into its first message
    whole. `mcp_servers` None: all. `prompt` begins its task when a person starts it by hand. `explores`
    roles are never told to hurry up and write. `aliases` find it where no role has that name.
    """

    name: str
    description: str
    instructions: str
    tools: tuple[str, ...] | None = None
    model: str = ""
    max_steps: int = USUAL_STEPS
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
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """Guidance that is listed always and read (`body()`) only when it is used.

    `allowed_tools` None leaves all; otherwise only these are run while the skill is in force, and never
    one of `denied_tools`. `arguments` are the names of its arguments, `hint` shows them to a person.
    `paths` are globs: it is listed once such a file was touched. A `fork` runs in a subagent of `role`.
    `dialect` says how its body counts `$1`: from 0 as Claude does, from 1 as opencode does. `trigger` says
    when it is in force unasked: `auto` always, `match` for a prompt that holds one of `keywords`.
    """

    name: str
    description: str
    body: Callable[[], str]
    path: str = ""
    allowed_tools: tuple[str, ...] | None = None
    for_model: bool = True
    for_person: bool = True
    denied_tools: tuple[str, ...] = ()
    when: str = ""
    hint: str = ""
    arguments: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    fork: bool = False
    role: str = ""
    background: bool = False
    model: str = ""
    effort: str = ""
    shell: str = ""
    dialect: Literal["claude", "opencode"] = "claude"
    aliases: tuple[str, ...] = ()
    trigger: Literal["", "auto", "match"] = ""
    keywords: tuple[str, ...] = ()
    origin: Origin | None = None


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
        """Say something; it is taken at the agent's next step. One that has ended goes on with it, in the
        background."""
        ...

    async def wait(self, seconds: float | None = None) -> Report:
        """Its report. Raises TimeoutError; the agent goes on."""
        ...

    async def cancel(self) -> None:
        """End it: a queued one at once, a running one after its present call, or by force after 2 s."""
        ...

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        """Its events from `cursor` on, and the next cursor; also those of a session before this one."""
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
        name: str = "",
        call: str = "",
    ) -> AgentHandle:
        """Start an agent, or queue it where as many run as may. A `Role` in place of a name is used as it
        is, narrowed to the caller's rights as any other. `name` is the last part of its path, `call` the tool
        call that it serves.

        Without `background` it has ended when this returns, and its failure is its report. The same task
        for a role of the same name gives the agent that is at it, or has just done it, unless something was
        changed since. Raises `CockpitError` for a role, runner or tool nobody knows, and below the depth
        that settings allow.
        """
        ...

    def roles(self) -> tuple[Role, ...]:
        """The roles that the caller may open, by name."""
        ...

    def role(self, name: str) -> Role:
        """The role of that name or alias. Raises `CockpitError` with those that are near."""
        ...

    def all(self) -> tuple[AgentRow, ...]:
        """Every agent of this session, in the order of their opening."""
        ...

    def find(self, id: str) -> AgentHandle:
        """The agent of that path, or of a part of it that names one. Raises `CockpitError`."""
        ...
