"""Verdicts, deciders and guards. Nothing here can loosen a verdict; guards can only tighten it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cockpit.plugin.calls import Capability, Preview
from cockpit.plugin.context import Context, Tool
from cockpit.plugin.origin import Origin
from cockpit.plugin.workspace import Profile
from cockpit.protocol.messages import Json, ToolCall

Level = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class CommandPart:
    """One simple command of a command line, judged by itself; also those inside substitutions, loops, `sh -c`
    strings and wrappers (`sudo`, `env`, `xargs`).

    `text` is its part of the line. `argv` are its final words, None for a word that is only known when it
    runs. `level`, `risk`, `capabilities`, `rules`, `reason` and `alternative` are as in a `Verdict`. `reads`
    and `writes` are the real paths of its operands and redirections, `destination` the host or remote to
    which something would be sent. `shape` is the rule pattern that an approval may store (`pytest *`): ""
    if none, and then no allow rule covers it.
    """

    text: str
    argv: tuple[str | None, ...]
    level: Level
    risk: int = 0
    capabilities: frozenset[Capability] = frozenset()
    rules: tuple[str, ...] = ()
    reason: str = ""
    alternative: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    destination: str = ""
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decider's verdict on one call.

    `risk` is 0 to 100. `rules` are the ids that led here. `alternative` is what the model could do instead.
    `sandbox` is the profile in which the call must run, None if no program is started. `may_remember` is
    False if an answer covers only this call. `user_only` is an ask that neither rule nor mode can answer.
    `parts` are the commands of a command line, each with its own verdict; `destination` is where something
    would be sent.
    """

    level: Level
    reason: str = ""
    risk: int = 0
    capabilities: frozenset[Capability] = frozenset()
    rules: tuple[str, ...] = ()
    alternative: str = ""
    sandbox: Profile | None = None
    may_remember: bool = True
    user_only: bool = False
    parts: tuple[CommandPart, ...] = ()
    destination: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A call as deciders see it: validated and previewed, but not run."""

    call: ToolCall
    tool: Tool
    preview: Preview | None
    context: Context


@dataclass(frozen=True, slots=True)
class Decider:
    """A source of verdicts. None means no opinion. The strictest of several verdicts wins."""

    name: str
    decide: Callable[[Judged], Awaitable[Verdict | None]]


Point = Literal[
    "session_start",
    "prompt",
    "tool_call",
    "permission",
    "tool_result",
    "tool_failure",
    "answer",
    "stop",
    "compaction",
    "compacted",
    "subagent_start",
    "subagent_stop",
    "notification",
    "session_end",
]


@dataclass(frozen=True, slots=True)
class Guarded:
    """What passes a guard: `text` of a prompt, task, result, failure, answer, summary or notification; `call`
    at the tool points.

    `role` is the subagent's, empty for the main agent; `transcript` the file of the session. `facts` depend
    on the point: `source` and `model` (session_start), `reason` (session_end), `trigger` (manual, auto) and
    `focus` (compaction, compacted), `continued` (stop, subagent_stop: how often a guard has made it
    continue), `is_error` and `paths` (tool_result: the files it read or changed, relative to the root),
    `asked_by` (tool_call: model, person or plugin), `suggestions` (permission: the rules that the user could
    store), `kind` (notification).
    """

    point: Point
    text: str = ""
    call: ToolCall | None = None
    tool: str = ""
    role: str = ""
    transcript: str = ""
    facts: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pass:
    """Continue unchanged."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Continue with this text, or (tool_call) with these arguments, which are validated again."""

    text: str = ""
    arguments: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Add:
    """Continue, and let the model read this, too."""

    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The user must agree."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Stop here; the model and the user read `reason`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Continue:
    """(stop only) The turn is not done; continue with this as the next instruction."""

    reason: str


@dataclass(frozen=True, slots=True)
class Halt:
    """End the turn; the user reads `reason`. Calls that have not run yet do not run."""

    reason: str


Ruling: TypeAlias = Pass | Rewrite | Add | Ask | Refuse | Continue | Halt


@dataclass(frozen=True, slots=True)
class Guard:
    """A check at one point, which returns one or several rulings.

    A guard that raises or exceeds `timeout_s` (infinite: it limits itself) counts as `Pass`, and this is
    reported; at `tool_call` it counts as `Ask`, because a failed check has not agreed. Guards run in order,
    each with the result of the previous guard. Guards of the same `group` run at the same time with the same
    input, and their rulings are applied in order.
    """

    name: str
    point: Point
    check: Callable[[Guarded, Context], Awaitable[Ruling | tuple[Ruling, ...]]]
    timeout_s: float = 10.0
    origin: Origin | None = None
    group: str = ""
