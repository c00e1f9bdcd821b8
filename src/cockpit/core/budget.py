"""What a turn may spend, as one object that children share. Counts; decides nothing else."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.protocol.messages import Limit, Usage


class LimitReached(CockpitError):
    """A limit of the budget is spent; `limit` says which."""

    def __init__(self, limit: Limit, message: str) -> None:
        super().__init__(message)
        self.limit: Limit = limit


@dataclass(frozen=True, slots=True)
class Limits:
    """None is no limit. `seconds` of wall time, `tokens` in and out together, `money` in US dollars.

    `stop_file`: the turn ends when a file is there.
    """

    steps: int | None = 200
    tool_calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None
    stop_file: str = ""


@dataclass(slots=True)
class Budget:
    """The spending of one turn (or agent). What a child spends, its parent has spent too."""

    limits: Limits
    parent: "Budget | None" = None
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)

    def child(self, limits: Limits) -> "Budget":
        """A budget below this one: its own limits, and this one's too."""
        return Budget(limits, self)

    def spend_step(self) -> None:
        """Count a model request that is about to leave. Raises `LimitReached`."""
        self.check()
        if self.limits.steps is not None and self.steps >= self.limits.steps:
            raise LimitReached("steps", f"the limit of {self.limits.steps} steps is reached")
        self.steps += 1

    def spend_call(self) -> None:
        """Count a tool call that is about to run. Raises `LimitReached`."""
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
        """Raises `LimitReached` for time, tokens, money and the stop file."""
        if self.parent is not None:
            self.parent.check()
        limits = self.limits
        if limits.stop_file and Path(limits.stop_file).exists():
            raise LimitReached("stop_file", f"the stop file {limits.stop_file} is there")
        if limits.seconds is not None and time.monotonic() - self.started >= limits.seconds:
            raise LimitReached("seconds", f"the limit of {limits.seconds:g} s is reached")
        if limits.tokens is not None and self.usage.input + self.usage.output >= limits.tokens:
            raise LimitReached("tokens", f"the limit of {limits.tokens} tokens is reached")
        if limits.money is not None and self.usage.cost is not None and self.usage.cost >= limits.money:
            raise LimitReached("money", f"the limit of ${limits.money:g} is reached")

    def has_money_cap(self) -> bool:
        return self.limits.money is not None or (self.parent is not None and self.parent.has_money_cap())

    def seconds_left(self) -> float | None:
        """Until the tightest time limit, or None without one."""
        own = self.limits.seconds
        left = None if own is None else max(0.0, own - (time.monotonic() - self.started))
        above = None if self.parent is None else self.parent.seconds_left()
        known = [one for one in (left, above) if one is not None]
        return min(known) if known else None

    def left(self) -> Mapping[str, float]:
        """What remains, by name, for a runner outside of this process."""
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
        return left if self.parent is None else _tightest(left, self.parent.left())


def _tightest(one: Mapping[str, float], other: Mapping[str, float]) -> Mapping[str, float]:
    names = one.keys() | other.keys()
    return {name: min(one.get(name, float("inf")), other.get(name, float("inf"))) for name in sorted(names)}
