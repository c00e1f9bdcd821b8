"""Reads the JSON report that jest and vitest share."""

import json
import re
from collections.abc import Iterator
from typing import Any

from cockpit.builtin.run_tests.outcomes import Failure, Outcomes, first_lines

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r"^\s+at .*?\(?(?:file://)?(?P<path>(?:/|[A-Za-z]:)[^():\n]+):(?P<line>\d+):\d+\)?$", re.M)
ANY_FRAME = re.compile(r"^\s+at .*$", re.M)
SYNTAX = re.compile(r"^\s*(SyntaxError: .*)$", re.M)


def parse_javascript(report: str) -> Outcomes:
    """Raises ValueError when `report` is not of that form."""
    found = json.loads(report)
    if not isinstance(found, dict) or not isinstance(found.get("testResults"), list):
        raise ValueError("the report has no testResults")
    suites = [suite for suite in found["testResults"] if isinstance(suite, dict)]
    failures = tuple(failure for suite in suites for failure in _failures(suite))
    broken = sum(failure.is_error for failure in failures)
    return Outcomes(
        passed=_count(found, "numPassedTests"),
        failed=_count(found, "numFailedTests"),
        skipped=_count(found, "numPendingTests") + _count(found, "numTodoTests"),
        errors=broken,
        seconds=_seconds(found, suites),
        failures=failures,
    )


def _count(found: dict[str, Any], key: str) -> int:
    value = found.get(key)
    return value if isinstance(value, int) else 0


def _seconds(found: dict[str, Any], suites: list[dict[str, Any]]) -> float:
    ends = [suite["endTime"] for suite in suites if isinstance(suite.get("endTime"), int | float)]
    started = found.get("startTime")
    if not ends or not isinstance(started, int | float):
        return 0.0
    return max(0.0, float(max(ends) - started) / 1000)


def _failures(suite: dict[str, Any]) -> Iterator[Failure]:
    path = str(suite.get("name", ""))
    cases = [case for case in suite.get("assertionResults") or () if isinstance(case, dict)]
    for case in cases:
        if case.get("status") == "failed":
            said = COLOUR.sub("", "\n".join(str(part) for part in case.get("failureMessages") or ()))
            line = _line(said, path) or _line_of(case)
            yield Failure(_name(case), path, line, first_lines(ANY_FRAME.sub("", said)))
    if suite.get("status") == "failed" and not cases:
        said = COLOUR.sub("", str(suite.get("message") or "the file could not be run"))
        # jest puts eight lines of advice before the fault itself.
        if fault := SYNTAX.search(said):
            said = fault[1]
        name = path.replace("\\", "/").rsplit("/", 1)[-1]
        yield Failure(name, path, _line(said, path), first_lines(said), is_error=True)


def _name(case: dict[str, Any]) -> str:
    titles = [str(title) for title in case.get("ancestorTitles") or ()]
    return " > ".join([*titles, str(case.get("title") or case.get("fullName") or "?")])


def _line(said: str, path: str) -> int:
    return next((int(found["line"]) for found in FRAME.finditer(said) if found["path"] == path), 0)


def _line_of(case: dict[str, Any]) -> int:
    location = case.get("location")
    line = location.get("line") if isinstance(location, dict) else 0
    return line if isinstance(line, int) else 0
