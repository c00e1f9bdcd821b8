"""What plugins cost while a session runs: calls and time by plugin and hook. Counts; bounds nothing."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import ParamSpec, TypeVar

from cockpit.plugin.safety import Decider, Guard
from cockpit.plugin.values import ContextSource, Observer

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class Spent:
    """`seconds` of wall time, also what was waited for; `longest` is the slowest of the `calls`."""

    calls: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def add(self, seconds: float) -> None:
        self.calls += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)


@dataclass(slots=True)
class Meter:
    """The sums of one deck, kept when its catalogs are built anew."""

    spent: dict[tuple[str, str], Spent] = field(default_factory=dict)

    def of(self, plugin: str) -> dict[str, Spent]:
        """What a plugin's hooks have cost."""
        return {hook: spent for (name, hook), spent in self.spent.items() if name == plugin}

    def metered(self, value: object, plugin: str, hook: str) -> object:
        """`value` with a function that is timed at each call, where it is of a kind that is asked often:
        at every request, call or event."""
        match value:
            case Guard():
                return replace(value, check=self._timed(value.check, plugin, hook))
            case Decider():
                return replace(value, decide=self._timed(value.decide, plugin, hook))
            case ContextSource():
                return replace(value, collect=self._timed(value.collect, plugin, hook))
            case Observer():
                return replace(value, see=self._timed(value.see, plugin, hook))
            case _:
                return value

    def _timed(
        self, function: Callable[P, Awaitable[R]], plugin: str, hook: str
    ) -> Callable[P, Awaitable[R]]:
        spent = self.spent.setdefault((plugin, hook), Spent())

        async def timed(*given: P.args, **named: P.kwargs) -> R:
            started = time.perf_counter()
            try:
                return await function(*given, **named)
            finally:
                spent.add(time.perf_counter() - started)

        return timed
