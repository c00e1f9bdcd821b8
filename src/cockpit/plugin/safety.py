"""Verdicts, deciders and guards: who may loosen nothing and who may tighten."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cockpit.plugin.context import Context
from cockpit.plugin.tools import Capability, Preview, Tool
from cockpit.protocol.messages import Json, ToolCall

Level = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a decider says of one call.

    `risk` is 0 to 100. `rules` are the ids that led here. `alternative` is what the model could do
    instead. `sandbox` names the profile the call must run in. `may_remember` is False where an
    answer covers this one call only. `person_only` is an ask that neither rule nor mode answers.
    """

    level: Level
    reason: str = ""
    risk: int = 0
    capabilities: frozenset[Capability] = frozenset()
    rules: tuple[str, ...] = ()
    alternative: str = ""
    sandbox: str = ""
    may_remember: bool = True
    person_only: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """The call as deciders see it: validated, previewed, nothing run yet."""

    call: ToolCall
    tool: Tool
    preview: Preview | None
    context: Context


@dataclass(frozen=True, slots=True)
class Decider:
    """A source of verdicts. None means it has nothing to say. Of several the strictest wins."""

    name: str
    decide: Callable[[Judged], Awaitable[Verdict | None]]


Point = Literal["prompt", "tool_call", "tool_result", "answer", "stop", "compaction"]


@dataclass(frozen=True, slots=True)
class Guarded:
    """What passes a guard: `text` of a prompt, result or answer; `call` at the tool points."""

    point: Point
    text: str = ""
    call: ToolCall | None = None
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Pass:
    """Go on unchanged."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Go on with this text, or (tool_call) with these arguments, which are validated again."""

    text: str = ""
    arguments: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Add:
    """Go on, and let the model read this too."""

    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must agree."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Stop here; `reason` is told to the model and the person."""

    reason: str


@dataclass(frozen=True, slots=True)
class Continue:
    """(stop only) The turn is not done; go on with this as the next instruction."""

    reason: str


Ruling: TypeAlias = Pass | Rewrite | Add | Ask | Refuse | Continue


@dataclass(frozen=True, slots=True)
class Guard:
    """A check at one point. One that raises or misses `timeout_s` counts as `Pass`, and it is said;
    at `tool_call` it counts as `Ask`, because a check that failed has not agreed."""

    name: str
    point: Point
    check: Callable[[Guarded, Context], Awaitable[Ruling]]
    timeout_s: float = 10.0
