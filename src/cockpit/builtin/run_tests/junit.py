"""Reads pytest: its JUnit XML report (xunit2), and its terminal text where there is no report."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from cockpit.builtin.run_tests.outcomes import Failure, Outcomes, first_lines

PLACE = re.compile(r"^(?P<path>[^\s:][^:\n]*\.\w+):(?P<line>\d+): ", re.MULTILINE)
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
SUMMARY = re.compile(r"^(FAILED|ERROR) (?P<id>.+?)(?: - (?P<message>.*))?$", re.MULTILINE)
COUNT = re.compile(r"(\d+) (failed|passed|skipped|xfailed|xpassed|errors?|deselected)\b")
ENDING = re.compile(r"^=*\s*((?:\d+ \w+(?:, )?)+) in ([\d.]+)s", re.MULTILINE)


def parse_junit(report: str) -> Outcomes:
    """Raises ValueError when `report` is no JUnit XML."""
    try:
        tree = ElementTree.fromstring(report)
    except ElementTree.ParseError as error:
        raise ValueError(f"the report is cut off or no XML: {error}") from error
    passed = failed = skipped = errors = 0
    failures: list[Failure] = []
    for case in tree.iter("testcase"):
        verdicts = {child.tag for child in case}
        failed += "failure" in verdicts
        errors += "error" in verdicts
        skipped += "skipped" in verdicts
        passed += not verdicts & {"failure", "error", "skipped"}
        failures += _failures(case)
    seconds = sum(_number(suite.get("time")) for suite in tree.iter("testsuite"))
    return Outcomes(passed, failed, skipped, errors, seconds, tuple(failures))


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _failures(case: ElementTree.Element) -> Iterator[Failure]:
    classname, name = case.get("classname", ""), _unescaped(case.get("name", ""))
    for child in case:
        if child.tag not in ("failure", "error"):
            continue
        body = child.text or ""
        path, line = _place(body, classname, name)
        owner = classname.rsplit(".", 1)[-1]
        full = f"{owner}.{name}" if owner[:1].isupper() else name
        message = _message(child.get("message", ""), body)
        yield Failure(full, path, line, first_lines(message), is_error=child.tag == "error")


def _unescaped(name: str) -> str:
    # pytest writes parameters that are not ASCII as \uXXXX in its node ids.
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)


def _message(said: str, body: str) -> str:
    if said and said != "collection failure":
        return said
    marked = [line[1:].strip() for line in body.splitlines() if line.startswith("E ")]
    return "\n".join(marked) or body


def _place(body: str, classname: str, name: str) -> tuple[str, int]:
    """Where the test itself failed: a frame in its own file before any deeper one."""
    found = [(match["path"], int(match["line"])) for match in PLACE.finditer(body)]
    own = [place for place in found if _module(place[0]) and classname.startswith(_module(place[0]))]
    if own:
        return own[-1]
    if not classname and found:
        return next((place for place in found if _module(place[0]).endswith(name)), found[-1])
    return found[-1] if found else ("", 0)


def _module(path: str) -> str:
    return re.sub(r"\.\w+$", "", path).replace("\\", "/").replace("/", ".")


def parse_pytest_text(output: str) -> Outcomes:
    """What pytest's own summary lines say; for a run that left no report."""
    ending = next(reversed([*ENDING.finditer(output)]), None)
    said = {"failed": 0, "passed": 0, "skipped": 0, "error": 0}
    for number, word in COUNT.findall(ending[1] if ending else ""):
        key = {"xfailed": "skipped", "xpassed": "passed", "errors": "error"}.get(word, word)
        said[key] = said.get(key, 0) + int(number)
    failures = tuple(
        Failure(
            _unescaped(found["id"].split("::", 1)[-1].replace("::", ".")),
            found["id"].split("::", 1)[0],
            0,
            found["message"] or "",
            is_error=found[1] == "ERROR",
        )
        for found in SUMMARY.finditer(output)
    )
    seconds = float(ending[2]) if ending else 0.0
    return Outcomes(said["passed"], said["failed"], said["skipped"], said["error"], seconds, failures)
