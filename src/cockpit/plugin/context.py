"""The MCP servers of a root, as plugins may see and touch them. Implemented in the room `mcp`; a session
without any has `NO_CONNECTIONS`.

What tools, commands, guards and residents are given: the contracts behind each field.

A new field needs an ADR. Whatever implements a Protocol here lives in a lower or higher room.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentHandle as AgentHandle
from cockpit.plugin.agents import Agents as Agents
from cockpit.plugin.agents import Report as Report
from cockpit.plugin.agents import Skill as Skill
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
from cockpit.plugin.workspace import SandboxMissing as SandboxMissing
from cockpit.plugin.workspace import Workspace as Workspace
from cockpit.plugin.workspace import Worktrees as Worktrees
from cockpit.protocol.events import Event, FormField, PlanChanged
from cockpit.protocol.messages import Json, Kind, Mode, ToolCall, ToolResult
from cockpit.protocol.queries import Query, Reply

ConnectionState = Literal[
    "disabled", "needs approval", "waiting", "starting", "ready", "needs login", "failed", "stopped"
]
ConnectionVerb = Literal["restart", "stop", "approve", "refuse"]


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """A server now. `target` is what is started, or where it is; `reason` says why it is not ready.
    `changed` are its tools whose definitions are not those that were approved, each with what is
    different. `refused` is what of its offer was left out. `log` is the file of what it wrote."""

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
    """Something a server lets read. A template's `uri` has `{parts}` to fill in."""

    server: str
    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


class Connections(Protocol):
    """The servers of one root. Nothing here starts one that waits for a person's yes."""

    def rows(self) -> tuple[ConnectionRow, ...]:
        """Every server, by name."""
        ...

    def resources(self) -> tuple[ResourceRow, ...]:
        """What the ready ones let read."""
        ...

    async def read(self, server: str, uri: str, context: "Context") -> Done:
        """A resource. Raises `ToolFailed`."""
        ...

    async def command(self, verb: ConnectionVerb, name: str) -> str:
        """What a person wants done with a server; what came of it, in words."""
        ...

    def unasked(self, session: str) -> tuple[ConnectionRow, ...]:
        """Those that wait for a yes and that the person of `session` was not asked about; now they are."""
        ...

    async def settled(self, seconds: float) -> None:
        """Wait until no server is starting any more, at most so long."""
        ...

    def log(self, name: str) -> str:
        """The last lines that a server wrote."""
        ...


class NoConnections:
    """No servers."""

    def rows(self) -> tuple[ConnectionRow, ...]:
        return ()

    def resources(self) -> tuple[ResourceRow, ...]:
        return ()

    async def read(self, server: str, uri: str, context: "Context") -> Done:
        raise ToolFailed(f"there is no MCP server {server}")

    async def command(self, verb: ConnectionVerb, name: str) -> str:
        return f"there is no MCP server {name}"

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
        ...

    def save(self, name: str, value: Json) -> None: ...


class Results(Protocol):
    """Outputs that were set aside, by handle."""

    def page(self, handle: str, cursor: int, size: int) -> tuple[str, int, int]:
        """Text from character `cursor`, the next cursor (-1 at the end), the total.

        Raises KeyError for a handle nobody gave out.
        """
        ...

    def keep(self, text: str) -> str:
        """Set `text` aside; its handle."""
        ...


class ToolboxView(Protocol):
    """The tools of this session."""

    def tools(self) -> "tuple[Tool, ...]": ...
    def search(self, query: str) -> "tuple[Tool, ...]":
        """Deferred tools by `select:a,b` or by words; they are sent from the next step on."""
        ...


class PlanRefused(CockpitError):
    """A plan was not approved: the call that proposed it is marked as denied."""


@dataclass(frozen=True, slots=True)
class PlanApproved:
    """A person's yes: the plan as they left it, and the mode that is in force now."""

    text: str
    edited: bool
    mode: Mode
    note: str = ""


