"""The values that plugins register, except tools, models, deciders and guards."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from cockpit.plugin.agents import AgentHandle
from cockpit.plugin.agents import Role as Role
from cockpit.plugin.agents import Skill as Skill
from cockpit.plugin.context import Context
from cockpit.plugin.languages import Language as Language
from cockpit.plugin.languages import LanguageServer as LanguageServer
from cockpit.plugin.origin import Layer as Layer
from cockpit.plugin.origin import Origin, Unloaded
from cockpit.protocol.channel import Deck
from cockpit.protocol.content import Block
from cockpit.protocol.events import Envelope
from cockpit.protocol.messages import Json, Mode, ToolCall, ToolResult
from cockpit.protocol.queries import Completion

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """The root for which a plugin registers values, and the plugin's settings and folders.

    `settings` is the table `[plugins.NAME]`; `cache` and `state` are folders that the plugin may create.
    `environment` is that of the process, on top of the `.env` of a trusted folder. If the folder is not
    `trusted`, a plugin must not read its files on its own.
    """

    root: str
    trusted: bool
    settings: Mapping[str, Json]
    cache: str
    state: str
    environment: Mapping[str, str] = field(default_factory=dict)


class Register(Protocol):
    """The `register` argument of every hook."""

    def __call__(self, value: object) -> None:
        """Register one value of the hook's kind. Raises TypeError for another kind."""

    def changed(self) -> None:
        """Ask to be called again: this plugin now registers something different."""


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """Values from files: `find(scope)` reads them again each time the catalog is built.

    A value with an `origin` belongs to that layer, any other to `layer`. For each name and layer it yields
    one value, whose origin lists the files it hides; a file that gave no value is yielded as `Unloaded`.
    """

    name: str
    find: Callable[[Scope], Iterable[T | Unloaded]]
    layer: Layer = "project"


@dataclass(frozen=True, slots=True)
class Show:
    """The answer of a local command: shown, never sent to a model. `data` is the same for a screen."""

    content: tuple[Block, ...]
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AsPrompt:
    """A command that becomes a prompt.

    References in its text (`@file`) are expanded unless `mentions` is False: then the text is complete, and
    quoted references stay plain text. `model` answers it if possible, "" for the session's model.
    """

    text: str
    mentions: bool = True
    model: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """A command that the frontend carries out: the name of one of its actions."""

    action: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


CommandAnswer: TypeAlias = Show | AsPrompt | Action


@dataclass(frozen=True, slots=True)
class Invoked:
    """How a command was called: `text` follows its name; a screen may add `arguments`."""

    text: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command, or (`hidden`) an action that a screen or a panel row invokes.

    `hint` shows its arguments: `[provider:model]`. They never enter the transcript. `complete` gets the text
    between the name and the cursor; `start` and `end` of its results count in that text.
    """

    name: str
    description: str
    run: Callable[[Invoked, Context], Awaitable[CommandAnswer]]
    hint: str = ""
    aliases: tuple[str, ...] = ()
    hidden: bool = False
    origin: Origin | None = None
    complete: Callable[[str, Context], Awaitable[tuple[Completion, ...]]] | None = None


@dataclass(frozen=True, slots=True)
class McpServer:
    """Another program's tools: `command` (stdio) or `url` (HTTP).

    One whose origin is a file of the project starts only after the user has approved exactly this `command`
    or `url`. `seconds` limits a call, None leaves it to settings. `oauth` are client settings.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    transport: Literal["stdio", "http", "sse"] = "stdio"
    cwd: str = ""
    seconds: float | None = None
    disabled: bool = False
    oauth: Mapping[str, Json] = field(default_factory=dict)
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by name, as for Textual's `Theme`."""

    name: str
    colours: Mapping[str, str | bool]


@dataclass(frozen=True, slots=True)
class Mention:
    """References in prompts that begin with `sign`: how they are completed, and the blocks they become."""

    name: str
    sign: str
    complete: Callable[[str, Context], Awaitable[tuple[Completion, ...]]]
    expand: Callable[[str, Context], Awaitable[Block | None]]


@dataclass(frozen=True, slots=True)
class ContextSource:
    """Text for the model. `place`: `prefix` (the byte-stable head of the system message), `suffix` (its
    volatile tail), `reminder` (after the last message). `each` says how long it is reused.

    A source that misses its deadline is left out of this request, and its late answer is used in the next
    one.
    """

    name: str
    place: Literal["prefix", "suffix", "reminder"]
    each: Literal["session", "turn", "step"]
    collect: Callable[[Context], Awaitable[str]]
    deadline_ms: int = 200
    order: int = 50


@dataclass(frozen=True, slots=True)
class Observer:
    """Sees the events of the named kinds (`tool_call_finished`), off the UI loop, from a bounded queue: an
    observer that is too slow misses the oldest."""

    name: str
    kinds: tuple[str, ...]
    see: Callable[[Envelope], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ResidentContext:
    """What a resident receives. `say` sets its state as shown in Work; `emit` sends rows."""

    root: str
    session: str
    say: Callable[[str], None]
    emit: Callable[[object], None]


@dataclass(frozen=True, slots=True)
class Resident:
    """A background service. `run(context)` is entered after the first paint and left within 2 s; a service
    that fails is restarted with backoff."""

    name: str
    per: Literal["process", "root", "session"]
    run: Callable[[ResidentContext], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A task for a runner. `budget` is what is left (steps, tool_calls, seconds, tokens, money); `stop_file`
    ends it from outside."""

    id: str
    role: Role
    task: str
    root: str
    mode: Mode
    budget: Mapping[str, float]
    stop_file: str = ""


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs a role: in this process, in another one, as an agent over ACP, on another host."""

    name: str
    start: Callable[[AgentTask, Context], Awaitable[AgentHandle]]


@dataclass(frozen=True, slots=True)
class Frontend:
    """Another frontend on the deck: `cockpit serve NAME` runs it."""

    name: str
    description: str
    run: Callable[[Deck], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A list in Work; its rows arrive as `PanelChanged(panel=id)`."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Renderer:
    """How the result of a tool is shown, instead of its own blocks."""

    tool: str
    render: Callable[[ToolCall, ToolResult], tuple[Block, ...]]


NAME_OF: Mapping[type, str] = {Panel: "id", Renderer: "tool"}


def name_of(value: object) -> str:
    """The name under which `value` is registered."""
    return str(getattr(value, NAME_OF.get(type(value), "name")))
