"""The limits of a turn: its budget, shared with subagents, and the loop guard against repeated calls. Neither
decides about permission.
"""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.core.agent.session_state import PLAN_TOOL
from cockpit.errors import CockpitError
from cockpit.plugin.tools import Arguments, Tool
from cockpit.protocol.messages import Limit, Usage


class LimitReached(CockpitError):
    """A limit of the budget is used up; `limit` says which."""

    def __init__(self, limit: Limit, message: str) -> None:
        super().__init__(message)
        self.limit: Limit = limit


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of a turn; None means no limit. `seconds` is wall time, `tokens` input and output together,
    `money` US dollars. The turn ends when the file `stop_file` exists."""

    steps: int | None = 200
    tool_calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None
    stop_file: str = ""


@dataclass(slots=True)
class Budget:
    """What a turn or agent has spent. Spending of a child counts for its parent."""

    limits: TurnLimits
    parent: "Budget | None" = None
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)

    def child(self, limits: TurnLimits) -> "Budget":
        """A budget below this one, with its own limits and those of this one."""
        return Budget(limits, self)

    def spend_step(self) -> None:
        """Count a model request before it is sent. Raises `LimitReached`."""
        self.check()
        if self.limits.steps is not None and self.steps >= self.limits.steps:
            raise LimitReached("steps", f"the limit of {self.limits.steps} steps is reached")
        self.steps += 1

    def spend_call(self) -> None:
        """Count a tool call before it runs. Raises `LimitReached`."""
        if self.parent is not None:
            self.parent.spend_call()
        most = self.limits.tool_calls
        if most is not None and self.tool_calls >= most:
            raise LimitReached("tool_calls", f"the limit of {most} tool calls is reached")
        self.tool_calls += 1

    def spend(self, usage: Usage) -> None:
        """Count what a request used."""
        self.usage += usage
        if self.parent is not None:
            self.parent.spend(usage)

    def check(self) -> None:
        """Raises `LimitReached` for time, tokens, money or the stop file."""
        if self.parent is not None:
            self.parent.check()
        limits = self.limits
        if limits.stop_file and Path(limits.stop_file).exists():
            raise LimitReached("stop_file", f"the stop file {limits.stop_file} exists")
        if limits.seconds is not None and time.monotonic() - self.started >= limits.seconds:
            raise LimitReached("seconds", f"the limit of {limits.seconds:g} s is reached")
        if limits.tokens is not None and self.usage.input + self.usage.output >= limits.tokens:
            raise LimitReached("tokens", f"the limit of {limits.tokens} tokens is reached")
        if limits.money is not None and self.usage.cost is not None and self.usage.cost >= limits.money:
            raise LimitReached("money", f"the limit of ${limits.money:g} is reached")

    def has_money_cap(self) -> bool:
        return self.limits.money is not None or (self.parent is not None and self.parent.has_money_cap())

    def seconds_left(self) -> float | None:
        """Seconds to the tightest time limit, or None without one."""
        own = self.limits.seconds
        left = None if own is None else max(0.0, own - (time.monotonic() - self.started))
        above = None if self.parent is None else self.parent.seconds_left()
        return min((limit for limit in (left, above) if limit is not None), default=None)

    def left(self) -> Mapping[str, float]:
        """What remains, by name, for a runner outside this process."""
        limits, left = self.limits, {}
        if limits.steps is not None:
            left["steps"] = float(limits.steps - self.steps)
        if limits.tool_calls is not None:
            left["tool_calls"] = float(limits.tool_calls - self.tool_calls)
        if (seconds := self.seconds_left()) is not None:
            left["seconds"] = seconds
        if limits.tokens is not None:
            left["tokens"] = float(limits.tokens - self.usage.input - self.usage.output)
        if limits.money is not None:
            left["money"] = limits.money - (self.usage.cost or 0.0)
        above = self.parent.left() if self.parent is not None else {}
        names = sorted(left.keys() | above.keys())
        return {name: min(left.get(name, math.inf), above.get(name, math.inf)) for name in names}


MAX_EQUAL_CALLS = 3
READS_BEFORE_NUDGE = 10
MAX_REFUSED_CALLS = 3
MAX_PLAN_REPAIRS = 2
WRITE_KINDS = frozenset({"edit", "delete", "move", "execute"})


@dataclass(slots=True)
class LoopGuard:
    """Notices a model that repeats the same call, or only reads and never acts. `nudges_progress` is off for
    read-only roles and plan mode. `call_limit` is set when a call was not run because of the limit of
    calls."""

    nudges_progress: bool = True
    _last: str = ""
    _running: int = 0
    _looked: int = 0
    _nudged: bool = False
    refused: int = 0
    misfits: int = 0
    misfit: str = ""
    call_limit: LimitReached | None = None

    def repeats(self, tool: Tool, arguments: Arguments) -> str:
        """Why this call must not run, or an empty string. Counts the call."""
        if tool.polling:
            return ""
        key = f"{tool.name} {json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False)}"
        self._running = self._running + 1 if key == self._last else 1
        self._last = key
        if self._running < MAX_EQUAL_CALLS:
            self.refused = 0
            return ""
        self.refused += 1
        return (
            f"not run: this is call {self._running} in a row of {tool.name} with the same arguments, and its "
            "result will not change. Use what it returned, or do something else."
        )

    def misread(self, tool: str, fault: str) -> None:
        """Count a call with invalid arguments. Only plans are counted: the model must get them right."""
        if tool == PLAN_TOOL:
            self.misfits, self.misfit = self.misfits + 1, fault

    def stalls(self) -> str:
        """Why the turn ends: a plan was still invalid after two repairs. Empty otherwise."""
        if self.misfits <= MAX_PLAN_REPAIRS:
            return ""
        return f"the plan was invalid {self.misfits} times and nothing was run; last error: {self.misfit}"

    def gives_up(self) -> bool:
        """Whether the model keeps repeating a refused call."""
        return self.refused >= MAX_REFUSED_CALLS

    def nudge(self, tool: Tool) -> str:
        """Text to append to the result of `tool`, once per turn, or an empty string."""
        if tool.kind in WRITE_KINDS:
            self._looked, self._nudged = 0, False
            return ""
        self._looked += 1
        if not self.nudges_progress or self._nudged or self._looked < READS_BEFORE_NUDGE:
            return ""
        self._nudged = True
        return (
            f"\n\n[The last {self._looked} calls only read. If you know enough, change something or run it; "
            "if not, say what is missing.]"
        )
