"""What tools, commands, guards and residents receive: `Context`, the contracts behind its fields, and `Tool`.

A new field needs an ADR. The Protocols are implemented in other packages. `Tool` is defined here because a
context gives access to the session's tools, and a tool runs with a context; plugins import it from
`cockpit.plugin.tools`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cockpit.errors import CockpitError
from cockpit.plugin.agents import Agents as Agents
from cockpit.plugin.agents import Report as Report
from cockpit.plugin.agents import Skill
from cockpit.plugin.calls import DEFAULT_CAP, Alias, Arguments, Cap, Capability, Done, Preview, ToolFailed
from cockpit.plugin.models import Completed, ModelRequest
from cockpit.plugin.navigation import Navigator as Navigator
from cockpit.plugin.workspace import Applied as Applied
from cockpit.plugin.workspace import ChangeRefused as ChangeRefused
from cockpit.plugin.workspace import FileEntry as FileEntry
from cockpit.plugin.workspace import Files as Files
from cockpit.plugin.workspace import JobView as JobView
from cockpit.plugin.workspace import PathRefused as PathRefused
from cockpit.plugin.workspace import Processes as Processes
from cockpit.plugin.workspace import ProcessResult as ProcessResult
from cockpit.plugin.workspace import Workspace as Workspace
from cockpit.plugin.workspace import Worktrees
from cockpit.protocol.events import Event, FormField, PlanChanged
from cockpit.protocol.messages import Json, Kind, Mode, ToolCall, ToolResult
from cockpit.protocol.queries import Query, Reply

ConnectionState = Literal[
    "disabled", "needs approval", "waiting", "starting", "ready", "needs login", "failed", "stopped"
]
ConnectionVerb = Literal["restart", "stop", "approve", "refuse"]


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """The state of an MCP server.

    `target` is what is started, or its URL; `reason` says why it is not ready. `changed` are tools whose
    definitions differ from those that were approved, each with the difference. `refused` are the parts of its
    offer that were left out. `log` is the path of its log file.
    """

    name: str
    state: ConnectionState
    target: str
    reason: str = ""
    layer: str = ""
    file: str = ""
    protocol: str = ""
    instructions: str = ""
    tools: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    resources: int = 0
    changed: Mapping[str, str] | None = None
    refused: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A resource that a server offers. The `uri` of a template has `{parts}` to fill in."""

    server: str
    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


class Connections(Protocol):
    """The MCP servers of one root. A server that waits for the user's approval is not started."""

    def rows(self) -> tuple[ConnectionRow, ...]:
        """Every server, by name."""

    def resources(self) -> tuple[ResourceRow, ...]:
        """The resources of the ready servers."""

    async def read(self, server: str, uri: str, context: "Context") -> Done:
        """A resource. Raises `ToolFailed`."""

    async def command(self, verb: ConnectionVerb, name: str) -> str:
        """Carry out a user's command on a server; returns the outcome in words."""

    def unasked(self, session: str) -> tuple[ConnectionRow, ...]:
        """The servers that wait for approval and about which the user of `session` has not been asked yet.
        They then count as asked."""

    async def settled(self, seconds: float) -> None:
        """Wait until no server is starting, at most this long."""

    def log(self, name: str) -> str:
        """The last lines of the server's log."""


class NoConnections:
    """No servers."""

    def rows(self) -> tuple[ConnectionRow, ...]:
        return ()

    def resources(self) -> tuple[ResourceRow, ...]:
        return ()

    async def read(self, server: str, uri: str, context: "Context") -> Done:
        raise ToolFailed(f"unknown MCP server {server}; none is configured")

    async def command(self, verb: ConnectionVerb, name: str) -> str:
        return f"unknown MCP server {name}; none is configured"

    def unasked(self, session: str) -> tuple[ConnectionRow, ...]:
        return ()

    async def settled(self, seconds: float) -> None:
        """Nothing starts."""

    def log(self, name: str) -> str:
        return ""


NO_CONNECTIONS: Connections = NoConnections()


class Store(Protocol):
    """Small JSON documents of one plugin, each written whole or not at all."""

    def load(self, name: str) -> Json:
        """The document, or None."""

    def save(self, name: str, value: Json) -> None: ...


class Results(Protocol):
    """Outputs that were set aside, by handle."""

    def page(self, handle: str, cursor: int, size: int) -> tuple[str, int, int]:
        """Text from character `cursor`, the next cursor (-1 at the end) and the total. Raises KeyError for an
        unknown handle."""

    def keep(self, text: str) -> str:
        """Set `text` aside and return its handle."""


class ToolboxView(Protocol):
    """The tools of this session."""

    def tools(self) -> "tuple[Tool, ...]": ...
    def search(self, query: str) -> "tuple[Tool, ...]":
        """Deferred tools by `select:a,b` or by words; they are sent from the next step on."""


class PlanRefused(CockpitError):
    """A plan was not approved: the call that proposed it is marked as denied."""


@dataclass(frozen=True, slots=True)
class PlanApproved:
    """The user's approval: the plan as they edited it, and the mode now in force."""

    text: str
    edited: bool
    mode: Mode
    note: str = ""


