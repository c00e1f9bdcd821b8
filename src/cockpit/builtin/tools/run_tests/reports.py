"""Parsers for the output of test runners: each returns a `RunOutcome`. Pure.

pytest: its JUnit XML report (xunit2), or its terminal text if there is no report. unittest: `python -m
unittest -v`. jest and vitest: the JSON report they share. Go: the events of `go test -json` (see `go doc
test2json`). Cargo: the text of libtest and the compiler errors before it.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree

from cockpit.builtin.tools.run_tests.outcomes import FailedCase, RunOutcome, take_first_lines

PYTEST_FRAME = re.compile(r"^(?P<path>[^\s:][^:\n]*\.\w+):(?P<line>\d+): ", re.MULTILINE)
DECIMAL = re.compile(r"\d+(?:\.\d*)?")
UNICODE_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
PYTEST_SUMMARY = re.compile(r"^(FAILED|ERROR) (?P<id>.+?)(?: - (?P<message>.*))?$", re.MULTILINE)
PYTEST_COUNT = re.compile(r"(\d+) (failed|passed|skipped|xfailed|xpassed|errors?|deselected)\b")
PYTEST_ENDING = re.compile(r"^=*\s*((?:\d+ \w+(?:, )?)+) in ([\d.]+)s", re.MULTILINE)


def parse_junit(report: str) -> RunOutcome:
    """Parse pytest's report. Raises ValueError if it is not JUnit XML."""
    try:
        tree = ElementTree.fromstring(report)
    except ElementTree.ParseError as error:
        raise ValueError(f"the report is incomplete or not XML: {error}") from error
    passed = failed = skipped = errors = 0
    failures: list[FailedCase] = []
    for case in tree.iter("testcase"):
        verdicts = {child.tag for child in case}
        failed += "failure" in verdicts
        errors += "error" in verdicts
        skipped += "skipped" in verdicts
        passed += not verdicts & {"failure", "error", "skipped"}
        failures += _junit_failures(case)
    times = (suite.get("time", "") for suite in tree.iter("testsuite"))
    seconds = sum(float(time) for time in times if DECIMAL.fullmatch(time))
    return RunOutcome(passed, failed, skipped, errors, seconds, tuple(failures))


def _junit_failures(case: ElementTree.Element) -> Iterator[FailedCase]:
    classname, name = case.get("classname", ""), _unescape_name(case.get("name", ""))
    for child in case:
        if child.tag not in ("failure", "error"):
            continue
        body = child.text or ""
        path, line = _pytest_place(body, classname, name)
        owner = classname.rsplit(".", 1)[-1]
        full = f"{owner}.{name}" if owner[:1].isupper() else name
        message = child.get("message", "")
        if message in ("", "collection failure"):
            marked = [line[1:].strip() for line in body.splitlines() if line.startswith("E ")]
            message = "\n".join(marked) or body
        yield FailedCase(full, path, line, take_first_lines(message), is_error=child.tag == "error")


def _unescape_name(name: str) -> str:
    # pytest escapes non-ASCII parameters as \uXXXX in its node ids.
    return UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), name)


def _pytest_place(body: str, classname: str, name: str) -> tuple[str, int]:
    """Where the test failed: the last frame in its file, else the deepest frame."""
    frames = [(match["path"], int(match["line"])) for match in PYTEST_FRAME.finditer(body)]
    own = [
        place for place in frames if _module_name(place[0]) and classname.startswith(_module_name(place[0]))
    ]
    if own:
        return own[-1]
    if not classname and frames:
        return next((place for place in frames if _module_name(place[0]).endswith(name)), frames[-1])
    return frames[-1] if frames else ("", 0)


def _module_name(path: str) -> str:
    return re.sub(r"\.\w+$", "", path).replace("\\", "/").replace("/", ".")


