"""What a turn works with: the services shared by a session (`Services`), and one agent (`Agent`)."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from cockpit.core.agent.models import CircuitBreaker, ModelChoice, model_candidates
from cockpit.core.agent.session_state import SessionState, stricter_mode
from cockpit.core.agent.turn_limits import Budget, TurnLimits
from cockpit.core.agent.working_folder import OpenWorktrees, WorkingFolder
from cockpit.core.permission.approvals import Approvals
from cockpit.core.permission.rules import PermissionRule, RoleRights
from cockpit.core.plugins.catalog import PluginCatalog
from cockpit.core.plugins.toolbox import AgentToolbox
from cockpit.core.transcript.history import ConversationHistory
from cockpit.core.transcript.log import SessionLog, new_id
from cockpit.core.transcript.session_store import StoredResults
from cockpit.plugin.context import NO_CONNECTIONS, Agents, Connections, Navigator, Workspace
from cockpit.plugin.models import ModelFacts
from cockpit.plugin.values import Role
from cockpit.protocol.content import Block, Text
from cockpit.protocol.events import Event, MessageFinished, Warned
from cockpit.protocol.messages import Json, Mode, ToolResult, Usage, UserMessage
from cockpit.protocol.queries import Query, Reply
from cockpit.safety.audit_log import AuditLog
from cockpit.safety.redaction import Redactor
from cockpit.settings.files import EffectiveSettings

DEFAULT_WINDOW = 128_000


@dataclass(frozen=True, slots=True)
class Services:
    """What the agents of one session share. A reload of settings or plugins gives every agent new services.

    `storage` is the folder beside the transcript, `home` the session's own folder. `rules` come from
    settings and the command line; rules allowed for the session are in `SessionState`. Plugins use
    `answer_query` and `call_tool`.
    """

    session: str
    storage: str
    home: WorkingFolder
    log: SessionLog
    catalog: PluginCatalog
    settings: EffectiveSettings
    rules: tuple[PermissionRule, ...]
    limits: TurnLimits
    approvals: Approvals
    results: StoredResults
    breaker: CircuitBreaker
    audit: AuditLog
    redactor: Redactor
    answer_query: Callable[[Query], Awaitable[Reply]]
    call_tool: "Callable[[Agent, str, Mapping[str, Json], str], Awaitable[ToolResult]]"
    worktrees: OpenWorktrees = field(default_factory=OpenWorktrees)
    connections: Connections = NO_CONNECTIONS

    @property
    def root(self) -> str:
        return self.home.root


class SubagentAccess(Agents, Protocol):
    """The subagents of one agent, for plugins and for its turns."""

    async def wait_for_any(self) -> None:
        """Wait until a subagent in the background has ended; return at once when none runs."""
        ...


@dataclass(slots=True)
class ContextTexts:
    """The texts of the context sources, by source. `late` texts missed their deadline and go into the next
    request."""

    fixed: dict[str, str] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)


@dataclass(slots=True)
class WindowUse:
    """How full the context window is, in tokens.

    `reported` is the size of the last request as counted by the server (0: unknown), `counted` our estimate
    of the history at that time, and `overhead` our estimate of everything but the history.
    """

    reported: int = 0
    counted: int = 0
    overhead: int = 0
    failed_compactions: int = 0


@dataclass(slots=True)
class Agent:
    """One agent: its conversation, its tools and its budget. `path` is `main` or below it.

    `steers` are messages of the user, and `notes` messages about subagents, for its next step. `halt` names
    the guard that ended its turn; `stopping` ends the agent at its next step. `max_history` limits the
    tokens of its conversation, and `jobs` are the background processes it started.
    """

    path: str
    services: Services
    state: SessionState
    history: ConversationHistory
    toolbox: AgentToolbox
    budget: Budget
    folder: WorkingFolder
    agents: SubagentAccess = field(init=False)
    role: Role | None = None
    rights: RoleRights | None = None
    model: str = ""
    depth: int = 0
    opened_planning: bool = False
    max_history: int | None = None
    steers: deque[tuple[str, tuple[Block, ...]]] = field(default_factory=deque)
    notes: deque[tuple[str, str]] = field(default_factory=deque)
    context: ContextTexts = field(default_factory=ContextTexts)
    window_use: WindowUse = field(default_factory=WindowUse)
    jobs: list[str] = field(default_factory=list)
    halt: str = ""
    stopping: bool = False

    @property
    def root(self) -> str:
        """The folder it works in."""
        return self.folder.root

    @property
    def workspace(self) -> Workspace:
        return self.folder.workspace

    @property
    def navigator(self) -> Navigator:
        return self.folder.navigator

    @property
    def mode(self) -> Mode:
        return stricter_mode(self.state.mode, self.role.mode if self.role else None)

    @property
    def is_planning(self) -> bool:
        """Whether plan mode applies: now, or when the agent was opened.

        Separate from the mode, because a role's `deny` is stricter than `plan` and asks where `plan` refuses.
        """
        return self.opened_planning or "plan" in (self.state.mode, self.role.mode if self.role else None)

    def all_rules(self) -> tuple[PermissionRule, ...]:
        """The rules of settings and session, and what its role and the roles above it deny."""
        return (*self.services.rules, *self.state.rules, *(self.rights.denies() if self.rights else ()))

    def choices(self) -> tuple[ModelChoice, ...]:
        """The models to ask, in order. Raises `ModelUnknown`."""
        name = self.model or self.state.model
        return model_candidates(self.services.catalog, self.services.settings, name)

    def facts(self) -> ModelFacts:
        return self.choices()[0].facts

    def window(self) -> int:
        """The context window of the model in tokens."""
        known = self.services.settings.number("models.window")
        return int(known) if known else self.facts().window or DEFAULT_WINDOW

    def emit(self, event: Event, call: str = "") -> None:
        """Emit an event of this agent, or of its call `call`."""
        self.services.log.emit(event, self.path, call)

    def warn(self, text: str, hint: str = "", source: str = "", call: str = "") -> None:
        self.emit(Warned(text, hint, source), call)

    def add_message(self, text: str, id: str = "") -> None:
        """Add a message of cockpit itself in the user's place."""
        self.emit(MessageFinished(id or new_id(), UserMessage((Text(text),))))

    def spend(self, usage: Usage) -> None:
        self.budget.spend(usage)
        self.state.add_usage(usage)
        if usage.input:
            self.window_use.reported = usage.input + usage.output
            self.window_use.counted = self.history.tokens()
