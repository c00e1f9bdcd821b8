"""The files and processes of a root, as plugins see them. Implemented by `workspace/`, in memory for
tests, and later by worktrees, editors and other hosts.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet, Edit
from cockpit.plugin.launching import Isolation, Launch


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
    stderr in the order they came, `dropped` the bytes that were over the limit in the middle.
    `isolation` is what held it (`Isolation.label`). `errors` is stderr, where it was asked for apart."""

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
    """Child processes, each in a group of its own that dies with its call.

    `run` and `start` are for programs of cockpit's own choosing (git as a reader, ripgrep). What a model
    or a project chose goes through `run_sealed` and `start_sealed`, which hold it in as `launch.profile`
    says. Both raise `SealBroken` when `seal` is not `launch.seal()`, and `SandboxMissing` when settings
    require a sandbox that is not there.
    """

    async def isolation(self) -> Isolation:
        """What holds a launched process here; probed once, then known."""
        ...

    async def run_sealed(
        self,
        launch: Launch,
        seal: str,
        *,
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
    ) -> Ended:
        """Run to the end. Cancelling kills the whole tree within a second."""
        ...

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        """Start in the background; the id of the job."""
        ...

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        cwd: str = "",
        stdin: bytes = b"",
        seconds: float = 30.0,
        on_output: Callable[[str], None] | None = None,
        environment: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> Ended:
        """Run to the end. Cancelling kills the whole group within a second. `apart` keeps stderr out of
        the output."""
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


class SandboxMissing(CockpitError):
    """Settings require a sandbox and none is there: nothing ran."""


class ChangeRefused(CockpitError):
    """Edits that cannot be made; the message names the file and what to do."""
