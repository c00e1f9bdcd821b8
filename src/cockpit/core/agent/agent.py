"""What a turn works with: the session's shared parts (`Host`) and one agent's own (`Agent`)."""

import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cockpit.core.agent.models import CircuitBreaker, ModelChoice, model_candidates
from cockpit.core.agent.session_state import PlanProgress
from cockpit.core.agent.turn_limits import Budget, TurnLimits
from cockpit.core.agent.working_folder import CallCheckpoints, ReadCache
from cockpit.core.permission.approvals import Approvals
from cockpit.core.permission.rules import PermissionRule, RoleRights
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.core.plugins.toolbox import AgentToolbox
from cockpit.core.transcript.history import ConversationHistory
from cockpit.core.transcript.log import SessionLog
from cockpit.core.transcript.session_store import StoredResults
from cockpit.plugin.context import NO_CONNECTIONS, Agents, Connections, Navigator, Workspace
from cockpit.plugin.models import ModelFacts
from cockpit.plugin.values import Role
from cockpit.protocol.content import Block
from cockpit.protocol.events import PlanChanged
from cockpit.protocol.messages import Json, Mode, ToolResult, Usage
from cockpit.protocol.ops import DecidePlan
from cockpit.protocol.queries import Query, Reply
from cockpit.safety.audit_log import AuditLog
from cockpit.safety.redaction import Redactor
from cockpit.settings.files import EffectiveSettings
from cockpit.workspace.worktrees.values import Worktree

if TYPE_CHECKING:
    from cockpit.core.subagents.pool import SubagentPool

DEFAULT_WINDOW = 128_000
UNATTENDED_SECONDS = 300.0


@dataclass(slots=True)
class Host:
    """What the agents of one session share. The session changes it; a turn only reads.

    `standings` are the worktrees that are open; `folder` is where the main agent stands, "" for `root`.
    """

    session: str
    root: str
    log: SessionLog
    catalog: PluginCatalog
    settings: EffectiveSettings
    workspace: Workspace
    navigator: Navigator
    approvals: Approvals
    results: StoredResults
    breaker: CircuitBreaker
    state: str
    model: str
    mode: Mode
    trusted: bool
    limits: TurnLimits
    rules: tuple[PermissionRule, ...]
    audit: AuditLog
    redactor: Redactor
    reads: ReadCache = field(default_factory=ReadCache)
    forbidden: tuple[PermissionRule, ...] = ()
    session_rules: list[PermissionRule] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    answer: Callable[[Query], Awaitable[Reply]] | None = None
    remember: Callable[[PermissionRule], None] | None = None
    origin: str = ""
    checkpoints: CallCheckpoints | None = None
    has_read_outside: bool = False
    isolation: Literal["full", "partial", "none", ""] = ""
    plan: PlanChanged = field(default_factory=lambda: PlanChanged("", "idle"))
    chosen: DecidePlan | None = None
    carrying: PlanProgress | None = None
    standings: "list[WorkingFolder]" = field(default_factory=list)
    folder: str = ""
    settled: Mode = "ask"
    change_mode: Callable[[Mode], None] | None = None
    beginning: Callable[[], Awaitable[tuple[str, ...]]] | None = None
    variables: dict[str, str] = field(default_factory=dict)
    connections: Connections = NO_CONNECTIONS
    crew: "SubagentPool | None" = None
    call_tool: "Callable[[Agent, str, Mapping[str, Json], str], Awaitable[ToolResult]] | None" = None

    def use_mode(self, mode: Mode) -> None:
        """Another mode, and everybody hears of it."""
        self.mode = mode
        if self.change_mode is not None:
            self.change_mode(mode)

    def patience(self) -> float:
        """Seconds until an approval that nobody answers is a no; 0 for ever."""
        unattended = self.origin.startswith(("schedule:", "channel:"))
        return self.approvals.seconds or (UNATTENDED_SECONDS if unattended else 0.0)

    def new_id(self) -> str:
        return secrets.token_hex(6)

    def all_rules(self) -> tuple[PermissionRule, ...]:
        return (*self.forbidden, *self.rules, *self.session_rules)


