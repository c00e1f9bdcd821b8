"""What a conversation consists of: messages, tool calls and their results, usage."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cockpit.protocol.content import Block

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

Kind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
Mode = Literal["ask", "auto-edit", "plan", "full", "deny"]
MODES: tuple[Mode, ...] = ("ask", "auto-edit", "plan", "full", "deny")
Decision = Literal["allow_once", "allow_session", "allow_always", "reject_once", "reject_always"]
StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"]
Limit = Literal["steps", "tool_calls", "seconds", "tokens", "money", "stop_file", "loop"]
Finish = Literal["stop", "tool_calls", "length", "content_filter", "interrupted"]
# `plugin`: a plugin's function made the call for its own work.
AskedBy = Literal["model", "person", "plugin"]
Outcome = Literal["ok", "error", "denied", "cancelled", "interrupted", "repeated"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request by a model (or the user) to run a tool.

    `problem` is empty, or says why the arguments could not be read; such a call is answered with that text
    and never run.
    """

    id: str
    name: str
    arguments: Mapping[str, Json]
    problem: str = ""

    @property
    def written(self) -> str:
        """The arguments as one line of JSON."""
        return json.dumps(dict(self.arguments), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: `text` is for the model, `blocks` are for the user.

    `handle` names the whole output if it was set aside (`read_result` pages through it). `outcome` is
    "interrupted" for a call that a crash left open: whether it ran is unknown. `isolation` is what confined a
    program that ran (`bwrap build`, `none`), empty if none ran.
    """

    call: str
    name: str
    outcome: Outcome
    text: str
    blocks: tuple[Block, ...] = ()
    handle: str = ""
    seconds: float = 0.0
    isolation: str = ""

    @property
    def is_error(self) -> bool:
        return self.outcome != "ok"

    @property
    def status(self) -> Literal["completed", "failed"]:
        return "completed" if self.outcome == "ok" else "failed"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the user (or of a plugin on their behalf)."""

    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """An answer of the model. `thoughts` are shown folded and never sent as text."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    thoughts: str = ""
    finish: Finish = "stop"
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """A result as the model reads it."""

    call: str
    name: str
    text: str
    is_error: bool = False


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more requests. `cost` is in US dollars; None means the price is unknown."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float | None = 0.0
    requests: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            cost,
            self.requests + other.requests,
        )
