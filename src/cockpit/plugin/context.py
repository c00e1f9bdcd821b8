"""What tools, commands, guards and residents are given: the contracts behind each field.

A new field needs an ADR. Whatever implements a Protocol here lives in a lower or higher room.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.plugin.models import Completed, ModelRequest
from cockpit.plugin.tools import Preview, Tool
from cockpit.protocol.events import Event
from cockpit.protocol.messages import Json, Mode, StopReason, ToolCall, Usage
from cockpit.protocol.queries import Query, Reply, SymbolRow


class PathRefused(CockpitError):
    """A path no tool may touch; the message says why and what to use instead."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or folder: `path` is relative to the root with `/`; `size` in bytes."""

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int
    modified: float


class Files(Protocol):
    """Reading the workspace. Paths are absolute, or relative to the root.

    Every method raises `PathRefused`, and `OSError` as the platform does.
    """

    async def read(self, path: str) -> bytes: ...
    async def stat(self, path: str) -> FileEntry: ...
    async def entries(self, path: str, hidden: bool = False) -> tuple[FileEntry, ...]:
        """The direct children, folders first, by name; ignored ones are left out."""
        ...

    def walk(self, path: str = ".", hidden: bool = False) -> AsyncIterator[FileEntry]:
        """Every file below `path` that no ignore file names, in sorted order."""
        ...


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. `code` is its exit code, negative for a signal; `output` is stdout and
    stderr in the order they came, `dropped` the bytes that were over the limit in the middle."""

    code: int
    output: str
    seconds: float
    dropped: int = 0
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class JobView:
    """A background job: `cursor` is where the next read of its output starts."""

    id: str
    command: str
    running: bool
    code: int | None
    started: float
    cursor: int


class Processes(Protocol):
    """Child processes, each in a group of its own that dies with its call."""

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = "",
        stdin: bytes = b"",
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run to the end. Cancelling kills the whole group within a second."""
        ...

    def shell(self, command: str) -> tuple[str, ...]:
        """The argv that runs `command` in the platform's shell."""
        ...

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        """Start in the background; the id of the job."""
        ...

    async def output(self, job: str, cursor: int = 0) -> tuple[str, int]:
        """What the job wrote from character `cursor` on, and the next cursor."""
        ...

    async def wait(self, job: str, seconds: float) -> JobView: ...
    async def write(self, job: str, text: str) -> None: ...
    async def cancel(self, job: str) -> JobView: ...
    def jobs(self) -> tuple[JobView, ...]: ...


@dataclass(frozen=True, slots=True)
class Applied:
    """A change set that is on disk; `undo` takes it back."""

    changes: ChangeSet
    undo: ChangeSet


class Workspace(Protocol):
    """The files and processes of one root: local, in memory, a worktree, another host."""

    @property
    def root(self) -> str:
        """The real path of the root."""
        ...

    @property
    def files(self) -> Files: ...
    @property
    def processes(self) -> Processes: ...

    def resolve(self, path: str, access: Literal["read", "write"]) -> str:
        """The real path behind `path`. Raises `PathRefused`: outside, sensitive, protected."""
        ...

    def is_inside(self, path: str) -> bool:
        """Whether the real path of `path` lies in the root."""
        ...

    async def plan(self, edits: tuple[Edit, ...], agent: str = "main", call: str = "") -> ChangeSet:
        """What `edits`, in order, would change. Nothing is written. Raises `ChangeRefused`."""
        ...

    async def apply(self, changes: ChangeSet) -> Applied:
        """Write all of it or nothing. Raises `ChangeRefused` if a file is not as planned."""
        ...


class ChangeRefused(CockpitError):
    """Edits that cannot be made; the message names the file and what to do."""


class Navigator(Protocol):
    """Code by symbol. `source` in each row says who answered."""

    async def symbols(self, query: str, path: str = "") -> tuple[SymbolRow, ...]: ...
    async def definition(self, name: str, path: str = "", line: int = 0) -> tuple[SymbolRow, ...]: ...
    async def references(self, name: str, path: str = "", line: int = 0) -> tuple[SymbolRow, ...]: ...


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


class Toolbox(Protocol):
    """The tools of this session."""

    def tools(self) -> tuple[Tool, ...]: ...
    def search(self, query: str) -> tuple[Tool, ...]:
        """Deferred tools by `select:a,b` or by words; they are sent from the next step on."""
        ...


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
    def toolbox(self) -> Toolbox: ...

    def store(self, scope: Literal["user", "project", "session"]) -> Store: ...
    def emit(self, event: Event) -> None: ...
    async def ask_user(self, question: str, options: tuple[str, ...] = ()) -> str:
        """A person's answer. Raises `NobodyThere` when nobody can be asked."""
        ...

    async def ask(self, query: Query) -> Reply:
        """What a frontend would be told."""
        ...


class NobodyThere(CockpitError):
    """A question without a person to answer it."""


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

    async def send(self, text: str) -> None: ...
    async def wait(self, seconds: float | None = None) -> Report:
        """Its report. Raises TimeoutError; the agent goes on."""
        ...

    async def cancel(self) -> None: ...
    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]: ...


class Agents(Protocol):
    """Opening agents, on the caller's budget and with at most the caller's rights."""

    async def open(
        self,
        role: str,
        task: str,
        *,
        background: bool = False,
        isolation: Literal["none", "worktree"] = "none",
        runner: str = "",
    ) -> AgentHandle: ...


class Models(Protocol):
    """Asking a model on the turn's budget."""

    async def complete(
        self, tier: Literal["fast", "default", "medium", "strong"], request: ModelRequest
    ) -> Completed:
        """A whole answer. Raises `ModelFailed`, and `LimitReached` when the budget is spent."""
        ...


@dataclass(frozen=True, slots=True)
class Running:
    """The call that a tool's function serves.

    `preview` is what was shown and approved; `progress` streams output to whoever watches.
    """

    call: ToolCall
    preview: Preview | None
    progress: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Context:
    """Everything a plugin's function may use. `call` is None outside of a tool."""

    workspace: Workspace
    navigator: Navigator
    session: SessionView
    agents: Agents
    models: Models
    settings: Mapping[str, Json]
    call: Running | None = None

    def running(self) -> Running:
        """`call`, for a tool's function, which always has one."""
        if self.call is None:
            raise RuntimeError("no tool call is running")
        return self.call