def parse_pytest_text(output: str) -> RunOutcome:
    """Parse pytest's summary lines, for a run that wrote no report."""
    ending = next(reversed([*PYTEST_ENDING.finditer(output)]), None)
    counts = {"failed": 0, "passed": 0, "skipped": 0, "error": 0}
    for number, word in PYTEST_COUNT.findall(ending[1] if ending else ""):
        key = {"xfailed": "skipped", "xpassed": "passed", "errors": "error"}.get(word, word)
        counts[key] = counts.get(key, 0) + int(number)
    failures = tuple(
        FailedCase(
            _unescape_name(match["id"].split("::", 1)[-1].replace("::", ".")),
            match["id"].split("::", 1)[0],
            0,
            match["message"] or "",
            is_error=match[1] == "ERROR",
        )
        for match in PYTEST_SUMMARY.finditer(output)
    )
    seconds = float(ending[2]) if ending else 0.0
    return RunOutcome(
        counts["passed"], counts["failed"], counts["skipped"], counts["error"], seconds, failures
    )


UNITTEST_BLOCK = re.compile(
    r"^={70}\n(?P<word>FAIL|ERROR): (?P<title>[^\n]*)\n(?P<body>.*?)(?=^={70}\n|\Z)", re.M | re.S
)
UNITTEST_ENDING = re.compile(
    r"^Ran (\d+) tests? in ([\d.]+)s\s*\n\s*\n?(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?", re.M
)
UNITTEST_FRAME = re.compile(r'^  File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$', re.M)
UNITTEST_TITLE = re.compile(r"^(?P<method>\S+) \((?P<where>[^)]*)\)(?P<sub>.*)$")


def parse_unittest(output: str) -> RunOutcome:
    """Parse the counts and failures of the last run in `output`."""
    output = output.replace("\r\n", "\n")
    ending = next(reversed([*UNITTEST_ENDING.finditer(output)]), None)
    failures = tuple(_unittest_failure(match) for match in UNITTEST_BLOCK.finditer(output))
    if ending is None:
        return RunOutcome(failures=failures, note="unittest did not reach its summary")
    pairs = re.findall(r"([a-z ]+)=(\d+)", ending[4] or "")
    counts = {word.strip(): int(number) for word, number in pairs}
    failed, errors = counts.get("failures", 0), counts.get("errors", 0)
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    # unittest counts a test with subtests once, however many of them fail.
    broken = len({failure.name.split(" [")[0] for failure in failures})
    passed = max(int(ending[1]) - broken - skipped, 0)
    failed += counts.get("unexpected successes", 0)
    return RunOutcome(passed, failed, skipped, errors, float(ending[2]), failures)


def _unittest_failure(match: re.Match[str]) -> FailedCase:
    body = match["body"].split("-" * 70 + "\n", 1)[-1].split("\n" + "-" * 70, 1)[0]
    name, module, method = match["title"], "", ""
    if title := UNITTEST_TITLE.match(match["title"]):
        where = title["where"].removesuffix("." + title["method"])
        module = where if "_FailedTest" in where else where.rsplit(".", 1)[0]
        method = title["method"]
        name = f"{where}.{method}" if "_FailedTest" not in where else method
        if sub := title["sub"].strip():
            name += f" [{sub.strip('()[]')}]"
    path, line = _unittest_place(body, module, method)
    return FailedCase(
        name, path, line, take_first_lines(_exception_text(body)), is_error=match["word"] == "ERROR"
    )


def _unittest_place(body: str, module: str, method: str) -> tuple[str, int]:
    frames = list(UNITTEST_FRAME.finditer(body))
    for frame in frames:
        if frame["function"] == method:
            return frame["path"], int(frame["line"])
    file = module.replace(".", "/") + ".py"
    own = [frame for frame in frames if frame["path"].replace("\\", "/").endswith(file)]
    # A module that failed to import has no frame of a test; its last frame is the failing line.
    chosen = frames if "_FailedTest" in module else own or frames
    return (chosen[-1]["path"], int(chosen[-1]["line"])) if chosen else ("", 0)


def _exception_text(body: str) -> str:
    """The exception at the end of a traceback, after the last frame."""
    lines = body.strip().splitlines()
    start = 0
    for at, line in enumerate(lines):
        if line.startswith((" ", "Traceback (most recent call last)")):
            start = at + 1
    return "\n".join(lines[start:])


COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*m")
JAVASCRIPT_FRAME = re.compile(
    r"^\s+at .*?\(?(?:file://)?(?P<path>(?:/|[A-Za-z]:)[^():\n]+):(?P<line>\d+):\d+\)?$", re.M
)
JAVASCRIPT_STACK_LINE = re.compile(r"^\s+at .*$", re.M)
JAVASCRIPT_SYNTAX_ERROR = re.compile(r"^\s*(SyntaxError: .*)$", re.M)


def parse_javascript(report: str) -> RunOutcome:
    """Parse the report of jest or vitest. Raises ValueError for any other JSON."""
    data = json.loads(report)
    if not isinstance(data, dict) or not isinstance(data.get("testResults"), list):
        raise ValueError("the report has no testResults")
    suites = [suite for suite in data["testResults"] if isinstance(suite, dict)]
    failures = tuple(failure for suite in suites for failure in _javascript_failures(suite))
    broken = sum(failure.is_error for failure in failures)
    return RunOutcome(
        passed=_read_count(data, "numPassedTests"),
        failed=_read_count(data, "numFailedTests"),
        skipped=_read_count(data, "numPendingTests") + _read_count(data, "numTodoTests"),
        errors=broken,
        seconds=_javascript_seconds(data, suites),
        failures=failures,
    )


def _read_count(data: dict[str, Any], key: str) -> int:
    value = data.get(key)
    return value if isinstance(value, int) else 0


def _javascript_seconds(data: dict[str, Any], suites: list[dict[str, Any]]) -> float:
    ends = [suite["endTime"] for suite in suites if isinstance(suite.get("endTime"), int | float)]
    started = data.get("startTime")
    if not ends or not isinstance(started, int | float):
        return 0.0
    return max(0.0, float(max(ends) - started) / 1000)


def _javascript_failures(suite: dict[str, Any]) -> Iterator[FailedCase]:
    path = str(suite.get("name", ""))
    cases = [case for case in suite.get("assertionResults") or () if isinstance(case, dict)]
    for case in cases:
        if case.get("status") == "failed":
            message = COLOUR_CODE.sub("", "\n".join(str(part) for part in case.get("failureMessages") or ()))
            location = case.get("location")
            line = location.get("line") if isinstance(location, dict) else 0
            line = _frame_line(message, path) or (line if isinstance(line, int) else 0)
            titles = [*(case.get("ancestorTitles") or ()), case.get("title") or case.get("fullName") or "?"]
            name = " > ".join(map(str, titles))
            yield FailedCase(name, path, line, take_first_lines(JAVASCRIPT_STACK_LINE.sub("", message)))
    if suite.get("status") == "failed" and not cases:
        message = COLOUR_CODE.sub("", str(suite.get("message") or "the file could not be run"))
        # jest writes eight lines of advice before the error itself.
        if fault := JAVASCRIPT_SYNTAX_ERROR.search(message):
            message = fault[1]
        name = path.replace("\\", "/").rsplit("/", 1)[-1]
        yield FailedCase(name, path, _frame_line(message, path), take_first_lines(message), is_error=True)


def _frame_line(message: str, path: str) -> int:
    frames = JAVASCRIPT_FRAME.finditer(message)
    return next((int(frame["line"]) for frame in frames if frame["path"] == path), 0)


GO_PLACE = re.compile(r"^\s*(?P<path>[^\s:]+\.go):(?P<line>\d+)(?::\d+)?: ", re.M)
GO_NOISE = re.compile(r"^\s*(=== |--- |PASS|FAIL|ok |\? |exit status|coverage:)")


