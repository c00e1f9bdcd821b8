"""What a tool call carries: its preview before it is judged, its result, and the errors of tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from cockpit.errors import CockpitError
from cockpit.plugin.changes import ChangeSet
from cockpit.plugin.navigation import ProblemCheck
from cockpit.plugin.workspace import Launch
from cockpit.protocol.content import Block
from cockpit.protocol.messages import Json

Capability = Literal[
    "fs.read",
    "fs.write",
    "fs.delete",
    "fs.outside",
    "secret.read",
    "net.egress",
    "code.exec",
    "code.remote",
    "pkg.install",
    "vcs.local",
    "vcs.remote",
    "proc.signal",
    "priv",
    "host.mutate",
    "persist",
    "container",
    "db",
    "shell.opaque",
    "ask.person",
    "agent.self",
    "none",
]
Arguments = Mapping[str, Json]


class ToolFailed(CockpitError):
    """A tool could not do its work: the message becomes the result, marked as an error."""


class ArgumentsInvalid(ToolFailed):
    """Arguments that do not fit the schema; the message names each of them and what was expected."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a tool: `text` for the model, `blocks` for the user (empty: the text).

    `data` is the same as JSON for scripts. `isolation` is what confined a program that ran
    (`Isolation.label`), empty if none ran.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    data: Json = None
    is_error: bool = False
    isolation: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a call, as shown to the user: one file or one command."""

    id: str
    title: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A line of text that a shell will read, and the real folder in which it starts."""

    text: str
    shell: Literal["bash", "powershell"]
    cwd: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What a call would do, worked out before it is judged; nothing has happened yet.

    `changes` is what will be written, byte for byte. `argv` are the simple commands of a command line.
    `paths` are the real paths that the call touches. `destination` is where something would be sent (a host,
    a remote). `lift` is the pattern that an approval may store: `git status *`. `checked` is what the changes
    do to the diagnostics of their files, None if nobody checked. `whole`: part of it alone would be wrong (a
    rename), so files cannot be taken out of it. `line` is a command line as its shell will read it; `launch`
    is the process that will run. A tool that starts a program starts `launch` exactly as approved, sealed.
    """

    title: str
    parts: tuple[Part, ...] = ()
    changes: ChangeSet | None = None
    argv: tuple[tuple[str, ...], ...] = ()
    paths: tuple[str, ...] = ()
    destination: str = ""
    lift: str = ""
    checked: ProblemCheck | None = None
    whole: bool = False
    line: CommandLine | None = None
    launch: Launch | None = None


@dataclass(frozen=True, slots=True)
class Cap:
    """How much of a result stays in the conversation; the rest is set aside, not lost. `entries` limits
    lines, `size` bytes of UTF-8. `shape` says which part stays visible."""

    size: int = 50_000
    entries: int = 2_000
    shape: Literal["head", "head and tail"] = "head"


DEFAULT_CAP = Cap()


@dataclass(frozen=True, slots=True)
class Alias:
    """Another agent's name for a tool, with its names for the arguments (theirs -> ours).

    An argument that maps to "" is dropped. `fixed` are arguments of ours that the name implies: `git_log` is
    `git` with `what` = `log`. Accepted from a model, never sent. If their values have another shape,
    `reshape` converts them before the names are translated: it is pure, and if it raises the arguments stay
    as they came. An alias with the tool's own name reshapes calls under that name; it must leave our own
    shape unchanged.
    """

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()
    reshape: Callable[[Arguments], Arguments] | None = None