@dataclass(frozen=True, slots=True)
class WorkingFolder:
    """Where an agent works in place of the session's folder: a worktree with all that is bound to it.
    `close` ends what runs there."""

    root: str
    workspace: Workspace
    navigator: Navigator
    branch: str = ""
    checkpoints: CallCheckpoints | None = None
    reads: ReadCache = field(default_factory=ReadCache)
    tree: Worktree | None = None
    close: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True)
class Agent:
    """One agent: its conversation, its tools, what it may spend. `path` is `main` or below it.

    `rights` are a subagent's, `notes` what it is told at its next step and never begins a turn, `stopping`
    asks it to end where it stands, `body` bounds the tokens of its conversation, `jobs` are the background
    processes it has started.
    """

    path: str
    host: Host
    history: ConversationHistory
    toolbox: AgentToolbox
    budget: Budget
    agents: Agents = field(init=False)
    role: Role | None = None
    model: str = ""
    depth: int = 0
    opened_planning: bool = False
    steers: deque[tuple[str, tuple[Block, ...]]] = field(default_factory=deque)
    context_tokens: int = 0
    counted_tokens: int = 0
    overhead_tokens: int = 0
    failed_compactions: int = 0
    fixed_context: dict[str, str] = field(default_factory=dict)
    late_context: dict[str, str] = field(default_factory=dict)
    warned_context: set[str] = field(default_factory=set)
    standing: WorkingFolder | None = None
    halt: str = ""
    rights: RoleRights | None = None
    notes: deque[tuple[str, str]] = field(default_factory=deque)
    stopping: bool = False
    body: int | None = None
    jobs: list[str] = field(default_factory=list)

    @property
    def root(self) -> str:
        """The folder it works in."""
        return self.standing.root if self.standing else self.host.root

    @property
    def workspace(self) -> Workspace:
        return self.standing.workspace if self.standing else self.host.workspace

    @property
    def navigator(self) -> Navigator:
        return self.standing.navigator if self.standing else self.host.navigator

    @property
    def checkpoints(self) -> CallCheckpoints | None:
        return self.standing.checkpoints if self.standing else self.host.checkpoints

    @property
    def reads(self) -> ReadCache:
        return self.standing.reads if self.standing else self.host.reads

    @property
    def mode(self) -> Mode:
        own = self.role.mode if self.role else None
        return stricter_mode(self.host.mode, own)

    @property
    def is_planning(self) -> bool:
        """Whether it may only look: the session plans, or it was opened while somebody did. Beside the
        mode, because a role's `deny` is stricter than `plan` and asks where `plan` refuses."""
        return self.opened_planning or "plan" in (self.host.mode, self.role.mode if self.role else None)

    def all_rules(self) -> tuple[PermissionRule, ...]:
        """The session's, and what its role and those above it forbid."""
        return (*self.host.all_rules(), *(self.rights.denies() if self.rights else ()))

    def choices(self) -> tuple[ModelChoice, ...]:
        """The models to ask, in order. Raises `ModelUnknown`."""
        name = self.model or self.host.model
        return model_candidates(self.host.catalog, self.host.settings, name)

    def facts(self) -> ModelFacts:
        return self.choices()[0].facts

    def window(self) -> int:
        """The context window of the model in tokens."""
        known = self.host.settings.number("models.window")
        return int(known) if known else self.facts().window or DEFAULT_WINDOW

    def spend(self, usage: Usage) -> None:
        self.budget.spend(usage)
        self.host.usage += usage
        if usage.input:
            self.context_tokens = usage.input + usage.output
            self.counted_tokens = self.history.tokens()


def stricter_mode(host: Mode, own: Mode | None) -> Mode:
    """A role can tighten the session's mode, never loosen it."""
    order: tuple[Mode, ...] = ("full", "auto-edit", "ask", "plan", "deny")
    return host if own is None else max(host, own, key=order.index)
