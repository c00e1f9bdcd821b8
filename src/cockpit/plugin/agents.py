"""Subagents as plugins see them: roles and skills, quotas, reports, and how to open and control an agent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.plugin.origin import Origin
from cockpit.protocol.events import Event
from cockpit.protocol.messages import Mode, StopReason, Usage
from cockpit.protocol.rows import AgentPhase as AgentPhase
from cockpit.protocol.rows import AgentRow as AgentRow

Isolation = Literal["none", "worktree"]
# A real task on a few files takes models 20 to 40 steps; this is a budget, not a target.
USUAL_STEPS = 50


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of one agent; None leaves it to settings and to the parent's budget, which always applies.

    `steps` model requests, `tokens` in and out together, `seconds` of wall time, `output` characters of its
    report (the rest is set aside under a handle).
    """

    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of subagent. Every field only narrows what its parent may do.

    `tools` None means all of the parent's, `()` none; `denied_tools` are removed from them. A name may be
    another agent's (`Bash`), a pattern (`mcp__github__*`), or include the calls it allows: `Bash(git diff
    *)`, `Task(explore, review)`. `mode` applies where it is stricter. `skills` are put into its first message
    in full. `mcp_servers` None: all. `prompt` starts its task when a user starts it directly. `explores`
    roles are never reminded to start writing. `aliases` find it if no role has that name.
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
    """Guidance that is always listed and read (`body()`) only when it is used.

    `allowed_tools` None leaves all; otherwise only these run while the skill is in force, and never one of
    `denied_tools`. `arguments` are the names of its arguments, `hint` shows them to the user. `paths` are
    globs: it is listed once such a file was touched. A `fork` runs in a subagent of `role`. `dialect` says
    how its body counts `$1`: from 0 as Claude does, from 1 as opencode does. `trigger` says when it is in
    force without being called: `auto` always, `match` for a prompt that contains one of `keywords`.
    """

    name: str
    description: str
    body: Callable[[], str]
    path: str = ""
    allowed_tools: tuple[str, ...] | None = None
    for_model: bool = True
    for_user: bool = True
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
    """The result that an agent brings back from its task."""

    text: str
    stop_reason: StopReason
    usage: Usage
    steps: int


class AgentHandle(Protocol):
    """A running agent."""

    @property
    def id(self) -> str:
        """Its path: `main/review-2`."""

    async def send(self, text: str) -> None:
        """Send a message for the agent's next step. An agent that has ended continues with it in the
        background."""

    async def wait(self, seconds: float | None = None) -> Report:
        """Its report. Raises TimeoutError; the agent goes on."""

    async def cancel(self) -> None:
        """End the agent: at once if it is queued, else after its current call, or by force after 2 s."""

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        """Its events from `cursor` on, and the next cursor; includes those from before a restart."""


class Agents(Protocol):
    """Opens agents on the caller's budget and with at most the caller's rights."""

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
        """Start an agent, or queue it if as many run as are allowed.

        A `Role` in place of a name is used as it is, narrowed to the caller's rights like any other. `name`
        is the last part of its path, `call` the tool call that it serves. Without `background` it has ended
        when this returns, and its failure is its report. The same task for a role of the same name returns
        the agent that is doing it, or has just done it, unless something was changed since. Raises
        `CockpitError` for an unknown role, runner or tool, and below the depth that settings allow.
        """

    def roles(self) -> tuple[Role, ...]:
        """The roles that the caller may open, by name."""

    def role(self, name: str) -> Role:
        """The role with that name or alias. Raises `CockpitError` with similar names."""

    def all(self) -> tuple[AgentRow, ...]:
        """Every agent of this session, in the order in which they were opened."""

    def find(self, id: str) -> AgentHandle:
        """The agent with that path, or with a unique part of it. Raises `CockpitError`."""
