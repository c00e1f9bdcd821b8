"""What a server offers and answers, as plain values that the modules without the SDK share."""

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
    """A request to a server failed."""


class ServerGone(McpFailed):
    """The connection is over: the process ended, or the server closed it."""


class ServerNotStarted(McpFailed):
    """The server's program could not be started."""


class GreetingTimeout(McpFailed):
    """The server did not answer the handshake in time."""


class LoginNeeded(McpFailed):
    """The server requires a login by the user."""


class PageNeeded(McpFailed):
    """The server wants the user to open `pages` (message, address) before it answers."""

    def __init__(self, pages: tuple[tuple[str, str], ...]) -> None:
        super().__init__("a page must be opened first", "; ".join(url for _, url in pages))
        self.pages = pages


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server describes it, cleaned. The hints are the server's own claims, None if absent; they
    can only tighten verdicts."""

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
    """A resource that can be read. A template's `uri` contains `{parts}` to fill in."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """Everything a server offers."""

    tools: tuple[ToolDefinition, ...] = ()
    prompts: tuple[PromptDefinition, ...] = ()
    resources: tuple[ResourceDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerWelcome:
    """How a server introduced itself. `protocol` is the version both sides speak; `is_later` means 2026-07-28
    or later. `can` are its capabilities (`tools`, `prompts`, `resources`, `completions`, `logging`)."""

    protocol: str
    name: str = ""
    version: str = ""
    instructions: str = ""
    can: frozenset[str] = frozenset()
    is_later: bool = False


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a call, a resource or a filled-in prompt: `text` for a model, `blocks` for the user,
    `structured` as sent."""

    text: str
    blocks: tuple[Block, ...] = ()
    structured: Json = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class SamplingMessage:
    """One message of a sampling request. `blocks` contain its images."""

    role: Literal["user", "assistant"]
    text: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A server's request for a model's answer. `tier` is derived from the server's priorities."""

    messages: tuple[SamplingMessage, ...]
    system: str = ""
    max_tokens: int = 1024
    tier: Literal["fast", "default", "strong"] = "default"


@dataclass(frozen=True, slots=True)
class SamplingReply:
    """The answer, or the reason in `refused`."""

    text: str = ""
    model: str = ""
    refused: str = ""


class ServerRequestHandler(Protocol):
    """Handles what a server requests while it works on a call."""

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        """The user's answer to a form, or to opening `url`; declined without a user."""
        ...

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """A model's answer, if the user allows it."""
        ...


class DecliningHandler:
    """Declines everything, for requests outside of any call."""

    async def form(self, question: str, fields: tuple[FormField, ...], url: str) -> FormAnswer:
        return FormAnswer("decline")

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        return SamplingReply(refused="there is no user to allow it")


AuthProvider: TypeAlias = Callable[[McpServer], "OAuthLogin | None"]


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How a server is connected. Times are in seconds.

    A child starts in `root`, which is also the only root that the server learns of. `log` is the file for its
    output. `auth` authorizes requests to an address, None if nothing is needed. `on_change` is called when
    the offer changed. One message has at most `max_bytes`.
    """

    root: str
    log: Path
    connect_seconds: float = 15.0
    call_seconds: float = 30.0
    auth: AuthProvider = lambda server: None
    on_change: Callable[[ChangedList], None] = lambda changed: None
    max_bytes: int = 64_000_000
