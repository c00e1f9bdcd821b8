"""Models: a request in, deltas out. Knows no wire format."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cockpit.errors import CockpitError
from cockpit.protocol.messages import Finish, Json, Message, Usage


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as described to a model; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request.

    `model` is the id after the provider's colon. `system` is the single leading system message; `reminder` is
    volatile text that goes after the last message. `schema` asks for an answer that is JSON of this schema.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    reminder: str = ""
    max_tokens: int | None = None
    temperature: float | None = None
    schema: Mapping[str, Json] | None = None
    root: str = ""


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    text: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """A piece of the tool call at `index`: id and name come once, `arguments` in fragments of JSON."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class UsagePart:
    usage: Usage


@dataclass(frozen=True, slots=True)
class FinishPart:
    """Why the model ended. A stream without one was cut off, and none of its calls are run."""

    finish: Finish


Delta: TypeAlias = TextPart | ThoughtPart | CallPart | UsagePart | FinishPart

Fault = Literal[
    "auth",
    "unknown_model",
    "rate_limited",
    "overloaded",
    "connection",
    "interrupted",
    "malformed",
    "context_overflow",
    "content_filter",
    "no_credit",
    "bad_request",
]
RETRIED: frozenset[Fault] = frozenset(
    {"rate_limited", "overloaded", "connection", "interrupted", "malformed"}
)


class ModelFailed(CockpitError):
    """A request without a complete answer. `fault` decides what the core does; `retry_after` is the seconds
    that the server asked to wait, or None."""

    def __init__(self, fault: Fault, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.fault: Fault = fault
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model. Prices are US dollars per million tokens; None is unknown."""

    window: int | None = None
    max_output: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    tools: bool = True
    images: bool = False
    thinks: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """A provider of models: `name` precedes the colon in `provider:model`.

    `stream(request)` yields deltas and raises `ModelFailed`. `models()` lists the ids that the server has (it
    may use the network). `ready()` says why the provider cannot be used now, as a sentence with the next
    step, or is empty; it never uses the network. `local` models need no key and are looked for on loopback.
    `priced` is False if requests cost nothing.
    """

    name: str
    stream: Callable[[ModelRequest], AsyncIterator[Delta]]
    models: Callable[[], Awaitable[tuple[str, ...]]]
    ready: Callable[[], str] = field(default=lambda: "")
    facts: Callable[[str], ModelFacts] = field(default=lambda model: ModelFacts())
    default: str = ""
    label: str = ""
    local: bool = False
    priced: bool = True


@dataclass(frozen=True, slots=True)
class Completed:
    """A complete answer, for a plugin that asked for one."""

    text: str
    usage: Usage
    model: str
