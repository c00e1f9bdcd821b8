"""The files and processes of a root, and an agent's worktrees, as plugins see them. Implemented by
`workspace`."""

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, Edit

Profile = Literal["none", "read", "build", "net"]


@dataclass(frozen=True, slots=True)
class Launch:
    """A process that is about to start.

    `argv` is executed exactly as it is; `cwd` is a real, absolute folder. `environment` is added to the
    scrubbed environment, sorted by name. `profile` is what the process may touch: `read` (the workspace
    read-only, no network), `build` (the workspace writable, no network), `net` (as build, with the network:
    only `hosts` if there are any), `none` (not confined). `hosts` are exact names.
    """

    argv: tuple[str, ...]
    cwd: str
    environment: tuple[tuple[str, str], ...] = ()
    profile: Profile = "none"
    hosts: tuple[str, ...] = ()

    def seal(self) -> str:
        """The sha256 (hex) of all fields. It is stored with the approval, and whoever starts the process
        computes it again and refuses a different one."""
        fields = [self.argv, self.cwd, self.environment, self.profile, self.hosts]
        return hashlib.sha256(json.dumps(fields, ensure_ascii=True).encode()).hexdigest()


class SealBroken(CockpitError):
    """The process that would start is not the approved one."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The confinement of launched processes on this machine, as probed.

    `level` is `full` (bubblewrap: files, network, processes, system calls), `partial` (Landlock: files and
    TCP only) or `none`. `reason` says why it is not more and how to fix that; "" when full.
    """

    level: Literal["full", "partial", "none"]
    runner: Literal["bwrap", "landlock", "none"]
    reason: str = ""

    def label(self, profile: Profile) -> str:
        """What a record says of a process with `profile`: `bwrap read`, `landlock build`, `none`."""
        return "none" if self.runner == "none" or profile == "none" else f"{self.runner} {profile}"


@dataclass(frozen=True, slots=True)
class AgentWorktree:
    """The worktree in which an agent works. `root` is its folder there, `top` the top of the whole worktree,
    `origin` the tree it was made from; `notes` say what it contains besides the commit. `is_own`: it was made
    for this subagent alone."""

    name: str
    branch: str
    root: str
    top: str
    origin: str
    notes: tuple[str, ...] = ()
    is_own: bool = False


class Worktrees(Protocol):
    """The worktrees of one agent. Every method raises `CockpitError` with what to do instead."""

    @property
    def now(self) -> AgentWorktree | None:
        """The worktree in which the agent works; None for the session's own folder."""

    async def enter(
        self, name: str, *, ref: str = "", create: bool = True, carry: bool = True
    ) -> AgentWorktree:
        """Work in the worktree `name` from now on. If it does not exist and `create` is True, it is created
        from `ref` ("": the commit that is checked out, with uncommitted changes if `carry`)."""

    async def leave(self, settling: Callable[[], Awaitable[None]] | None = None) -> AgentWorktree:
        """Work in the session's folder again. `settling` is awaited first; if it raises, the agent stays. The
        worktree stays as it is."""


class PathRefused(CockpitError):
    """A path that no tool may touch; the message says why and what to use instead."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file or folder: `path` is relative to the root with `/`; `size` is in bytes."""

    path: str
    kind: Literal["file", "folder", "link", "other"]
    size: int
    modified: float


class Files(Protocol):
    """Reads the workspace. Paths are absolute, or relative to the root. Every method raises `PathRefused`,
    and `OSError` as the platform does."""

    async def read(self, path: str) -> bytes: ...
    async def stat(self, path: str) -> FileEntry: ...
    async def entries(self, path: str, hidden: bool = False) -> tuple[FileEntry, ...]:
        """The direct children, folders first, by name; ignored ones are left out."""

    def walk(self, path: str = ".", hidden: bool = False) -> AsyncIterator[FileEntry]:
        """Every file below `path` that no ignore file excludes, in sorted order."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended.

    `code` is its exit code, negative for a signal; `output` is stdout and stderr in the order in which they
    arrived, `dropped` the bytes over the limit that were cut from the middle. `isolation` is what confined it
    (`Isolation.label`). `errors` is stderr if it was requested separately.
    """

    code: int
    output: str
    seconds: float
    dropped: int = 0
    timed_out: bool = False
    isolation: str = "none"
    errors: str = ""


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
    """Child processes, each in its own group, which dies with its call.

    `run` and `start` are for programs of cockpit's own choice (git as a reader, ripgrep). What a model or a
    project chose goes through `run_sealed` and `start_sealed`, which confine it as `launch.profile` says.
    Both raise `SealBroken` if `seal` is not `launch.seal()`, and `SandboxMissing` if settings require a
    sandbox that is missing.
    """

    async def isolation(self) -> Isolation:
        """What confines a launched process here; probed once."""

    async def run_sealed(
        self,
        launch: Launch,
        seal: str,
        *,
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
    ) -> ProcessResult:
        """Run to the end. Cancelling kills the whole tree within a second."""

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        """Start in the background; returns the id of the job."""

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = "",
        stdin: bytes = b"",
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        separate_errors: bool = False,
    ) -> ProcessResult:
        """Run to the end. Cancelling kills the whole group within a second. `separate_errors` keeps stderr
        out of the output."""

    def shell(self, command: str) -> tuple[str, ...]:
        """The argv that runs `command` in the platform's shell."""

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        """Start in the background; returns the id of the job."""

    async def output(self, job: str, cursor: int = 0) -> tuple[str, int]:
        """The output of the job from character `cursor` on, and the next cursor."""

    async def wait(self, job: str, seconds: float) -> JobView: ...
    async def write(self, job: str, text: str) -> None: ...
    async def cancel(self, job: str) -> JobView: ...
    def jobs(self) -> tuple[JobView, ...]: ...


@dataclass(frozen=True, slots=True)
class Applied:
    """A change set that was written; `undo` reverts it."""

    changes: ChangeSet
    undo: ChangeSet


class Workspace(Protocol):
    """The files and processes of one root: local, in memory, a worktree, another host."""

    @property
    def root(self) -> str:
        """The real path of the root."""

    @property
    def files(self) -> Files: ...
    @property
    def processes(self) -> Processes: ...

    def resolve(self, path: str, access: Literal["read", "write"]) -> str:
        """The real path of `path`. Raises `PathRefused` for secret or protected paths."""

    def is_inside(self, path: str) -> bool:
        """Whether the real path of `path` is in the root."""

    async def plan(self, edits: tuple[Edit, ...], agent: str = "main", call: str = "") -> ChangeSet:
        """What `edits`, in order, would change. Nothing is written. Raises `ChangeRefused`."""

    async def apply(self, changes: ChangeSet) -> Applied:
        """Write all of it or nothing. Raises `ChangeRefused` if a file is not as planned."""


class SandboxMissing(CockpitError):
    """Settings require a sandbox that is missing: nothing ran."""


class ChangeRefused(CockpitError):
    """Edits that are not possible; the message names the file and what to do."""
