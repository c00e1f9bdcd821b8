"""Finds the problems that are new: compares two lists and the texts they belong to. Pure functions.

A problem whose line only moved is not new.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

from cockpit.protocol.code import ProblemRow

K = TypeVar("K", bound=Hashable)
MAX_LINES = 20_000
MIN_SIMILARITY = 0.6
# Old lines times new lines that are matched; more would take too long.
MAX_LINE_PAIRS = 4_000_000


def find_new_problems(
    before: Sequence[ProblemRow], after: Sequence[ProblemRow], old: bytes | None, new: bytes | None
) -> tuple[ProblemRow, ...]:
    """The problems of `after` that `before` does not have, errors first.

    Two problems are the same if server, code and message are, and the new one is on the line that the old
    line became, on a line with the same text, or on a new line similar to a removed one (renamed or
    formatted).
    """
    old_lines, new_lines = _split_lines(old), _split_lines(new)
    moved_to = _map_lines(old_lines, new_lines)
    at_line: Counter[tuple[str, str, str, int]] = Counter(
        (*_identity(row), moved_to.get(row.line, 0)) for row in before
    )
    fresh = [row for row in after if not _take(at_line, (*_identity(row), row.line))]
    unmatched: Counter[tuple[str, str, str, str]] = Counter()
    for row in before:
        key = (*_identity(row), moved_to.get(row.line, 0))
        if at_line[key] > 0:
            at_line[key] -= 1
            unmatched[(*_identity(row), _line_text(old_lines, row.line))] += 1
    fresh = [row for row in fresh if not _take(unmatched, (*_identity(row), _line_text(new_lines, row.line)))]
    gone = [key for key, count in unmatched.items() for _ in range(count)]
    fresh = [row for row in fresh if not _take_similar(gone, _identity(row), _line_text(new_lines, row.line))]
    return tuple(sorted(fresh, key=lambda row: (row.severity != "error", row.path, row.line, row.column)))


def _identity(row: ProblemRow) -> tuple[str, str, str]:
    return row.server, row.code, row.message


def _take_similar(gone: list[tuple[str, str, str, str]], what: tuple[str, str, str], line: str) -> bool:
    """Whether a removed problem says the same about a line similar to `line`; removes it from `gone`."""
    for key in gone:
        if key[:3] == what and SequenceMatcher(None, key[3], line, autojunk=False).ratio() >= MIN_SIMILARITY:
            gone.remove(key)
            return True
    return False


def _take(left: Counter[K], key: K) -> bool:
    """Whether `key` is left; takes one off."""
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True


def _split_lines(text: bytes | None) -> list[str]:
    return (text or b"").decode("utf-8", "replace").splitlines()


def _line_text(lines: list[str], line: int) -> str:
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _map_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """The new number (from 1) of each old line that still exists."""
    if len(old) + len(new) > 2 * MAX_LINES:
        return {number: number for number in range(1, len(old) + 1)}
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    new_numbers = {number: number for number in range(1, head + 1)}
    shift = len(new) - len(old)
    new_numbers |= {number: number + shift for number in range(len(old) - tail + 1, len(old) + 1)}
    if (len(old) - head - tail) * (len(new) - head - tail) > MAX_LINE_PAIRS:
        return new_numbers
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    for first, second, size in middle.get_matching_blocks():
        new_numbers |= {head + first + n + 1: head + second + n + 1 for n in range(size)}
    return new_numbers
