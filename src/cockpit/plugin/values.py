"""The values that plugins register, besides tools, models and what judges calls."""

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
    """Where registration happens: one root, and what belongs to this plugin alone.

    `settings` is the table `[plugins.NAME]`; `cache` and `state` are folders the plugin may make.
    `environment` is the process's, with the `.env` of a trusted folder beneath it. In a folder that
    is not `trusted` no file of it may be read by a plugin on its own.
    """

    root: str
    trusted: bool
    settings: Mapping[str, Json]
    cache: str
    state: str
    environment: Mapping[str, str] = field(default_factory=dict)


class Register(Protocol):
    """The `register` of every hook."""

    def __call__(self, value: object) -> None:
        """Register one value of the hook's kind. Raises TypeError for another kind."""
        ...

    def changed(self) -> None:
        """Ask to be called again: what this plugin registers is different now."""
        ...


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """Values that live in files: `find(scope)` reads them anew each time the catalog is built.

    A value with an `origin` is of that layer, any other of `layer`. Of one name and layer it yields one
    value, whose origin tells which files that hides; a file that gave none it yields as `Unloaded`.
    """

    name: str
    find: Callable[[Scope], Iterable[T | Unloaded]]
    layer: Layer = "project"


@dataclass(frozen=True, slots=True)
class Show:
    """A local command's answer: shown, never sent to a model. `data` is the same for a screen."""

    content: tuple[Block, ...]
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AsPrompt:
    """A command that becomes a prompt. What its text names with a sign (`@file`) is put beside it unless
    `mentions` is False: then the text has all that it is to have, and what it quotes stays words. `model`
    answers it where it can, "" for the session's."""

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
    """How a command was called: `text` stands after its name; a screen may give `arguments`."""

    text: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command, or (`hidden`) an action that a screen or a panel's row invokes.

    `hint` shows what it takes: `[provider:model]`. Its arguments never enter the transcript. `complete` is
    given what stands behind the name up to the cursor; `start` and `end` of its answers count in that.
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

    One whose origin is a project's file starts only after a person's yes for exactly this `command` or
    `url`. `seconds` bounds a call, None leaves it to settings. `oauth` are a client's own settings.
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
    """Colours by name, as Textual's `Theme` takes them."""

    name: str
    colours: Mapping[str, str | bool]


@dataclass(frozen=True, slots=True)
class Mention:
    """What a prompt may name with `sign`: how it is completed and what it becomes."""

    name: str
    sign: str
    complete: Callable[[str, Context], Awaitable[tuple[Completion, ...]]]
    expand: Callable[[str, Context], Awaitable[Block | None]]


@dataclass(frozen=True, slots=True)
class ContextSource:
    """Text for the model. `place`: `prefix` (the byte-stable head of the system message), `suffix`
    (its volatile tail), `reminder` (after the last message). `each` says how long it is kept.

    A source that misses its deadline is left out of this request, and its late answer is used in
    the next one.
    """

    name: str
    place: Literal["prefix", "suffix", "reminder"]
    each: Literal["session", "turn", "step"]
    collect: Callable[[Context], Awaitable[str]]
    deadline_ms: int = 200
    order: int = 50


@dataclass(frozen=True, slots=True)
class Observer:
    """Sees the events of the named kinds (`tool_call_finished`), off the UI loop, from a bounded
    queue: an observer that is too slow misses the oldest."""

    name: str
    kinds: tuple[str, ...]
    see: Callable[[Envelope], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ResidentContext:
    """What a resident is given. `say` sets its state as Work shows it; `panel` sends rows."""

    root: str
    session: str
    say: Callable[[str], None]
    emit: Callable[[object], None]


@dataclass(frozen=True, slots=True)
class Resident:
    """Something that lives beside the turns. `run(context)` is entered after the first paint and
    left within 2 s; one that fails is started again with backoff."""

    name: str
    per: Literal["process", "root", "session"]
    run: Callable[[ResidentContext], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What a runner is to do: `budget` holds what is left (steps, tool_calls, seconds, tokens,
    money), `stop_file` ends it from outside."""

    id: str
    role: Role
    task: str
    root: str
    mode: Mode
    budget: Mapping[str, float]
    stop_file: str = ""


@dataclass(frozen=True, slots=True)
class Runner:
    """Who runs a role: in this process, in another, an agent over ACP, another host."""

    name: str
    start: Callable[[AgentTask, Context], Awaitable[AgentHandle]]


@dataclass(frozen=True, slots=True)
class Frontend:
    """Another way for people (or programs) to hold the deck: `cockpit serve NAME` runs it."""

    name: str
    description: str
    run: Callable[[Deck], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A list in Work; its rows come as `PanelChanged(panel=id)`."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Renderer:
    """How a tool's result is shown, in place of its own blocks."""

    tool: str
    render: Callable[[ToolCall, ToolResult], tuple[Block, ...]]


NAME_OF: Mapping[type, str] = {Panel: "id", Renderer: "tool"}


def name_of(value: object) -> str:
    """The name under which `value` is registered."""
    return str(getattr(value, NAME_OF.get(type(value), "name")))