class Plans(Protocol):
    """Plan mode as a plugin may touch it: it can ask, and only a person decides (docs/plan-mode.md)."""

    @property
    def now(self) -> PlanChanged:
        """Where plan mode stands."""
        ...

    def past(self) -> tuple[PlanChanged, ...]:
        """The plans of this session that were decided, oldest first."""
        ...

    def enter(self, reason: str) -> None:
        """Begin plan mode, which only tightens. Raises `PlanRefused` where nobody could end it."""
        ...

    async def propose(self, plan: PlanChanged, call: str) -> PlanApproved:
        """Ask a person to approve `plan`, for the tool call `call`. Raises `PlanRefused`, which says what to
        do instead."""
        ...

    def reminder(self) -> str:
        """What the model is to be told of it at this step, empty for nothing."""
        ...

    def unverified(self) -> tuple[str, ...]:
        """The checks of the approved plan that nobody has run, once, when its work seems to be done."""
        ...


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """How a person answered a form; `values` by the names of its fields, empty unless they accepted."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, Json] = field(default_factory=dict)


class SessionView(Protocol):
    """The session, as far as a plugin may see and touch it."""

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
        """Variables for the environment of the programs that tools start in this session from now on."""
        ...

    async def ask_user(self, question: str, options: tuple[str, ...] = ()) -> str:
        """A person's answer. Beside a tool's call only one of `options` answers, where there are any: what
        they type meanwhile is a prompt. Raises `NobodyThere` when nobody can be asked."""
        ...

    async def ask_form(
        self, question: str, fields: tuple[FormField, ...] = (), *, source: str = "", url: str = ""
    ) -> FormAnswer:
        """A person's answers to a form, or their yes to opening `url`. `source` says who wants to know.

        Raises `NobodyThere` when nobody can be asked.
        """
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Run a tool through the whole order of a model's call: guards, verdict, approval, audit, redaction.

        It is shown like any call, and its result is in no conversation: it is returned. What was not
        allowed has the outcome `denied`, what failed `error`. Raises `CockpitError` where calls make
        calls more than four deep.
        """
        ...

    def skills(self) -> tuple[Skill, ...]:
        """The skills in force, whoever registered them, in the order of their names."""
        ...

    async def ask(self, query: Query) -> Reply:
        """What a frontend would be told."""
        ...


class UserUnavailable(CockpitError):
    """A question without a person to answer it."""


class Models(Protocol):
    """Asking a model on the turn's budget."""

    async def complete(
        self, tier: Literal["fast", "default", "medium", "strong"], request: ModelRequest
    ) -> Completed:
        """A whole answer. Raises `ModelFailed`, and `LimitReached` when the budget is spent."""
        ...


@dataclass(frozen=True, slots=True)
class RunningCall:
    """The call that a tool's function serves.

    `preview` is what was shown and approved; `progress` streams output to whoever watches. `seal` is the
    digest of `preview.launch` as it was approved ("" where there is none).
    """

    call: ToolCall
    preview: Preview | None
    progress: Callable[[str], None]
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """Everything a plugin's function may use. `call` is None outside of a tool. `connections` are the MCP
    servers of the root (docs/adr/0024)."""

    workspace: Workspace
    navigator: Navigator
    session: SessionView
    agents: Agents
    models: Models
    settings: Mapping[str, Json]
    call: RunningCall | None = None
    connections: Connections = NO_CONNECTIONS

    def running(self) -> RunningCall:
        """`call`, for a tool's function, which always has one."""
        if self.call is None:
            raise RuntimeError("no tool call is running")
        return self.call


Run = Callable[[Arguments, Context], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and all that the core must know before it lets one run.

    `parameters` is a JSON Schema object. `capabilities` must not be empty: a tool that does not
    say what it can do is not exposed. `run` gets arguments that fit the schema. `preview` works out
    what would happen; a tool that writes has one, and its `run` applies `context.call.preview`.
    `is_concurrent(arguments)` says that this very call may run beside others and changes nothing.
    `deferred` tools are not sent until `tool_search` names them. `polling` tools may be repeated.
    `title(arguments)` is one line for people. `seconds` bounds a call.
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
