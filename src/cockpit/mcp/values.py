"""What a server offers and answers, as plain values: nothing of the SDK crosses this border."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from cockpit.errors import CockpitError
from cockpit.plugin.context import FormAnswer
from cockpit.plugin.values import McpServer
from cockpit.protocol.content import Block
from cockpit.protocol.events import FormField
from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    from cockpit.mcp.oauth.provider import OAuthLogin

ChangedList: TypeAlias = Literal["tools", "prompts", "resources"]


class McpFailed(CockpitError):
    """A server did not do what it was asked."""


class ServerGone(McpFailed):
    """The connection is over: the process ended, or the other side closed it."""


class ServerNotStarted(McpFailed):
    """A program that could not be started at all."""


class GreetingTimeout(McpFailed):
    """A server that did not answer its greeting."""


class LoginNeeded(McpFailed):
    """The server wants a login that only a person can give."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server describes it, cleaned. The hints are the server's own word, None where it
    gave none: they may tighten, never loosen."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    title: str = ""
    reads_only: bool | None = None
    destroys: bool | None = None
    repeatable: bool | None = None
    is_open: bool | None = None


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class PromptDefinition:
    """A prompt of a server, which becomes a slash command."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """Something a server lets read. A template's `uri` has `{parts}` to fill in. `size` is bytes, 0 where
    nobody said."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    size: int = 0
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """All that a server offers."""

    tools: tuple[ToolDefinition, ...] = ()
    prompts: tuple[PromptDefinition, ...] = ()
    resources: tuple[ResourceDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerWelcome:
    """How a server introduced itself. `protocol` is the version both speak, `is_later` says that it is one
    of the later era; `can` are its capabilities (`tools`, `prompts`, `resources`, `completions`,
    `logging`)."""

    protocol: str
    name: str = ""
    version: str = ""
    instructions: str = ""
    can: frozenset[str] = frozenset()
    is_later: bool = False


@dataclass(frozen=True, slots=True)
class McpResult:
    """What a call brought back: `text` for a model, `blocks` for people, `structured` as the server sent it.
    `pages` are addresses a person should open before it is tried again."""

    text: str
    blocks: tuple[Block, ...] = ()
    structured: Json = None
    is_error: bool = False
    pages: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt with its arguments filled in."""

    text: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingMessage:
    """One message of a request for a model's answer. `blocks` hold its pictures."""

    role: Literal["user", "assistant"]
    text: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A server wants a model's answer. `tier` is what it prefers, worked out from its priorities."""

    messages: tuple[SamplingMessage, ...]
    system: str = ""
    most_tokens: int = 1024
    tier: Literal["fast", "default", "strong"] = "default"
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingReply:
    """The answer; `refused` says why there is none."""

    text: str = ""
    model: str = ""
    refused: str = ""


class ServerRequestHandler(Protocol):
    """Who answers what a server wants to know while it works on a call."""

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        """A person's answer to a form, or to opening `url`; declined where nobody is there."""
        ...

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """A model's answer, if a person lets it be asked."""
        ...


class DecliningHandler:
    """Declines: for what a server asks outside of any call."""

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        return FormAnswer("decline")

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        return SamplingReply(refused="nobody is there to allow it")


class AuthProvider(Protocol):
    """What authorises requests to a server, None where nothing has to."""

    def __call__(self, server: McpServer) -> "OAuthLogin | None": ...


def _without_auth(server: McpServer) -> "OAuthLogin | None":
    return None


def _ignore_change(what: ChangedList) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """On what terms a server is connected. Times are seconds.

    `root` is the folder a child starts in and the only root that is told. `log` is the file of what it
    prints. `auth` gives what authorises requests to an address; `heard` is told what of the offer changed.
    `largest` bounds one message in bytes.
    """

    root: str
    log: Path
    connect_seconds: float = 15.0
    call_seconds: float = 30.0
    auth: AuthProvider = _without_auth
    heard: Callable[[ChangedList], None] = _ignore_change
    largest: int = 64_000_000
