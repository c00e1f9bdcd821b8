"""Reads the events of `go test -json` (the form: `go doc test2json`)."""

import json
import re
from typing import Any

from cockpit.builtin.run_tests.outcomes import Failure, Outcomes, first_lines

PLACE = re.compile(r"^\s*(?P<path>[^\s:]+\.go):(?P<line>\d+)(?::\d+)?: ", re.M)
NOISE = re.compile(r"^\s*(=== |--- |PASS|FAIL|ok |\? |exit status|coverage:)")


def parse_go(output: str, module: str = "") -> Outcomes:
    """`module` is the module's path in go.mod; it makes files relative to the module's folder."""
    said: dict[tuple[str, str], str] = {}
    ended: dict[tuple[str, str], str] = {}
    seconds = 0.0
    for event in _events(output):
        key = (_text(event, "Package") or _text(event, "ImportPath"), _text(event, "Test"))
        action = _text(event, "Action")
        if action in ("output", "build-output"):
            said[key] = said.get(key, "") + _text(event, "Output")
        elif action in ("pass", "fail", "skip", "build-fail"):
            ended[key] = "fail" if action == "build-fail" else action
            elapsed = event.get("Elapsed")
            if not key[1] and isinstance(elapsed, int | float):
                seconds += elapsed
    tests = {key: action for key, action in ended.items() if key[1]}
    parents = {(package, test.rsplit("/", 1)[0]) for package, test in tests if "/" in test}
    leaves = {key: action for key, action in tests.items() if key not in parents}
    failures = [
        _failure(key, said.get(key, ""), module) for key, action in leaves.items() if action == "fail"
    ]
    broken = [
        _failure(key, said.get(key, ""), module, True)
        for key, action in ended.items()
        if action == "fail" and not key[1] and not any(one[0] == key[0] for one in tests)
    ]
    actions = list(leaves.values())
    return Outcomes(
        actions.count("pass"),
        actions.count("fail"),
        actions.count("skip"),
        len(broken),
        seconds,
        (*failures, *broken),
    )


def _events(output: str) -> list[dict[str, Any]]:
    found = []
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def _text(event: dict[str, Any], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _failure(key: tuple[str, str], said: str, module: str, is_error: bool = False) -> Failure:
    package, test = key
    folder = package.removeprefix(module).strip("/") if module and package.startswith(module) else ""
    path, line = "", 0
    if place := PLACE.search(said):
        path, line = place["path"], int(place["line"])
        if folder and "/" not in path:
            path = f"{folder}/{path}"
    kept = "\n".join(text.strip() for text in said.splitlines() if not NOISE.match(text))
    return Failure(test or package, path, line, first_lines(kept), is_error)