def parse_go(output: str, module: str = "") -> RunOutcome:
    """Parse the events. `module` is the module path of go.mod: paths become relative to its folder."""
    outputs: dict[tuple[str, str], str] = {}
    ended: dict[tuple[str, str], str] = {}
    seconds = 0.0
    for event in _go_events(output):
        key = (_event_text(event, "Package") or _event_text(event, "ImportPath"), _event_text(event, "Test"))
        action = _event_text(event, "Action")
        if action in ("output", "build-output"):
            outputs[key] = outputs.get(key, "") + _event_text(event, "Output")
        elif action in ("pass", "fail", "skip", "build-fail"):
            ended[key] = "fail" if action == "build-fail" else action
            elapsed = event.get("Elapsed")
            if not key[1] and isinstance(elapsed, int | float):
                seconds += elapsed
    tests = {key: action for key, action in ended.items() if key[1]}
    parents = {(package, test.rsplit("/", 1)[0]) for package, test in tests if "/" in test}
    leaves = {key: action for key, action in tests.items() if key not in parents}
    tested = {package for package, _ in tests}
    failed = [key for key, action in leaves.items() if action == "fail"]
    broken = [
        key for key, action in ended.items() if action == "fail" and not key[1] and key[0] not in tested
    ]
    failures = [
        _go_failure(key, outputs.get(key, ""), module, is_error=key in broken) for key in failed + broken
    ]
    actions = list(leaves.values())
    passed, skipped = actions.count("pass"), actions.count("skip")
    return RunOutcome(passed, len(failed), skipped, len(broken), seconds, tuple(failures))


def _go_events(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        if line.startswith("{"):
            with suppress(ValueError):
                yield json.loads(line)


def _event_text(event: dict[str, Any], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _go_failure(key: tuple[str, str], output: str, module: str, is_error: bool) -> FailedCase:
    package, test = key
    folder = package.removeprefix(module).strip("/") if module and package.startswith(module) else ""
    path, line = "", 0
    if place := GO_PLACE.search(output):
        path, line = place["path"], int(place["line"])
        if folder and "/" not in path:
            path = f"{folder}/{path}"
    message = "\n".join(text.strip() for text in output.splitlines() if not GO_NOISE.match(text))
    return FailedCase(test or package, path, line, take_first_lines(message), is_error)


CARGO_RESULT = re.compile(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;"
    r".*?(?:finished in ([\d.]+)s)?$",
    re.M,
)
CARGO_BLOCK = re.compile(
    r"^---- (?P<name>.+?) stdout ----\n(?P<body>.*?)(?=^---- |^failures:$|\Z)", re.M | re.S
)
RUST_PANIC = re.compile(
    r"^thread '.*?'(?: \(\d+\))? panicked at (?P<path>[^\s:][^:\n]*):(?P<line>\d+):\d+:\n", re.M
)
OLD_RUST_PANIC = re.compile(
    r"^thread '.*?' panicked at '(?P<message>.*)', (?P<path>[^\s:,]+):(?P<line>\d+):\d+$", re.M | re.S
)
RUST_PLACE = re.compile(r" at (?P<path>[^\s:]+):(?P<line>\d+):\d+")
COMPILE_ERROR = re.compile(
    r"^error(?:\[\w+\])?: (?P<message>[^\n]+)\n\s+--> (?P<path>[^:\n]+):(?P<line>\d+):\d+", re.M
)


def parse_cargo(output: str) -> RunOutcome:
    """Parse the counts of all test binaries together."""
    output = output.replace("\r\n", "\n")
    passed = failed = skipped = 0
    seconds = 0.0
    for match in CARGO_RESULT.finditer(output):
        passed, failed, skipped = passed + int(match[1]), failed + int(match[2]), skipped + int(match[3])
        seconds += float(match[4] or 0)
    failures = tuple(_cargo_failures(output))
    if passed + failed + skipped:
        return RunOutcome(passed, failed, skipped, 0, seconds, failures)
    broken = tuple(
        FailedCase("compile error", match["path"], int(match["line"]), match["message"], is_error=True)
        for match in COMPILE_ERROR.finditer(output)
    )
    note = "the code does not compile" if broken else ""
    return RunOutcome(errors=len(broken), seconds=seconds, failures=broken, note=note)


def _cargo_failures(output: str) -> Iterator[FailedCase]:
    for match in CARGO_BLOCK.finditer(output):
        name, body = match["name"].removesuffix(" - should panic"), match["body"]
        if place := RUST_PANIC.search(body):
            message = body[place.end() :]
        elif place := OLD_RUST_PANIC.search(body):
            message = place["message"]
        else:
            place, message = RUST_PLACE.search(body), body
        message = message.split("stack backtrace:")[0].split("\nnote: run with")[0]
        path, line = (place["path"], int(place["line"])) if place else ("", 0)
        yield FailedCase(name, path.removeprefix("./"), line, take_first_lines(message))