class Plans(Protocol):
    """Plan mode for plugins: they can ask, and only the user decides (docs/use/plan-mode.md)."""

    @property
    def now(self) -> PlanChanged:
        """The state of plan mode."""

    def past(self) -> tuple[PlanChanged, ...]:
        """The plans of this session that were decided, oldest first."""

    def enter(self, reason: str) -> None:
        """Begin plan mode, which only tightens permissions. Raises `PlanRefused` if nobody could end it."""

    async def propose(self, plan: PlanChanged, call: str) -> PlanApproved:
        """Ask the user to approve `plan`, for the tool call `call`. Raises `PlanRefused`, which says what to
        do instead."""

    def reminder(self) -> str:
        """The reminder about plan mode for the model at this step; empty for none."""

    def unverified(self) -> tuple[str, ...]:
        """The checks of the approved plan that have not been run; returned once, when its work appears to be
        done."""


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """How the user answered a form; `values` by the names of its fields, empty unless accepted."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, Json] = field(default_factory=dict)


class SessionView(Protocol):
    """The parts of the session that a plugin may see and change."""

    @property
    def id(self) -> str: ...
    @property
    def root(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def trusted(self) -> bool: ...
    @property
    def results(self) -> Results: ...
    @property
    def toolbox(self) -> ToolboxView: ...
    @property
    def plans(self) -> Plans: ...
    @property
    def worktrees(self) -> Worktrees: ...

    def store(self, scope: Literal["user", "project", "session"]) -> Store: ...
    def emit(self, event: Event) -> None: ...
    def export(self, variables: Mapping[str, str]) -> None:
        """Set variables in the environment of programs that tools start in this session from now on."""

    async def ask_user(self, question: str, options: tuple[str, ...] = ()) -> str:
        """The user's answer. During a tool call only one of `options` is an answer, if there are any: what
        the user types meanwhile is a prompt. Raises `UserUnavailable` if nobody can be asked."""

    async def ask_form(
        self, question: str, fields: tuple[FormField, ...] = (), *, source: str = "", url: str = ""
    ) -> FormAnswer:
        """The user's answers to a form, or their consent to open `url`. `source` says who asks. Raises
        `UserUnavailable` if nobody can be asked."""

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Run a tool through all stages of a model's call: guards, verdict, approval, audit, redaction.

        It is shown like any call, but its result is returned and in no conversation. A call that was not
        allowed has the outcome `denied`, one that failed `error`. Raises `CockpitError` if calls are nested
        more than four deep.
        """

    def skills(self) -> tuple[Skill, ...]:
        """The skills in force, whoever registered them, ordered by name."""

    async def ask(self, query: Query) -> Reply:
        """The reply that a frontend would get."""


class UserUnavailable(CockpitError):
    """A question that no user is there to answer."""


class Models(Protocol):
    """Ask a model, on the budget of the turn."""

    async def complete(
        self, tier: Literal["fast", "default", "medium", "strong"], request: ModelRequest
    ) -> Completed:
        """A whole answer. Raises `ModelFailed`, and `LimitReached` when the budget is spent."""


@dataclass(frozen=True, slots=True)
class RunningCall:
    """The call that a tool's function serves. `preview` is what was shown and approved; `progress` streams
    output to those who watch. `seal` is the digest of `preview.launch` as approved ("" without one)."""

    call: ToolCall
    preview: Preview | None
    progress: Callable[[str], None]
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that a plugin's function may use. `call` is None outside of a tool. `connections` are the
    MCP servers of the root (docs/adr/0024)."""

    workspace: Workspace
    navigator: Navigator
    session: SessionView
    agents: Agents
    models: Models
    settings: Mapping[str, Json]
    call: RunningCall | None = None
    connections: Connections = NO_CONNECTIONS

    def running(self) -> RunningCall:
        """`call`, which is always set while a tool runs."""
        if self.call is None:
            raise RuntimeError("no tool call is running")
        return self.call


Run = Callable[[Arguments, Context], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, and everything the core must know before it may run.

    `parameters` is a JSON Schema object. `capabilities` must not be empty: a tool that does not declare what
    it can do is not exposed. `run` gets arguments that fit the schema. `preview` works out what would happen;
    a tool that writes has one, and its `run` applies `context.call.preview`. `is_concurrent(arguments)` says
    that this call may run beside others and changes nothing. `deferred` tools are not sent until
    `tool_search` names them. `polling` tools may be repeated. `title(arguments)` is one line for the user.
    `seconds` limits a call.
    """

    name: str
    kind: Kind
    description: str
    parameters: Mapping[str, Json]
    capabilities: frozenset[Capability]
    run: Run
    title: Callable[[Arguments], str]
    preview: Callable[[Arguments, Context], Awaitable[Preview]] | None = None
    is_concurrent: Callable[[Arguments], bool] = lambda arguments: False
    deferred: bool = False
    polling: bool = False
    cap: Cap = DEFAULT_CAP
    aliases: tuple[Alias, ...] = ()
    keywords: tuple[str, ...] = ()
    seconds: float = 120.0
