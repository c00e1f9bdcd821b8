"""A figure: a measurement, what it is compared with, and its limit. Measures nothing."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table.

    `floor` is the peer of the same run. The figure passes if `ratio` is at most `at_most`, or `measured` at
    most `ceiling` (in `unit`). If the peer itself is above the ceiling, the peer is the ceiling. Without a
    bound the row is informative only.
    """

    what: str
    measured: float
    unit: str = "ms"
    floor: float | None = None
    peer: str = ""
    at_most: float | None = None
    ceiling: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.measured / self.floor if self.floor else None

    @property
    def is_ok(self) -> bool | None:
        if self.ceiling is not None:
            return self.measured <= max(self.ceiling, self.floor or 0.0)
        if self.at_most is not None and self.ratio is not None:
            return self.ratio <= self.at_most
        return None


def median(numbers: Sequence[float]) -> float:
    return statistics.median(numbers)


def p99(numbers: Sequence[float]) -> float:
    """The value that 99 % of the numbers do not exceed (nearest rank)."""
    ranked = sorted(numbers)
    return ranked[min(len(ranked) - 1, -(-99 * len(ranked) // 100) - 1)]


def interleaved(runs: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Runs each function `rounds` times in turn (A B A B), after one warm-up of each."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            value = run()
            if number:
                taken[name].append(value)
    return taken


def seconds_of(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def table(figures: Sequence[Figure]) -> str:
    """The figures as lines of text."""
    head = ("what", "measured", "floor or ceiling", "ratio", "at most", "ok?")
    rows = [head, *(_row(one) for one in figures)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def _row(one: Figure) -> tuple[str, ...]:
    beside = f"{_number(one.floor)} {one.unit} ({one.peer})" if one.floor is not None else "-"
    ratio = f"{one.ratio:.2f}" if one.ratio is not None else "-"
    bound = "-"
    if one.ceiling is not None:
        bound = f"{_number(one.ceiling)} {one.unit}"
    elif one.at_most is not None:
        bound = f"{one.at_most:g} x"
    said = {True: "ok", False: "OVER", None: ""}[one.is_ok]
    return one.what, f"{_number(one.measured)} {one.unit}", beside, ratio, bound, said


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
